"""What the kernel knows of other processes, and limits on this one."""

import asyncio
import contextlib
import os
import resource
import select
from collections.abc import Awaitable, Callable, Iterator

from hermitty.pty.exits import _descriptor_that_wakes_at_exit
from hermitty.pty.processes import read_process
from tests.support.notes import stirs
from tests.support.shells import PATIENCE_S

# A program that prints the descriptors it was started with.
DESCRIPTORS = """
import os
def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
print([number for number in range(1024) if is_open(number)], flush=True)
"""


def is_alive(pid: int) -> bool:
    """Whether a process is there and more than its exit status is left of it."""
    process = read_process(pid)
    return process is not None and not process.is_zombie


async def gone(*pids: int) -> None:
    """Wait until processes have left, anybody's: the kernel tells of the end of each."""
    for pid in pids:
        with _end_of(pid) as descriptor:
            if descriptor is not None:
                await stirs(descriptor)


def gone_now(pid: int) -> None:
    """Wait the same where there is no event loop."""
    with _end_of(pid) as descriptor:
        assert descriptor is None or select.select([descriptor], [], [], PATIENCE_S)[0], f"process {pid} stays"


@contextlib.contextmanager
def _end_of(pid: int) -> Iterator[int | None]:
    """A descriptor that can be read when a process has ended; None when it has."""
    try:
        descriptor = _descriptor_that_wakes_at_exit(pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def so(look: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait until something is so that nobody tells of, by looking again and again.

    For facts outside of this process that come without an event: what a process waits for, the modes of its terminal,
    files that others make, what a server says when asked. Where there is an event, wait for it instead.
    """
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = look()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.002)


@contextlib.contextmanager
def few_descriptors(left: int) -> Iterator[None]:
    """Let this process open only so many more descriptors."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    # Room above the highest for all that are left: there may be no gap below it.
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 2 + left, limits[1]))
    fillers = []
    try:
        with contextlib.suppress(OSError):
            while True:
                fillers.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        for _ in range(left):
            os.close(fillers.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for descriptor in fillers:
            os.close(descriptor)
