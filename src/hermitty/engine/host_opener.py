"""How a registry's terminals are opened."""

from collections.abc import Callable, Mapping
from typing import Protocol

from hermitty.config import Settings
from hermitty.engine.observer import Observer
from hermitty.engine.opening import open_terminal
from hermitty.engine.terminal import Terminal
from hermitty.events import TerminalEvent
from hermitty.host.base import Host
from hermitty.model import Size, TerminalId
from hermitty.shell.launch import choose_shell
from hermitty.vt.screen import Screen


class Opener(Protocol):
    """Opens shells for a registry."""

    def shell(self, wanted: str | None) -> str:
        """Return the program that a shell's name stands for; None is the default shell. Raises UnknownShell."""

    def check_directory(self, path: str) -> None:
        """Raise InvalidDirectory unless `path` is a directory that can be entered."""

    def environment(self) -> Mapping[str, str]:
        """Return the variables that new terminals start with."""

    async def open(
        self,
        terminal_id: TerminalId,
        *,
        cwd: str,
        shell: str,
        env: dict[str, str],
        size: Size | None,
        emit: Callable[[TerminalEvent], None],
    ) -> Terminal:
        """Open a terminal that takes commands. A failed or cancelled open leaves nothing behind."""


class HostOpener:
    """Opens shells on one host, with the settings of the moment."""

    def __init__(
        self,
        host: Host,
        settings: Callable[[], Settings],
        new_screen: Callable[[Size], Screen],
        observer: Observer | None = None,
    ) -> None:
        self._settings = settings
        self._host = host
        self._new_screen = new_screen
        self._observer = observer
        self._programs: dict[str | None, str] = {}

    def shell(self, wanted: str | None) -> str:
        """Return the program that a shell's name stands for, as it was when it was first asked for."""
        name = self._settings().terminal.shell if wanted is None else wanted
        if name not in self._programs:
            preferred = self._host.environment().get("SHELL")
            self._programs[name] = choose_shell(name, preferred, self._host.find_program)[0]
        return self._programs[name]

    def check_directory(self, path: str) -> None:
        """Raise InvalidDirectory unless `path` can be entered."""
        self._host.check_directory(path)

    def environment(self) -> Mapping[str, str]:
        """Return the host's variables and those of the settings."""
        return {**self._host.environment(), **self._settings().terminal.env}

    async def open(
        self,
        terminal_id: TerminalId,
        *,
        cwd: str,
        shell: str,
        env: dict[str, str],
        size: Size | None,
        emit: Callable[[TerminalEvent], None],
    ) -> Terminal:
        """Open a terminal on the host."""
        settings = self._settings()
        return await open_terminal(
            self._host,
            terminal_id,
            cwd=cwd,
            shell=shell,
            env=env,
            size=size or Size.checked(settings.terminal.cols, settings.terminal.rows),
            settings=settings,
            new_screen=self._new_screen,
            emit=emit,
            observer=self._observer,
        )
