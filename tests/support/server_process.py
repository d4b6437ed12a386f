"""`hermitty serve` as a process of its own, with its durable host."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from hermitty.host.control import stop_host
from tests.support.kernel import so
from tests.support.shells import PATIENCE_S

TOKEN = "the-token-of-the-owner-0123456789abcdef"


class ServerProcess:
    """`hermitty serve` as a process, always at the same address; `entering` are words before the program's own."""

    def __init__(self, *, entering: Sequence[str] = (), log: Path | None = None) -> None:
        self.port = 0
        self.is_up = asyncio.Event()
        self._entering = entering
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Return its process."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        with ExitStack() as stack:
            log = None if self._log is None else stack.enter_context(self._log.open("ab"))
            self._process = await asyncio.create_subprocess_exec(
                *(*self._entering, sys.executable, "-m", "hermitty.cli.main", "serve"),
                *("--port", str(self.port), "--token", TOKEN),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self._process.stdout.readline()
        self.port = int(line.decode().partition("127.0.0.1:")[2].partition("/")[0])
        self.is_up.set()

    async def end(self, number: signal.Signals) -> None:
        """Send a signal, and wait until it is dead."""
        assert self._process is not None
        self.is_up.clear()
        if self._process.returncode is None:
            self._process.send_signal(number)
        async with asyncio.timeout(PATIENCE_S):
            await self._process.communicate()


@asynccontextmanager
async def durable_server(state: Path) -> AsyncIterator[ServerProcess]:
    """Start a server; at the end it is killed, and its host with everything in it stopped."""
    server = ServerProcess()
    await server.start()
    try:
        yield server
    finally:
        await server.end(signal.SIGKILL)
        await asyncio.to_thread(stop_host, state)


async def call(client: aiohttp.ClientSession, server: ServerProcess, method: str, path: str, **body: Any) -> Any:
    url = f"http://127.0.0.1:{server.port}{path}"
    async with asyncio.timeout(PATIENCE_S), client.request(method, url, json=body or None) as response:
        assert response.status < 300, await response.text()
        return await response.json()


async def asked(client: aiohttp.ClientSession, server: ServerProcess) -> list[Any]:
    """Wait until a person is asked something, and return the questions."""
    questions: list[Any] = []

    async def look() -> bool:
        questions[:] = (await call(client, server, "GET", "/api/approvals"))["approvals"]
        return bool(questions)

    await so(look)
    return questions
