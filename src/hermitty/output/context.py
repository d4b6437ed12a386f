"""The last pieces of a terminal's output, as they came: what happened just now, for whoever needs a little context.

Bounded twice: in records, and in bytes of each. Of a record that is too long the end is kept, and the number of
bytes that are missing before it.
"""

from collections import deque
from dataclasses import dataclass

from hermitty.errors import InvalidRequest
from hermitty.output.truncate import omission

DEFAULT_RECORDS = 40
DEFAULT_RECORD_BYTES = 1024
DEFAULT_TAIL = 10


@dataclass(frozen=True, slots=True)
class Record:
    """One piece of output. `omitted` bytes of it came before `data` and are gone."""

    data: bytes
    omitted: int = 0


class ContextBuffer:
    """Keeps the last `records` pieces of output, at most `record_bytes` of each."""

    __slots__ = ("_record_bytes", "_records", "_total")

    def __init__(self, records: int = DEFAULT_RECORDS, *, record_bytes: int = DEFAULT_RECORD_BYTES) -> None:
        if records < 0 or record_bytes < 1:
            raise InvalidRequest(f"a context cannot keep {records} records of {record_bytes} bytes")
        self._records: deque[Record] = deque(maxlen=records)
        self._record_bytes = record_bytes
        self._total = 0

    def __len__(self) -> int:
        return len(self._records)

    @property
    def total(self) -> int:
        """How many records were ever added."""
        return self._total

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Add a piece of output as one record; nothing is no record."""
        if not data:
            return
        omitted = max(0, len(data) - self._record_bytes)
        self._records.append(Record(bytes(data[omitted:]), omitted))
        self._total += 1

    def tail(self, count: int = DEFAULT_TAIL) -> tuple[Record, ...]:
        """Return the last `count` records, the oldest first."""
        if count < 0:
            raise InvalidRequest(f"cannot return the last {count} records; use zero or more")
        return tuple(self._records)[max(0, len(self._records) - count) :]

    def text(self, count: int = DEFAULT_TAIL) -> str:
        """Return the last `count` records as one text, with a note where bytes are missing.

        A character that was cut between two records is whole again.
        """
        parts: list[bytes] = []
        for record in self.tail(count):
            if record.omitted:
                parts.append(f"\n{omission(record.omitted, 'bytes')}\n".encode())
            parts.append(record.data)
        return b"".join(parts).decode("utf-8", "replace")

    def clear(self) -> None:
        """Forget every record."""
        self._records.clear()
