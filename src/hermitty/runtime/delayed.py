"""Looking at something again after a while, when most of it is over long before."""

import asyncio
from collections import deque
from collections.abc import Callable


class Delayed:
    """Calls back the same time after each `add`, in their order, with one timer for all."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._waiting: deque[tuple[float, Callable[[], None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, call: Callable[[], None]) -> None:
        """Call this after the delay."""
        loop = asyncio.get_running_loop()
        self._waiting.append((loop.time() + self._delay_s, call))
        if self._timer is None:
            self._timer = loop.call_at(self._waiting[0][0], self._ring)

    def _ring(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        now = loop.time()
        while self._waiting and self._waiting[0][0] <= now:
            _, call = self._waiting.popleft()
            try:
                call()
            except Exception as exc:
                # As for a timer of its own: one that fails keeps none of the others waiting.
                loop.call_exception_handler({"message": "a delayed look failed", "exception": exc})
        if self._waiting and self._timer is None:
            # A loop may ring a moment too early by its own clock.
            self._timer = loop.call_at(max(self._waiting[0][0], now + 0.001), self._ring)
