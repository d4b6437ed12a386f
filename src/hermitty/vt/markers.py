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
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

MAX_MARKER = 64 * 1024

_INTRODUCER = b"\x1b]"
_KNOWN = re.compile(rb"\x1b\](633|133|1337|7|9);")
# A prefix of _KNOWN at the very end of what has arrived so far.
_KNOWN_PREFIX = re.compile(rb"\x1b(\](6(3(3)?)?|1(3(3(7)?)?)?|7|9)?)?\Z")
_END_OF_BODY = re.compile(rb"[\x07\x1b\x18\x1a]")

_ESCAPED = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(\\))")
_NEEDS_ESCAPE = re.compile(rb"[\x00-\x20\\;]")


@dataclass(frozen=True, slots=True)
class Text:
    """Bytes that are no marker, and where they start in the log."""

    start: int
    data: bytes

    @property
    def end(self) -> int:
        """Return the offset of the first byte after it."""
        return self.start + len(self.data)


@dataclass(frozen=True, slots=True)
class Marker:
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
        name, equals, value = self.fields[0].partition(b"=")
        return (name.decode("ascii", "replace"), unescape(value)) if equals else None


Piece = Text | Marker


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

    def feed(self, data: bytes) -> list[Piece]:
        """Take the next bytes of the stream and return what became certain."""
        if not self._held and b"\x1b" not in data:
            start = self._offset
            self._offset += len(data)
            return [Text(start, data)] if data else []
        data = self._held + data
        pieces: list[Piece] = []
        done = 0  # everything before is in `pieces`
        at = 0
        while True:
            at = data.find(_INTRODUCER, at)
            if at < 0:
                end = len(data) - data.endswith(b"\x1b")
                self._emit_text(pieces, data, done, end)
                return self._hold(pieces, data, end, searched=0)
            known = _KNOWN.match(data, at)
            if known is None:
                if len(data) - at < 7 and _KNOWN_PREFIX.match(data, at):
                    self._emit_text(pieces, data, done, at)
                    return self._hold(pieces, data, at, searched=0)
                at += 1
                continue
            search_from = max(known.end(), self._searched) if at == 0 else known.end()
            self._searched = 0
            close = _END_OF_BODY.search(data, search_from)
            if close is None or (data[close.start()] == 0x1B and close.end() == len(data)):
                if len(data) - at <= MAX_MARKER:
                    self._emit_text(pieces, data, done, at)
                    searched = (close.start() if close else len(data)) - at
                    return self._hold(pieces, data, at, searched=searched)
                at = known.end()
                continue
            end = close.end()
            if data[close.start()] == 0x1B:
                if data[end : end + 1] != b"\\":
                    at = close.start()  # an escape inside the body ends the sequence without closing it
                    continue
                end += 1
            elif data[close.start()] != 0x07 or end - at > MAX_MARKER:
                at = end
                continue
            marker = self._marker(known.group(1), data[known.end() : close.start()], at, data[at:end])
            at = end
            if marker is not None:
                self._emit_text(pieces, data, done, marker.start - self._offset)
                pieces.append(marker)
                done = end

    def flush(self) -> list[Piece]:
        """Return what is still held back, as text: the stream is over."""
        pieces: list[Piece] = []
        self._emit_text(pieces, self._held, 0, len(self._held))
        return self._hold(pieces, self._held, len(self._held), searched=0)

    def _emit_text(self, pieces: list[Piece], data: bytes, start: int, end: int) -> None:
        if end > start:
            pieces.append(Text(self._offset + start, data[start:end]))

    def _hold(self, pieces: list[Piece], data: bytes, start: int, *, searched: int) -> list[Piece]:
        self._held = data[start:]
        self._offset += start
        self._searched = searched
        return pieces

    def _marker(self, number: bytes, body: bytes, start: int, raw: bytes) -> Marker | None:
        parsed = _parse(number, body)
        if parsed is None:
            return None
        code, fields = parsed
        trusted = number == b"633" and self._nonce is not None and len(fields) > 0 and fields[-1] == self._nonce
        if trusted:
            fields = fields[:-1]
        return Marker(self._offset + start, raw, code, fields, trusted)


def _parse(number: bytes, body: bytes) -> tuple[str, tuple[bytes, ...]] | None:
    """Return the code and fields of a marker, or None when the sequence is none of ours."""
    if number in (b"633", b"133"):
        code, *fields = body.split(b";")
        return (code.decode("ascii", "replace"), tuple(fields)) if code.isalpha() else None
    path: bytes | None = None
    if number == b"7":
        path = _path_of_uri(body)
    elif number == b"9" and body.startswith(b"9;"):
        path = body[2:].strip(b'"')
    elif number == b"1337" and body.startswith(b"CurrentDir="):
        path = body.removeprefix(b"CurrentDir=")
    return ("P", (b"Cwd=" + escape(path),)) if path else None


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
