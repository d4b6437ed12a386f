"""Reading something long in pieces: by bytes or by lines, each page with the number of its first line.

Lines are counted from 1 and end with a newline; an unterminated rest is the last line. Offsets are bytes. Pages
that follow each other by `next` are together exactly what was read: nothing is changed, and a page ends early only
to keep a UTF-8 character whole.

Text is reached through a function, so that a file is never read as a whole.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hermitty.errors import InvalidOffset, InvalidRequest

DEFAULT_PAGE_BYTES = 40 * 1024
MAX_PAGE_BYTES = 1024 * 1024

# Returns up to that many bytes from an offset: fewer only at the end.
ReadAt = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of something longer.

    `line` is the number of its first line, of which the page has only the rest if it `starts_inside`. `next` is
    where the following page begins, None at the end; `size` is the length of the whole when it was read.
    """

    offset: int
    data: bytes
    line: int
    starts_inside: bool
    next: int | None
    size: int

    @property
    def text(self) -> str:
        """The data as text; bytes that are not UTF-8 are replaced."""
        return self.data.decode("utf-8", "replace")

    def numbered(self) -> Iterator[tuple[int, str]]:
        """Yield the lines with their numbers, without their ends."""
        lines = self.text.split("\n")
        if not lines[-1]:
            lines.pop()
        return ((number, line.rstrip("\r")) for number, line in enumerate(lines, start=self.line))


class LineIndex:
    """Finds lines of something that only grows, by counting the newlines of each block once.

    Threads may share it.
    """

    __slots__ = ("_block_bytes", "_counts")

    def __init__(self, block_bytes: int = 1024 * 1024) -> None:
        self._block_bytes = block_bytes
        self._counts: list[int] = []  # newlines up to the end of each whole block

    def line_at(self, offset: int, read: ReadAt) -> int:
        """Return the number of the line that the byte at `offset` belongs to."""
        whole, rest = divmod(offset, self._block_bytes)
        while len(self._counts) < whole:
            self._count_next(read)
        before = self._counts[whole - 1] if whole else 0
        return 1 + before + read(whole * self._block_bytes, rest).count(b"\n")

    def start_of(self, line: int, size: int, read: ReadAt) -> int | None:
        """Return the offset at which a line begins, None if there are not so many."""
        newlines = line - 1
        if newlines <= 0:
            return 0 if newlines == 0 and size else None
        while (not self._counts or self._counts[-1] < newlines) and (len(self._counts) + 1) * self._block_bytes <= size:
            self._count_next(read)
        block = bisect_left(self._counts, newlines)
        start = block * self._block_bytes
        data = read(start, min(self._block_bytes, size - start))
        at = -1
        for _ in range(newlines - (self._counts[block - 1] if block else 0)):
            at = data.find(b"\n", at + 1)
            if at < 0:
                return None
        return start + at + 1 if start + at + 1 < size else None

    def _count_next(self, read: ReadAt) -> None:
        number = len(self._counts)
        before = self._counts[number - 1] if number else 0
        count = before + read(number * self._block_bytes, self._block_bytes).count(b"\n")
        # Not `append`: another thread may have counted the same block meanwhile.
        self._counts[number : number + 1] = [count]


def page_at(offset: int, limit: int, *, size: int, read: ReadAt, index: LineIndex) -> Page:
    """Return the page of at most `limit` bytes (and never more than 1 MB) that begins at `offset`.

    Raises InvalidOffset unless there is a byte at `offset`.
    """
    limit = _checked_limit(limit)
    if not 0 <= offset < size:
        raise InvalidOffset("offset", offset, first=0, last=size - 1)
    data = read(offset, min(limit, size - offset))
    if offset + len(data) < size:
        data = data[: _whole_characters(data)]
    return _page(offset, data, index.line_at(offset, read), size, read)


def page_of_lines(
    first: int, count: int, *, size: int, read: ReadAt, index: LineIndex, limit: int = DEFAULT_PAGE_BYTES
) -> Page:
    """Return `count` lines from line `first` on, or as many of them as `limit` bytes can hold.

    Raises InvalidOffset when there is no such line.
    """
    limit = _checked_limit(limit)
    if count < 1:
        raise InvalidRequest(f"cannot read {count} lines; ask for one or more")
    offset = index.start_of(first, size, read)
    if offset is None:
        last = index.line_at(size - 1, read) if size else 0
        raise InvalidOffset("line", first, first=1, last=last)
    data = read(offset, min(limit, size - offset))
    if data.count(b"\n") >= count:
        data = data[: _end_of_line(data, count)]
    elif offset + len(data) < size:
        data = data[: _whole_characters(data)]
    return _page(offset, data, first, size, read)


def reader_of(data: bytes) -> ReadAt:
    """Make bytes in memory readable as pages."""
    return lambda offset, count: data[offset : offset + count]


def _page(offset: int, data: bytes, line: int, size: int, read: ReadAt) -> Page:
    end = offset + len(data)
    inside = offset > 0 and read(offset - 1, 1) != b"\n"
    return Page(offset, data, line, starts_inside=inside, next=end if end < size else None, size=size)


def _checked_limit(limit: int) -> int:
    if limit < 1:
        raise InvalidRequest(f"a page of {limit} bytes is not possible; ask for 1 to {MAX_PAGE_BYTES}")
    return min(limit, MAX_PAGE_BYTES)


def _end_of_line(data: bytes, count: int) -> int:
    """Return where the first `count` lines end; there are so many."""
    return len(data) - len(data.split(b"\n", count)[count])


def _whole_characters(data: bytes) -> int:
    """Return the length of data without a UTF-8 character that its end cuts, but never 0."""
    for back in range(1, min(3, len(data) - 1) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if length > back else len(data)
        if byte < 0x80:
            break
    return len(data)
