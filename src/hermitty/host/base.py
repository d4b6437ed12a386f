"""The seam between terminals and whoever owns their PTYs: this process, a daemon, another machine.

A host knows bytes, sizes, files and processes, never what they mean. Output and the end arrive through a `Sink`, in
order, called from the event loop; everything that must ask the operating system is a method of the hosted thing,
because only its host can answer.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal, Protocol

from hermitty.model import ExitStatus, Size, TerminalId
from hermitty.sandbox.spec import SHELL_DIRECTORY, Confinement, Effective
from hermitty.vt.byte_log import LogSlice

Stream = Literal["stdout", "stderr"]


@dataclass(frozen=True, slots=True)
class PtySpec:
    """One program to start on a new PTY. `directory` comes from `Host.make_directory`."""

    terminal: TerminalId
    program: str
    args: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    size: Size
    directory: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    log_bytes: int = 512 * 1024  # how much of its output is kept, by a host that can choose
    # With a sandbox, files for the shell are in a part of the directory: see `shell_directory`.
    sandbox: Confinement | None = None


def shell_directory(directory: str, sandbox: Confinement | None) -> str:
    """Return where the shell finds its files: what a sandbox shows of the private directory, or all of it."""
    return directory if sandbox is None else f"{directory}/{SHELL_DIRECTORY}"


@dataclass(frozen=True, slots=True)
class FoundPty:
    """A PTY that outlived whoever used it. Its output can be had from `start` on, as far as `end`."""

    terminal: TerminalId
    pid: int
    directory: str
    size: Size
    start: int
    end: int
    writes: int  # how many writes reached it: see HostedPty.writes
    answered: int  # up to where its queries were answered: see HostedPty.write
    exit_status: ExitStatus | None = None  # of a shell that ended meanwhile


@dataclass(frozen=True, slots=True)
class PipeSpec:
    """One program to start with pipes instead of a PTY."""

    owner: str  # marks the processes of this run, so that all of them can be found
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    stdin: bool = False  # whether somebody will write to it; otherwise it reads an empty file
    merged: bool = False  # both outputs are one pipe, told as `stdout`, in the order in which they were written
    sandbox: Confinement | None = None


class Waiting(Enum):
    """What the programs in the foreground do with their terminal."""

    UNKNOWN = auto()  # this platform, or this process, does not tell
    NO = auto()
    READING = auto()  # one is blocked in read on the terminal
    POLLING = auto()  # one is blocked in poll, select or epoll; perhaps on the terminal


@dataclass(frozen=True, slots=True)
class TtyState:
    """What the operating system knows of a terminal right now."""

    waiting: Waiting = Waiting.UNKNOWN
    shell_in_front: bool | None = None  # no program of a command holds the terminal
    shell_replaced: bool = False  # the shell's process runs another program now (exec)
    echo: bool = True
    canonical: bool = True
    cwd: str | None = None


class Sink(Protocol):
    """Receives what a PTY does. Called from the event loop; must not block."""

    def glance(self, data: bytes) -> None:
        """Look at the next piece of what `on_output` will bring in one. Of each turn all pieces are shown, or none."""

    def on_output(self, data: bytes) -> None:
        """Take the next bytes."""

    def on_exit(self, status: ExitStatus) -> None:
        """Note that the shell is gone. All of its output has been delivered."""

    def on_lost(self, reason: str) -> None:
        """Note that the host is gone, and the shell with it; what became of it cannot be known."""


class Log(Protocol):
    """The newest output of a PTY by absolute offset. It ends where the sink has been told everything."""

    @property
    def start(self) -> int:
        """Return the offset of the oldest byte that can still be read."""

    @property
    def end(self) -> int:
        """Return the offset that the next byte will have."""

    def read(self, since: int, until: int | None = None) -> LogSlice:
        """Return the bytes from `since` up to `until`, as far as they are there. Raises InvalidRequest for others."""

    def forget(self) -> None:
        """Let go of all bytes; offsets stay as they are."""


class HostedPty(Protocol):
    """One PTY and its shell, owned by a host."""

    @property
    def pid(self) -> int:
        """Return the process id of the shell on its host."""

    @property
    def log(self) -> Log:
        """Return its newest output; what the sink is being told is in it already."""

    @property
    def sandbox(self) -> Effective | None:
        """Return what confines its programs; None: nothing was asked for."""

    @property
    def is_durable(self) -> bool:
        """Tell whether it goes on when this process ends, so that another one can take it over."""

    @property
    def writes(self) -> int:
        """Return how often `write` was called since the PTY was opened, by everybody who used it."""

    def acknowledge(self, offset: int) -> None:
        """Say that output before `offset` will not be needed to take the PTY over: what it meant is in its files.

        A durable PTY that gets too far ahead of this pauses its programs.
        """

    def write(self, data: bytes, *, answers_to: int = 0) -> None:
        """Queue input. Raises InputOverflow when the program has not read for too long.

        An answer to a query tells which output it answers to: all before that offset. Whoever takes the PTY over
        reads that output again, and must not answer twice.
        """

    def discard_input(self) -> None:
        """Forget input that no program has read yet."""

    def resize(self, size: Size) -> None:
        """Change the window size; programs get SIGWINCH."""

    def put_file(self, name: str, data: bytes) -> None:
        """Write a file of the private directory.

        In that of a durable PTY, whoever reads it later finds all of it, or all of what was there before.
        """

    async def get_file(self, name: str) -> bytes | None:
        """Read a file of the private directory, or None when it is not there."""

    def drop_file(self, name: str) -> None:
        """Delete a file of the private directory, if it is there."""

    def mark(self) -> int:
        """Return the host's idea of now, to tell the processes of one command from older ones."""

    def remember_program(self) -> None:
        """Note what the shell's process runs now, so that `inspect` can tell when it is replaced."""

    async def inspect(self) -> TtyState:
        """Ask the operating system what the terminal is doing."""

    async def signal_foreground(self, number: int, *, unless: Collection[int] = ()) -> int | None:
        """Send a signal to the process group in front, as the terminal's keys would, and return that group.

        Groups in `unless` get none.
        """

    async def signal_since(self, mark: int, number: int) -> int:
        """Send a signal to every process of this terminal that started after `mark`; return how many there were."""

    async def close(self) -> None:
        """End the shell and everything that was started from it, and free the PTY."""


class ProcessSink(Protocol):
    """Receives what a piped process does."""

    def on_output(self, stream: Stream, data: bytes) -> None:
        """Take the next bytes of a stream."""

    def on_exit(self, status: ExitStatus) -> None:
        """Note that the process is gone and both streams were read as far as they go."""

    def on_lost(self, reason: str) -> None:
        """Note that the host is gone; what became of the process cannot be known."""


class HostedProcess(Protocol):
    """One process without a terminal, owned by a host."""

    @property
    def pid(self) -> int:
        """Return the process id on its host."""

    @property
    def sandbox(self) -> Effective | None:
        """Return what confines it; None: nothing was asked for."""

    def write(self, data: bytes) -> None:
        """Queue input."""

    def close_input(self) -> None:
        """End the input once what is queued has been written."""

    async def signal(self, number: int) -> int:
        """Send a signal to the process and everything it started; return how many processes there were."""

    async def close(self) -> None:
        """Kill what is left and free the pipes."""


class Host(Protocol):
    """Owns PTYs and processes."""

    async def at(self, workspace: str | None) -> "Host":
        """Return the host on which the terminals of a workspace live; they share its files. One host is its own."""

    def name_terminal(self, terminal: TerminalId) -> TerminalId:
        """Return the id that a new terminal gets here: the given one, or one that tells where it is, too."""

    async def make_directory(self, terminal: TerminalId) -> str:
        """Make a private directory for one terminal; the host deletes it when the terminal closes or fails to open."""

    async def open(self, spec: PtySpec, sink: Sink) -> HostedPty:
        """Start a program on a new PTY. A failed open leaves nothing behind."""

    async def start(self, spec: PipeSpec, sink: ProcessSink) -> HostedProcess:
        """Start a program with pipes."""

    async def found(self) -> list[FoundPty]:
        """Return the PTYs that were left here by somebody who is gone. They wait for `take_over`."""

    async def read_file(self, found: FoundPty, name: str) -> bytes | None:
        """Read a file of the private directory of a PTY that was found."""

    async def take_over(self, terminal: TerminalId, sink: Sink, *, since: int) -> HostedPty:
        """Go on with a PTY that was found; its sink is told everything from `since` on, and the exit if it ended."""

    async def find_program(self, name: str) -> str | None:
        """Return the path of a program on this host."""

    def known_program(self, name: str) -> str | None:
        """Return the same as far as it is known here: a host elsewhere was asked for the usual shells."""

    async def check_directory(self, path: str) -> None:
        """Raise InvalidDirectory unless `path` is a directory that can be entered."""

    def environment(self) -> dict[str, str]:
        """Return the environment that new programs start from."""

    async def leave(self) -> None:
        """Let go of everything: what is durable goes on, the rest ends."""

    async def aclose(self) -> None:
        """Close everything."""
