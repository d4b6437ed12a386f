"""The beginning and the end of one command's output, with the exact count of bytes between them.

The byte log may have let go of a long command's first lines by the time it ends; a capture never does.
"""

from typing import Self

from hermitty.errors import InvalidRequest
from hermitty.vt.byte_log import ByteLog


class HeadTail:
    """Keeps the first `head_bytes` and the last `tail_bytes` of what is appended.

    While nothing is omitted, `head + tail` is everything; no byte is ever in both.
    """

    __slots__ = ("_head", "_head_bytes", "_rest")

    def __init__(self, head_bytes: int, tail_bytes: int) -> None:
        if head_bytes < 0:
            raise InvalidRequest(f"a capture cannot keep {head_bytes} bytes; use zero or more")
        self._head_bytes = head_bytes
        self._head = bytearray()
        self._rest = ByteLog(tail_bytes)

    @classmethod
    def of(cls, head_bytes: int, tail_bytes: int, *, head: bytes, tail: bytes, total: int) -> Self:
        """Make a capture that stands where another one of the same limits stood."""
        capture = cls(head_bytes, tail_bytes)
        capture._head += head
        capture._rest = ByteLog(tail_bytes, start=total - len(head) - len(tail))
        capture._rest.append(tail)
        return capture

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Add the next bytes of the output."""
        room = self._head_bytes - len(self._head)
        if room > 0:
            # A view, because the chunk that fills the head may be many times longer than what is kept of it.
            view = memoryview(data)
            self._head += view[:room]
            data = view[room:]
        if data:
            self._rest.append(data)

    @property
    def total(self) -> int:
        """How many bytes were appended."""
        return len(self._head) + self._rest.end

    @property
    def omitted(self) -> int:
        """How many bytes between head and tail are gone."""
        return self._rest.start

    @property
    def head(self) -> bytes:
        """The first bytes."""
        return bytes(self._head)

    @property
    def tail(self) -> bytes:
        """The last bytes, none of which is in the head."""
        return self._rest.read(self._rest.start).data
