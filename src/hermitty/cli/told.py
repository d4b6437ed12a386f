"""Being told to end: what runs is cancelled, so that it takes along what it started."""

import asyncio
import signal


def cancel_when_told(work: "asyncio.Task[int]") -> list[int]:
    """Let SIGTERM and SIGHUP cancel a task, once. Returns where the number of the signal will be."""
    loop = asyncio.get_running_loop()
    told: list[int] = []

    def end(number: int) -> None:
        if not told:
            told.append(number)
            work.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            loop.add_signal_handler(number, end, number)
    return told
