"""The values that every layer speaks of: ids, sizes, outcomes and the result of a command."""

import math
import re
import secrets
import signal as signals
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NewType, Self

from hermitty.errors import InvalidCommand, InvalidRequest, InvalidSize, InvalidTime

TerminalId = NewType("TerminalId", str)
CommandId = NewType("CommandId", str)

ProviderName = Literal["pty", "pipe"]

_COMMAND_ID = re.compile(r"c_[0-9a-f]{16}")

# The kernel's window size has 16 bits; programs misbehave long before that.
MAX_CELLS = 4096


@dataclass(frozen=True, slots=True)
class Size:
    """Columns and rows of a terminal."""

    cols: int = 120
    rows: int = 30

    @classmethod
    def checked(cls, cols: int, rows: int) -> Self:
        """Make a size, or raise InvalidSize."""
        if not (1 <= cols <= MAX_CELLS and 1 <= rows <= MAX_CELLS):
            raise InvalidSize(cols, rows, MAX_CELLS)
        return cls(cols, rows)


class Quality(StrEnum):
    """How much of a command's result is a fact told by the shell."""

    RICH = "rich"  # command line, start, end, exit code, cwd and environment, each with our nonce
    BASIC = "basic"  # start, end, exit code and cwd
    NONE = "none"  # the end was seen from outside; the exit code may be unknown


class State(StrEnum):
    """Where a command stands when its result is made."""

    DONE = "done"
    RUNNING = "running"  # the wait ended, the command goes on
    NEEDS_INPUT = "needs_input"
    INTERRUPTED = "interrupted"
    KILLED = "killed"
    LOST = "lost"  # its terminal died

    @property
    def is_final(self) -> bool:
        """Whether nothing more will come of the command."""
        return self not in (State.RUNNING, State.NEEDS_INPUT)


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How a process ended: with a code, or by a signal."""

    code: int | None = None
    signal: int | None = None

    def __str__(self) -> str:
        if self.signal is not None:
            return f"killed by {signal_name(self.signal) or f'signal {self.signal}'}"
        return f"exited with code {self.code}"


@dataclass(frozen=True, slots=True)
class NeedsInput:
    """A program waits for somebody to type."""

    prompt: str
    secret: bool
    how: Literal["kernel", "pattern"]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What became of one command. `text` is for a model to read; the raw bytes stay in the log."""

    id: CommandId
    command: str
    terminal: TerminalId | None
    provider: ProviderName
    shell: str | None
    state: State
    exit_code: int | None
    signal: str | None
    quality: Quality
    text: str
    total_bytes: int
    cwd: str | None
    duration_s: float
    session: str | None = None
    truncated: bool = False
    omitted_bytes: int = 0
    artifact: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    needs_input: NeedsInput | None = None
    warnings: list[str] = field(default_factory=list)
    sandbox: str | None = None  # what confined it, in a few words; None: nothing did


def not_started(command_id: str, command: str, *, session: str | None, state: State, why: str) -> CommandResult:
    """Make the result of a command that has no terminal yet: it waits for one, or was stopped before it got one."""
    return CommandResult(
        id=CommandId(command_id),
        command=command,
        terminal=None,
        provider="pty",
        shell=None,
        state=state,
        exit_code=None,
        signal=None,
        quality=Quality.NONE,
        text="",
        total_bytes=0,
        cwd=None,
        duration_s=0.0,
        session=session,
        warnings=[why],
    )


def new_command_id() -> CommandId:
    """Make an id that nobody else has."""
    return CommandId(f"c_{secrets.token_hex(8)}")


def checked_command_id(text: str | None) -> CommandId | None:
    """Return an id that a caller chose for a command, or raise InvalidRequest. None: we choose."""
    if text is None:
        return None
    if not isinstance(text, str) or not _COMMAND_ID.fullmatch(text):
        raise InvalidRequest(
            f"command id {str(text)[:80]!r} is none: write c_ and 16 digits of 0-9a-f, chosen at random"
        )
    return CommandId(text)


def signal_name(number: int) -> str | None:
    """Name a signal (15 -> SIGTERM), or None for a number without a name."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return None


def signal_of_exit_code(code: int | None) -> str | None:
    """Name the signal behind a shell's exit code: shells report death by signal N as 128+N."""
    return signal_name(code - 128) if code is not None and code > 128 else None


def checked_time(name: str, value: float | None) -> float | None:
    """Return a duration in seconds, or raise InvalidTime. None means no limit."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0 or math.isinf(value):
        raise InvalidTime(name, value)
    return value


def is_encodable(text: str) -> bool:
    """Tell whether text can be bytes: UTF-8, with bytes that were none kept as Python keeps them in file names."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def checked_line(line: str) -> str:
    """Return a command line that a shell can be given, or raise InvalidCommand."""
    if not isinstance(line, str):
        raise InvalidCommand(f"a command is text, not {type(line).__name__}")
    if not is_encodable(line):
        raise InvalidCommand("a command cannot contain half a surrogate pair")
    if "\0" in line:
        raise InvalidCommand("a command cannot contain NUL bytes")
    if not line.strip():
        raise InvalidCommand("the command is empty")
    return line
