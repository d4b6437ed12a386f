"""What plain methods send: at once, in order, without anybody waiting for it.

Typing or renaming cannot fail here; the server may still refuse it. Whoever awaits what they got is told then; for
those who do not, the next thing that they do raises it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator

from hermitty.errors import HermittyError


class Sent:
    """Something on its way. Awaiting it waits until the server has done it, and raises what it refused."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task
        self.is_awaited = False

    def __await__(self) -> Generator[None, None, None]:
        self.is_awaited = True
        # Whoever stops waiting does not stop what is on its way.
        yield from asyncio.shield(self._task).__await__()


class Outbox:
    """Sends one thing after the other."""

    def __init__(self) -> None:
        self._last: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed: HermittyError | None = None

    def send(self, work: Callable[[], Awaitable[object]]) -> Sent:
        """Send something behind everything else. Raises what became of an earlier one that nobody awaited."""
        self.check()
        task = asyncio.get_running_loop().create_task(self._do(self._last, work))
        sent = Sent(task)
        self._last = task
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._over(done, sent))
        return sent

    def check(self) -> None:
        """Raise what became of an earlier one that nobody awaited."""
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    async def drain(self) -> None:
        """Wait until everything has been sent."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def cancel(self) -> None:
        """Give up what is not sent yet."""
        for task in self._tasks:
            task.cancel()

    async def _do(self, before: asyncio.Task[None] | None, work: Callable[[], Awaitable[object]]) -> None:
        if before is not None and not before.done():
            await asyncio.wait({before})
        await work()

    def _over(self, task: asyncio.Task[None], sent: Sent) -> None:
        self._tasks.discard(task)
        if self._last is task:
            self._last = None
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, HermittyError) and not sent.is_awaited and self._failed is None:
            self._failed = error
