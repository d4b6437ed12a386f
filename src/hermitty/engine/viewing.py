"""Who looks at a terminal: those who are called when it changes, and viewers who may come back to a new server."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermitty.engine.terminal import Terminal

# So long may viewers take to come back after the end of a server.
_BACK_S = 3.0


class Viewing:
    """The watchers and viewers of one terminal."""

    def __init__(self, terminal: "Terminal") -> None:
        self._terminal = terminal
        self._watchers: list[Callable[[], None]] = []
        self.count = 0  # how many look at it
        self._awaited = 0  # how many looked at it when another process ended, and may come back
        self._awaiting: asyncio.TimerHandle | None = None

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call back whenever the terminal changes; return the function that stops it."""
        self._watchers = [*self._watchers, watcher]

        def stop() -> None:
            self._watchers = [each for each in self._watchers if each is not watcher]

        return stop

    @property
    def is_watched(self) -> bool:
        """Tell whether anybody is called back."""
        return bool(self._watchers)

    def tell(self) -> None:
        """Call everybody back."""
        for watcher in self._watchers:
            watcher()

    def counted(self, count: int) -> None:
        """Note how many viewers there are, so that they find everything again if this process is killed."""
        is_first, self.count = count > 0 and self.count == 0, count
        if not self._terminal.is_open:
            return
        if self.is_awaiting and count >= self._awaited:
            self._stop_awaiting()
        elif is_first:
            self._terminal.keep()

    @property
    def is_awaiting(self) -> bool:
        """Tell whether viewers may still come back: until then no output may go."""
        return self._awaiting is not None

    def wait_for(self, count: int) -> None:
        """Let no output go before so many viewers are back, or had the time to; meanwhile its programs may pause."""
        if count:
            self._awaited = count
            self._awaiting = asyncio.get_running_loop().call_later(_BACK_S, self._stop_awaiting)

    def close(self) -> None:
        """Wait for nobody any more."""
        if self._awaiting is not None:
            self._awaiting.cancel()

    def _stop_awaiting(self) -> None:
        if self._awaiting is not None:
            self._awaiting.cancel()
            self._awaiting = None
            if self._terminal.is_open:
                self._terminal.keep()
