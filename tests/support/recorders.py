"""Sinks that remember what a PTY or a process did, in order, and let a test wait for it."""

import asyncio
from collections.abc import Callable

from hermitty.host.base import Stream
from hermitty.model import ExitStatus
from tests.support.shells import PATIENCE_S


class _Ending:
    """What is told of the end, and how a test waits."""

    def __init__(self) -> None:
        self.lost: list[str] = []
        self.statuses: list[ExitStatus] = []
        self._changed = asyncio.Event()

    def on_exit(self, status: ExitStatus) -> None:
        self.statuses.append(status)
        self._changed.set()

    def on_lost(self, reason: str) -> None:
        self.lost.append(reason)
        self._changed.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so; it is looked at whenever something was recorded."""
        async with asyncio.timeout(PATIENCE_S):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()


class Recorder(_Ending):
    """What came out of one PTY. `status` is None until the end was told."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""
        self.after_the_end = b""
        self._glances: list[bytes] = []
        self.turns: list[tuple[list[bytes], bytes]] = []  # the pieces that were shown, and what came then

    def glance(self, data: bytes) -> None:
        self._glances.append(data)

    def on_output(self, data: bytes) -> None:
        self.turns.append((self._glances, data))
        self._glances = []
        if self.statuses:
            self.after_the_end += data
        self.data += data
        self._changed.set()

    async def printed(self, text: bytes) -> bytes:
        """Wait until `text` was printed; return everything so far."""
        await self.until(lambda: text in self.data)
        return self.data

    async def ended(self) -> ExitStatus:
        """Wait for the end; it was told once, after all output."""
        await self.until(lambda: bool(self.statuses))
        assert len(self.statuses) == 1
        assert self.after_the_end == b""
        return self.statuses[0]


class ProcessRecorder(_Ending):
    """What came out of one piped process."""

    def __init__(self) -> None:
        super().__init__()
        self.streams: dict[str, bytes] = {"stdout": b"", "stderr": b""}
        self.late = False

    @property
    def stdout(self) -> bytes:
        return self.streams["stdout"]

    @property
    def stderr(self) -> bytes:
        return self.streams["stderr"]

    def on_output(self, stream: Stream, data: bytes) -> None:
        self.late |= bool(self.statuses)
        self.streams[stream] += data
        self._changed.set()

    async def printed(self, text: bytes) -> bytes:
        """Wait until standard output has `text`; return all of it so far."""
        await self.until(lambda: text in self.stdout)
        return self.stdout

    async def ended(self) -> ExitStatus:
        """Wait for the end; it was told once, after all output."""
        await self.until(lambda: bool(self.statuses))
        assert len(self.statuses) == 1
        assert not self.late
        return self.statuses[0]
