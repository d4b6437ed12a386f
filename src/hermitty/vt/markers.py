r"""Shell-integration markers in a stream of terminal bytes.

A marker is an OSC sequence, ``ESC ] number ; body`` closed by BEL or ``ESC \``. Understood are 633 (VS Code's
vocabulary, which our own scripts speak), 133 (FinalTerm), 7 (file URI), 9;9 (ConEmu's cwd) and 1337 (iTerm2).

Rules the scanner keeps:

- The same pieces come out however the stream is cut into chunks (adjacent texts may be cut differently).
- Bytes are never lost: pieces, joined, are the stream. At most ``MAX_MARKER`` bytes of an unfinished marker are held
  back; a longer one is not a marker but text.
- Whatever a program prints may look like a marker. One that carries the terminal's nonce as its last field is
  `trusted`; the others are good for display only.
"""

import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

MAX_MARKER = 64 * 1024

_INTRODUCER = b"\x1b]"
# A whole marker: its number and its body, in which nothing closes or breaks off a sequence.
_MARKER = re.compile(rb"\x1b\](633|133|1337|7|9);([^\x07\x1b\x18\x1a]*+)(?:\x07|\x1b\\)")
# The beginning of one, up to the very end of what has arrived so far.
_UNFINISHED = re.compile(
    rb"\x1b\](?:(?:633|133|1337|7|9)(;[^\x07\x1b\x18\x1a]*+)\x1b?|6(?:33?)?|1(?:3(?:37?)?)?|7|9)?\Z"
)
_END_OF_BODY = re.compile(rb"[\x07\x1b\x18\x1a]")

_ESCAPED = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(\\))")
_NEEDS_ESCAPE = re.compile(rb"[\x00-\x20\\;]")


# Pieces are tuples: every command is made of nine or so, and a frozen dataclass takes three times as long to make.
class Text(NamedTuple):
    """Bytes that are no marker, and where they start in the log."""

    start: int
    data: bytes

    @property
    def end(self) -> int:
        """Return the offset of the first byte after it."""
        return self.start + len(self.data)


class Marker(NamedTuple):
    """One marker: `code` is the letter of 633/133, or the meaning of the others ("P" for a reported directory)."""

    start: int
    raw: bytes
    code: str
    fields: tuple[bytes, ...]
    trusted: bool

    @property
    def end(self) -> int:
        """Return the offset of the first byte after the marker."""
        return self.start + len(self.raw)

    @property
    def property(self) -> tuple[str, bytes] | None:
        """Return the (name, value) of a P marker, unescaped."""
        if self.code != "P" or not self.fields:
            return None
        return property_of(self.fields[0])


Piece = Text | Marker


def property_of(field: bytes) -> tuple[str, bytes] | None:
    """Return the (name, value) of a field that holds both, unescaped."""
    name, equals, value = field.partition(b"=")
    return (name.decode("ascii", "replace"), unescape(value)) if equals else None


class MarkerScanner:
    """Splits a stream into text and markers."""

    def __init__(self, nonce: str | None = None, *, offset: int = 0) -> None:
        self._nonce = nonce.encode() if nonce else None
        self._offset = offset  # of the first byte in _held
        self._held = b""
        self._searched = 0  # how much of _held is known not to close the marker that it begins with

    @property
    def offset(self) -> int:
        """Return the offset of the first byte that is in no piece yet: a new scanner can go on from there."""
        return self._offset

    def feed(self, data: bytes, *, plain: bool = False) -> list[Piece]:
        """Take the next bytes of the stream and return what became certain.

        Somebody who has looked may say that all sequences in them are colours.
        """
        # One byte is found ten times as fast as two.
        if not self._held and (
            plain or b"\x1b" not in data or (_INTRODUCER not in data and not data.endswith(b"\x1b"))
        ):
            start = self._offset
            self._offset += len(data)
            return [Text(start, data)] if data else []
        data = self._held + data
        if self._searched and len(data) <= MAX_MARKER and not _END_OF_BODY.search(data, self._searched):
            return self._hold([], data, 0, searched=len(data))
        pieces: list[Piece] = []
        done = 0  # everything before is in `pieces`
        at = 0
        while (at := data.find(_INTRODUCER, at)) >= 0:
            found = _MARKER.match(data, at)
            if found is None:
                if len(data) - at <= MAX_MARKER and (unfinished := _UNFINISHED.match(data, at)):
                    self._emit_text(pieces, data, done, at)
                    return self._hold(pieces, data, at, searched=max(0, unfinished.end(1) - at))
                at += len(_INTRODUCER)
                continue
            end = found.end()
            marker = self._marker(found) if end - at <= MAX_MARKER else None
            if marker is not None:
                self._emit_text(pieces, data, done, at)
                pieces.append(marker)
                done = end
            at = end
        end = len(data) - data.endswith(b"\x1b")
        self._emit_text(pieces, data, done, end)
        return self._hold(pieces, data, end)

    def flush(self) -> list[Piece]:
        """Return what is still held back, as text: the stream is over."""
        pieces: list[Piece] = []
        self._emit_text(pieces, self._held, 0, len(self._held))
        return self._hold(pieces, self._held, len(self._held))

    def _emit_text(self, pieces: list[Piece], data: bytes, start: int, end: int) -> None:
        if end > start:
            pieces.append(Text(self._offset + start, data[start:end]))

    def _hold(self, pieces: list[Piece], data: bytes, start: int, *, searched: int = 0) -> list[Piece]:
        self._held = data[start:]
        self._offset += start
        self._searched = searched
        return pieces

    def _marker(self, found: re.Match[bytes]) -> Marker | None:
        raw, number, body = found.group(0, 1, 2)
        start = self._offset + found.start()
        if number not in (b"633", b"133"):
            path = _path(number, body)
            return Marker(start, raw, "P", (b"Cwd=" + escape(path),), trusted=False) if path else None
        parts = body.split(b";")
        code = parts[0]
        if not code.isalpha():
            return None
        if parts[-1] == self._nonce and number == b"633" and len(parts) > 1:
            return Marker(start, raw, code.decode(), tuple(parts[1:-1]), True)
        return Marker(start, raw, code.decode(), tuple(parts[1:]), False)


def _path(number: bytes, body: bytes) -> bytes | None:
    """Return the directory that a marker of another vocabulary reports, if it is one that does."""
    match number:
        case b"7":
            return _path_of_uri(body)
        case b"9" if body.startswith(b"9;"):
            return body[2:].strip(b'"')
        case b"1337" if body.startswith(b"CurrentDir="):
            return body.removeprefix(b"CurrentDir=")
    return None


def _path_of_uri(uri: bytes) -> bytes | None:
    scheme, separator, rest = uri.partition(b"://")
    if not separator or scheme not in (b"file", b"kitty-shell-cwd"):
        return None
    path = rest[rest.find(b"/") :] if b"/" in rest else b""
    return (unquote_to_bytes(path) if scheme == b"file" else path) or None


def escape(value: bytes) -> bytes:
    r"""Escape a field as our scripts do: backslash as ``\\``, semicolon and bytes up to 0x20 as ``\xHH``."""
    return _NEEDS_ESCAPE.sub(lambda m: b"\\\\" if m[0] == b"\\" else b"\\x%02x" % m[0][0], value)


def unescape(value: bytes) -> bytes:
    """Undo `escape`."""
    return _ESCAPED.sub(lambda m: bytes([int(m[1], 16)]) if m[1] else b"\\", value)
