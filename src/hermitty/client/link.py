"""A viewer of one terminal that outlives its connections: it goes on at the offset that it has.

Every byte of output is given out once, in order. A picture of the screen, which replaces bytes that are gone, is told
apart from output. Nothing that was typed is sent twice; what is typed while there is no connection is dropped.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp

from hermitty.client.backoff import Backoff
from hermitty.client.failures import error_of
from hermitty.client.http import Http, part
from hermitty.errors import (
    AccessRefused,
    HermittyError,
    InvalidMessage,
    NotAuthenticated,
    ServerUnavailable,
    TerminalNotFound,
)
from hermitty.model import Size
from hermitty.wire.attach import (
    Ack,
    ClientMessage,
    CloseCode,
    Exit,
    Hello,
    Reset,
    Resize,
    ServerMessage,
    Snapshot,
    Unknown,
    encode,
    parse_server,
)

# How much may be handled before the server is told, so that it sends more.
_ACK_BYTES = 64 * 1024
_HEARTBEAT_S = 20.0


@dataclass(frozen=True, slots=True)
class Connected:
    """The terminal is there. Output goes on at `hello.offset`."""

    hello: Hello


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes of the terminal from `offset` on."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Picture:
    """Bytes that paint the screen on a fresh terminal. What was shown before is to be forgotten."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection broke; it is tried again."""

    reason: str


@dataclass(frozen=True, slots=True)
class Told:
    """Something else that the server says."""

    message: ServerMessage


@dataclass(frozen=True, slots=True)
class Over:
    """The terminal has ended; nothing follows."""

    reason: str
    exit_code: int | None


LinkEvent = Connected | Output | Picture | Lost | Told | Over


class Place:
    """Where a viewer is in the output. Pure: fed the messages of a connection, it says what they are.

    Until a picture that was announced is there, the viewer has nothing to go on from.
    """

    def __init__(self, offset: int | None = None) -> None:
        self.offset = offset  # of the next byte; None: only a picture helps
        self._next: int | None = None  # where output goes on behind the picture that is due
        self._picture_bytes: int | None = None
        self._is_greeted = False

    def disconnected(self) -> None:
        """Note that the connection is gone, and with it what was announced."""
        self._picture_bytes = None
        self._next = None
        self._is_greeted = False

    def take_text(self, text: str) -> LinkEvent | None:
        """Take a message. Raises InvalidMessage for what makes no sense here."""
        message = parse_server(text)
        if not self._is_greeted:
            if not isinstance(message, Hello):
                raise InvalidMessage("the server's first message is no hello")
            self._is_greeted = True
            if message.replay == "snapshot":
                self.offset, self._next = None, message.offset
            elif self.offset is None:
                self.offset = message.offset
            elif message.offset != self.offset:
                raise InvalidMessage("the server goes on at another offset than the one that was asked for")
            return Connected(message)
        match message:
            case Reset(offset):
                self.offset, self._next = None, offset
                return None
            case Snapshot(size):
                self._picture_bytes = size
                return None
            case Exit(reason, exit_code):
                return Over(reason, exit_code)
            case Unknown():
                return None
        return Told(message)

    def take_bytes(self, data: bytes) -> LinkEvent:
        """Take bytes: output, or the picture that was announced."""
        if self._picture_bytes is not None:
            if len(data) != self._picture_bytes:
                raise InvalidMessage("the picture of the screen is not as long as announced")
            self._picture_bytes = None
            self.offset = self.offset if self._next is None else self._next
            self._next = None
            return Picture(data)
        if self.offset is None:
            raise InvalidMessage("the server sent output where a picture was due")
        at = self.offset
        self.offset += len(data)
        return Output(at, data)


class TerminalLink:
    """Watches a terminal. `events` is the only reader; `type` and `resize` may be called at any time."""

    def __init__(
        self, http: Http, terminal_id: str, *, size: Size | None, history: bool = True, since: int | None = None
    ) -> None:
        self._http = http
        self._terminal_id = terminal_id
        self._size = size
        self._history = history
        self._place = Place(since)
        self._acked = 0
        self._ws: aiohttp.ClientWebSocketResponse | None = None
        self._outgoing: asyncio.Queue[bytes | ClientMessage] = asyncio.Queue()

    @property
    def is_connected(self) -> bool:
        """Tell whether what is typed arrives."""
        return self._ws is not None

    def type(self, data: bytes) -> bool:
        """Send what was typed; False when there is no connection, and it was dropped."""
        return self._put(data)

    def resize(self, size: Size) -> None:
        """Tell how much room the viewer has, now and after every break."""
        self._size = size
        self._put(Resize(size.cols, size.rows))

    def handled(self) -> None:
        """Note that everything given out so far has been shown: the server may send more."""
        offset = self._place.offset
        if offset is not None and abs(offset - self._acked) >= _ACK_BYTES:
            self._acked = offset
            self._put(Ack(offset))

    def forget(self) -> None:
        """Ask for a picture after the next break, and not for the bytes since: what is shown is damaged."""
        if not self.is_connected:
            self._place.offset = None
            self._history = False

    async def events(self) -> AsyncIterator[LinkEvent]:
        """Yield what happens, until the terminal ends. Raises what the server refuses, and what no try can mend."""
        backoff = Backoff(None)
        is_first = True
        while True:
            try:
                async for event in self._one_connection():
                    if isinstance(event, Connected):
                        backoff.succeeded()
                        is_first = False
                    yield event
                    if isinstance(event, Over):
                        return
                reason = "the server closed the connection"
            except (aiohttp.ClientError, TimeoutError, ConnectionError) as exc:
                if is_first:
                    raise self._http.unavailable(exc) from exc
                reason = str(exc) or type(exc).__name__
            yield Lost(reason)
            await asyncio.sleep(backoff.pause_s(asyncio.get_running_loop().time(), random.random()) or 0)

    async def _one_connection(self) -> AsyncIterator[LinkEvent]:
        query: dict[str, str] = {} if self._history else {"history": "0"}
        if self._place.offset is not None:
            query["since"] = str(self._place.offset)
        url = self._http.url(f"/ws/terminal/{part(self._terminal_id)}")
        try:
            opening = self._http.session.ws_connect(
                url, params=query, max_msg_size=0, compress=0, heartbeat=_HEARTBEAT_S, autoclose=True
            )
            async with opening as ws:
                sender = asyncio.get_running_loop().create_task(self._send(ws))
                try:
                    async for event in self._read(ws):
                        yield event
                finally:
                    self._ws = None
                    sender.cancel()
                    await asyncio.wait({sender})
                _check_close(ws, self._terminal_id)
        except aiohttp.WSServerHandshakeError as exc:
            raise _refused(exc) from exc
        finally:
            self._place.disconnected()

    async def _read(self, ws: aiohttp.ClientWebSocketResponse) -> AsyncIterator[LinkEvent]:
        async for message in ws:
            if message.type is aiohttp.WSMsgType.TEXT:
                event = self._place.take_text(message.data)
            elif message.type is aiohttp.WSMsgType.BINARY:
                event = self._place.take_bytes(message.data)
            else:
                return
            if isinstance(event, Connected):
                self._greeted(ws, event.hello)
            if event is not None:
                yield event

    def _greeted(self, ws: aiohttp.ClientWebSocketResponse, hello: Hello) -> None:
        while not self._outgoing.empty():  # meant for a connection that is gone
            self._outgoing.get_nowait()
        self._ws = ws
        self._acked = hello.offset
        self._put(Ack(hello.offset))
        if self._size is not None:
            self.resize(self._size)

    async def _send(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        try:
            while True:
                item = await self._outgoing.get()
                if isinstance(item, bytes):
                    await ws.send_bytes(item)
                else:
                    await ws.send_str(encode(item))
        except (aiohttp.ClientError, ConnectionError):
            return  # whoever reads notices the same

    def _put(self, item: bytes | ClientMessage) -> bool:
        if self._ws is None:
            return False
        self._outgoing.put_nowait(item)
        return True


def _check_close(ws: aiohttp.ClientWebSocketResponse, terminal_id: str) -> None:
    """Raise what a close code says, unless it is something that passes."""
    match ws.close_code:
        case CloseCode.NO_SUCH_TERMINAL:
            raise TerminalNotFound(terminal_id)
        case CloseCode.NOT_AUTHENTICATED:
            raise NotAuthenticated("the server does not take this token")
        case 4003:
            raise AccessRefused("the server does not let this token watch terminals, or not from here")
        case CloseCode.TOO_MANY:
            raise ServerUnavailable("this terminal has too many viewers")
        case CloseCode.NOT_UNDERSTOOD | CloseCode.TOO_BIG:
            raise InvalidMessage("the server did not understand this client")


def _refused(exc: aiohttp.WSServerHandshakeError) -> HermittyError | ConnectionError:
    if exc.status in (401, 403, 404):
        return error_of(exc.status, b"")
    return ConnectionError(f"the server answered with status {exc.status}")
