"""What the server sends: the shapes of its answers. Every field is always there, unless it says otherwise.

Those about decisions are in `decision_replies`, those about the server itself in `system_replies`.
"""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType


class Reply(Struct, kw_only=True):
    """The base of what is sent."""


class ErrorFields(Reply):
    """What went wrong: a stable code, words for people, and fields that depend on the code."""

    code: str
    message: str


class Error(Reply):
    """The body of every answer that tells of an error."""

    error: ErrorFields


class NeedsInput(Reply):
    """What a program asks for."""

    prompt: str
    secret: bool
    how: Literal["kernel", "pattern"]


class CommandResult(Reply):
    """What became of one command. `text` is for a model to read."""

    id: str
    command: str
    session: str | None
    terminal: str | None
    provider: Literal["pty", "pipe"]
    shell: str | None
    state: Literal["done", "running", "needs_input", "interrupted", "killed", "lost"]
    exit_code: int | None
    signal: str | None
    quality: Literal["rich", "basic", "none"]
    text: str
    truncated: bool
    omitted_bytes: int
    total_bytes: int
    artifact: str | None
    stdout: str | None
    stderr: str | None
    cwd: str | None
    duration_s: float
    needs_input: NeedsInput | None
    warnings: list[str]
    sandbox: str | UnsetType = UNSET  # only there when something confined it


class Results(Reply):
    """One result for each command that ran."""

    results: list[CommandResult]


class RunningCommand(Reply):
    """The command that runs in a terminal. `started_at` is in seconds since 1970."""

    id: str
    command: str | None
    source: Literal["agent", "user"]
    started_at: float


class LastCommand(Reply):
    """The last command that ran in a terminal."""

    id: str
    command: str | None
    exit_code: int | None
    state: str
    duration_s: float


class NotEnforced(Reply):
    """Something that a sandbox does not do here, and why."""

    what: str
    why: str


class SandboxEffective(Reply):
    """What really confines a terminal. It is `weaker` when it is less of a sandbox than was asked for."""

    mode: Literal["workspace", "strict"]
    mechanism: Literal["bubblewrap", "landlock", "none"]
    network: Literal["none", "host"]
    weaker: bool
    enforced: dict[str, str]
    not_enforced: list[NotEnforced]


class Terminal(Reply):
    """One shell on one PTY. Output has absolute offsets: bytes from `start` to `offset` can be read."""

    id: str
    number: int
    name: str | None
    workspace: str | None
    session: str | None
    kind: Literal["agent", "user", "system"]
    provider: Literal["pty"]
    shell: str
    cwd: str | None
    cols: int
    rows: int
    pid: int | None
    quality: Literal["rich", "basic", "none"]
    state: Literal["idle", "running", "exited"]
    command: RunningCommand | None
    last: LastCommand | None
    title: str
    offset: int
    start: int
    opened_at: float | None
    paused_by: str | None
    viewers: int
    sandbox: Literal["workspace", "strict"] | None
    sandbox_effective: SandboxEffective | UnsetType = UNSET  # only there with a sandbox


class Terminals(Reply):
    """Terminals, the oldest first."""

    terminals: list[Terminal]


class Command(Reply):
    """A command that runs, or ran lately."""

    id: str
    command: str
    terminal: str | None
    session: str | None
    workspace: str | None
    source: Literal["agent", "user"]
    state: str
    exit_code: int | None
    started_at: float
    duration_s: float


class Commands(Reply):
    """Commands: those that run first, then the newest."""

    commands: list[Command]


class ArtifactPage(Reply):
    """A piece of a command's complete output. `next` is where the following page begins, null at the end."""

    id: str
    offset: int
    text: str
    line: int
    starts_inside: bool
    next: int | None
    size: int


class ArtifactMatch(Reply):
    """A line that matches."""

    line: int
    offset: int
    text: str


class ArtifactMatches(Reply):
    """Lines that match. `stopped` names the limit that ended the search; `next` is where to go on then."""

    id: str
    matches: list[ArtifactMatch]
    literal: bool
    problem: str | None
    stopped: Literal["matches", "characters", "time"] | None
    next: int | None
    size: int


class HistoryEntry(Reply):
    """One command of the past."""

    command_id: str
    command: str
    source: str
    started_at: float
    state: str
    duration_s: float | None
    exit_code: int | None
    signal: str | None
    session: str | None
    workspace: str | None
    terminal: str | None
    provider: str
    shell: str | None
    cwd: str | None
    cwd_after: str | None
    decision: str | None
    rule: str | None
    output_bytes: int
    artifact: str | None


class HistoryPage(Reply):
    """Commands, the newest first; `next` is for `before`; `missing` commands of that time could not be recorded."""

    entries: list[HistoryEntry]
    next: str | None
    missing: int


class Workspace(Reply):
    """A project: its name, its root, and how many terminals it has."""

    id: str
    name: str | None
    root: str | None
    terminals: int


class Workspaces(Reply):
    """The workspaces that somebody described or that a terminal names."""

    workspaces: list[Workspace]


class Session(Reply):
    """An agent's unit of work."""

    id: str
    cwd: str | None
    terminals: int
    running: int


class Sessions(Reply):
    """The sessions that have begun and were not released."""

    sessions: list[Session]


class Tool(Reply):
    """A tool for models, with the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class Tools(Reply):
    """The tools."""

    tools: list[Tool]


class ToolResult(Reply):
    """What a tool gives back: text for the model, the same as data, and the result of the command if one ran."""

    text: str
    data: dict[str, Any]
    command: CommandResult | None


class Recording(Reply):
    """What was recorded of a terminal. One that is `cut` lacks its beginning."""

    terminal: str
    title: str | None
    started_at: float
    duration_s: float
    bytes: int
    cut: bool
    is_live: bool


class Recordings(Reply):
    """The recordings, the newest first."""

    recordings: list[Recording]
