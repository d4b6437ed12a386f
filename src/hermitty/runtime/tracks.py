"""What is remembered of each terminal beside its log: recent commands, context, heat, and who was told what.

A reader (usually a session) is told every piece of output once. What `run` returned to it counts as told.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from hermitty.config import Settings
from hermitty.engine.command import Command
from hermitty.engine.terminal import Terminal
from hermitty.model import CommandId, TerminalId
from hermitty.output.boundary import safe_end
from hermitty.output.context import ContextBuffer
from hermitty.output.hot import Heat
from hermitty.vt.plain import plain_text

# How many finished commands of a terminal are remembered for readers who were not told of them yet.
_COMMANDS = 40
# More than the longest beginning of something that `safe_end` waits for.
_TAIL_BYTES = 512


@dataclass(frozen=True, slots=True)
class News:
    """What a reader has not been told of one command. `missed` bytes are no longer in memory."""

    command: Command
    text: str
    missed: int
    is_over: bool


@dataclass(slots=True)
class _Position:
    offset: int | None = None  # None: nothing was told yet
    is_over: bool = False


@dataclass(slots=True)
class Track:
    """One terminal."""

    context: ContextBuffer
    commands: deque[Command] = field(default_factory=deque)
    heat: Heat | None = None
    told: dict[str, dict[CommandId, _Position]] = field(default_factory=dict)  # of `commands` only

    def add(self, command: Command) -> None:
        """Remember a command, and forget the oldest one if there are too many."""
        if len(self.commands) == _COMMANDS:
            oldest = self.commands.popleft()
            for positions in self.told.values():
                positions.pop(oldest.id, None)
        self.commands.append(command)

    def position(self, reader: str, command: Command) -> _Position:
        """Return how far a reader was told of a command."""
        return self.told.setdefault(reader, {}).setdefault(command.id, _Position())


class Tracks:
    """All terminals. Told by the recorder, asked by reports."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._tracks: dict[TerminalId, Track] = {}

    def of(self, terminal_id: TerminalId) -> Track:
        """Return what is remembered of a terminal."""
        track = self._tracks.get(terminal_id)
        if track is None:
            track = self._tracks[terminal_id] = Track(ContextBuffer(self._settings().output.context_records))
        return track

    def forget(self, terminal_id: TerminalId) -> None:
        """Drop everything about a terminal that is gone."""
        self._tracks.pop(terminal_id, None)

    def began(self, terminal: Terminal, command: Command) -> None:
        """Note a command."""
        track = self.of(terminal.id)
        track.add(command)
        hot = self._settings().session
        now = time.monotonic()
        track.heat = Heat(command.line or "", now=now, plain_s=hot.hot_s, compiling_s=hot.hot_compiler_s)

    def output(self, terminal: Terminal, data: bytes) -> None:
        """Note output."""
        track = self.of(terminal.id)
        track.context.append(data)
        if track.heat is not None:
            track.heat.on_output(data, time.monotonic())

    def ended(self, terminal: Terminal) -> None:
        """Note that the command is over."""
        heat = self.of(terminal.id).heat
        if heat is not None:
            heat.on_finished()

    def is_hot(self, terminal_id: TerminalId) -> bool:
        """Tell whether more output is likely to follow soon."""
        heat = self.of(terminal_id).heat
        return heat is not None and heat.is_hot(time.monotonic())

    def tell(self, reader: str, command: Command, terminal_id: TerminalId) -> None:
        """Note that a reader was given the result of a command as it stands."""
        track = self._tracks.get(terminal_id)
        if track is None or command not in track.commands:
            return  # the terminal ended with the command, or many came after it: nothing more will be told of it
        position = track.position(reader, command)
        position.is_over = not command.is_running
        if command.output_to is not None:
            last = command.output(max(0, command.output_to - _TAIL_BYTES)).data
            # A character of which a part was there is told again, as a whole.
            position.offset = command.output_to - (len(last) - safe_end(last))

    def forget_reader(self, reader: str) -> None:
        """Drop what a reader was told; it will not ask again."""
        for track in self._tracks.values():
            track.told.pop(reader, None)

    def news(self, reader: str, terminal_id: TerminalId) -> list[News]:
        """Return what a reader was not told yet, in order; from now on it was."""
        found = []
        track = self.of(terminal_id)
        for command in track.commands:
            news = self._news_of(command, track.position(reader, command))
            if news is not None:
                found.append(news)
        return found

    def _news_of(self, command: Command, position: _Position) -> News | None:
        if position.is_over:
            return None
        is_over = not command.is_running
        if position.offset is None and is_over:
            # Never told of it: the whole result, bounded and made readable.
            position.is_over = True
            return News(command, command.result().text, 0, is_over=True)
        piece = command.output(position.offset)
        end = len(piece.data) if is_over else safe_end(piece.data)
        if end or piece.missed:
            position.offset = piece.offset + end
        position.is_over = is_over
        if not (end or piece.missed or is_over):
            return None
        return News(command, plain_text(piece.data[:end]), piece.missed, is_over)
