"""What the tools need from whoever owns terminals: values in, values out.

Terminals of this process are behind `local.LocalTerminals`; another implementation may reach a server.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from hermitty.model import CommandResult
from hermitty.runtime.approvals import Question
from hermitty.runtime.artifacts import SearchResult
from hermitty.runtime.outputs import Piece
from hermitty.runtime.tools import ToolResult

Until = Literal["exit", "match", "idle", "needs_input"]
SandboxMode = Literal["off", "workspace", "strict"]
Reason = Literal["exit", "match", "idle", "needs_input", "timeout"]
# Hosts cut calls off after a minute: no call waits for longer than this.
LONGEST_WAIT_S = 55.0
# How long a command may take to get a terminal, beyond the wait for it.
TAKE_OFF_S = 10.0


@dataclass(frozen=True, slots=True)
class Line:
    """A command that somebody wants run, in a given terminal or wherever it fits."""

    command: str
    session: str
    cwd: str | None = None
    terminal: str | None = None
    shell: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    kill_after_s: float | None = None
    sandbox: SandboxMode | None = None  # at least that of the settings; None: that


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person said in a form of the client, about one command in one directory, both as they were shown."""

    line: str
    cwd: str | None
    allow: bool
    scope: Literal["once", "session", "workspace", "user"]
    by: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Waited:
    """How a wait ended, and where the command stands."""

    result: CommandResult
    reason: Reason
    match: str | None = None


@dataclass(frozen=True, slots=True)
class Glimpse:
    """How far a command is: for progress."""

    total_bytes: int
    last_line: str


@dataclass(frozen=True, slots=True)
class Shown:
    """The screen of a terminal, as text or as a picture."""

    terminal: str
    cols: int
    rows: int
    cursor_col: int
    cursor_row: int
    is_alternate: bool
    text: str
    png: bytes | None = None


@dataclass(frozen=True, slots=True)
class TerminalView:
    """A terminal that is open."""

    id: str
    name: str | None
    session: str | None
    shell: str
    cwd: str | None
    cols: int
    rows: int
    quality: str
    is_busy: bool
    command: str | None
    command_id: str | None
    paused_by: str | None
    sandbox: str | None = None  # what confines it, in a few words; None: nothing does


class Terminals(Protocol):
    """Whoever owns terminals. Errors are those of `hermitty.errors`, and say what helps."""

    async def run(
        self,
        line: Line,
        *,
        wait_s: float,
        consent: Consent | None,
        glimpse: Callable[[Glimpse | None], None] | None = None,
    ) -> CommandResult:
        """Run a command and wait for it. Cancelling stops the command.

        While it waits, `glimpse` is told now and then how far it is.
        """

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, session: str, consent: Consent | None
    ) -> ToolResult:
        """Call one of the specification's tools."""

    async def wait(
        self,
        target: str,
        until: Until,
        *,
        timeout_s: float,
        pattern: str | None = None,
        idle_s: float = 2.0,
        glimpse: Callable[[Glimpse | None], None] | None = None,
    ) -> Waited:
        """Wait for something of a command, or of the command of a terminal. Cancelling leaves the command alone."""

    async def read(self, target: str, *, offset: int, limit: int) -> Piece:
        """Read output from a byte on."""

    async def read_lines(self, target: str, *, first: int, count: int, limit: int) -> Piece:
        """Read lines of output."""

    async def search(self, target: str, pattern: str, *, offset: int) -> SearchResult:
        """Find lines of output."""

    async def write(self, target: str, text: str) -> str:
        """Type for the program that runs; return the id of its command."""

    async def press(self, target: str, keys: Sequence[str]) -> str:
        """Press keys for the program that runs; return the id of its command."""

    async def screen(self, terminal: str, *, picture: bool) -> Shown:
        """Look at a terminal."""

    async def listed(self, session: str | None) -> list[TerminalView]:
        """List the terminals of a session, or all."""

    async def open(
        self,
        *,
        session: str,
        cwd: str | None = None,
        shell: str | None = None,
        name: str | None = None,
        env: Mapping[str, str] | None = None,
        cols: int | None = None,
        rows: int | None = None,
        sandbox: SandboxMode | None = None,
    ) -> TerminalView:
        """Open a terminal."""

    async def kill(self, target: str) -> CommandResult | None:
        """Kill a command and return its result, or close a terminal. What is over already stays so."""

    async def check(self, command: str, *, cwd: str | None, shell: str | None, session: str) -> dict[str, Any]:
        """Say what the policy makes of a command."""

    async def hints(self, result: CommandResult) -> list[str]:
        """Say what may help after a failure."""

    def foresee(self, line: Line) -> Question | None:
        """Return the question that a person would be asked about a command."""

    async def recording(self, terminal: str) -> bytes | None:
        """Return the recording of a terminal, None if there is none."""

    def watch(self, listener: "Callable[[Change], None]") -> Callable[[], None]:
        """Tell the listener what changes, in the event loop, until the returned function is called."""

    def release(self, session: str) -> None:
        """End a session; its terminals go on in the background."""

    async def aclose(self) -> None:
        """Stop what calls left behind."""


@dataclass(frozen=True, slots=True)
class Change:
    """Something changed: the output of a terminal, or which terminals there are (`terminal` is None)."""

    terminal: str | None
