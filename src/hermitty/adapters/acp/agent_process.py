"""The process of an agent: its three streams, and its end with everything that it started.

It gets the environment of this process as it is, since agents find their keys and settings there, and a variable more
that marks what it starts. It has a session of its own: a Ctrl-C at our terminal does not reach it. What it writes to
standard error is read all the time, so that it never waits for us; the last of it is kept to explain its end.
"""

import asyncio
import contextlib
import os
import secrets
import signal
import sys
from collections.abc import Mapping, Sequence

from hermitty.adapters.acp.plain_stream import PlainStream
from hermitty.adapters.acp.tail import TailText
from hermitty.errors import AgentFailed, InvalidDirectory
from hermitty.runtime.api import processes

_STDERR_BYTES = 64 * 1024
_READ_BYTES = 64 * 1024
# How long it may take to end by itself once its input ends, and once it is told to.
_LEAVE_S = 2.0
_TERMINATE_S = 2.0
_KILL_S = 5.0
_LAST_WORDS_S = 0.2


class _Protocol(asyncio.subprocess.SubprocessStreamProtocol):
    """Tells of the end of a process, also when a child of it still holds its streams."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=_READ_BYTES, loop=loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class AgentProcess:
    """An agent that was started. `end` it, whatever happens."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        transport: asyncio.SubprocessTransport,
        exited: asyncio.Event,
        owner: str,
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.writer = process.stdin
        self.reader = process.stdout
        self.pid = process.pid
        self._process = process
        self._transport = transport
        self._exited = exited
        self._owner = owner
        self._stderr = TailText(_STDERR_BYTES)
        self._draining = asyncio.get_running_loop().create_task(self._drain(process.stderr))

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str] | None = None,
    ) -> "AgentProcess":
        """Start an agent. Raises AgentFailed if there is no such program."""
        if not await asyncio.to_thread(os.path.isdir, cwd):
            raise InvalidDirectory(cwd, "is not a directory")
        owner = f"acp.{secrets.token_hex(16)}"
        loop = asyncio.get_running_loop()
        try:
            transport, protocol = await loop.subprocess_exec(
                lambda: _Protocol(loop),
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=cwd,
                env={**(os.environ if env is None else env), processes.OWNER_VARIABLE: owner},
                start_new_session=sys.platform != "win32",
            )
        except (OSError, ValueError) as exc:
            problem = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
            raise AgentFailed(f"the agent {argv[0]!r} cannot be started: {problem}") from exc
        return cls(asyncio.subprocess.Process(transport, protocol, loop), transport, protocol.exited, owner)

    @property
    def exit_code(self) -> int | None:
        """Return its exit code, the negative number of the signal that ended it, or None while it runs."""
        return self._process.returncode

    @property
    def last_words(self) -> str:
        """Return the end of what it wrote to standard error, without escape sequences."""
        return self._stderr.text()

    @property
    def stderr_bytes(self) -> int:
        """Return how much it wrote to standard error."""
        return self._stderr.total_bytes

    async def wait(self) -> None:
        """Wait for its end, and a moment for the rest of its standard error, which a child may hold open."""
        await self._exited.wait()
        await asyncio.wait({self._draining}, timeout=_LAST_WORDS_S)

    async def end(self) -> None:
        """End it and everything it started: by the end of its input, by SIGTERM, by SIGKILL."""
        try:
            self.writer.close()
            if not await self._is_over(_LEAVE_S):
                self._signal(signal.SIGTERM)
                await self._is_over(_TERMINATE_S)
        finally:
            await self._kill()

    async def _is_over(self, within_s: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._exited.wait()
        return self._exited.is_set()

    async def _kill(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _KILL_S
        while self._signal(getattr(signal, "SIGKILL", signal.SIGTERM)) and loop.time() < deadline:
            await asyncio.sleep(0.002)  # nothing tells when somebody else's child is gone
        # Closing kills the process itself, if it is still there, and lets go of the pipes.
        self._transport.close()
        await self._process.wait()
        self._draining.cancel()
        await asyncio.wait({self._draining})

    def _signal(self, number: int) -> int:
        """Signal the process and everything it started; return how many there were."""
        if sys.platform == "win32":
            return 0
        table = processes.process_table()
        has_ended = self._process.returncode is not None
        mine = processes.belongs_to(table, self.pid, self._owner, root_ended=has_ended)
        if not has_ended and self.pid in table:
            mine.add(self.pid)
        return processes.send(table, mine, number)

    async def _drain(self, stderr: asyncio.StreamReader) -> None:
        plain = PlainStream()
        while data := await stderr.read(_READ_BYTES):
            self._stderr.append(plain.feed(data))
        self._stderr.append(plain.finish())
