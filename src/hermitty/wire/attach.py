"""What a viewer and the server tell each other over a WebSocket.

Binary messages are raw bytes: output to the viewer, input from it. Text messages are JSON objects with a `type`, one
class each. Fields that are not known are ignored, so that either side may say more than the other understands; a type
that is not known is `Unknown`.
"""

import json
import types
from dataclasses import MISSING, asdict, dataclass, fields
from enum import IntEnum
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_origin, get_type_hints

from hermitty.errors import InvalidMessage, MalformedMessage

# JavaScript keeps integers exactly up to here.
_LARGEST_NUMBER = 2**53 - 1
# RFC 6455: a control frame holds at most 125 bytes, of which a close code takes two.
_REASON_BYTES = 123


class CloseCode(IntEnum):
    """Why a connection was closed: RFC 6455, and from 4000 on our own."""

    OVER = 1000  # the terminal has ended, or the viewer has left
    GOING_AWAY = 1001
    NOT_UNDERSTOOD = 1003
    TOO_BIG = 1009
    NOT_AUTHENTICATED = 4001
    WRONG_ORIGIN = 4003
    NO_SUCH_TERMINAL = 4004
    TOO_MANY = 4009


Replay = Literal["bytes", "snapshot", "none"]


# What the server tells.


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message. The next bytes of output start at `offset`, whatever is painted before."""

    type: ClassVar = "hello"
    terminal: str
    offset: int
    cols: int
    rows: int
    replay: Replay
    viewer: int = 0
    may_type: bool = True


@dataclass(frozen=True, slots=True)
class Reset:
    """Bytes are missing: forget the screen. A snapshot follows, and then output from `offset` on."""

    type: ClassVar = "reset"
    offset: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The next binary message is `bytes` long, paints the screen on a fresh terminal, and is no output."""

    type: ClassVar = "snapshot"
    bytes: int


@dataclass(frozen=True, slots=True)
class Resized:
    """The terminal has this size from here on; `by` names who chose it."""

    type: ClassVar = "resize"
    cols: int
    rows: int
    by: str | None = None


@dataclass(frozen=True, slots=True)
class CommandNotice:
    """A command started or ended at `offset`, right here in the output."""

    type: ClassVar = "command"
    event: Literal["started", "ended"]
    id: str
    command: str | None
    source: str
    offset: int
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A command in what a snapshot has painted: so many rows above that of the cursor its output starts and ends."""

    type: ClassVar = "mark"
    id: str
    command: str | None
    source: str
    above: int
    column: int
    running: bool
    exit_code: int | None = None
    end_above: int | None = None
    end_column: int = 0


@dataclass(frozen=True, slots=True)
class Cwd:
    """The directory the shell is in."""

    type: ClassVar = "cwd"
    cwd: str


@dataclass(frozen=True, slots=True)
class Title:
    """The title that a program chose."""

    type: ClassVar = "title"
    title: str


@dataclass(frozen=True, slots=True)
class Viewers:
    """How many watch this terminal."""

    type: ClassVar = "viewers"
    count: int


@dataclass(frozen=True, slots=True)
class Typist:
    """Who typed last."""

    type: ClassVar = "typist"
    name: str
    viewer: int = 0


@dataclass(frozen=True, slots=True)
class Locked:
    """Whether somebody holds the size."""

    type: ClassVar = "lock"
    locked: bool
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Paused:
    """The person who keeps agents from this terminal, or nobody."""

    type: ClassVar = "paused"
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """The terminal has ended; nothing follows."""

    type: ClassVar = "exit"
    reason: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Error:
    """Something that the viewer sent was not done."""

    type: ClassVar = "error"
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Pong:
    """The answer to a ping."""

    type: ClassVar = "pong"


# What a viewer tells.


@dataclass(frozen=True, slots=True)
class Resize:
    """The viewer has room for so much."""

    type: ClassVar = "resize"
    cols: int
    rows: int


@dataclass(frozen=True, slots=True)
class Ack:
    """The viewer has handled all output before `offset`. The first one asks for flow control."""

    type: ClassVar = "ack"
    offset: int


@dataclass(frozen=True, slots=True)
class Ping:
    """Asks for a pong."""

    type: ClassVar = "ping"


@dataclass(frozen=True, slots=True)
class Lock:
    """Hold the size as this viewer has it, or let go of it."""

    type: ClassVar = "lock"
    locked: bool


@dataclass(frozen=True, slots=True)
class Visible:
    """Whether anybody can see the viewer's page; one that is hidden does not decide the size."""

    type: ClassVar = "visible"
    visible: bool


@dataclass(frozen=True, slots=True)
class Unknown:
    """A message of a type that is not known here."""

    type: str


ServerMessage = (
    Hello | Reset | Snapshot | Resized | CommandNotice | Mark | Cwd | Title | Viewers | Typist | Locked | Paused | Exit
    | Error | Pong
)  # fmt: skip
ClientMessage = Resize | Ack | Ping | Lock | Visible

M = TypeVar("M")


def _table(union: Any) -> dict[str, type[Any]]:
    return {kind.type: kind for kind in get_args(union)}


_FROM_SERVER = _table(ServerMessage)
_FROM_CLIENT = _table(ClientMessage)
_HINTS = {kind: get_type_hints(kind) for kind in (*_FROM_SERVER.values(), *_FROM_CLIENT.values())}


def encode(message: ServerMessage | ClientMessage) -> str:
    """Write a message. It is ASCII, so that names which are no text (half a surrogate pair) pass as well."""
    return json.dumps({"type": message.type, **asdict(message)}, separators=(",", ":"))


def parse_client(text: str) -> ClientMessage | Unknown:
    """Read what a viewer sent. Raises MalformedMessage for what is no JSON object, else InvalidMessage."""
    message: ClientMessage | Unknown = _parse(text, _FROM_CLIENT)
    return message


def parse_server(text: str) -> ServerMessage | Unknown:
    """Read what a server sent. Raises MalformedMessage for what is no JSON object, else InvalidMessage."""
    message: ServerMessage | Unknown = _parse(text, _FROM_SERVER)
    return message


def _parse(text: str, table: dict[str, type[Any]]) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as exc:  # deep nesting, a number of thousands of digits
        raise MalformedMessage("a text message must be JSON") from exc
    if not isinstance(found, dict):
        raise MalformedMessage("a text message must be a JSON object")
    name = found.get("type")
    if not isinstance(name, str):
        raise InvalidMessage("a message needs a type, which is text")
    kind = table.get(name)
    if kind is None:
        return Unknown(name)
    values = {}
    for field in fields(kind):
        if field.name in found:
            values[field.name] = found[field.name]
            if not _fits(values[field.name], _HINTS[kind][field.name]):
                raise InvalidMessage(f"{field.name} of a message of type {name} cannot be that")
        elif field.default is MISSING:
            raise InvalidMessage(f"a message of type {name} needs {field.name}")
    return kind(**values)


def _fits(value: object, hint: Any) -> bool:
    if isinstance(hint, types.UnionType):
        return any(_fits(value, each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST_NUMBER
    return isinstance(value, hint)


# Frames as a server sends them: whole messages, not masked, not compressed.

_TEXT, _BINARY, _PING, _PONG = 0x81, 0x82, 0x89, 0x8A


def text_frame(message: ServerMessage) -> bytes:
    """Build the frame of a control message."""
    return _frame(_TEXT, encode(message).encode())


def binary_frame(payload: bytes) -> bytes:
    """Build the frame of bytes."""
    return _frame(_BINARY, payload)


def ping_frame() -> bytes:
    """Build a ping, which every WebSocket answers by itself."""
    return _frame(_PING, b"")


def pong_frame(payload: bytes) -> bytes:
    """Build the answer to a ping with this payload."""
    return _frame(_PONG, payload)


def _frame(first: int, payload: bytes) -> bytes:
    length = len(payload)
    if length < 126:
        header = bytes((first, length))
    elif length < 1 << 16:
        header = bytes((first, 126)) + length.to_bytes(2, "big")
    else:
        header = bytes((first, 127)) + length.to_bytes(8, "big")
    return header + payload


def close_reason(text: str) -> bytes:
    """Cut the reason of a close to what fits into its frame, between characters."""
    return text.encode(errors="replace")[:_REASON_BYTES].decode(errors="ignore").encode()
