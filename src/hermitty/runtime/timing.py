"""Time limits for whatever can be awaited."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar

from hermitty.errors import InvalidTime
from hermitty.model import checked_time

T = TypeVar("T")


async def execute_with_timeout(
    operation: Awaitable[T], timeout_s: float, on_timeout: Callable[[], T | Awaitable[T]]
) -> T:
    """Return what the operation returns, or, when its time is over, what `on_timeout` does.

    Errors of both pass through. An operation whose time is over is cancelled: nothing of it goes on unseen.
    """
    if checked_time("timeout_s", timeout_s) is None:
        raise InvalidTime("timeout_s", timeout_s)
    task = asyncio.ensure_future(operation)
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout_s)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if done:
        return task.result()
    task.cancel()
    await asyncio.wait({task})
    instead = on_timeout()
    return await instead if inspect.isawaitable(instead) else instead
