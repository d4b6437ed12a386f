"""Messages as bytes.

A frame is its length (4 bytes, big-endian, without itself), a type, and what belongs to the type. What carries bytes,
or is said with every key and every piece of output, has a type of its own and fixed fields; everything else is a JSON
object that names its kind.
"""

import json
import struct
from typing import Any, NamedTuple, get_args

from hermitty.errors import InvalidRequest
from hermitty.wire.hostlink.typed_json import build, plain
from hermitty.wire.nodelink import messages as m

# Input is sent as it was written, in one piece, and is limited to 8 MB; a kept screen may be larger.
MAX_FRAME = 64 * 1024 * 1024
# From somebody who has not proved anything yet.
MAX_GREETING = 16 * 1024

_LENGTH = struct.Struct("!I")
_HEAD = struct.Struct("!IB")
_JSON = 1
_NAME_LIMIT = 255


class _Binary(NamedTuple):
    """Fixed fields; then, where there is a tail, bytes up to the end of the frame."""

    number: int
    fields: struct.Struct
    names: tuple[str, ...]
    has_tail: bool


_BINARY: dict[type[Any], _Binary] = {
    m.Write: _Binary(2, struct.Struct("!IQQ"), ("handle", "number", "answers_to"), True),
    m.Acknowledge: _Binary(3, struct.Struct("!IQ"), ("handle", "offset"), False),
    m.Data: _Binary(4, struct.Struct("!IQ"), ("handle", "offset"), True),
    m.Applied: _Binary(5, struct.Struct("!IQQ"), ("handle", "count", "input_taken"), False),
    m.File: _Binary(6, struct.Struct("!I?"), ("request", "found"), True),
    m.ProcessInput: _Binary(7, struct.Struct("!I"), ("handle",), True),
    m.ProcessOutput: _Binary(8, struct.Struct("!IB"), ("handle", "stream"), True),
}
_PUT_FILE = 9
_PUT_FIELDS = struct.Struct("!IB")
_BY_NUMBER = {each.number: (kind, each) for kind, each in _BINARY.items()}
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in get_args(m.Message) if kind not in (m.PutFile, m.Malformed, *_BINARY)
}


def encode(message: m.Message) -> bytes:
    """Return a message as a frame. Raises InvalidRequest for one that is too long."""
    binary = _BINARY.get(type(message))
    if binary is not None:
        body = binary.fields.pack(*(getattr(message, name) for name in binary.names))
        frame = _framed(binary.number, body, message.data if binary.has_tail else b"")  # type: ignore[union-attr]
    elif isinstance(message, m.PutFile):
        name = message.name.encode("utf-8", "surrogateescape")
        if len(name) > _NAME_LIMIT:
            raise InvalidRequest(f"a file's name of {len(name)} bytes is too long")
        frame = _framed(_PUT_FILE, _PUT_FIELDS.pack(message.handle, len(name)) + name, message.data)
    else:
        # Escapes keep what is no text (undecodable names in the environment) as it is.
        text = json.dumps({"kind": type(message).__name__, **plain(message)}, separators=(",", ":"))
        frame = _framed(_JSON, b"", text.encode())
    if len(frame) > MAX_FRAME:
        raise InvalidRequest(f"a message of {len(frame)} bytes is too long; {MAX_FRAME} are taken")
    return frame


def _framed(kind: int, fields: bytes, tail: bytes) -> bytes:
    return b"".join((_HEAD.pack(1 + len(fields) + len(tail), kind), fields, tail))


class Decoder:
    """Makes messages of bytes, however they were cut. After something malformed it says nothing more."""

    def __init__(self, limit: int = MAX_GREETING) -> None:
        self.limit = limit  # of a frame; raised for those who have proved who they are
        self._buffer = bytearray()
        self._broken = False

    def feed(self, data: bytes) -> list[m.Message]:
        """Take the next bytes and return the messages that are complete."""
        self.add(data)
        found = []
        while (message := self.next()) is not None:
            found.append(message)
        return found

    def add(self, data: bytes) -> None:
        """Take the next bytes, for `next`: the limit may change between two messages."""
        if not self._broken:
            self._buffer += data

    def next(self) -> m.Message | None:
        """Return the next message that is complete, if there is one."""
        buffer = self._buffer
        if self._broken or len(buffer) < 4:
            return None
        (size,) = _LENGTH.unpack_from(buffer)
        if not 1 <= size <= self.limit - 4:
            return self._give_up(f"a frame of {size} bytes")
        if len(buffer) < size + 4:
            return None
        message = _decode(buffer, 4, 4 + size)
        if isinstance(message, m.Malformed):
            return self._give_up(message.problem)
        del buffer[: size + 4]
        return message

    def _give_up(self, problem: str) -> m.Malformed:
        self._broken = True
        self._buffer.clear()
        return m.Malformed(problem)


def _decode(buffer: bytearray, start: int, stop: int) -> m.Message:
    number, first = buffer[start], start + 1
    if number == _JSON:
        return _decode_json(bytes(buffer[first:stop]))
    if number == _PUT_FILE:
        return _decode_file(buffer, first, stop)
    kind, binary = _BY_NUMBER.get(number, (None, None))
    if kind is None or binary is None:
        return m.Malformed(f"a frame of type {number}")
    tail = first + binary.fields.size
    if tail > stop or (tail < stop and not binary.has_tail):
        return m.Malformed(f"{kind.__name__} with {stop - first} bytes")
    values = binary.fields.unpack_from(buffer, first)
    message: m.Message = kind(*values, bytes(buffer[tail:stop])) if binary.has_tail else kind(*values)
    return message


def _decode_file(buffer: bytearray, first: int, stop: int) -> m.Message:
    name_at = first + _PUT_FIELDS.size
    if name_at > stop:
        return m.Malformed("PutFile without its fields")
    handle, length = _PUT_FIELDS.unpack_from(buffer, first)
    data_at = name_at + length
    if data_at > stop:
        return m.Malformed("PutFile without its name")
    name = buffer[name_at:data_at].decode("utf-8", "surrogateescape")
    return m.PutFile(handle, name, bytes(buffer[data_at:stop]))


def _decode_json(body: bytes) -> m.Message:
    try:
        # RecursionError: thousands of brackets.
        value = json.loads(body)
    except (ValueError, RecursionError):
        return m.Malformed("a frame that is no JSON")
    name = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in _KINDS:
        return m.Malformed("a JSON value that is no message")
    try:
        return build(_KINDS[name], value)  # type: ignore[no-any-return]
    except ValueError as problem:
        return m.Malformed(f"{name} without the right {problem}")
