"""Server-sent events from bytes, as the HTML standard describes them. Pure; the same however the stream is cut."""

import re
from dataclasses import dataclass

# Far more than the server keeps of all its events together.
_LIMIT_BYTES = 8 * 1024 * 1024
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event. `id` is the newest id that the stream has told, which resumes it."""

    name: str
    data: str
    id: str


class EventParser:
    """Is fed a stream and returns its events.

    An event that is larger than the limit is left out and counted: whoever follows asks for everything anew.
    """

    def __init__(self, limit_bytes: int = _LIMIT_BYTES) -> None:
        self.dropped = 0
        self.last_id = ""
        self._limit = limit_bytes
        self._held = b""  # the beginning of a line
        self._is_first = True  # nothing but a byte order mark may have come
        self._after_return = False  # a newline that comes next belongs to the line end before
        self._is_too_large = False
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Take the next bytes and return the events that are complete."""
        if not data:
            return []
        if self._after_return:
            self._after_return = False
            data = data[1:] if data[:1] == b"\n" else data
        data = self._held + data
        if self._is_first:
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._held = data
                return []
            self._is_first = False
            data = data.removeprefix(_BOM)
        found: list[ServerEvent] = []
        start = 0
        for end in _LINE_END.finditer(data):
            self._take(data[start : end.start()], found)
            start = end.end()
        self._after_return = start == len(data) and data.endswith(b"\r")
        self._held = data[start:]
        if len(self._held) + self._size > self._limit:
            self._drop()
            self._held = b":"  # the rest of the line is a comment
        return found

    def _take(self, line: bytes, found: list[ServerEvent]) -> None:
        if not line:
            self._end(found)
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._size += len(value) + 1
            if self._size > self._limit:
                self._drop()
            elif not self._is_too_large:
                self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"id" and b"\0" not in value:
            self.last_id = value.decode("utf-8", "replace")

    def _end(self, found: list[ServerEvent]) -> None:
        if self._is_too_large:
            self.dropped += 1
        elif self._data:
            text = b"\n".join(self._data).decode("utf-8", "replace")
            found.append(ServerEvent(self._name or "message", text, self.last_id))
        self._name, self._data, self._size, self._is_too_large = "", [], 0, False

    def _drop(self) -> None:
        self._is_too_large = True
        self._data, self._size = [], 0
