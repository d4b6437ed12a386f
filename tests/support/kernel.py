"""What the kernel knows of other processes, and limits on this one."""

import asyncio
import contextlib
import os
import resource
from collections.abc import Callable, Iterator

from hermitty.pty.processes import read_process
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
    """Wait until processes have left; those of others tell nobody."""
    await so(lambda: not any(map(is_alive, pids)))


async def so(look: Callable[[], bool]) -> None:
    """Wait until a fact about other processes is so; they tell nobody when it becomes so."""
    async with asyncio.timeout(PATIENCE_S):
        while not look():
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
