"""What other processes have to say to a test, as something that can be waited for."""

import asyncio
import contextlib
import os
import select
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.shells import PATIENCE_S


class Note:
    """A named pipe that a command writes a line to (`echo $$ >pid`). Make it before the command runs."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._seen = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._reader)

    async def number(self) -> int:
        """Wait for a line, and return the number in it."""
        while not self._take():
            await stirs(self._reader)
        return int(self._seen)

    def number_now(self) -> int:
        """Do the same where there is no event loop."""
        while not self._take():
            assert select.select([self._reader], [], [], PATIENCE_S)[0], "nobody wrote"
        return int(self._seen)

    def _take(self) -> bool:
        with contextlib.suppress(BlockingIOError):  # somebody has opened it, and has not written yet
            self._seen += os.read(self._reader, 4096)
        return self._seen.endswith(b"\n")


async def stirs(descriptor: int) -> None:
    """Wait until the kernel has something to tell of a descriptor: data, its end, an error."""
    loop = asyncio.get_running_loop()
    stirred = asyncio.Event()
    loop.add_reader(descriptor, stirred.set)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await stirred.wait()
    finally:
        loop.remove_reader(descriptor)
