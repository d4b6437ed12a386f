"""A network between a browser and a server, which a test can cut or let fall silent."""

import asyncio
import contextlib
from types import TracebackType
from typing import Self


class Network:
    """Forwards connections to a port of this machine. Opened as a context; `url` is where browsers go."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._port = 0
        self._server: asyncio.Server
        self._open: set[asyncio.WriteTransport] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self._age = 0
        self._over = asyncio.Event()
        self.is_down = False
        self.is_silent = False
        self.connections = 0
        self.swallowed = 0

    @property
    def url(self) -> str:
        """The address on this side of the network."""
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self._over.set()
        self.cut()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def cut(self) -> None:
        """Drop every connection, in the middle of whatever it carries."""
        for transport in self._open:
            transport.abort()

    def freeze(self) -> None:
        """Let every connection carry nothing any more, without an end; new ones work, unless `is_silent`."""
        self._age += 1

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.is_down:
            writer.transport.abort()
            return
        if self.is_silent:
            self.swallowed += 1
            self._open.add(writer.transport)
            return
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer.transport, there_writer.transport}
        for source, target in ((reader, there_writer), (there_reader, writer)):
            task = asyncio.create_task(self._pump(source, target, self._age))
            self._pumps.add(task)
            task.add_done_callback(self._pumps.discard)

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, age: int) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                if age != self._age:
                    await self._over.wait()
                    break
                target.write(data)
                await target.drain()
        target.transport.abort()
        self._open.discard(target.transport)
