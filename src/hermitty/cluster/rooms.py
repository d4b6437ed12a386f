"""Which terminals each workspace has. Room that no terminal uses is given back after a moment."""

import asyncio
from collections.abc import Callable

from hermitty.model import TerminalId


class Rooms:
    """Calls `release` with a workspace that has had no terminal for so long."""

    def __init__(self, release_s: float, release: Callable[[str], None]) -> None:
        self._release_s = release_s
        self._release = release
        self._terminals: dict[str, set[TerminalId]] = {}  # of each workspace
        self._workspaces: dict[TerminalId, str] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._is_over = False

    @property
    def terminals(self) -> list[TerminalId]:
        """Return every terminal."""
        return list(self._workspaces)

    def __contains__(self, workspace: str) -> bool:
        """Tell whether a workspace has terminals, or had some a moment ago."""
        return workspace in self._terminals

    def is_used(self, workspace: str) -> bool:
        """Tell whether a workspace has terminals now."""
        return bool(self._terminals.get(workspace))

    def opened(self, workspace: str, terminal: TerminalId) -> None:
        """Note a terminal of a workspace."""
        self._workspaces[terminal] = workspace
        self._terminals.setdefault(workspace, set()).add(terminal)
        self.look(workspace)

    def closed(self, terminal: TerminalId) -> None:
        """Note that a terminal is gone."""
        workspace = self._workspaces.pop(terminal, None)
        if workspace is not None:
            self._terminals[workspace].discard(terminal)
            self.look(workspace)

    def look(self, workspace: str) -> None:
        """Begin to wait for a terminal where there is none; stop that where there is one."""
        if (timer := self._timers.pop(workspace, None)) is not None:
            timer.cancel()
        if not self.is_used(workspace) and not self._is_over:
            loop = asyncio.get_running_loop()
            self._timers[workspace] = loop.call_later(self._release_s, self._time_is_up, workspace)

    def forget(self, workspace: str) -> None:
        """Forget a workspace without terminals."""
        self._terminals.pop(workspace, None)

    def stop(self) -> list[str]:
        """Wait for nothing more; return the workspaces whose room nobody uses."""
        self._is_over = True
        for timer in self._timers.values():
            timer.cancel()
        return list(self._timers)

    def _time_is_up(self, workspace: str) -> None:
        self._timers.pop(workspace, None)
        self._release(workspace)
