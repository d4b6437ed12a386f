"""Something that is so or not, and cheap to wait for."""

import asyncio


class Flag:
    """Like asyncio.Event, with a time-out that costs a timer and not a cancellation: every command waits for two."""

    __slots__ = ("_is_set", "_waiters")

    def __init__(self) -> None:
        self._is_set = False
        self._waiters: list[asyncio.Future[bool]] = []

    def is_set(self) -> bool:
        """Tell whether it is so."""
        return self._is_set

    def set(self) -> None:
        """Make it so, and wake everybody who waits."""
        self._is_set = True
        for waiter in self._waiters:
            _answer(waiter, True)

    def clear(self) -> None:
        """Make it not so."""
        self._is_set = False

    async def wait(self, within_s: float | None = None) -> bool:
        """Wait until it is so, at most that long; tell whether it came."""
        if self._is_set:
            return True
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiters.append(waiter)
        timer = loop.call_later(within_s, _answer, waiter, False) if within_s is not None else None
        try:
            return await waiter
        finally:
            self._waiters.remove(waiter)
            if timer is not None:
                timer.cancel()


def _answer(waiter: asyncio.Future[bool], came: bool) -> None:
    if not waiter.done():
        waiter.set_result(came)
