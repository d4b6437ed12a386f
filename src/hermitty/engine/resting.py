"""Lets the screen of a terminal rest that has printed nothing for a while."""

import asyncio
import contextlib
from typing import TYPE_CHECKING

from hermitty.errors import InvalidRequest

if TYPE_CHECKING:
    from hermitty.engine.terminal import Terminal

# To wake a screen takes about as long as to draw a hundred lines.
REST_AFTER_S = 5.0


class Resting:
    """Looks after a terminal from time to time, but not at all while it rests."""

    def __init__(self, terminal: "Terminal") -> None:
        self._terminal = terminal
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._end = 0  # of the output when it was looked at

    def notice(self) -> None:
        """Note that something happens to the terminal."""
        if self._timer is None:
            self._look_later()

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look_later(self) -> None:
        self._end = self._terminal.log.end
        self._timer = self._loop.call_later(REST_AFTER_S, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._terminal.log.end != self._end:
            self._look_later()
        elif self._terminal.is_open:
            with contextlib.suppress(InvalidRequest):  # closed by whoever could not take the terminal over
                self._terminal.screen.rest()
