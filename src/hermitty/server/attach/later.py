"""Things to do a little later, each once however often it is asked for."""

import asyncio
from collections.abc import Callable


class Later:
    """Timers by name. They end with `cancel`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def now(self) -> float:
        """Return the time of the event loop, in seconds."""
        return self._loop.time()

    def do(self, name: str, do: Callable[[], None], *, after_s: float) -> None:
        """Do something after a while, unless it is due already."""
        if name not in self._timers:
            self._timers[name] = self._loop.call_later(after_s, self._run, name, do)

    def cancel(self) -> None:
        """Do none of it."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _run(self, name: str, do: Callable[[], None]) -> None:
        del self._timers[name]
        do()
