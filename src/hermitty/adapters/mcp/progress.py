"""Telling a client how far a call is: seconds as progress, the last line of output as message."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from hermitty.adapters.mcp.clients import AnyContext
from hermitty.adapters.mcp.terminals import Glimpse

# A client may end a call that it hears nothing of.
_HEARTBEAT_S = 5.0

Tell = Callable[[Glimpse | None], None]


@asynccontextmanager
async def progress(ctx: AnyContext) -> AsyncIterator[Tell]:
    """Give the function that takes glimpses, as long as the context is open. A client that does not ask is not told."""
    pace = Pace(time.monotonic())
    sending: asyncio.Task[None] | None = None

    def tell(glimpse: Glimpse | None) -> None:
        nonlocal sending
        if sending is not None and not sending.done():
            return  # the client is slow
        if (news := pace.news(glimpse, time.monotonic())) is not None:
            sending = asyncio.get_running_loop().create_task(ctx.report_progress(news[0], None, news[1]))
            sending.add_done_callback(_forget)

    try:
        yield tell
    finally:
        if sending is not None:
            sending.cancel()
            await asyncio.wait({sending})


def _forget(task: "asyncio.Task[None]") -> None:
    if not task.cancelled():
        task.exception()  # the client has left, and the call is told so


class Pace:
    """Decides what is worth telling: new output, and now and then that time passes. Numbers only grow."""

    def __init__(self, started: float) -> None:
        self._started = started
        self._seen: Glimpse | None = None
        self._told = 0.0

    def news(self, glimpse: Glimpse | None, now: float) -> tuple[float, str] | None:
        """Return what to tell about a glimpse, if anything."""
        seconds = round(now - self._started, 3)
        is_new = glimpse is not None and glimpse != self._seen
        if seconds <= self._told or not (is_new or seconds - self._told >= _HEARTBEAT_S):
            return None
        self._seen, self._told = glimpse, seconds
        message = "waiting to start" if glimpse is None else glimpse.last_line or "running"
        return seconds, message
