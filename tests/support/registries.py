"""Registries over real shells in an empty home."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from hermitty.config import ReuseSettings, Settings, TerminalSettings
from hermitty.engine.host_opener import HostOpener
from hermitty.engine.pulse import Pulse
from hermitty.engine.registry import Registry
from hermitty.engine.terminal import Terminal
from hermitty.events import TerminalEvent
from hermitty.host.local import LocalHost
from hermitty.model import Size, TerminalId
from hermitty.sandbox.spec import Confinement
from hermitty.vt.ghostty import GhosttyScreen
from tests.support.shells import PATIENCE_S


class CountingOpener(HostOpener):
    """Opens real shells, and remembers in which directories."""

    def __init__(self, host: LocalHost, home: Path) -> None:
        env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / ".local")}
        settings = Settings(terminal=TerminalSettings(shell="bash", env=env, shell_integration_timeout_s=60.0))
        super().__init__(host, lambda: settings, GhosttyScreen)
        self.opened_in: list[str] = []
        self.opened: list[Terminal] = []

    async def open(
        self,
        terminal_id: TerminalId,
        *,
        cwd: str,
        shell: str,
        env: dict[str, str],
        size: Size | None,
        emit: Callable[[TerminalEvent], None],
        workspace: str | None = None,
        sandbox: Confinement | None = None,
    ) -> Terminal:
        self.opened_in.append(cwd)
        terminal = await super().open(
            terminal_id, cwd=cwd, shell=shell, env=env, size=size, emit=emit, workspace=workspace, sandbox=sandbox
        )
        self.opened.append(terminal)
        return terminal


class Stage:
    """A registry, its opener and the events it told."""

    def __init__(self, opener: CountingOpener, settings: ReuseSettings) -> None:
        self.opener = opener
        self.events: list[TerminalEvent] = []
        self.registry = Registry(opener, settings, emit=self._note)
        self.on_event: Callable[[TerminalEvent], object] = lambda event: None
        self._told = Pulse()

    async def until(self, fact: Callable[[], bool]) -> None:
        """Wait for an event after which something is so."""
        async with asyncio.timeout(PATIENCE_S):
            while not fact():
                await self._told.wait()

    def _note(self, event: TerminalEvent) -> None:
        self.events.append(event)
        self.on_event(event)
        self._told.fire()


@contextlib.asynccontextmanager
async def staged(
    home: Path, settings: ReuseSettings, opener: type[CountingOpener] = CountingOpener
) -> AsyncIterator[Stage]:
    """Make a registry; everything of it is over at the end."""
    host = LocalHost()
    stage = Stage(opener(host, home), settings)
    try:
        yield stage
    finally:
        await stage.registry.close()
        await host.aclose()
