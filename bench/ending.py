"""Ending early without leaving anything behind: by a signal, by a deadline, and for the processes started here."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

# Time for a process that is told to end to close what it has open.
_GRACE_S = 60


class OutOfTime(SystemExit):
    """A benchmark hangs. Besides KeyboardInterrupt, asyncio lets only a SystemExit out of a callback."""


@contextlib.contextmanager
def ended_by_signals() -> Iterator[list[int]]:
    """Do what Ctrl-C does when this process is told to terminate; yield the list that such signals are noted in."""
    noted: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        noted.append(number)
        # asyncio makes of this a cancelled task, which closes what it has open.
        signal.raise_signal(signal.SIGINT)

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield noted
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextlib.contextmanager
def deadline(limit_s: float, what: str) -> Iterator[None]:
    """Raise OutOfTime in the middle of whatever blocks when the time is over, and again while it does not end."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTime(f"bench: {what} is not done after {limit_s:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit_s, _GRACE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


async def output_of_python(*arguments: str) -> bytes:
    """Run a fresh Python to its end and return what it printed. Cancelling terminates it and waits for that."""
    # In a session of its own a Ctrl-C does not reach it directly: it is ended from here, once.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            await _end(process)
    if process.returncode != 0:
        raise RuntimeError(f"python {' '.join(arguments)} ended with {process.returncode}")
    return output


async def _end(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    try:
        async with asyncio.timeout(_GRACE_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
