"""From markers to commands: when the shell is ready, when a command starts, what its output is and how it ended.

The tracker is told what the engine submits and what the scanner finds, and answers with events. Rules it keeps:

- Only trusted markers count (those with the terminal's nonce), unless it was made for a foreign shell (`trust_all`).
- Output is what lies between C and D. Further C markers inside are the shell's own (one for each line of a script).
- D without C means that nothing was executed: an empty line, Ctrl-C at the prompt, or a syntax error. For a line we
  submitted, what the shell said after its line editor closed is the output.
- Out of turn markers change nothing. So does the end of anything before the shell has taken a line that it confirms:
  somebody broke off what stood at the prompt, and our line comes next.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

from hermitty.vt.markers import Marker, Piece, Text, property_of, unescape

# Line editors switch bracketed paste off when they have read a line; what follows is no longer echo.
_EDITOR_CLOSED = b"\x1b[?2004l"
# How much of the echo of a submitted line is kept to find that place.
_ECHO_LIMIT = 64 * 1024
# A shell that prints something of its own after C does so at once; more than this is the command's.
_PRELUDE_LIMIT = 8 * 1024


class Phase(Enum):
    """What the shell is doing."""

    STARTING = auto()
    AT_PROMPT = auto()
    SUBMITTED = auto()  # we sent a line; nothing of it has started yet
    CONTINUATION = auto()  # the shell asks for the rest of the line
    RUNNING = auto()
    BETWEEN = auto()  # a command ended, the next prompt is not there yet


@dataclass(frozen=True, slots=True)
class PromptReady:
    """The line editor waits for a command."""


@dataclass(frozen=True, slots=True)
class CommandBegan:
    """A command's output starts at `offset`. `line` is what the shell says it runs, where it says so."""

    offset: int
    line: str | None


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes that the running command printed."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class CommandFinished:
    """The command is over. `ran` is false when the shell executed nothing; `exit_code` may be unknown.

    `line` is what the shell says it ran, where it says so only now.
    """

    offset: int
    exit_code: int | None
    ran: bool
    line: str | None = None
    hooks_lost: bool = False  # the end was told by the prompt alone: the hooks must be installed again


@dataclass(frozen=True, slots=True)
class MoreInputWanted:
    """The shell read the submitted line and waits for the rest of it."""


@dataclass(frozen=True, slots=True)
class PropertyReported:
    """The shell reported a property: Cwd, Editor and so on."""

    name: str
    value: bytes


Event = PromptReady | CommandBegan | Output | CommandFinished | MoreInputWanted | PropertyReported


@dataclass(frozen=True, slots=True)
class TrackerState:
    """Where a tracker stands, for another one to go on from."""

    phase: Phase
    held: bytes | None
    line: str | None
    echo: bytes
    unconfirmed: bool


class CommandTracker:
    """Follows one shell."""

    def __init__(self, *, trust_all: bool = False, prelude: re.Pattern[bytes] | None = None) -> None:
        self.phase = Phase.STARTING
        self._trust_all = trust_all
        self._prelude = prelude
        self._held: bytearray | None = None  # what may still turn out to be the shell's prelude
        self._line: str | None = None
        self._echo = bytearray()
        self._unconfirmed = False

    @property
    def state(self) -> TrackerState:
        """Return where it stands."""
        held = None if self._held is None else bytes(self._held)
        return TrackerState(self.phase, held, self._line, bytes(self._echo), self._unconfirmed)

    def go_on_from(self, state: TrackerState) -> None:
        """Stand where another one stood."""
        self.phase = state.phase
        self._held = None if state.held is None else bytearray(state.held)
        self._line = state.line
        self._echo = bytearray(state.echo)
        self._unconfirmed = state.unconfirmed

    def submitted(self, *, is_confirmed: bool = False) -> None:
        """Note that a line was sent to the shell, which will confirm it with Line=taken or not."""
        self.phase = Phase.SUBMITTED
        self._unconfirmed = is_confirmed
        self._line = None
        self._echo.clear()

    def feed(self, piece: Piece) -> list[Event]:
        """Take the next piece of the stream."""
        if isinstance(piece, Text):
            return self._bytes(piece.start, piece.data)
        if not (piece.trusted or self._trust_all):
            return self._bytes(piece.start, piece.raw)
        return self._marker(piece)

    def _bytes(self, offset: int, data: bytes) -> list[Event]:
        if self.phase is Phase.RUNNING:
            return [Output(offset, data)] if self._held is None else self._past_prelude(offset, data)
        if self.phase is Phase.SUBMITTED:
            self._echo += data[-_ECHO_LIMIT:]
            del self._echo[:-_ECHO_LIMIT]
        return []

    def _marker(self, marker: Marker) -> list[Event]:
        match marker.code:
            case "A":
                return self._prompt_starts(marker)
            case "B":
                return self._prompt_ends()
            case "C":
                return self._output_starts(marker)
            case "D":
                # Where the shell is then may come with it: that is one marker less for every command.
                place = self._reported(property_of(marker.fields[1])) if len(marker.fields) > 1 else []
                return place + self._finished(marker.start, _exit_code(marker.fields))
            case "E":
                # Before C where the shell has a hook there, else (bash) just before D.
                self._line = unescape(marker.fields[0]).decode("utf-8", "replace") if marker.fields else None
                return []
            case "F" if self.phase is Phase.SUBMITTED:
                self.phase = Phase.CONTINUATION
                return [MoreInputWanted()]
            case "F" if self.phase is Phase.BETWEEN:
                # After an open quote inside eval, bash draws its second prompt once, and reads a new line.
                return self._prompt_ends()
            case "P":
                return self._reported(marker.property)
        return []

    def _reported(self, reported: tuple[str, bytes] | None) -> list[Event]:
        if reported is None:
            return []
        if reported == ("Line", b"taken"):
            self._unconfirmed = False
            return []
        return [PropertyReported(*reported)]

    def _prompt_starts(self, marker: Marker) -> list[Event]:
        # The prompt itself carries the exit code ("A;code"), so that a command that removes our hooks still has one.
        if self.phase is Phase.RUNNING and marker.fields:
            return self._finished(marker.start, _exit_code(marker.fields), hooks_lost=True)
        return []

    def _prompt_ends(self) -> list[Event]:
        # A prompt drawn while a line is on its way is a redraw by the line editor.
        if self.phase in (Phase.STARTING, Phase.BETWEEN):
            self.phase = Phase.AT_PROMPT
            return [PromptReady()]
        return []

    def _output_starts(self, marker: Marker) -> list[Event]:
        if self.phase in (Phase.AT_PROMPT, Phase.SUBMITTED, Phase.CONTINUATION):
            self.phase = Phase.RUNNING
            line, self._line = self._line, None
            self._echo.clear()
            self._held = bytearray() if self._prelude is not None else None
            return [CommandBegan(marker.end, line)]
        return []

    def _past_prelude(self, offset: int, data: bytes) -> list[Event]:
        """Hold bytes back until they are known to be the shell's own prelude (escape sequences), or not."""
        assert self._prelude is not None
        assert self._held is not None
        start = offset - len(self._held)
        self._held += data
        found = self._prelude.match(self._held)
        if found is None and self._held.startswith(b"\x1b") and len(self._held) < _PRELUDE_LIMIT:
            return []
        rest = bytes(self._held[found.end() :] if found else self._held)
        skipped = len(self._held) - len(rest)
        self._held = None
        return [Output(start + skipped, rest)] if rest else []

    def _rest_of_prelude(self, end: int) -> list[Event]:
        """Return what was held back and is no prelude, now that nothing more comes."""
        held, self._held = self._held, None
        if not held:
            return []
        assert self._prelude is not None
        found = self._prelude.match(held + b"\0")  # something that follows, and belongs to no prelude
        rest = bytes(held[found.end() :] if found else held)
        return [Output(end - len(rest), rest)] if rest else []

    def _finished(self, offset: int, exit_code: int | None, *, hooks_lost: bool = False) -> list[Event]:
        phase, self.phase = self.phase, Phase.BETWEEN
        match phase:
            case Phase.RUNNING:
                rest = self._rest_of_prelude(offset)
                line, self._line = self._line, None
                return [*rest, CommandFinished(offset, exit_code, ran=True, line=line, hooks_lost=hooks_lost)]
            case Phase.SUBMITTED if self._unconfirmed:
                self.phase = Phase.SUBMITTED
            case Phase.SUBMITTED:
                said = self._said_instead()
                self._echo.clear()
                start = offset - len(said)
                told: list[Event] = [Output(start, said)] if said else []
                return [CommandBegan(start, None), *told, CommandFinished(offset, exit_code, ran=bool(said))]
            case Phase.CONTINUATION:
                return [CommandFinished(offset, None, ran=False)]
            case Phase.STARTING:
                self.phase = Phase.STARTING
        return []

    def _said_instead(self) -> bytes:
        """Return what the shell printed after its line editor closed: the message of a syntax error."""
        _, closed, said = bytes(self._echo).rpartition(_EDITOR_CLOSED)
        # Editors end the echoed line after switching the paste mode off, in one of these ways.
        for line_end in (b"\r\r\n", b"\r\n", b"\r"):
            if said.startswith(line_end):
                return said.removeprefix(line_end) if closed else b""
        return said if closed else b""


def _exit_code(fields: tuple[bytes, ...]) -> int | None:
    if fields and fields[0].isdigit() and len(fields[0]) <= 3:
        return int(fields[0])
    return None
