"""A TCP proxy between a client and a server, which can be cut."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Proxy:
    """Forwards bytes both ways. `swallow`: a request that begins so is lost with its connection."""

    def __init__(self, port: int) -> None:
        self.swallow: bytes | None = None
        self.swallowed = 0
        self.is_closed = False  # whoever connects is cut off at once
        self.forwarded: list[bytes] = []  # the first line of each request
        self._to = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def lead_to(self, port: int) -> None:
        """Forward to another server from now on."""
        self._to = port

    def cut(self) -> None:
        """Break every connection."""
        for writer in self._writers:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            if not self.is_closed:
                await self._forward(reader, writer)
        finally:
            self._writers.discard(writer)
            writer.transport.abort()
            self._tasks.discard(task)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._to)
            self._writers.add(server_writer)
            try:
                await asyncio.wait(
                    [
                        asyncio.ensure_future(self._pump(reader, server_writer, is_request=True)),
                        asyncio.ensure_future(self._pump(server_reader, writer)),
                    ],
                    return_when=asyncio.ALL_COMPLETED,
                )
            finally:
                self._writers.discard(server_writer)
                server_writer.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_request: bool = False
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if is_request:
                    if self.swallow is not None and data.startswith(self.swallow):
                        self.swallowed += 1
                        break
                    self.forwarded.append(data.split(b"\r\n")[0])
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

    async def close(self) -> None:
        self.cut()
        while self._tasks:
            self.cut()
            await asyncio.wait(self._tasks, timeout=0.1)


@contextlib.asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    proxy = Proxy(port)
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        await proxy.close()
        await listener.wait_closed()
