"""What the server sends about itself: its settings, its tokens, its numbers."""

from typing import Any, Literal

from hermitty.server.access import Scope
from hermitty.server.replies import Reply


class Setting(Reply):
    """A setting, its value and where that comes from."""

    name: str
    value: Any
    default: Any
    origin: str
    origin_kind: Literal["default", "file", "workspace", "environment", "argument"]
    explanation: str
    allowed: str
    type: Literal["boolean", "integer", "number", "string", "list", "table"]
    optional: bool
    choices: list[str] | None
    least: float | None
    most: float | None
    can_change: bool


class Settings(Reply):
    """Every setting, and the file that changes go to."""

    config_file: str | None
    settings: list[Setting]
    warnings: list[str]


class Token(Reply):
    """A token that was made for somebody. Times are seconds since 1970."""

    id: str
    name: str
    scopes: list[Scope]
    created_at: float
    expires_at: float | None


class NewToken(Token):
    """A new token with its text, which is shown this once."""

    token: str


class TokenList(Reply):
    """The tokens that were made."""

    tokens: list[Token]


class Me(Reply):
    """Who asks, and what for."""

    name: str
    scopes: list[Scope]
    how: Literal["header", "cookie"]


class Limits(Reply):
    """What the server takes."""

    body_bytes: int
    longest_wait_s: float
    requests_per_s: int
    connections: int
    layout_bytes: int


class Info(Reply):
    """The server."""

    version: str
    pid: int
    host: str
    platform: str
    shells: list[str]
    started_at: float
    me: Me
    limits: Limits


class Health(Reply):
    """That it is there."""

    status: Literal["ok"]
    version: str


class ApprovalStats(Reply):
    """Questions to people."""

    pending: int
    answered: int


class Stats(Reply):
    """Numbers for a dashboard. `commands_per_minute` has the last hour, the oldest minute first."""

    uptime_s: float
    terminals: int
    running: int
    viewers: int
    streams: int
    sessions: int
    commands: int
    commands_per_minute: list[int]
    approvals: ApprovalStats
    memory_bytes: int | None
    requests: int
    errors: int
