"""The newest control messages of a terminal, each at its place in the output.

Viewers that are behind, or come back, get them between the right bytes. Like the log, the timeline keeps what is
newest, within a limit; a viewer has a place in it.
"""

from collections import deque
from dataclasses import dataclass

from hermitty.model import Size

# A command a second for some minutes, or a few long command lines.
_LIMIT_ENTRIES = 512
_LIMIT_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """A message that stands before the byte at `offset`. `size_before` is set where it tells a new size."""

    number: int
    offset: int
    frame: bytes
    size_before: Size | None = None


class Timeline:
    """Messages by number; their offsets never go down."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self.end = 0  # the number of the next one

    def add(self, offset: int, frame: bytes, *, size_before: Size | None = None) -> Entry:
        """Put a message at an offset, or as early as those before it allow."""
        if self._entries:
            offset = max(offset, self._entries[-1].offset)
        entry = Entry(self.end, offset, frame, size_before)
        self.end += 1
        self._entries.append(entry)
        self._bytes += len(frame)
        while len(self._entries) > 1 and (len(self._entries) > _LIMIT_ENTRIES or self._bytes > _LIMIT_BYTES):
            self._bytes -= len(self._entries.popleft().frame)
        return entry

    def next(self, number: int) -> Entry | None:
        """Return the first message from `number` on that is still there."""
        if number >= self.end:
            return None
        return self._entries[max(0, number - self._entries[0].number)]

    def since(self, offset: int) -> int:
        """Return the number of the first message that a viewer which has all bytes before `offset` may lack."""
        return next((entry.number for entry in self._entries if entry.offset >= offset), self.end)

    def size_at(self, offset: int, current: Size) -> Size:
        """Return the size that the terminal had when the byte at `offset` was printed, as far as is known."""
        sizes = (entry.size_before for entry in self._entries if entry.offset >= offset)
        return next((size for size in sizes if size is not None), current)
