"""A viewer as a page would be: it follows output by offset, and remembers what it was told, in order."""

import asyncio
import base64
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeVar

import aiohttp

from hermitty.wire.attach import (
    Ack,
    ClientMessage,
    Exit,
    Hello,
    Reset,
    ServerMessage,
    Snapshot,
    Unknown,
    encode,
    parse_server,
)
from tests.support.shells import PATIENCE_S

T = TypeVar("T")


@dataclass
class Watcher:
    """One connection. `output` are the bytes from `first` on; it starts anew after a reset."""

    ws: aiohttp.ClientWebSocketResponse
    acks: bool = False
    messages: list[ServerMessage | Unknown] = field(default_factory=list)
    snapshots: list[bytes] = field(default_factory=list)
    # Everything in the order it came: messages, ("output", offset, bytes).
    order: list[object] = field(default_factory=list)
    output: bytearray = field(default_factory=bytearray)
    first: int = 0
    resets: int = 0
    _next_is_snapshot: int | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._read())
        await self.until(lambda: bool(self.messages) or self.ws.closed)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.ws.close()
        if self._task is not None:
            await self._task

    @property
    def offset(self) -> int:
        """Where the next byte goes."""
        return self.first + len(self.output)

    @property
    def hello(self) -> Hello:
        assert isinstance(self.messages[0], Hello)
        return self.messages[0]

    @property
    def text(self) -> str:
        return self.output.decode(errors="replace")

    def of(self, kind: type[T]) -> list[T]:
        return [each for each in self.messages if isinstance(each, kind)]

    async def until(self, fact: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(PATIENCE_S):
            while not fact():
                assert not self.ws.closed or fact(), f"closed with {self.ws.close_code}: {self.messages[-3:]}"
                self._changed.clear()
                await self._changed.wait()

    async def printed(self, text: str) -> None:
        await self.until(lambda: text.encode() in self.output)

    async def told(self, kind: type[ServerMessage], count: int = 1) -> None:
        await self.until(lambda: len(self.of(kind)) >= count)

    async def closed(self) -> int | None:
        """Wait for the end and return its code."""
        async with asyncio.timeout(PATIENCE_S):
            assert self._task is not None
            await self._task
        return self.ws.close_code

    async def say(self, message: ClientMessage) -> None:
        await self.ws.send_str(encode(message))

    async def type(self, text: str | bytes) -> None:
        await self.ws.send_bytes(text.encode() if isinstance(text, str) else text)

    async def _read(self) -> None:
        async for message in self.ws:
            if message.type is aiohttp.WSMsgType.TEXT:
                self._take(parse_server(message.data))
            elif message.type is aiohttp.WSMsgType.BINARY:
                self._take_bytes(message.data)
                if self.acks and not self.ws.closed:
                    await self.ws.send_str(encode(Ack(self.offset)))
            self._changed.set()
        self._changed.set()

    def _take(self, message: ServerMessage | Unknown) -> None:
        assert self._next_is_snapshot is None, f"{message} came between a snapshot's announcement and its bytes"
        self.messages.append(message)
        self.order.append(message)
        match message:
            case Hello():
                assert len(self.messages) == 1
                self.first = message.offset
            case Reset(offset):
                self.resets += 1
                self.output.clear()
                self.first = offset
            case Snapshot(size):
                self._next_is_snapshot = size
            case Exit():
                pass

    def _take_bytes(self, data: bytes) -> None:
        if self._next_is_snapshot is not None:
            assert len(data) == self._next_is_snapshot
            self.snapshots.append(data)
            self.order.append(("snapshot", len(data)))
            self._next_is_snapshot = None
        else:
            assert data, "an empty frame of output"
            self.order.append(("output", self.offset, data))
            self.output += data


class DeafViewer:
    """A viewer on a bare socket that reads only when told to."""

    def __init__(self, port: int, path: str) -> None:
        self.socket = socket.socket()
        # Small, and set before connecting: the kernel would take megabytes otherwise.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
        self.socket.setblocking(False)
        self._port = port
        self._path = path
        self._data = b""

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self.socket, ("127.0.0.1", self._port))
        key = base64.b64encode(bytes(16)).decode()
        head = f"GET {self._path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        await loop.sock_sendall(self.socket, head.encode())
        while b"\r\n\r\n" not in self._data:
            self._data += await loop.sock_recv(self.socket, 256)
        self._data = self._data.partition(b"\r\n\r\n")[2]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def frame(self) -> tuple[int, bytes]:
        """Read the next frame: its opcode and its payload."""
        await self._need(2)
        length = self._data[1]
        header = 2
        if length >= 126:
            header += 2 if length == 126 else 8
            await self._need(header)
            length = int.from_bytes(self._data[2:header], "big")
        await self._need(header + length)
        opcode, payload = self._data[0] & 0x0F, self._data[header : header + length]
        self._data = self._data[header + length :]
        return opcode, payload

    async def _need(self, size: int) -> None:
        parts = [self._data]
        there = len(self._data)
        async with asyncio.timeout(PATIENCE_S):
            while there < size:
                part = await asyncio.get_running_loop().sock_recv(self.socket, 1 << 16)
                if not part:
                    raise EOFError
                parts.append(part)
                there += len(part)
        self._data = b"".join(parts)


def masked(opcode: int, payload: bytes, *, final: bool = True) -> bytes:
    """A frame as clients send it."""
    first = (0x80 if final else 0) | opcode
    length = len(payload)
    if length < 126:
        header = bytes((first, 0x80 | length))
    elif length < 1 << 16:
        header = bytes((first, 0xFE)) + length.to_bytes(2, "big")
    else:
        header = bytes((first, 0xFF)) + length.to_bytes(8, "big")
    return header + bytes(4) + payload  # a mask of zeros changes nothing
