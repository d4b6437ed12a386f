"""Recordings of terminals as asciicast: JSON lines, a header and then `[time, code, text]` events.

We write version 3 (times since the event before) and read 2 (times since the start) and 3. Codes are `o` output, `i`
input, `r` resize, `m` marker and `x` exit. See https://docs.asciinema.org/manual/asciicast/v3/. A file that is shown
as it is does nothing to a terminal: control characters are escaped in JSON.
"""

import codecs
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hermitty.errors import InvalidRequest

OUTPUT: Final = "o"
INPUT: Final = "i"
RESIZE: Final = "r"
MARKER: Final = "m"
EXIT: Final = "x"

# Longer lines are no events that anybody recorded.
_LINE_LIMIT_BYTES = 64 * 1024 * 1024
# Neither a recording nor a date is beyond that; what is, is nonsense.
_LONGEST_US = 10**17
_MAX_CELLS = 65_535
# JSON escapes what is below a space; terminals act on these too, and half a surrogate pair is no text.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Header:
    """What is said once. `extra` are the fields that asciicast does not know."""

    cols: int
    rows: int
    timestamp: int | None = None  # seconds since 1970
    title: str | None = None
    command: str | None = None
    term_type: str | None = None
    idle_limit_s: float | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    theme: Mapping[str, str] | None = None  # fg, bg, palette
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened `at_s` seconds after the start."""

    at_s: float
    code: str
    text: str


class TextDecoder:
    """Turns bytes into text, however they are cut. A character that is not complete yet is kept for the next call."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """Return the text of these bytes; what is no UTF-8 becomes U+FFFD."""
        return self._decoder.decode(data)

    def finish(self) -> str:
        """Return what is left of a character whose rest never came."""
        return self._decoder.decode(b"", True)


class CastWriter:
    """Writes the lines of version 3. Times are rounded without adding up the errors."""

    def __init__(self) -> None:
        self._at_ms = 0

    def header(self, header: Header) -> bytes:
        """Return the first line."""
        return header_line(header, version=3)

    def event(self, event: Event) -> bytes:
        """Return the line of an event; one that is told too late counts as simultaneous with the one before."""
        now = max(self._at_ms, round(event.at_s * 1000))
        line = _line(now - self._at_ms, event)
        self._at_ms = now
        return line


def header_line(header: Header, *, version: int) -> bytes:
    """Return the first line of a recording of version 2 or 3."""
    fields: dict[str, object] = {"version": version}
    env = dict(header.env)
    if version == 3:
        term = {"cols": header.cols, "rows": header.rows, "type": header.term_type, "theme": _or_none(header.theme)}
        fields["term"] = {name: value for name, value in term.items() if value is not None}
    else:
        fields |= {"width": header.cols, "height": header.rows, "theme": _or_none(header.theme)}
        if header.term_type is not None:
            env.setdefault("TERM", header.term_type)
    fields |= {"timestamp": header.timestamp, "idle_time_limit": header.idle_limit_s, "command": header.command}
    fields |= {"title": header.title, "env": env or None, **header.extra}
    return _json({name: value for name, value in fields.items() if value is not None}) + b"\n"


def to_v2(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Convert a recording, line by line. Version 2 has no exit: it becomes a marker."""
    reader = CastReader()
    for line in lines:
        had_header = reader.header is not None
        events = reader.feed(line)
        if not had_header and reader.header is not None:
            yield header_line(reader.header, version=2)
        for event in events:
            if event.code == EXIT:
                event = replace(event, code=MARKER, text=f"exit {event.text}")
            yield _line(round(event.at_s * 1000), event)


class CastReader:
    """Reads version 2 or 3, fed pieces of any size. The last line counts when it is complete.

    Lines that are no events are skipped and counted. Raises InvalidRequest when it is no recording at all.
    """

    def __init__(self) -> None:
        self.header: Header | None = None
        self.version = 0
        self.skipped = 0
        self._rest = bytearray()
        self._at_us = 0

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that are complete now."""
        if b"\n" not in data:
            self._keep(data)
            return []
        first, *more = data.split(b"\n")
        lines = [bytes(self._rest) + first, *more[:-1]]
        self._rest.clear()
        self._keep(more[-1])
        return [event for line in lines if (event := self._take(line)) is not None]

    def finish(self) -> list[Event]:
        """Return the event of a last line without its end, if it is whole; one that was cut is left out."""
        rest = bytes(self._rest)
        self._rest.clear()
        event = self._take(rest)
        if self.header is None:
            raise InvalidRequest("this is no asciicast: it is empty")
        return [] if event is None else [event]

    def _keep(self, data: bytes) -> None:
        if len(self._rest) + len(data) > _LINE_LIMIT_BYTES:
            raise InvalidRequest(f"this is no asciicast: a line has more than {_LINE_LIMIT_BYTES} bytes")
        self._rest += data

    def _take(self, line: bytes) -> Event | None:
        if self.header is None:
            if line.strip():
                self.version, self.header = _parsed_header(line)
            return None
        if not line.strip() or line.startswith(b"#"):
            return None
        try:
            time, code, text = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            self.skipped += 1
            return None
        at_us = _microseconds(time)
        if at_us is None or not isinstance(code, str) or not isinstance(text, str):
            self.skipped += 1
            return None
        # Times that go back are wrong; what happened stays in its order.
        self._at_us = min(self._at_us + at_us if self.version == 3 else max(self._at_us, at_us), _LONGEST_US)
        return Event(self._at_us / 1e6, code, text)


def size_of(event: Event) -> tuple[int, int] | None:
    """Return columns and rows of a resize, or None when it does not tell."""
    found = re.fullmatch(r"([0-9]{1,5})x([0-9]{1,5})", event.text)
    return (int(found[1]), int(found[2])) if found and event.code == RESIZE else None


def _line(time_ms: int, event: Event) -> bytes:
    seconds, rest = divmod(time_ms, 1000)
    return b"[%d.%03d, %s, %s]\n" % (seconds, rest, _json(event.code), _json(event.text))


def _json(value: object) -> bytes:
    return _ESCAPED.sub(_escape, json.dumps(value, ensure_ascii=False)).encode()


def _escape(found: re.Match[str]) -> str:
    return "\ufffd" if "\ud800" <= found[0] <= "\udfff" else f"\\u{ord(found[0]):04x}"


def _or_none(table: Mapping[str, str] | None) -> dict[str, str] | None:
    return dict(table) if table else None


def _parsed_header(line: bytes) -> tuple[int, Header]:
    try:
        table = json.loads(line)
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict) or "version" not in table:
        raise InvalidRequest("this is no asciicast: its first line is no header")
    version = table.pop("version")
    if version not in (2, 3) or isinstance(version, bool):
        raise InvalidRequest(f"this is asciicast version {str(version)[:20]}; hermitty reads versions 2 and 3")
    if version == 3:
        term = table.pop("term", None)
        term = term if isinstance(term, dict) else {}
        cols, rows, kind, theme = term.get("cols"), term.get("rows"), term.get("type"), term.get("theme")
    else:
        cols, rows, kind, theme = table.pop("width", None), table.pop("height", None), None, table.pop("theme", None)
    env = _texts(table.pop("env", None))
    if version == 2:
        kind = env.get("TERM")
    stamp, idle = _microseconds(table.pop("timestamp", None)), _microseconds(table.pop("idle_time_limit", None))
    header = Header(
        cols=_cells(cols, 80),
        rows=_cells(rows, 24),
        timestamp=None if stamp is None else stamp // 1_000_000,
        title=_text_or_none(table.pop("title", None)),
        command=_text_or_none(table.pop("command", None)),
        term_type=_text_or_none(kind),
        idle_limit_s=None if idle is None else idle / 1e6,
        env=env,
        theme=_texts(theme) or None,
        extra=table,
    )
    return version, header


def _microseconds(value: object) -> int | None:
    """Return a time, or None when it is none. JSON in Python has infinity, and numbers of any length."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return round(value * 1_000_000) if 0 <= value <= _LONGEST_US / 1_000_000 else None


def _cells(value: object, otherwise: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        return otherwise
    return value if 0 < value <= _MAX_CELLS else otherwise


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {name: text for name, text in value.items() if isinstance(text, str)}
