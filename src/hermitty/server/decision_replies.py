"""What the server sends about decisions: the policy's, and those of the people it asks."""

from typing import Any, Literal

from hermitty.server.replies import Reply


class Part(Reply):
    """A piece of a command line, and what is said about it."""

    start: int
    end: int
    verdict: str
    level: str


class Decision(Reply):
    """What the policy says about a command."""

    decision: Literal["allow", "ask", "block"]
    level: Literal["low", "medium", "high", "critical"]
    reasons: list[str]
    effects: list[str]
    commands: list[list[str]]
    rule: str | None
    suggested_rule: dict[str, Any] | None
    parts: list[Part]


class Question(Reply):
    """What a person is asked. Times are seconds since 1970."""

    id: str
    command: str
    line: str
    cwd: str | None
    shell: str
    decision: Literal["ask", "block"]
    level: str
    effects: list[str]
    reasons: list[str]
    scopes: list[str]
    suggested_rule: dict[str, Any] | None
    confirmation: str | None
    session: str | None
    workspace: str | None
    terminal: str | None
    origin: str
    asked_at: float
    expires_at: float | None


class Verdict(Reply):
    """How a question ended."""

    question: Question
    outcome: Literal["allow", "deny", "skip", "timeout", "cancelled"]
    scope: str
    by: str
    at: float
    note: str


class Approvals(Reply):
    """Questions that wait, the oldest first; and those that are over, the newest first, if that was asked for."""

    approvals: list[Question]
    history: list[Verdict] | None


class Audit(Reply):
    """Decisions about commands, the newest first."""

    entries: list[dict[str, Any]]


class Rule(Reply):
    """A remembered rule. `rule` is as files of rules have it; `origin` says where it stands."""

    id: str
    decision: Literal["allow", "ask", "deny"]
    command: list[str]
    layer: str
    origin: str
    reason: str
    expires_at: float | None
    rule: dict[str, Any]


class Rules(Reply):
    """The rules that count."""

    rules: list[Rule]
    problems: list[str]
