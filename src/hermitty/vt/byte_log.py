"""The newest bytes of a stream, addressed by absolute offset.

Offset 0 is the first byte ever appended; offsets never change and never start again. The log keeps exactly
the newest `limit_bytes`; a reader who comes too late learns how much it missed.

Chunks are kept as they come, without a copy, because a flood arrives as immutable chunks of 4 to 64 KB.
Small chunks (keystroke echo, a progress bar) are gathered first, so that a byte at a time does not cost an
object each.
"""

from collections import deque
from dataclasses import dataclass

from hermitty.errors import InvalidRequest

# A chunk at least this long is worth an object of its own: about 50 bytes of overhead for 2048.
_OWN_BLOCK_BYTES = 2048
# Small chunks are gathered up to here.
_GATHER_BYTES = 16 * 1024
# Longer chunks are split: a block leaves as a whole, so this is how far memory may exceed the limit.
_MAX_BLOCK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class LogSlice:
    """Bytes of a log. `offset` is where `data` begins; `missed` bytes of the asked range are gone."""

    offset: int
    data: bytes
    missed: int

    @property
    def end(self) -> int:
        """The offset just after `data`, where the next read goes on."""
        return self.offset + len(self.data)


class ByteLog:
    """Keeps the newest `limit_bytes` of everything appended; a log that goes on from another one has its `start`."""

    __slots__ = ("_blocks", "_end", "_first", "_gathered", "_held", "_limit")

    def __init__(self, limit_bytes: int, *, start: int = 0) -> None:
        if limit_bytes < 0:
            raise InvalidRequest(f"a log cannot keep {limit_bytes} bytes; use zero or more")
        self._limit = limit_bytes
        self._first = self._end = start
        self._blocks: deque[bytes] = deque()
        # Comes after every block. Blocks and gathered bytes together are the last `_held` bytes before
        # `_end`: all that can be read, and up to one block more.
        self._gathered = bytearray()
        self._held = 0

    @property
    def limit_bytes(self) -> int:
        """How many bytes are kept at most."""
        return self._limit

    @property
    def start(self) -> int:
        """The offset of the oldest byte that can still be read."""
        return max(self._first, self._end - self._limit)

    @property
    def end(self) -> int:
        """The offset that the next byte will have: the number of bytes ever appended."""
        return self._end

    def append(self, data: bytes | bytearray | memoryview) -> int:
        """Add bytes at the end, let go of the oldest, and return the new end."""
        size = len(data)
        self._end += size
        if size < _OWN_BLOCK_BYTES:
            self._gathered += data
            self._held += size
            if len(self._gathered) >= _GATHER_BYTES:
                self._seal()
        elif size >= self._limit:
            self._blocks.clear()
            self._gathered.clear()
            self._held = 0
            self._add_blocks(data[size - self._limit :])
        else:
            if self._gathered:
                self._seal()
            self._add_blocks(data)
        blocks, spare = self._blocks, self._held - self._limit
        while spare > 0 and blocks and len(blocks[0]) <= spare:
            gone = len(blocks.popleft())
            spare -= gone
            self._held -= gone
        return self._end

    def forget(self) -> None:
        """Let go of all bytes; offsets stay as they are."""
        self._first = self._end
        self._blocks.clear()
        self._gathered.clear()
        self._held = 0

    def read(self, since: int, until: int | None = None) -> LogSlice:
        """Return the bytes from `since` up to, not including, `until` (None: the end).

        Raises InvalidRequest for offsets that are negative, beyond the end or in the wrong order. Takes time
        in proportion to the distance between `since` and the end, because readers follow the end.
        """
        stop = self._end if until is None else until
        if not 0 <= since <= stop <= self._end:
            raise InvalidRequest(f"cannot read bytes {since} to {stop} of a log that ends at {self._end}")
        first = min(max(since, self.start), stop)
        return LogSlice(offset=first, data=self._span(first, stop), missed=first - since)

    def _span(self, first: int, stop: int) -> bytes:
        """Collect kept bytes, walking back from the end."""
        parts: list[bytes] = []
        block_start = self._end - len(self._gathered)
        if stop > block_start and first < stop:
            parts.append(bytes(self._gathered[max(0, first - block_start) : stop - block_start]))
        for block in reversed(self._blocks):
            if block_start <= first:
                break
            block_start -= len(block)
            if block_start >= stop:
                continue
            # A slice of a whole bytes object is that object: reading one block copies nothing.
            parts.append(block[max(0, first - block_start) : stop - block_start])
        parts.reverse()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _seal(self) -> None:
        """Turn the gathered bytes into a block."""
        self._blocks.append(bytes(self._gathered))
        self._gathered.clear()

    def _add_blocks(self, data: bytes | bytearray | memoryview) -> None:
        size = len(data)
        self._held += size
        if size <= _MAX_BLOCK_BYTES:
            # bytes() of bytes is the same object; of a bytearray or memoryview it is the copy that is needed.
            self._blocks.append(bytes(data))
        else:
            for at in range(0, size, _MAX_BLOCK_BYTES):
                self._blocks.append(bytes(data[at : at + _MAX_BLOCK_BYTES]))
