"""The newest output of a PTY in a file that two processes see: one writes it, the other reads it from memory.

The byte with offset N is at N modulo the size. Nobody locks anything: the writer stays so little ahead of what the
reader has acknowledged that it cannot reach what the reader may still look at.

    acknowledged            end        limit of the writer
         |-------------------|--------------|
         |<------------ hold + one turn --->|
    |<--------------- size ---------------->|
    `start`: everything from here on stands still

The writer uses write(2), which says so when memory is full, where a mapping would kill its process.
"""

import mmap
import os
from dataclasses import dataclass
from pathlib import Path

from hermitty.errors import InvalidRequest
from hermitty.pty.posix import READ_TURN
from hermitty.vt.byte_log import LogSlice

RING_FILE = "ring"

# Of less, too little would be held: users acknowledge in steps of almost 200 KB.
_LEAST_BYTES = 512 * 1024
_MOST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Geometry:
    """How large a ring is, and how far its writer may get ahead of what was acknowledged."""

    size: int

    @classmethod
    def keeping(cls, log_bytes: int) -> "Geometry":
        """Choose the ring for somebody who wants to keep so much."""
        wanted = min(max(log_bytes, _LEAST_BYTES), _MOST_BYTES)
        return cls(-(-wanted // mmap.PAGESIZE) * mmap.PAGESIZE)

    @property
    def hold(self) -> int:
        """Return how much may be unacknowledged before the writer stops; it may exceed this by one turn."""
        return self.size * 5 // 8

    def start(self, end: int, acknowledged: int) -> int:
        """Return the oldest offset that stays readable, whatever the writer does until the next acknowledgement."""
        return max(0, max(end, acknowledged + self.hold + READ_TURN) - self.size)


class RingWriter:
    """The side that owns the file."""

    def __init__(self, path: Path, geometry: Geometry) -> None:
        self.geometry = geometry
        self.end = 0
        self._late = b""  # what the file has had no room for
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(self._descriptor, geometry.size)
        except OSError:
            os.close(self._descriptor)
            raise

    @property
    def is_stuck(self) -> bool:
        """Tell whether bytes wait because memory is full."""
        return bool(self._late)

    def append(self, data: bytes) -> None:
        """Write bytes at the end. What finds no room waits, and `retry` tries again."""
        self._late += data
        self.retry()

    def retry(self) -> None:
        """Write what waits, as far as there is room."""
        while self._late and self._descriptor >= 0:
            at = self.end % self.geometry.size
            try:
                written = os.pwrite(self._descriptor, self._late[: self.geometry.size - at], at)
            except OSError:
                return
            self._late = self._late[written:]
            self.end += written

    def close(self) -> None:
        """Let the file go; whoever mapped it can still read it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class RingLog:
    """The side that reads: a `Log` that ends where its reader has come to."""

    def __init__(self, path: Path, geometry: Geometry, *, start: int, end: int) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            self._ring: mmap.mmap | bytes = mmap.mmap(descriptor, geometry.size, prot=mmap.PROT_READ)
        finally:
            os.close(descriptor)
        self._geometry = geometry
        self._first = start  # nothing before it was there when the ring was opened
        self._frozen_at: int | None = None
        self.end = end
        self.acknowledged = end

    @property
    def start(self) -> int:
        """Return the offset of the oldest byte that can still be read."""
        if self._frozen_at is not None:
            return self._frozen_at
        return max(self._first, self._geometry.start(self.end, self.acknowledged))

    def read(self, since: int, until: int | None = None) -> LogSlice:
        """Return the bytes from `since` up to `until`, as far as they are there."""
        stop = self.end if until is None else until
        if not 0 <= since <= stop <= self.end:
            raise InvalidRequest(f"cannot read bytes {since} to {stop} of a log that ends at {self.end}")
        first = min(max(since, self.start), stop)
        return LogSlice(offset=first, data=self._span(first, stop), missed=first - since)

    def advance(self, until: int) -> bytes:
        """Go on to `until` and return the bytes up to there."""
        data = self._span(self.end, until)
        self.end = until
        return data

    def freeze(self, *, keep: bool = True) -> None:
        """Let the file go, and keep what can be read, or nothing of it."""
        if self._frozen_at is not None:
            return
        start = self.start if keep else self.end
        kept = self._span(start, self.end)
        if isinstance(self._ring, mmap.mmap):
            self._ring.close()
        self._frozen_at, self._ring = start, kept

    def forget(self) -> None:
        """Let go of all bytes; offsets stay as they are."""
        self.freeze(keep=False)
        self._frozen_at, self._ring = self.end, b""

    def _span(self, first: int, stop: int) -> bytes:
        if self._frozen_at is not None:
            return bytes(self._ring[first - self._frozen_at : stop - self._frozen_at])
        size = self._geometry.size
        at, length = first % size, stop - first
        if at + length <= size:
            return self._ring[at : at + length]
        return self._ring[at:] + self._ring[: at + length - size]
