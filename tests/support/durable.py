"""Runtimes on a durable host of their own, and other processes that use one and are killed."""

import asyncio
import json
import os
import signal
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hermitty.host.control import stop_host
from hermitty.host.daemon import DaemonOptions
from hermitty.runtime.api import Runtime
from hermitty.runtime.durable import open_durable
from tests.support.runtimes import settings_in
from tests.support.shells import PATIENCE_S

_PROGRAM = """
import asyncio, json, os, signal, sys
from pathlib import Path
from hermitty.host.daemon import DaemonOptions
from hermitty.runtime.durable import open_durable
from tests.support.kernel import so
from tests.support.runtimes import settings_in

def say(**facts):
    print(json.dumps(facts), flush=True)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def until(look):
    await so(lambda: bool(look()))

async def main():
    home, values, options = Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
    rt = await open_durable(settings_in(home, **values), options=DaemonOptions(**options))
    await scenario(rt, home)
    await asyncio.Event().wait()

async def scenario(rt, home):
{body}

asyncio.run(main())
"""


class Place:
    """A state directory with its durable host."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.options: dict[str, Any] = {}

    async def open(self, **values: object) -> Runtime:
        """Use it from this process."""
        return await open_durable(settings_in(self.home, **values), options=DaemonOptions(**self.options))

    @asynccontextmanager
    async def used(self, body: str, **values: object) -> AsyncIterator["Other"]:
        """Use it from another process, killed in the end; `body` has rt, home, say(**facts), until(look) and die()."""
        program = _PROGRAM.format(body=textwrap.indent(textwrap.dedent(body), "    "))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", program, str(self.home), json.dumps(values), json.dumps(self.options)),
            stdout=asyncio.subprocess.PIPE,
            stdin=asyncio.subprocess.DEVNULL,
        )
        other = Other(process)
        try:
            yield other
        finally:
            await other.kill()

    async def stop(self) -> None:
        """End the host and everything on it."""
        await asyncio.to_thread(stop_host, Path(os.environ["HERMITTY_STATE_DIR"]))


class Other:
    """A process that uses the same host."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def says(self) -> dict[str, Any]:
        """Wait for the next thing it says."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self._process.stdout.readline()
        assert line, "the other process has ended; see its error output"
        facts = json.loads(line)
        assert isinstance(facts, dict)
        return facts

    async def kill(self) -> None:
        """Kill it as an administrator would, with no chance to do anything more."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
        await self.gone()

    async def gone(self) -> None:
        """Wait until it is dead."""
        async with asyncio.timeout(PATIENCE_S):
            await self._process.communicate()
