"""A TCP connection in the middle that a test can cut, stall and mend."""

import asyncio
from types import TracebackType
from typing import Self


class Proxy:
    """Forwards connections to an address. Use it as an async context manager."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._is_cut = False
        self.accepted = 0
        self.passed = 0  # bytes, in both directions
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """End every connection as a broken network would, and let no new one through."""
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        """Let new connections through, and bytes flow."""
        self._is_cut = False
        self._flows.set()

    def stall(self) -> None:
        """Keep connections open, and let no byte through."""
        self._flows.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self._is_cut:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        for source, target in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.get_running_loop().create_task(self._forward(source, target))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                await self._flows.wait()
                self.passed += len(data)
                target.write(data)
                await target.drain()
        except OSError:
            pass
        finally:
            self._writers.discard(target)
            target.transport.abort()
