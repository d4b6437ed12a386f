"""Something that is so or not, and cheap to wait for."""

import asyncio


class Alarm:
    """Ends waits that have taken too long, with one timer for all: most are over long before, and cost none."""

    __slots__ = ("_rings_at", "_timer", "_waiters")

    def __init__(self) -> None:
        self._waiters: dict[asyncio.Future[bool], float] = {}  # until when they wait, by the clock of the event loop
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = 0.0  # kept here: for times that are nearly there, uvloop's handles do not know it

    def set(self, waiter: asyncio.Future[bool], within_s: float) -> None:
        """Tell a waiter after some time that nothing came."""
        loop = asyncio.get_running_loop()
        self._waiters[waiter] = when = loop.time() + within_s
        if self._timer is None or when < self._rings_at:
            self._ring_at(when)

    def forget(self, waiter: asyncio.Future[bool]) -> None:
        """Tell a waiter nothing any more; the timer goes on, for those to come."""
        self._waiters.pop(waiter, None)

    def _ring_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = when
        self._timer = asyncio.get_running_loop().call_at(when, self._ring, when)

    def _ring(self, at: float) -> None:
        self._timer = None
        later = []
        for waiter, when in self._waiters.items():
            if when <= at:
                _answer(waiter, False)
            else:
                later.append(when)
        if later:
            self._ring_at(min(later))


class Flag:
    """Like asyncio.Event, with a time-out that costs no timer of its own and no cancellation: commands wait for two."""

    __slots__ = ("_alarm", "_is_set", "_waiters")

    def __init__(self, alarm: Alarm | None = None) -> None:
        self._is_set = False
        self._waiters: list[asyncio.Future[bool]] = []
        self._alarm = alarm or Alarm()

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
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        if within_s is not None:
            self._alarm.set(waiter, within_s)
        try:
            return await waiter
        finally:
            self._waiters.remove(waiter)
            self._alarm.forget(waiter)


def _answer(waiter: asyncio.Future[bool], came: bool) -> None:
    if not waiter.done():
        waiter.set_result(came)
