"""Program output as text that only grows: escape sequences are dropped as they pass, nothing is drawn again.

A reader who polls takes what is new by the length of what it had, so text that was handed out never changes. That is
why a carriage return cannot overwrite: it begins a new line, unless the line is empty or a line feed follows. Bytes
that are no UTF-8 become U+FFFD; a character or a sequence that is cut by the end of a chunk waits for its rest. The
text is the same however the output was cut.
"""

import codecs
import re
from enum import Enum, auto

# Everything but text, tabs and line feeds.
_SPECIAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CSI_BODY = re.compile("[ -?]*")
_END_OF_OSC = re.compile("[\x07\x18\x1a\x1b\n]")
_END_OF_STRING = re.compile("[\x18\x1a\x1b]")

# A sequence that is longer than this is none, and what follows is text again. Pictures come in strings.
_CSI_LIMIT = 256
_OSC_LIMIT = 64 * 1024
_STRING_LIMIT = 1024 * 1024


class _State(Enum):
    TEXT = auto()
    ESCAPE = auto()
    INTERMEDIATE = auto()  # an escape and bytes that announce one more
    CSI = auto()
    OSC = auto()
    STRING = auto()  # DCS, SOS, PM, APC
    STRING_ESCAPE = auto()  # perhaps the end of one


class PlainStream:
    """Turns output into text, chunk by chunk."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._state = _State.TEXT
        self._length = 0  # of the sequence so far
        self._returned = False  # a carriage return came, and nothing visible since
        self._at_line_start = True

    def feed(self, data: bytes) -> str:
        """Take bytes, and return the text that they add."""
        return self.feed_text(self._decoder.decode(data))

    def feed_text(self, text: str) -> str:
        """Take output that is text already, and return what is left of it."""
        if self._state is _State.TEXT and not self._returned and not _SPECIAL.search(text):
            if text:
                self._at_line_start = text[-1] == "\n"
            return text
        parts: list[str] = []
        at = 0
        while at < len(text):
            at = self._step(text, at, parts)
        return "".join(parts)

    def finish(self) -> str:
        """Return what the end of the output adds: a character that was cut."""
        return self.feed_text(self._decoder.decode(b"", final=True))

    def _step(self, text: str, at: int, parts: list[str]) -> int:
        match self._state:
            case _State.TEXT:
                return self._take_text(text, at, parts)
            case _State.ESCAPE:
                return self._after_escape(text[at], at)
            case _State.INTERMEDIATE:
                return self._after_intermediate(text[at], at)
            case _State.CSI:
                return self._take_csi(text, at)
            case _State.OSC:
                return self._take_string(text, at, _END_OF_OSC, _OSC_LIMIT)
            case _State.STRING:
                return self._take_string(text, at, _END_OF_STRING, _STRING_LIMIT)
            case _State.STRING_ESCAPE:
                if text[at] == "\\":
                    self._state = _State.TEXT
                    return at + 1
                self._state = _State.ESCAPE  # it began another sequence
                return at

    def _take_text(self, text: str, at: int, parts: list[str]) -> int:
        found = _SPECIAL.search(text, at)
        end = found.start() if found else len(text)
        if end > at:
            self._show(text[at:end], parts)
        if found is None:
            return end
        match found.group():
            case "\x1b":
                self._state, self._length = _State.ESCAPE, 0
            case "\r":
                self._returned = True
            case "\x0b" | "\x0c":  # they move down on a terminal; in text they separate lines
                self._show("\n", parts)
        return found.end()

    def _show(self, text: str, parts: list[str]) -> None:
        if self._returned:
            self._returned = False
            if not self._at_line_start and text[0] != "\n":
                parts.append("\n")
        parts.append(text)
        self._at_line_start = text[-1] == "\n"

    def _after_escape(self, char: str, at: int) -> int:
        if char == "[":
            self._state, self._length = _State.CSI, 0
        elif char == "]":
            self._state, self._length = _State.OSC, 0
        elif char in "PX^_":
            self._state, self._length = _State.STRING, 0
        elif " " <= char <= "/":
            self._state = _State.INTERMEDIATE
        elif "0" <= char <= "~":
            self._state = _State.TEXT
        else:  # no sequence: whatever it is, it is looked at as text
            self._state = _State.TEXT
            return at
        return at + 1

    def _after_intermediate(self, char: str, at: int) -> int:
        self._length += 1
        if " " <= char <= "/" and self._length < _CSI_LIMIT:
            return at + 1
        self._state = _State.TEXT
        return at + 1 if "0" <= char <= "~" else at

    def _take_csi(self, text: str, at: int) -> int:
        body = _CSI_BODY.match(text, at, at + _CSI_LIMIT - self._length)
        end = body.end() if body else at
        self._length += end - at
        if self._length >= _CSI_LIMIT:
            self._state = _State.TEXT
            return end
        if end == len(text):
            return end
        self._state = _State.TEXT
        return end + 1 if "@" <= text[end] <= "~" else end

    def _take_string(self, text: str, at: int, ends: re.Pattern[str], limit: int) -> int:
        until = min(len(text), at + limit - self._length)
        found = ends.search(text, at, until)
        if found is None:
            self._length += until - at
            if self._length >= limit:
                self._state = _State.TEXT
            return until
        match found.group():
            case "\x1b":
                self._state = _State.STRING_ESCAPE
            case "\n":  # no title has a second line: it was never ended
                self._state = _State.TEXT
                return found.start()
            case _:
                self._state = _State.TEXT
        return found.end()
