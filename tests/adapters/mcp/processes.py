"""`hermitty mcp` as clients start it: a process of its own, in an empty home."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.support.shells import PATIENCE_S

ARGUMENTS = ("-m", "hermitty.cli.main", "mcp")
LEGACY = "2025-11-25"


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of the process."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    places = {"HERMITTY_CONFIG": os.devnull, "HERMITTY_STATE_DIR": str(home / "state")}
    return {**kept, "HOME": str(home), "SHELL": "/bin/bash", **places, **more}


class Raw:
    """A client that writes and reads lines itself."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._last = 0

    @classmethod
    async def start(cls, home: Path, **more: str) -> "Raw":
        """Start the server, and shake hands."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *ARGUMENTS,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=64 * 1024 * 1024,
            cwd=home,
            env=environment(home, **more),
        )
        client = cls(process)
        hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        await client.ask("initialize", hello)
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return client

    def send(self, message: dict[str, Any] | bytes) -> None:
        """Write a message."""
        assert self.process.stdin is not None
        self.process.stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    async def receive(self) -> dict[str, Any]:
        """Read a message. Whatever is on a line is one."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self.process.stdout.readline()
        found = json.loads(line)
        assert found["jsonrpc"] == "2.0"
        return dict(found)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        self._last += 1
        self.send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        while (answer := await self.receive()).get("id") != self._last:
            pass
        return answer

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, and return its result."""
        return dict((await self.ask("tools/call", {"name": name, "arguments": arguments}))["result"])

    async def close(self) -> tuple[int, bytes, bytes]:
        """End the input, and return the exit code with what else was printed."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.end()

    async def end(self) -> tuple[int, bytes, bytes]:
        """Wait for the end, and return the exit code with what else was printed."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE_S):
            out, err = await asyncio.gather(self.process.stdout.read(), self.process.stderr.read())
            return await self.process.wait(), out, err
