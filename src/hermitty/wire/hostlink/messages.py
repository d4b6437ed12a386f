"""The messages between a durable host and its users.

Output itself is never sent: it is in a ring that both sides can see, and only its end is told.

`Hello`, `Welcome`, `Refused`, `Status`, `StatusReport`, `Stop` and `Done` keep their fields in every version, so that a
host of any version can be asked what it does, and told to stop.
"""

from dataclasses import dataclass
from typing import Literal

# Raised whenever a host and a user of different versions could misunderstand each other.
VERSION = 3

# The code of a host that refuses because it is about to end: there can be a new one in a moment.
ENDING = "host_ending"


# What both sides say all the time. A number stands for a terminal.


@dataclass(frozen=True, slots=True)
class Write:
    """Input. `number` counts the writes of a terminal from 1; `answers_to` is zero for what is no answer."""

    handle: int
    number: int
    answers_to: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Output before `offset` is no longer needed."""

    handle: int
    offset: int


@dataclass(frozen=True, slots=True)
class Output:
    """There is output up to `offset`."""

    handle: int
    offset: int


@dataclass(frozen=True, slots=True)
class InputTaken:
    """The terminal has taken so many bytes of input since it was opened, or forgot them."""

    handle: int
    offset: int


# The beginning.


@dataclass(frozen=True, slots=True)
class Hello:
    """Whoever connects says this first.

    An observer may ask for the status, and for the end. Descriptors of what is lent go to a second connection of the
    user's process.
    """

    version: int
    release: str
    role: Literal["user", "observer", "descriptors"]
    pid: int
    token: str  # marks the processes that this user starts himself


@dataclass(frozen=True, slots=True)
class Welcome:
    """The host answers. `token` marks the processes that it starts."""

    version: int
    release: str
    pid: int
    started_at: float
    incarnation: str
    token: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The host takes no such user, and ends the connection."""

    version: int
    release: str
    pid: int
    code: str
    message: str


# Requests. Each gets one answer with its number.


@dataclass(frozen=True, slots=True)
class MakeDirectory:
    """Make a private directory. Answer: Directory."""

    request: int
    terminal: str


@dataclass(frozen=True, slots=True)
class Open:
    """Start a program on a new PTY. Answer: Opened."""

    request: int
    terminal: str
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    cols: int
    rows: int
    directory: str
    log_bytes: int
    sandbox: str | None = None  # the order for it, as JSON


@dataclass(frozen=True, slots=True)
class DropDirectory:
    """Remove a private directory that no terminal was opened with. Answer: Done, also when it is not there."""

    request: int
    terminal: str


@dataclass(frozen=True, slots=True)
class Found:
    """List what nobody uses. Answer: FoundList."""

    request: int


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Use a terminal that nobody uses. Answer: Opened."""

    request: int
    terminal: str
    since: int


@dataclass(frozen=True, slots=True)
class Inspect:
    """Ask the operating system. Answer: State."""

    request: int
    handle: int


@dataclass(frozen=True, slots=True)
class SignalForeground:
    """Signal the group in front. Answer: Number."""

    request: int
    handle: int
    number: int
    unless: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SignalSince:
    """Signal what started after a mark. Answer: Number."""

    request: int
    handle: int
    mark: int
    number: int


@dataclass(frozen=True, slots=True)
class Close:
    """End a terminal. Answer: Done, also when it is not there."""

    request: int
    terminal: str


@dataclass(frozen=True, slots=True)
class Goodbye:
    """Leave; the terminals go on. Answer: Done."""

    request: int


@dataclass(frozen=True, slots=True)
class Status:
    """Ask how the host is. Answer: StatusReport."""

    request: int


@dataclass(frozen=True, slots=True)
class Stop:
    """End every terminal, and the host. Answer: Done, when all have ended."""

    request: int


# What needs no answer.


@dataclass(frozen=True, slots=True)
class DiscardInput:
    """Forget input that no program has read."""

    handle: int


@dataclass(frozen=True, slots=True)
class Resize:
    """Change the window size. A user who has borrowed the PTY has done it already."""

    handle: int
    cols: int
    rows: int
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class RememberProgram:
    """Note what the shell's process runs now."""

    handle: int


@dataclass(frozen=True, slots=True)
class LetGo:
    """Stop using a terminal; the next one may take it over."""

    handle: int


# A PTY can be lent to its user: see `hermitty.host.loan`.


@dataclass(frozen=True, slots=True)
class Borrow:
    """Let me read the output myself. Event: Lent, or Recalled when it is not the time. A host that cannot is silent."""

    handle: int


@dataclass(frozen=True, slots=True)
class GaveBack:
    """I do not read any more."""

    handle: int


@dataclass(frozen=True, slots=True)
class InputLeft:
    """The PTY did not take all of my input; write the rest."""

    handle: int


# Answers.


@dataclass(frozen=True, slots=True)
class Directory:
    """Where the private directory is."""

    request: int
    path: str


@dataclass(frozen=True, slots=True)
class Opened:
    """A terminal that is now used by whoever asked. Its ring is a file of its directory."""

    request: int
    handle: int
    pid: int
    directory: str
    ring_size: int
    start: int
    end: int
    writes: int
    input_bytes: int  # received so far
    input_taken: int  # of these; the rest waits for a program to read
    sandbox: str | None = None  # what is enforced, as JSON; None: nothing was asked for


@dataclass(frozen=True, slots=True)
class FoundItem:
    """One terminal that nobody uses."""

    terminal: str
    pid: int
    directory: str
    cols: int
    rows: int
    start: int
    end: int
    writes: int
    answered: int
    ended: bool
    exit_code: int | None
    exit_signal: int | None


@dataclass(frozen=True, slots=True)
class FoundList:
    """What nobody uses."""

    request: int
    terminals: tuple[FoundItem, ...]


@dataclass(frozen=True, slots=True)
class State:
    """What the operating system knows of a terminal."""

    request: int
    waiting: str
    shell_in_front: bool | None
    shell_replaced: bool
    echo: bool
    canonical: bool
    cwd: str | None


@dataclass(frozen=True, slots=True)
class Number:
    """A number, or nothing."""

    request: int
    value: int | None


@dataclass(frozen=True, slots=True)
class Done:
    """It is done."""

    request: int


@dataclass(frozen=True, slots=True)
class Failed:
    """It cannot be done."""

    request: int
    code: str
    message: str
    terminal: str
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TerminalReport:
    """How one terminal is. `unread` output was not acknowledged yet; when it is too much, programs wait."""

    terminal: str
    pid: int
    cols: int
    rows: int
    output_bytes: int
    unread_bytes: int
    ring_bytes: int
    is_used: bool
    is_paused: bool
    has_ended: bool


@dataclass(frozen=True, slots=True)
class StatusReport:
    """How the host is. Without a user, `user_pid` is None."""

    request: int
    user_pid: int | None
    user_since: float | None
    memory_bytes: int | None
    terminals: tuple[TerminalReport, ...]


# Events.


@dataclass(frozen=True, slots=True)
class Exited:
    """The shell is gone; its output ends at `end`."""

    handle: int
    end: int
    code: int | None
    signal: int | None


@dataclass(frozen=True, slots=True)
class Lent:
    """Output is yours to read from `end` on. The first time, descriptors have been sent to the other connection."""

    handle: int
    end: int


@dataclass(frozen=True, slots=True)
class Recalled:
    """Do not read any more. Told: GaveBack, unless it was given back already."""

    handle: int


@dataclass(frozen=True, slots=True)
class Settled:
    """So many things that must come before later input were done since this user began, and no input waits."""

    handle: int
    count: int


@dataclass(frozen=True, slots=True)
class Stopping:
    """The host ends, on purpose, once every terminal has."""

    reason: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """What came is no message. Nothing after it can be understood."""

    problem: str


Request = (
    MakeDirectory | DropDirectory | Open | Found | TakeOver | Inspect | SignalForeground | SignalSince | Close
    | Goodbye | Status | Stop
)  # fmt: skip
Answer = Directory | Opened | FoundList | State | Number | Done | Failed | StatusReport
Told = Write | Acknowledge | DiscardInput | Resize | RememberProgram | LetGo | Borrow | GaveBack | InputLeft
Event = Output | InputTaken | Exited | Lent | Recalled | Settled | Stopping
Message = Hello | Welcome | Refused | Request | Told | Answer | Event | Malformed
