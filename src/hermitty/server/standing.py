"""What stays open, and must end when the token or the login behind it does."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hermitty.server.access import Access

# A timer stands still while the machine sleeps, and a clock can be set: how long nobody looks at it.
_LOOK_S = 60.0


class Standing:
    """Ends what is open for somebody once they count no more. For the event loop.

    `counts` says whether somebody still does. Whoever makes that change calls `look`; time is looked at here.
    """

    def __init__(self, counts: Callable[[Access], bool], *, clock: Callable[[], float] = time.time) -> None:
        self.counts = counts
        self._clock = clock
        self._open: set[_Open] = set()

    @contextmanager
    def hold(self, access: Access, end: Callable[[], None]) -> Iterator[None]:
        """Call `end` once if somebody counts no more, now or at any time until the context is closed."""
        opened = _Open(access, end)
        self._open.add(opened)
        self._look_at(opened)
        try:
            yield
        finally:
            self._forget(opened)

    def look(self) -> None:
        """End what is open for those who count no more."""
        for opened in tuple(self._open):
            self._look_at(opened)

    def _look_at(self, opened: "_Open") -> None:
        if opened not in self._open:
            return
        if not self.counts(opened.access):
            self._forget(opened)
            opened.end()
        elif opened.access.ends_at is not None:
            if opened.timer is not None:
                opened.timer.cancel()
            left_s = max(0.0, opened.access.ends_at - self._clock())
            opened.timer = asyncio.get_running_loop().call_later(min(left_s, _LOOK_S), self._look_at, opened)

    def _forget(self, opened: "_Open") -> None:
        self._open.discard(opened)
        if opened.timer is not None:
            opened.timer.cancel()


class _Open:
    """One thing that is open."""

    def __init__(self, access: Access, end: Callable[[], None]) -> None:
        self.access = access
        self.end = end
        self.timer: asyncio.TimerHandle | None = None
