"""Where one viewer is in the output, and what may be sent to it next.

A viewer is an offset into the terminal's log; there is no queue. It may always be sent bytes unless its connection is
stalled; after its first acknowledgement, also not more than a window of bytes that it has not acknowledged.
"""

from dataclasses import dataclass
from enum import Enum, auto

# One frame for a viewer that catches up.
CHUNK_BYTES = 64 * 1024


class Wait(Enum):
    """Why nothing can be sent."""

    STALLED = auto()  # until the connection has taken what was written
    WINDOW = auto()  # until the viewer acknowledges more
    NOTHING = auto()  # it has everything


@dataclass(frozen=True, slots=True)
class Send:
    """Send the bytes from the cursor up to `until`."""

    until: int


@dataclass(frozen=True, slots=True)
class Repaint:
    """The next byte is no longer there: only the screen can be shown."""


Step = Wait | Send | Repaint


class Cursor:
    """The place of a viewer in the output."""

    __slots__ = ("_acked", "_first", "offset", "window_bytes")

    def __init__(self, offset: int, window_bytes: int) -> None:
        self.offset = offset  # of the next byte to send
        self.window_bytes = window_bytes
        self._first = offset  # nothing before was sent, and need not be acknowledged
        self._acked: int | None = None

    @property
    def in_flight(self) -> int:
        """How many bytes are sent and not acknowledged; 0 for a viewer that never acknowledges."""
        return 0 if self._acked is None else self.offset - self._acked

    def ack(self, offset: int) -> None:
        """Note what the viewer has handled: never less than before, nor more than it was sent."""
        self._acked = min(max(offset, self._acked or self._first), self.offset)

    def takes(self, size: int) -> bool:
        """Tell whether the window has room for so many bytes more."""
        return self._acked is None or self.offset + size - self._acked <= self.window_bytes

    def jump(self, offset: int) -> None:
        """Go on at another offset, behind a gap. What the viewer has not acknowledged is gone with it."""
        self.offset = self._first = offset
        if self._acked is not None:
            self._acked = offset

    def step(self, *, start: int, end: int, stalled: bool) -> Step:
        """Say what to do, given the offsets between which there are bytes to send."""
        if stalled:
            return Wait.STALLED
        if self.offset >= end:
            return Wait.NOTHING
        if not self.takes(1):
            return Wait.WINDOW
        if self.offset < start:
            return Repaint()
        until = min(end, self.offset + CHUNK_BYTES)
        if self._acked is not None:
            until = min(until, self._acked + self.window_bytes)
        return Send(until)
