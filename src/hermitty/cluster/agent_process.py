"""An agent as a child process, for whoever supervises it: it is started again when it dies, and ends with us."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.node import NodeFiles
from hermitty.errors import HostUnavailable
from hermitty.pty import processes

_START_S = 30.0
_AGAIN_S = 0.1
_AGAIN_LIMIT_S = 2.0


def command(state: Path, *options: str) -> list[str]:
    """Return the words that start an agent; it ends with its standard input."""
    # -P: what lies in the current directory is not imported.
    return [sys.executable, "-P", "-m", "hermitty.cluster", str(state), "--lifeline", *options]


def clean_environment() -> dict[str, str]:
    """Return our environment without what marks the processes of a terminal: an agent belongs to none."""
    return {name: value for name, value in os.environ.items() if name != processes.OWNER_VARIABLE}


class AgentProcess:
    """Keeps an agent running."""

    def __init__(self, state: Path, options: Sequence[str] = ()) -> None:
        self.files = NodeFiles(state)
        self._command = command(state, *options)
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._problem = ""
        self._endpoint: Endpoint | None = None

    @property
    def pid(self) -> int | None:
        """Return the process that runs."""
        return None if self._process is None or self._endpoint is None else self._process.pid

    def start(self) -> None:
        """Begin."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._keep())

    async def endpoint(self) -> Endpoint:
        """Return where it is, once it is there. Raises HostUnavailable when it does not come."""
        try:
            async with asyncio.timeout(_START_S):
                while self._endpoint is None:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as exc:
            raise HostUnavailable(f"the agent does not start: {self._problem or 'no word from it'}") from exc
        return self._endpoint

    async def aclose(self) -> None:
        """End it; the terminals go on."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _keep(self) -> None:
        delay_s = _AGAIN_S
        while True:
            try:
                await self._run()
            except (OSError, ValueError, KeyError) as exc:
                self._problem = str(exc)
            finally:
                await self._end()
            if not self._problem:
                delay_s = _AGAIN_S
            await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2, _AGAIN_LIMIT_S)

    async def _run(self) -> None:
        self._process = process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=clean_environment(),
            start_new_session=True,
        )
        assert process.stdout is not None
        told = json.loads(await process.stdout.readline() or b'{"error": "it ended without a word"}')
        if "error" in told:
            raise ValueError(told["error"])
        secret = self.files.own_secret()
        self._endpoint = Endpoint(host=told.get("host", ""), port=told.get("port", 0), secret=secret)
        self._problem = ""
        self._changed.set()
        await process.wait()

    async def _end(self) -> None:
        self._endpoint = None
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                async with asyncio.timeout(_START_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
        # The end of its pipes closes ours.
        await process.communicate()
