"""Closing terminals that nobody needs: those of no session that were idle for too long."""

import asyncio

from hermitty.engine.ledger import Entry, Ledger
from hermitty.engine.reuse import Use
from hermitty.engine.terminal import Terminal


class Reaper:
    """Looks when the next one may be overdue, and not before."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._timer: asyncio.TimerHandle | None = None
        self._is_stopped = False

    def overdue(self, now: float) -> list[Terminal]:
        """Return those that were idle for too long at a time of the event loop's clock."""
        limit = self._ledger.settings.idle_close_s
        if limit is None:
            return []
        return [entry.terminal for entry in self._unneeded() if entry.idle_since + limit <= now]

    def arm(self) -> None:
        """Begin to look, if the settings limit idling."""
        limit = self._ledger.settings.idle_close_s
        if limit is not None and self._timer is None and not self._is_stopped:
            self._timer = asyncio.get_running_loop().call_later(limit, self._reap)

    def stop(self) -> None:
        """Look no more."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _unneeded(self) -> list[Entry]:
        return [each for each in self._ledger.entries.values() if each.use is Use.IDLE and each.session is None]

    def _reap(self) -> None:
        """Close what is overdue, and look again when the next one may be."""
        loop, entries = asyncio.get_running_loop(), self._ledger.entries
        self._timer = None
        for terminal in self.overdue(loop.time()):
            self._ledger.discard(entries[terminal.id], "nobody used it for a long time")
        self._ledger.serve_all()
        limit = self._ledger.settings.idle_close_s
        if limit is not None and entries:
            idle = [entry.idle_since for entry in self._unneeded()]
            # Without one, none can be overdue before the limit has passed once more.
            self._timer = loop.call_at(min(idle, default=loop.time()) + limit, self._reap)
