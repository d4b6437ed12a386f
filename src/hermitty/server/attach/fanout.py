"""Brings the output of one terminal to everybody who watches it.

Output is read from the log once a turn of the event loop, put into one frame, and written to every viewer that has all
before it. A viewer that cannot take it (its connection is stalled, or its window is full) is *behind*: it goes on from
the log by itself, with its own offset, and joins the others when it has everything. One that is behind for longer than
the log reaches is shown the screen instead. Nobody waits for a viewer, and no viewer has a queue.

Besides bytes there are notices, which have a place in the output (commands, sizes, the end), and states, of which only
the newest counts (directory, title, who types).
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from hermitty.model import Size
from hermitty.runtime.api import Terminal
from hermitty.server.attach.later import Later
from hermitty.server.attach.limits import AttachLimits
from hermitty.server.attach.painting import paint
from hermitty.server.attach.timeline import Entry, Timeline
from hermitty.server.attach.viewer import Cursor, Repaint, Send, Wait
from hermitty.wire.attach import (
    CloseCode,
    Hello,
    Replay,
    Reset,
    Resized,
    ServerMessage,
    Snapshot,
    binary_frame,
    text_frame,
)

# Bytes of one frame: what a PTY gives in one turn, and some more.
_FRAME_BYTES = 128 * 1024
# To be shown the screen anew costs us more than bytes do: no viewer is more often than this.
_PAINT_PAUSE_S = 0.1
_OVER = "the terminal has ended"


class Link(Protocol):
    """The connection of a viewer."""

    @property
    def is_stalled(self) -> bool:
        """Whether so much waits to be sent that more must not be added."""

    def write(self, frame: bytes) -> None:
        """Send whole frames, in order."""

    def when_drained(self, callback: Callable[[], None]) -> None:
        """Call back once when what was written has been taken. While that is awaited, asking again changes nothing."""

    def end(self, code: CloseCode, reason: str) -> None:
        """Close it, once what was written has been taken."""


class Viewer:
    """Somebody who watches a terminal."""

    def __init__(
        self,
        number: int,
        name: str,
        link: Link,
        *,
        may_type: bool,
        history: bool,
        marks: bool = False,
        may_touch: Callable[[str], bool] = lambda taken_by: True,
    ) -> None:
        self.number = number
        self.name = name
        self.link = link
        self.may_type = may_type
        self.may_touch = may_touch  # what somebody took over
        self.history = history
        self.marks = marks  # whether it is told which commands a snapshot shows
        self.cursor = Cursor(0, 0)
        self.notice = 0  # the number of the next notice
        self.told: dict[str, bytes] = {}  # the states it knows
        self.painted_at = float("-inf")

    def tell(self, message: ServerMessage) -> None:
        """Send a message."""
        self.link.write(text_frame(message))


class Fanout:
    """The viewers of one terminal, those that have everything and those that are behind."""

    def __init__(
        self,
        terminal: Terminal,
        limits: AttachLimits,
        later: Later,
        ask_for_turn: Callable[[], None],
        recall: Callable[[], Iterable[ServerMessage]] = tuple,
    ) -> None:
        self.states: dict[str, bytes] = {}  # frames by type
        self.position = terminal.log.end  # what the viewers that are up to date have been sent
        self.is_over = False
        self.is_leaving = False  # the server ends, and viewers may come back to the next one
        self._terminal = terminal
        self._limits = limits
        self._later = later
        self._ask_for_turn = ask_for_turn
        self._recall = recall  # the commands that are on the screen and above it
        self._live: set[Viewer] = set()
        self._behind: set[Viewer] = set()
        self._unpainted: set[Viewer] = set()  # of those behind: to be shown the screen at the end of the turn
        self._timeline = Timeline()
        self._noticed = 0  # the number of the next notice for those that are up to date
        self._picture: tuple[int, Size, int, bytes] | None = None
        self._last_picture: bytes | None = None

    @property
    def count(self) -> int:
        """How many watch."""
        return len(self._live) + len(self._behind)

    # Viewers come, go and catch up. All of it between turns: the terminal's output is sent as far as it goes.

    def attach(self, viewer: Viewer, since: int | None) -> None:
        """Greet a viewer and bring it to the end of the output; `since` is the offset of the first byte it lacks."""
        terminal, window = self._terminal, self._limits.window_bytes
        if since is not None and terminal.log.start <= since <= self.position:
            viewer.cursor = Cursor(since, window)
            viewer.notice = self._timeline.since(since)
            size = self._timeline.size_at(since, terminal.size)
            self._greet(viewer, size, "none" if since == self.position else "bytes")
            self._fall_behind(viewer)
        else:
            viewer.cursor = Cursor(self.position, window)
            self._greet(viewer, terminal.size, "snapshot")
            self._paint(viewer, reset=since is not None)

    def detach(self, viewer: Viewer) -> None:
        """Forget a viewer."""
        for group in (self._live, self._behind, self._unpainted):
            group.discard(viewer)
        if not self.is_leaving:
            self._terminal.viewing.counted(len(self._live))

    def acked(self, viewer: Viewer, offset: int) -> None:
        """Note what a viewer has handled."""
        viewer.cursor.ack(offset)
        self.catch_up(viewer)

    def catch_up(self, viewer: Viewer) -> None:
        """Send a viewer that is behind as much as it takes."""
        log, cursor, link = self._terminal.log, viewer.cursor, viewer.link
        while viewer in self._behind:
            notice = self._timeline.next(viewer.notice) if viewer.notice < self._noticed else None
            if notice is not None and notice.offset <= cursor.offset and not link.is_stalled:
                link.write(notice.frame)
                viewer.notice = notice.number + 1
                continue
            end = self.position if notice is None else min(notice.offset, self.position)
            match cursor.step(start=log.start, end=end, stalled=link.is_stalled):
                case Send(until):
                    link.write(binary_frame(log.read(cursor.offset, until).data))
                    cursor.offset = until
                case Repaint():
                    self._paint_later(viewer)
                    return
                case Wait.STALLED:
                    link.when_drained(lambda: self.catch_up(viewer))
                    return
                case Wait.WINDOW:
                    return
                case Wait.NOTHING:
                    self._join(viewer)

    # What there is to send.

    def add_notice(self, offset: int, message: ServerMessage, *, size_before: Size | None = None) -> None:
        """Put a message before the byte at `offset`, which has not been sent yet."""
        self._timeline.add(max(offset, self.position), text_frame(message), size_before=size_before)

    def flush(self) -> None:
        """Send everything that is new to all who have what is before it."""
        end = self._terminal.log.end
        while True:
            notice = self._timeline.next(self._noticed)
            stop = end if notice is None else min(notice.offset, end)
            if self.position < stop:
                self._send(min(stop, self.position + _FRAME_BYTES))
            elif notice is not None:
                self._send_notice(notice)
            else:
                break
        while self._unpainted:
            viewer = self._unpainted.pop()
            if viewer.link.is_stalled:  # since it asked
                self.catch_up(viewer)
            else:
                self._paint(viewer, reset=True)

    def tell_states(self) -> None:
        """Tell everybody who is up to date the states that are new; the others are told when they are."""
        for viewer in tuple(self._live):
            if viewer.link.is_stalled:
                self._fall_behind(viewer)
            else:
                self._tell_states_to(viewer)

    def end(self, message: ServerMessage) -> None:
        """Send the last message, and say goodbye to everybody who has got it. The screen is not needed afterwards."""
        self.flush()
        if self._behind:
            self._last_picture = self._painted(0)
        self.tell_states()
        self.is_over = True
        self.add_notice(self.position, message)
        self.flush()
        for viewer in self._live:
            viewer.link.end(CloseCode.OVER, _OVER)

    def give_up(self) -> None:
        """Say goodbye to those that are behind, too."""
        for viewer in self._behind:
            viewer.link.end(CloseCode.OVER, _OVER)

    def _send(self, until: int) -> None:
        """Send the next bytes to everybody who is up to date."""
        since, self.position = self.position, until
        self._picture = None
        if not self._live:
            return
        piece = self._terminal.log.read(since, until)
        frame = binary_frame(piece.data)
        size = until - since
        late = []
        for viewer in self._live:
            # Bytes are missing when more than the log holds came in one turn.
            if piece.missed or viewer.link.is_stalled or not viewer.cursor.takes(size):
                late.append(viewer)
            else:
                viewer.link.write(frame)
                viewer.cursor.offset = until
        for viewer in late:
            self._fall_behind(viewer)

    def _send_notice(self, notice: Entry) -> None:
        self._noticed = notice.number + 1
        for viewer in tuple(self._live):
            if viewer.link.is_stalled:
                self._fall_behind(viewer)
            else:
                viewer.link.write(notice.frame)
                viewer.notice = self._noticed

    def _tell_states_to(self, viewer: Viewer) -> None:
        for name, frame in self.states.items():
            if viewer.told.get(name) is not frame:
                viewer.told[name] = frame
                viewer.link.write(frame)

    def _fall_behind(self, viewer: Viewer) -> None:
        self._live.discard(viewer)
        self._behind.add(viewer)
        self.catch_up(viewer)

    def _join(self, viewer: Viewer) -> None:
        """Count a viewer among those that have everything."""
        self._behind.discard(viewer)
        self._live.add(viewer)
        self._terminal.viewing.counted(len(self._live))
        self._tell_states_to(viewer)
        if self.is_over:
            viewer.link.end(CloseCode.OVER, _OVER)

    def _greet(self, viewer: Viewer, size: Size, replay: Replay) -> None:
        offset = viewer.cursor.offset
        viewer.tell(
            Hello(self._terminal.id, offset, size.cols, size.rows, replay, viewer.number, may_type=viewer.may_type)
        )

    # Painting.

    def _paint_later(self, viewer: Viewer) -> None:
        """Show a viewer the screen at the end of a turn: what has been sent and what is on the screen agree then."""
        pause_s = viewer.painted_at + _PAINT_PAUSE_S - self._later.now()
        if pause_s > 0 and not self.is_over:
            self._later.do(f"paint {viewer.number}", lambda: self.catch_up(viewer), after_s=pause_s)
        else:
            self._unpainted.add(viewer)
            self._ask_for_turn()

    def _paint(self, viewer: Viewer, *, reset: bool) -> None:
        """Show a viewer the screen, and go on with it from here."""
        picture = self._painted(self._limits.history_bytes if viewer.history else 0)
        if reset:
            size = self._terminal.size
            viewer.tell(Reset(self.position))
            viewer.tell(Resized(size.cols, size.rows))
        viewer.tell(Snapshot(len(picture)))
        viewer.link.write(binary_frame(picture))
        if viewer.marks and viewer.history and self._last_picture is None:
            for mark in self._recall():
                viewer.tell(mark)
        viewer.cursor.jump(self.position)
        # What a picture shows needs no notice; only the end does.
        viewer.notice = self._noticed - self.is_over
        viewer.painted_at = self._later.now()
        self._fall_behind(viewer)

    def _painted(self, history_bytes: int) -> bytes:
        """Paint the screen, once for all who come at the same offset."""
        if self._last_picture is not None:
            return self._last_picture
        size = self._terminal.size
        known = self._picture
        if known is None or known[:3] != (self.position, size, history_bytes):
            picture = paint(self._terminal.screen, rows=size.rows, history_bytes=history_bytes)
            known = self._picture = (self.position, size, history_bytes, picture)
        return known[3]
