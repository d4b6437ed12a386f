"""What subscribers are told."""

from dataclasses import dataclass
from typing import Literal

from hermitty.model import CommandId, CommandResult, NeedsInput, Quality, TerminalId

Source = Literal["agent", "user"]


@dataclass(frozen=True, slots=True)
class TerminalOpened:
    """A terminal is there and usable."""

    terminal: TerminalId
    shell: str
    cwd: str
    quality: Quality


@dataclass(frozen=True, slots=True)
class TerminalEnded:
    """A terminal is gone."""

    terminal: TerminalId
    reason: str


@dataclass(frozen=True, slots=True)
class NoShellIntegration:
    """The integration did not come up; what is used instead is in `fallback`."""

    terminal: TerminalId
    shell: str
    reason: str
    fallback: Literal["sentinel", "pipe"]


@dataclass(frozen=True, slots=True)
class CommandStarted:
    """A command runs, started by an agent or typed by a person. `command` may not be known before its end."""

    terminal: TerminalId
    command_id: CommandId
    command: str | None
    source: Source


@dataclass(frozen=True, slots=True)
class CommandFinished:
    """A command is over."""

    terminal: TerminalId
    command_id: CommandId
    command: str | None
    source: Source
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class CommandSilent:
    """A command has printed nothing for a long time. It goes on: silence is a fact, told once for each silence."""

    terminal: TerminalId
    command_id: CommandId
    command: str | None
    source: Source
    silent_s: float


@dataclass(frozen=True, slots=True)
class CommandWaits:
    """A program waits for somebody to type. Told by runtimes that people watch, once for each question."""

    terminal: TerminalId
    command_id: CommandId
    command: str | None
    source: Source
    prompt: str
    secret: bool


@dataclass(frozen=True, slots=True)
class CwdChanged:
    """A terminal's shell changed its directory."""

    terminal: TerminalId
    cwd: str


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A person should decide about a command. `command` has its control characters made visible."""

    approval: str
    command: str
    cwd: str | None
    level: str
    effects: tuple[str, ...]  # in plain words
    reasons: tuple[str, ...]
    session: str | None
    terminal: str | None
    origin: str
    expires_at: float | None  # seconds since 1970


@dataclass(frozen=True, slots=True)
class ApprovalAnswered:
    """A question is over: somebody answered it, nobody did in time, or whoever asked has left."""

    approval: str
    outcome: Literal["allow", "deny", "skip", "timeout", "cancelled"]
    scope: str
    by: str


TerminalEvent = (
    TerminalOpened
    | TerminalEnded
    | NoShellIntegration
    | CommandStarted
    | CommandFinished
    | CommandSilent
    | CommandWaits
    | CwdChanged
)
Event = TerminalEvent | ApprovalAsked | ApprovalAnswered


@dataclass(frozen=True, slots=True)
class OutputArrived:
    """A running command printed something. `text` is for reading; `data` are the raw bytes from `offset` on."""

    offset: int
    data: bytes
    text: str
    missed: int = 0


@dataclass(frozen=True, slots=True)
class InputWanted:
    """A running command waits for somebody to type."""

    needs_input: NeedsInput


@dataclass(frozen=True, slots=True)
class Completed:
    """A command is over; nothing follows."""

    result: CommandResult


CommandEvent = OutputArrived | InputWanted | Completed
