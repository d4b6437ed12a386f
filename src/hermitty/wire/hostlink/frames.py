"""Messages as bytes.

A frame is its length (4 bytes, big-endian, without itself), a type, and what belongs to the type. What is said with
every key and every piece of output has a type of its own and fixed fields; everything else is a JSON object that names
its kind.
"""

import json
import struct
from typing import Any, get_args

from hermitty import errors
from hermitty.wire.hostlink.messages import (
    Acknowledge,
    Failed,
    InputTaken,
    Malformed,
    Message,
    Output,
    Refused,
    Write,
)
from hermitty.wire.hostlink.typed_json import build, plain

# Input is sent as it was written, in one piece, and is limited to 8 MB; so is what a program is started with, by the
# kernel. Anything longer is noise.
MAX_FRAME = 9 * 1024 * 1024

_LENGTH = struct.Struct("!I")
_HEAD = struct.Struct("!IB")
_JSON, _WRITE, _OUTPUT, _ACKNOWLEDGE, _TAKEN = 1, 2, 3, 4, 5
_WRITE_FIELDS = struct.Struct("!IQQ")
_OFFSET_FIELDS = struct.Struct("!IQ")
_WRITE_FRAME = struct.Struct("!IBIQQ")
_OFFSET_FRAME = struct.Struct("!IBIQ")

_OFFSETS: dict[int, type[Acknowledge] | type[Output] | type[InputTaken]] = {
    _OUTPUT: Output,
    _ACKNOWLEDGE: Acknowledge,
    _TAKEN: InputTaken,
}
_OFFSET_TYPES = {kind: number for number, kind in _OFFSETS.items()}
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in get_args(Message) if kind not in (Write, Malformed, *_OFFSET_TYPES)
}


def encode(message: Message) -> bytes:
    """Return a message as a frame. Raises InvalidRequest for one that is too long."""
    if isinstance(message, Write):
        size = 1 + _WRITE_FIELDS.size + len(message.data)
        frame = _WRITE_FRAME.pack(size, _WRITE, message.handle, message.number, message.answers_to) + message.data
    elif isinstance(message, Acknowledge | Output | InputTaken):
        frame = _OFFSET_FRAME.pack(13, _OFFSET_TYPES[type(message)], message.handle, message.offset)
    else:
        # Escapes keep what is no text (undecodable names in the environment) as it is.
        body = json.dumps({"kind": type(message).__name__, **plain(message)}, separators=(",", ":")).encode()
        frame = _HEAD.pack(len(body) + 1, _JSON) + body
    if len(frame) > MAX_FRAME:
        raise errors.InvalidRequest(f"a message of {len(frame)} bytes is too long; {MAX_FRAME} are taken")
    return frame


class Decoder:
    """Makes messages of bytes, however they were cut. After something malformed it says nothing more."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._broken = False

    def feed(self, data: bytes) -> list[Message]:
        """Take the next bytes and return the messages that are complete."""
        found: list[Message] = []
        if self._broken:
            return found
        self._buffer += data
        buffer, at = self._buffer, 0
        while len(buffer) - at >= 4:
            (size,) = _LENGTH.unpack_from(buffer, at)
            if not 1 <= size <= MAX_FRAME - 4:
                found.append(self._give_up(f"a frame of {size} bytes"))
                return found
            if len(buffer) - at - 4 < size:
                break
            message = _decode(buffer, at + 4, at + 4 + size)
            if isinstance(message, Malformed):
                found.append(self._give_up(message.problem))
                return found
            found.append(message)
            at += 4 + size
        del buffer[:at]
        return found

    def _give_up(self, problem: str) -> Malformed:
        self._broken = True
        self._buffer.clear()
        return Malformed(problem)


def _decode(buffer: bytearray, start: int, stop: int) -> Message:
    kind, first = buffer[start], start + 1
    if kind in _OFFSETS and stop - first == _OFFSET_FIELDS.size:
        return _OFFSETS[kind](*_OFFSET_FIELDS.unpack_from(buffer, first))
    if kind == _WRITE and stop - first >= _WRITE_FIELDS.size:
        handle, number, answers_to = _WRITE_FIELDS.unpack_from(buffer, first)
        return Write(handle, number, answers_to, bytes(buffer[first + _WRITE_FIELDS.size : stop]))
    if kind != _JSON:
        return Malformed(f"a frame of type {kind} with {stop - first} bytes")
    try:
        # RecursionError: thousands of brackets.
        value = json.loads(buffer[first:stop])
    except (ValueError, RecursionError):
        return Malformed("a frame that is no JSON")
    name = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in _KINDS:
        return Malformed("a JSON value that is no message")
    try:
        return build(_KINDS[name], value)  # type: ignore[no-any-return]
    except ValueError as problem:
        return Malformed(f"{name} without the right {problem}")


# Errors.

_BY_CODE: dict[str, type[errors.HermittyError]] = {
    kind.code: kind
    for kind in (
        errors.HostBusy,
        errors.HostMismatch,
        errors.HostUnavailable,
        errors.InvalidRequest,
        errors.NotSupported,
        errors.SandboxRefused,
        errors.SandboxUnavailable,
    )
}


def failure(request: int, error: errors.HermittyError, known: tuple[str, ...] = ()) -> Failed:
    """Return an error of ours as an answer. `known` are the terminals that there are, if that is the problem."""
    return Failed(request, error.code, error.message, str(getattr(error, "terminal_id", "")), known)


def error_of(answer: Failed | Refused) -> errors.HermittyError:
    """Return the error that an answer tells of."""
    if isinstance(answer, Failed) and answer.code == errors.TerminalNotFound.code:
        return errors.TerminalNotFound(answer.terminal, answer.known)
    return _BY_CODE.get(answer.code, errors.HostUnavailable)(answer.message)
