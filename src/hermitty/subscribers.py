"""Telling whoever listens what happens, without ever waiting for them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from hermitty.events import Event

# A subscriber that falls this far behind loses the oldest events.
_QUEUE_LIMIT = 10_000


class Subscribers:
    """Callbacks and streams of events."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[Event], None]] = []

    def publish(self, event: Event) -> None:
        """Tell everybody."""
        for callback in tuple(self._callbacks):
            callback(event)

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call back for every event from now on; return the function that ends it."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback) if callback in self._callbacks else None

    async def stream(self) -> AsyncIterator[Event]:
        """Yield events from now on."""
        queue: deque[Event] = deque(maxlen=_QUEUE_LIMIT)
        there = asyncio.Event()

        def put(event: Event) -> None:
            queue.append(event)
            there.set()

        stop = self.subscribe(put)
        try:
            while True:
                await there.wait()
                there.clear()
                while queue:
                    yield queue.popleft()
        finally:
            stop()
