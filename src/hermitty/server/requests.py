"""What clients send: the bodies and the query parameters of requests. Unknown fields are mistakes."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hermitty.model import MAX_CELLS
from hermitty.server.access import Scope

_NO_CONTROLS = r"^[^\x00-\x1f\x7f]*$"
_NO_NUL = r"^[^\x00]*$"
_DAY = 86_400.0

Text = str  # as long as a body may be
Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=_NO_CONTROLS)]
Path = Annotated[str, Meta(min_length=1, max_length=4096, pattern=_NO_NUL)]
Seconds = Annotated[float, Meta(ge=0, le=7 * _DAY)]
Time = Annotated[float, Meta(ge=0, le=1e11, description="seconds since 1970")]
Cells = Annotated[int, Meta(ge=1, le=MAX_CELLS)]
Offset = Annotated[int, Meta(ge=0, le=2**62)]
CommandIdText = Annotated[
    str,
    Meta(
        pattern=r"^c_[0-9a-f]{16}$",
        description="chosen at random by the client; the same id again waits for the same command",
    ),
]
Limit = Annotated[int, Meta(ge=1, le=1000)]


class Body(Struct, forbid_unknown_fields=True, kw_only=True):
    """The base of what is sent."""


class Answer(Body):
    """When the output matches `prompt`, type `reply` and Enter."""

    prompt: Annotated[str, Meta(max_length=10_000)]
    reply: Text


class SandboxWish(Body):
    """What confines a terminal's programs; what is left out is as the settings say."""

    mode: Literal["off", "workspace", "strict"] = "workspace"
    network: Literal["none", "host"] | None = None
    read_deny: list[Path] = []
    read: list[Path] = []
    write: list[Path] = []
    pids: Annotated[int, Meta(ge=1)] | None = None
    memory_bytes: Annotated[int, Meta(ge=1)] | None = None
    cpu: Annotated[float, Meta(gt=0)] | None = None


class OpenTerminal(Body):
    """A terminal to open."""

    workspace: Name | None = None
    session: Name | None = None
    name: Name | None = None
    cwd: Path | None = None
    shell: Path | None = None
    provider: Literal["pty"] | None = None
    env: dict[str, str] | None = None
    cols: Cells | None = None
    rows: Cells | None = None
    sandbox: Literal["off", "workspace", "strict"] | SandboxWish | None = None


class ChangeTerminal(Body):
    """What to change of a terminal; what is left out stays. `paused` gives it to a person."""

    name: Name | UnsetType | None = UNSET
    session: Name | UnsetType | None = UNSET
    paused: bool | UnsetType = UNSET


class Run(Body):
    """A command to run where it fits best. A list is a program with exactly these arguments."""

    command: Text | list[Text]
    cwd: Path | None = None
    session: Name | None = None
    workspace: Name | None = None
    shell: Path | None = None
    provider: Literal["pty", "pipe"] | None = None
    wait_s: Seconds | None = None
    kill_after_s: Seconds | None = None
    env: dict[str, str] | None = None
    answers: list[Answer] = []
    id: CommandIdText | None = None
    sandbox: Literal["off", "workspace", "strict"] | SandboxWish | None = None


class RunIn(Body):
    """A command to run in a given terminal."""

    command: Text
    session: Name | None = None
    wait_s: Seconds | None = None
    kill_after_s: Seconds | None = None
    answers: list[Answer] = []
    id: CommandIdText | None = None


class RunTemporary(Body):
    """A command to run in a terminal of its own, which is gone afterwards."""

    command: Text
    cwd: Path | None = None
    session: Name | None = None
    workspace: Name | None = None
    shell: Path | None = None
    wait_s: Seconds | None = None
    env: dict[str, str] | None = None
    answers: list[Answer] = []
    id: CommandIdText | None = None
    sandbox: Literal["off", "workspace", "strict"] | SandboxWish | None = None


class Batch(Body):
    """Commands to run one after the other in one terminal."""

    commands: Annotated[list[Text], Meta(min_length=1, max_length=1000)]
    cwd: Path | None = None
    session: Name | None = None
    workspace: Name | None = None
    shell: Path | None = None
    wait_s: Seconds | None = None
    stop_on_error: bool = False


class Input(Body):
    """What to type: exactly one of text, bytes as base64, or a key by name."""

    text: Text | None = None
    base64: Text | None = None
    key: Annotated[str, Meta(min_length=1, max_length=50)] | None = None


class Resize(Body):
    """A size for a terminal."""

    cols: Cells
    rows: Cells


class Stop(Body):
    """How long to wait for the end of what is stopped."""

    wait_s: Annotated[float, Meta(ge=0, le=60)] = 1.0


class Check(Body):
    """A command to judge, without running it."""

    command: Text | list[Text]
    cwd: Path | None = None
    shell: Path | None = None
    session: Name | None = None
    workspace: Name | None = None


class AnswerApproval(Body):
    """A person's answer. `typed` is the confirmation of a command that is blocked."""

    answer: Literal["allow", "deny", "skip"]
    scope: Literal["once", "session", "workspace", "user"] | None = None
    typed: Text | None = None
    note: Text | None = None


class PutWorkspace(Body):
    """How a workspace is called, and where it is."""

    name: Name | None = None
    root: Path | None = None


class CreateToken(Body):
    """A token to make."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=5)]
    expires_in_s: Annotated[float, Meta(gt=0, le=3650 * _DAY)] | None = None


class CallTool(Body):
    """The arguments of a tool, as its schema has them."""

    arguments: dict[str, Any] = {}
    session: Name | None = None


# Query parameters.


class TerminalsQuery(Body):
    """Which terminals."""

    workspace: str | None = None
    session: str | None = None


class ScreenQuery(Body):
    """How to show a screen; `history` puts the rows before it that scrolled off (text only)."""

    format: Literal["text", "ansi", "svg", "png"] = "text"
    history: bool = False


class LogQuery(Body):
    """Which bytes of a terminal's output; from the oldest that is kept, unless `since` says otherwise."""

    since: Offset | None = None
    limit: Annotated[int, Meta(ge=1, le=16 * 1024 * 1024)] | None = None


class CommandQuery(Body):
    """How long to wait for the end of a command, or a question of it."""

    wait_s: Annotated[float, Meta(ge=0, le=60)] = 0.0


class CommandsQuery(Body):
    """Which commands."""

    terminal: str | None = None
    session: str | None = None
    limit: Limit = 50


class ArtifactQuery(Body):
    """A page of an output by its offset, or the lines that match `search`. `raw` gives the bytes as they are."""

    offset: Offset = 0
    limit: Annotated[int, Meta(ge=1, le=1024 * 1024)] | None = None
    search: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    format: Literal["json", "raw"] = "json"


class ReportQuery(Body):
    """Who reads: new output is told to each reader once. `edited`: a file was just saved."""

    reader: Name | None = None
    edited: bool = False


class ApprovalsQuery(Body):
    """Whether the questions that are over are wanted, too."""

    history: bool = False


class AuditQuery(Body):
    """Which decisions."""

    session: str | None = None
    limit: Limit = 50


class HistoryParameters(Body):
    """Which commands; `before` is the `next` of the page before."""

    search: Annotated[str, Meta(max_length=1000)] | None = None
    session: str | None = None
    failed: bool = False
    since: Time | None = None
    until: Time | None = None
    limit: Limit = 50
    before: Annotated[str, Meta(pattern=r"^[0-9]{1,12}\.?[0-9]{0,9}-[0-9]{1,18}$")] | None = None


class RulesQuery(Body):
    """Whose rules: those of a session, and of a workspace by the path of its root."""

    session: Name | None = None
    workspace: Path | None = None


class DeleteRuleQuery(RulesQuery, kw_only=True):
    """Which rule."""

    id: str


class EventsQuery(Body):
    """The id of the last event that the client has; `Last-Event-ID` says the same."""

    since: Annotated[str, Meta(max_length=100)] | None = None


class CastQuery(Body):
    """Which version of the format."""

    version: Literal[2, 3] = 3
