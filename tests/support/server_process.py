"""`hermitty serve` as a process of its own, with its durable host."""

import asyncio
import signal
import sys
from typing import Any

import aiohttp

from tests.support.shells import PATIENCE_S

TOKEN = "the-token-of-the-owner-0123456789abcdef"


class ServerProcess:
    """`hermitty serve` as a process, always at the same address."""

    def __init__(self) -> None:
        self.port = 0
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Return its process."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hermitty.cli.main", "serve", "--port", str(self.port), "--token", TOKEN),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self._process.stdout.readline()
        self.port = int(line.decode().partition("127.0.0.1:")[2].partition("/")[0])

    async def end(self, number: signal.Signals) -> None:
        """Send a signal, and wait until it is dead."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(number)
        async with asyncio.timeout(PATIENCE_S):
            await self._process.communicate()


async def call(client: aiohttp.ClientSession, server: ServerProcess, method: str, path: str, **body: Any) -> Any:
    url = f"http://127.0.0.1:{server.port}{path}"
    async with asyncio.timeout(PATIENCE_S), client.request(method, url, json=body or None) as response:
        assert response.status < 300, await response.text()
        return await response.json()
