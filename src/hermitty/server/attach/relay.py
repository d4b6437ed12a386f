"""One terminal as its viewers see it: what happens to it is told, and what they do reaches it."""

import asyncio
from collections.abc import Callable, Iterable

from hermitty.events import CommandFinished, CommandStarted, CwdChanged, TerminalEnded, TerminalEvent
from hermitty.model import Size
from hermitty.runtime.api import Command, Terminal
from hermitty.server.attach.fanout import Fanout, Viewer
from hermitty.server.attach.later import Later
from hermitty.server.attach.limits import AttachLimits
from hermitty.server.attach.recalling import LINE_CHARACTERS, recall
from hermitty.server.attach.sizing import Decision, Sizing
from hermitty.wire.attach import (
    CommandNotice,
    Cwd,
    Exit,
    Locked,
    Mark,
    Paused,
    Resized,
    ServerMessage,
    Title,
    Typist,
    Viewers,
    text_frame,
)

# States that change faster than this are told together.
_STATE_PAUSE_S = 0.05
# A window that is being dragged asks for a new size with every pixel, and programs redraw for each.
_RESIZE_PAUSE_S = 0.05
# How long viewers that are behind may take to read the last words of a terminal.
_LAST_WORDS_S = 10.0


class Relay:
    """Follows one terminal from its first viewer on until it ends, or until `close`."""

    def __init__(
        self, terminal: Terminal, limits: AttachLimits, commands: Callable[[], Iterable[Command]] = tuple
    ) -> None:
        self.terminal = terminal
        self._loop = asyncio.get_running_loop()
        self._later = Later()
        self._commands = commands  # those that are remembered of this terminal
        self._recalled: tuple[int, Size, list[Mark]] | None = None
        self._fanout = Fanout(terminal, limits, self._later, self._ask_for_turn, self._recall)
        self._turn_is_due = False
        self._has_just_sent = False
        self._events: list[tuple[CommandStarted | CommandFinished, Command | None, int]] = []
        self._title = ""
        self._paused_by: str | None = None
        self._size = terminal.size
        self._sizing = Sizing()
        self._names: dict[int, str] = {}
        self._typist: int | None = None  # whose key was the last
        self._wanted: Decision | None = None
        self._resized_at = float("-inf")
        self._is_closed = False
        self._stop_watching = terminal.watch(self._changed)
        if terminal.cwd is not None:
            self._set_state(Cwd(terminal.cwd))

    @property
    def count(self) -> int:
        """How many watch."""
        return self._fanout.count

    def close(self) -> None:
        """Stop following the terminal. Viewers may still leave."""
        self._is_closed = True
        self._fanout.is_leaving = True
        self._stop_watching()
        self._later.cancel()

    def _recall(self) -> list[Mark]:
        """Find the commands on the screen, once for all who come at the same offset."""
        end, size, known = self.terminal.log.end, self.terminal.size, self._recalled
        if known is None or known[:2] != (end, size):
            known = self._recalled = (end, size, recall(self.terminal, self._commands()))
        return known[2]

    # Viewers come, go and acknowledge.

    def attach(self, viewer: Viewer, since: int | None) -> None:
        """Bring a viewer to the end of the output, in this very step; from here on it is sent what comes."""
        self._turn()
        self._names[viewer.number] = viewer.name
        self._fanout.attach(viewer, since)
        self._set_state(Viewers(self.count))

    def detach(self, viewer: Viewer) -> None:
        """Forget a viewer."""
        self._fanout.detach(viewer)
        had_lock = self._sizing.holder == viewer.number
        self._decided(self._sizing.leave(viewer.number))
        self._names.pop(viewer.number, None)
        if had_lock:
            self._set_state(Locked(False))
        self._set_state(Viewers(self.count))
        if self._is_closed and not self.count:
            self._later.cancel()

    def acked(self, viewer: Viewer, offset: int) -> None:
        """Note what a viewer has handled."""
        self._fanout.acked(viewer, offset)

    # What viewers do to the terminal.

    def typed(self, viewer: Viewer, data: bytes) -> None:
        """Type what a viewer typed. Raises what the terminal raises."""
        if decision := self._sizing.typed(viewer.number, data):
            self._wanted = decision
        self._resize()  # without a pause: what is typed may look at the size
        self.terminal.write(data)
        if viewer.number != self._typist:
            self._typist = viewer.number
            self._set_state(Typist(viewer.name, viewer.number))

    def wishes(self, viewer: Viewer, size: Size) -> None:
        """Note the size that a viewer has room for."""
        self._decided(self._sizing.resize(viewer.number, size))

    def shown(self, viewer: Viewer, *, visible: bool) -> None:
        """Note whether a viewer's page can be seen."""
        self._decided(self._sizing.show(viewer.number, visible=visible))

    def lock(self, viewer: Viewer, *, locked: bool) -> bool:
        """Let one viewer decide the size, or everybody; tell whether that was done, as nobody else holds it."""
        self._decided(self._sizing.lock(viewer.number) if locked else self._sizing.unlock())
        holder = self._sizing.holder
        self._set_state(Locked(holder is not None, None if holder is None else self._names[holder]))
        return holder == (viewer.number if locked else None)

    # What happens to the terminal.

    def on_event(self, event: TerminalEvent) -> None:
        """Take what the runtime tells about this terminal. Called in the midst of the terminal's work."""
        match event:
            case CommandStarted():
                self._events.append((event, self.terminal.current, self.terminal.log.end))
                self._ask_for_turn()
            case CommandFinished():
                self._events.append((event, self.terminal.last, self.terminal.log.end))
                self._ask_for_turn()
            case CwdChanged(_, cwd):
                self._set_state(Cwd(cwd))
            case TerminalEnded(_, reason):
                self._end(reason)

    def look(self, by: str | None) -> None:
        """Look for what others have just changed: the size, who has paused it."""
        if not self._is_closed:
            self._settle_events()
            self._note_size(by, self.terminal.log.end)
            self._ask_for_turn()

    def _turn(self) -> None:
        """Send what is new, in one turn of the event loop."""
        self._turn_is_due = False
        if not self._is_closed:
            self._note_size(None, self._fanout.position)
        self._settle_events()
        self._fanout.flush()
        if not self._is_closed:
            self._note_states()  # told a moment later, so output need not wait for it

    def _changed(self) -> None:
        """Send what is new at once: a key's echo waits for nothing. What follows in the same turn is sent together."""
        if self._turn_is_due or self._has_just_sent:
            self._ask_for_turn()
        else:
            self._has_just_sent = True
            self._loop.call_soon(self._turn_is_over)
            self._turn()

    def _turn_is_over(self) -> None:
        self._has_just_sent = False

    def _ask_for_turn(self) -> None:
        if not self._turn_is_due:
            self._turn_is_due = True
            self._loop.call_soon(self._turn)

    def _settle_events(self) -> None:
        """Give the events of commands their place in the output, which is known when the terminal is through."""
        events, self._events = self._events, []
        for event, command, end in events:
            line = event.command[:LINE_CHARACTERS] if event.command else event.command
            if isinstance(event, CommandStarted):
                at = _place(command.output_from if command else None, end, self._fanout.position)
                notice = CommandNotice("started", event.command_id, line, event.source, at)
            else:
                at = _place(command.output_to if command else None, end, self._fanout.position)
                notice = CommandNotice("ended", event.command_id, line, event.source, at, event.exit_code)
            self._fanout.add_notice(at, notice)

    def _end(self, reason: str) -> None:
        self._turn()
        self.close()
        status = self.terminal.exit_status
        self._fanout.end(Exit(reason, status.code if status is not None else None))
        self._later.do("last words", self._fanout.give_up, after_s=_LAST_WORDS_S)

    # States.

    def _note_states(self) -> None:
        if (title := self.terminal.screen.title) != self._title:
            self._title = title
            self._set_state(Title(title))
        if (paused_by := self.terminal.paused_by) != self._paused_by:
            self._paused_by = paused_by
            self._set_state(Paused(paused_by))

    def _set_state(self, message: ServerMessage) -> None:
        frame = text_frame(message)
        if self._fanout.states.get(message.type) != frame and not self._is_closed:
            self._fanout.states[message.type] = frame
            self._later.do("states", self._fanout.tell_states, after_s=_STATE_PAUSE_S)

    # Sizes.

    def _decided(self, decision: Decision | None) -> None:
        if decision is None or self._is_closed:
            return
        self._wanted = decision
        pause_s = self._resized_at + _RESIZE_PAUSE_S - self._later.now()
        if pause_s > 0:
            self._later.do("resize", self._resize, after_s=pause_s)
        else:
            self._resize()

    def _resize(self) -> None:
        wanted, self._wanted = self._wanted, None
        if wanted is None or wanted.size == self.terminal.size:
            return
        self._resized_at = self._later.now()
        self._settle_events()
        self._note_size(None, self.terminal.log.end)
        self.terminal.resize(wanted.size.cols, wanted.size.rows)
        self._note_size(self._names.get(wanted.viewer), self.terminal.log.end)

    def _note_size(self, by: str | None, offset: int) -> None:
        """Tell everybody a size that is new."""
        before, self._size = self._size, self.terminal.size
        if self._size != before:
            self._fanout.add_notice(offset, Resized(self._size.cols, self._size.rows, by), size_before=before)
            self._ask_for_turn()


def _place(at: int | None, end: int, sent: int) -> int:
    """Choose the offset of an event: where it says, not behind what was there when it came, nor in what was sent."""
    return max(end if at is None else min(at, end), sent)
