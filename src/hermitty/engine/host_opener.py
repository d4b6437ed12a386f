"""How a registry's terminals are opened."""

import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from hermitty.config import Settings
from hermitty.engine.adopting import prepare, take_over
from hermitty.engine.observer import NoObserver, Observer
from hermitty.engine.opening import find_shell, open_terminal
from hermitty.engine.terminal import Terminal
from hermitty.errors import HostUnavailable, TerminalNotFound
from hermitty.events import TerminalEvent
from hermitty.host.base import FoundPty, Host
from hermitty.model import ExitStatus, Size, TerminalId
from hermitty.sandbox.spec import Confinement
from hermitty.shell.launch import choose_shell
from hermitty.vt.screen import Screen

# What the registry keeps of a terminal, in its private directory.
OWNER = "kept.owner"


class Opener(Protocol):
    """Opens shells for a registry."""

    async def shell(self, wanted: str | None, workspace: str | None = None) -> str:
        """Return the program that a shell's name stands for; None is the default shell. Raises UnknownShell."""

    def known_shell(self, wanted: str | None) -> str:
        """Return the same as far as it is known here, without asking."""

    async def check_directory(self, path: str, workspace: str | None = None) -> None:
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
        workspace: str | None = None,
        sandbox: Confinement | None = None,
    ) -> Terminal:
        """Open a terminal that takes commands. A failed or cancelled open leaves nothing behind.

        Its id may tell more than the given one: where it is.
        """

    async def found(self) -> list["Found"]:
        """Return the terminals that another process left, as far as they can be gone on with; the others are closed."""


@dataclass(frozen=True, slots=True)
class Found:
    """A terminal that another process left. `owner` is what its registry kept of it.

    `make` gives it its voice; then `take_over` lets it go on.
    """

    owner: dict[str, Any]
    make: Callable[[Callable[[TerminalEvent], None]], Awaitable[Terminal | None]]
    take_over: Callable[[Terminal], Awaitable[None]]
    close: Callable[[], Awaitable[None]]


class _NoSink:
    """Is not interested: the PTY is about to be closed."""

    def glance(self, data: bytes) -> None:
        """Ignore it."""

    def on_output(self, data: bytes) -> None:
        """Ignore it."""

    def on_exit(self, status: ExitStatus) -> None:
        """Ignore it."""

    def on_lost(self, reason: str) -> None:
        """Ignore it."""


class HostOpener:
    """Opens shells on one host, with the settings of the moment."""

    def __init__(
        self,
        host: Host,
        settings: Callable[[], Settings],
        new_screen: Callable[[Size], Screen],
        observer: Observer | None = None,
        restore_screen: Callable[[bytes], Screen] | None = None,
    ) -> None:
        self._restore_screen = restore_screen
        self._settings = settings
        self._host = host
        self._new_screen = new_screen
        self._observer = observer
        self._programs: dict[tuple[Host, str | None], str] = {}

    async def shell(self, wanted: str | None, workspace: str | None = None) -> str:
        """Return the program that a shell's name stands for, as it was when it was first asked for."""
        name = self._settings().terminal.shell if wanted is None else wanted
        host = await self._host.at(workspace)
        if (host, name) not in self._programs:
            self._programs[host, name] = (await find_shell(host, name))[0]
        return self._programs[host, name]

    def known_shell(self, wanted: str | None) -> str:
        """Return the program that a shell's name stands for, without asking another machine."""
        name = self._settings().terminal.shell if wanted is None else wanted
        if (self._host, name) not in self._programs:
            preferred = self._host.environment().get("SHELL")
            self._programs[self._host, name] = choose_shell(name, preferred, self._host.known_program)[0]
        return self._programs[self._host, name]

    async def check_directory(self, path: str, workspace: str | None = None) -> None:
        """Raise InvalidDirectory unless `path` can be entered."""
        await (await self._host.at(workspace)).check_directory(path)

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
        workspace: str | None = None,
        sandbox: Confinement | None = None,
    ) -> Terminal:
        """Open a terminal on the host."""
        settings = self._settings()
        host = await self._host.at(workspace)
        return await open_terminal(
            host,
            host.name_terminal(terminal_id),
            cwd=cwd,
            shell=shell,
            env=env,
            size=size or Size.checked(settings.terminal.cols, settings.terminal.rows),
            settings=settings,
            new_screen=self._new_screen,
            emit=emit,
            observer=self._observer,
            sandbox=sandbox,
        )

    async def found(self) -> list[Found]:
        """Return the terminals that were left on the host."""
        terminals = []
        for pty in await self._host.found():
            try:
                owner = _owner(await self._host.read_file(pty, OWNER))
            except HostUnavailable:
                continue  # its machine is cut off; nothing says that nobody owns it
            left = Found(
                owner or {}, partial(self._make, pty), partial(self._take_over, pty), partial(self._close, pty)
            )
            if owner is None:
                await left.close()
            else:
                terminals.append(left)
        return terminals

    async def _make(self, pty: FoundPty, emit: Callable[[TerminalEvent], None]) -> Terminal | None:
        if self._restore_screen is None:
            return None
        return await prepare(
            pty,
            lambda name: self._host.read_file(pty, name),
            settings=self._settings(),
            new_screen=self._new_screen,
            restore_screen=self._restore_screen,
            emit=emit,
            observer=self._observer or NoObserver(),
        )

    async def _take_over(self, pty: FoundPty, terminal: Terminal) -> None:
        await take_over(terminal, pty, self._host, lambda name: self._host.read_file(pty, name))

    async def _close(self, pty: FoundPty) -> None:
        with contextlib.suppress(TerminalNotFound):  # it is being closed already
            await (await self._host.take_over(pty.terminal, _NoSink(), since=pty.end)).close()


def _owner(data: bytes | None) -> dict[str, Any] | None:
    try:
        owner = json.loads(data or b"null")
    except ValueError:
        return None
    return owner if isinstance(owner, dict) else None
