"""A PTY that its host has lent to its user, so that a key and its echo need no second process.

The user may be killed between any two instructions, and no byte may be lost or doubled then. So the kernel moves the
bytes and counts them in one step, in the position of a file that both sides have open:

    output   PTY --splice--> pipe --splice--> ring        position of the ring: how far output came
    input    file of the loan --sendfile--> PTY           position of that file: how far input came

What is in the pipe is still to be moved into the ring. What is committed as input is written, by the user or, when he
is gone, by the host. See `Record` for what the positions are compared with.
"""

import contextlib
import errno
import mmap
import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hermitty.host.ring import RING_FILE, Geometry

LOAN_FILE = "loan"
# More than this is no typing, and goes through the host.
INPUT_BYTES = 16 * 1024
# Output that comes faster than this in one turn is read by the host: it does that while its user does other things.
FLOOD_BYTES = 16 * 1024

# The kernel hands out PTY output in pieces of up to 4 KB; a shorter one means that nothing more is there.
_FULL_READ = 4000
_HEAD = mmap.PAGESIZE
_SIZE = _HEAD + INPUT_BYTES
# The master, the ring, the file of the loan, and the two ends of the pipe.
_DESCRIPTORS = 5


def can_lend() -> bool:
    """Tell whether this platform moves bytes in the way that is needed."""
    return hasattr(os, "splice")


def most_loans() -> int:
    """Return how many loans there may be: of all descriptors they take less than a third, on either side."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return (1 << 20 if limit == resource.RLIM_INFINITY else limit) // (3 * _DESCRIPTORS)


class Record:
    """A few numbers in shared memory: two copies, after a number that tells which of them counts.

    Whoever dies while he changes them leaves what they were before.
    """

    def __init__(self, numbers: memoryview, at: int, count: int) -> None:
        self._numbers = numbers
        self._at = at
        self._count = count

    def commit(self, *values: int) -> None:
        """Replace all numbers at once."""
        numbers, at = self._numbers, self._at
        copy = 1 - numbers[at]
        first = at + 1 + copy * self._count
        for place, value in enumerate(values, first):
            numbers[place] = value
        numbers[at] = copy

    def read(self) -> tuple[int, ...]:
        """Return what was committed last."""
        first = self._at + 1 + self._numbers[self._at] * self._count
        return tuple(self._numbers[first : first + self._count])


def output_end(known: int, position: int, size: int) -> int:
    """Return where output ends: it was `known` before less than a ring's size was added, and stands at `position`."""
    return known + (position - known) % size


@dataclass(frozen=True, slots=True)
class Input:
    """What a user has committed: `stop` is its end in the file, the rest counts since the PTY was opened."""

    stop: int
    writes: int
    answered: int
    bytes: int


class _Shared:
    """What both sides have open."""

    def __init__(self, descriptors: Sequence[int], geometry: Geometry) -> None:
        self.descriptors = tuple(descriptors)
        self.master, self.ring, self.file, self.source, self.sink = self.descriptors
        self.geometry = geometry
        self._memory = mmap.mmap(self.file, _HEAD)
        self._numbers = memoryview(self._memory).cast("Q")
        self.ends = Record(self._numbers, 0, 1)
        self.inputs = Record(self._numbers, 8, 4)

    def close(self, *keep: int) -> None:
        self._numbers.release()
        self._memory.close()
        for descriptor in self.descriptors:
            if descriptor not in keep:
                os.close(descriptor)


class Lender:
    """The side of the host. Raises OSError when there is no room, or there are no descriptors left."""

    def __init__(self, directory: Path, geometry: Geometry, master: int) -> None:
        with contextlib.ExitStack() as undo:

            def opened(descriptor: int) -> int:
                undo.callback(os.close, descriptor)
                return descriptor

            # A description of its own: nobody else moves its position.
            ring = opened(os.open(directory / RING_FILE, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW))
            flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
            file = opened(os.open(directory / LOAN_FILE, flags, 0o600))
            # Written, not only made longer: memory that is missing must be an error now, and no signal later.
            if os.pwrite(file, bytes(_HEAD), 0) != _HEAD:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.ftruncate(file, _SIZE)
            os.lseek(file, _HEAD, os.SEEK_SET)
            source, sink = map(opened, os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC))
            self._shared = _Shared((master, ring, file, source, sink), geometry)
            undo.pop_all()

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Return what the user gets."""
        return self._shared.descriptors

    @property
    def end(self) -> int:
        """Return where the output in the ring ends, while the user reads."""
        (known,) = self._shared.ends.read()
        return output_end(known, os.lseek(self._shared.ring, 0, os.SEEK_CUR), self._shared.geometry.size)

    def lend(self, end: int) -> None:
        """Prepare for a user who goes on reading at `end`."""
        os.lseek(self._shared.ring, end % self._shared.geometry.size, os.SEEK_SET)
        self._shared.ends.commit(end)

    def leftover(self) -> bytes:
        """Return output that was read by the user and is not in the ring. It belongs behind `end`."""
        chunks = []
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._shared.source, 64 * 1024):
                chunks.append(chunk)
        return b"".join(chunks)

    def input(self) -> Input:
        """Return what the user has committed."""
        return Input(*self._shared.inputs.read())

    def unwritten(self) -> bytes:
        """Return committed input that the PTY has not got, once."""
        position = os.lseek(self._shared.file, 0, os.SEEK_CUR)
        missing = max(0, self.input().stop - position)
        data = os.pread(self._shared.file, missing, position)
        os.lseek(self._shared.file, position + missing, os.SEEK_SET)
        return data

    def start_input(self, counted: Input) -> None:
        """Tell a new user from where to count."""
        self._shared.inputs.commit(_HEAD, counted.writes, counted.answered, counted.bytes)

    def close(self) -> None:
        """Let everything go but the PTY."""
        self._shared.close(self._shared.master)


class Turn(NamedTuple):
    """What one turn of reading found: output up to `end`."""

    end: int
    is_flood: bool = False
    is_stuck: bool = False  # nobody has the other side open any more, or memory is full: the host goes on


class Borrowed:
    """The side of the user. Raises OSError when what was received is not complete."""

    def __init__(self, descriptors: Sequence[int], geometry: Geometry) -> None:
        try:
            if len(descriptors) != _DESCRIPTORS:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            self._shared = _Shared(descriptors, geometry)
        except OSError:
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        self._end = 0
        self._position = 0
        self._at, self._writes, self._answered, self._bytes = self._shared.inputs.read()

    @property
    def master(self) -> int:
        """Return the PTY."""
        return self._shared.master

    def begin(self, end: int) -> None:
        """Go on reading where the host stopped."""
        self._end = end
        self._position = end % self._shared.geometry.size

    def read(self) -> Turn:
        """Move output into the ring until nothing is left, or so much that it is a flood."""
        began, is_stuck = self._end, False
        while not is_stuck and self._end - began < FLOOD_BYTES:
            try:
                moved = os.splice(self._shared.master, self._shared.sink, FLOOD_BYTES)
            except BlockingIOError:
                break
            except OSError:
                moved = 0
            is_stuck = not moved or not self._into_ring(moved)
            if moved < _FULL_READ:
                break
        if self._end > began:
            self._shared.ends.commit(self._end)
        return Turn(self._end, self._end - began >= FLOOD_BYTES, is_stuck)

    def _into_ring(self, count: int) -> bool:
        size = self._shared.geometry.size
        while count:
            if self._position == size:
                self._position = os.lseek(self._shared.ring, 0, os.SEEK_SET)
            try:
                moved = os.splice(self._shared.source, self._shared.ring, min(count, size - self._position))
            except OSError:
                return False
            count -= moved
            self._position += moved
            self._end += moved
        return True

    def write(self, data: bytes, number: int, answers_to: int, total: int) -> int | None:
        """Write input and return how much the PTY took; the host must write the rest. None: nothing can be done here.

        `number` and `total` count writes and their bytes, this one included, since the PTY was opened.
        """
        file, at = self._shared.file, self._at
        if at + len(data) > _SIZE:
            if len(data) > INPUT_BYTES:
                return None
            # In this order: a position behind what is committed means that nothing is left to write.
            self._shared.inputs.commit(_HEAD, self._writes, self._answered, self._bytes)
            at = self._at = os.lseek(file, _HEAD, os.SEEK_SET)
        try:
            if os.pwrite(file, data, at) < len(data):
                return None
        except OSError:
            return None
        self._writes, self._answered, self._bytes = number, max(self._answered, answers_to), total
        # Up to here everything will be written, by whomever.
        self._at = at + len(data)
        self._shared.inputs.commit(self._at, self._writes, self._answered, self._bytes)
        written = 0
        while written < len(data):
            try:
                moved = os.sendfile(self._shared.master, file, None, len(data) - written)
            except OSError:
                break
            written += moved
            if not moved:
                break
        return written

    def close(self) -> None:
        """Let everything go."""
        self._shared.close()
