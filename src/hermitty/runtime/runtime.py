"""The one door to terminals and commands, for the library and everything built on it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from hermitty.config import Settings
from hermitty.engine.interact import Answer, answer_prompts, checked_answers
from hermitty.engine.oneshot import Process, start_process
from hermitty.engine.opening import open_terminal
from hermitty.engine.terminal import Terminal, checked_line
from hermitty.errors import InvalidRequest, TerminalNotFound
from hermitty.events import Event
from hermitty.host.base import Host
from hermitty.model import CommandResult, ProviderName, Size, TerminalId, checked_time
from hermitty.runtime.subscribers import Subscribers
from hermitty.vt.screen import Screen


class Runtime:
    """Owns terminals. Use it as an async context manager: everything it started ends with it."""

    def __init__(self, host: Host, settings: Settings, new_screen: Callable[[Size], Screen]) -> None:
        self.settings = settings
        self._host = host
        self._new_screen = new_screen
        self._terminals: dict[TerminalId, Terminal] = {}
        self._sessions: dict[TerminalId, str | None] = {}
        self._processes: set[Process] = set()
        self._subscribers = Subscribers()
        self._count = 0
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._closed:
            await self.close()

    async def open_terminal(
        self,
        *,
        cwd: str | os.PathLike[str] | None = None,
        shell: str | None = None,
        session: str | None = None,
        env: Mapping[str, str] | None = None,
        cols: int | None = None,
        rows: int | None = None,
    ) -> Terminal:
        """Open a terminal and wait until it takes commands."""
        self._check_open()
        chosen = self.settings.terminal
        size = Size.checked(chosen.cols if cols is None else cols, chosen.rows if rows is None else rows)
        self._count += 1
        terminal = await open_terminal(
            self._host,
            TerminalId(f"t_{self._count}"),
            cwd=self._directory(cwd),
            shell=shell,
            env=_checked_env(env),
            size=size,
            settings=self.settings,
            new_screen=self._new_screen,
            emit=self._subscribers.publish,
        )
        self._terminals[terminal.id] = terminal
        self._sessions[terminal.id] = session
        return terminal

    async def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        session: str | None = None,
        shell: str | None = None,
        provider: ProviderName = "pty",
        env: Mapping[str, str] | None = None,
        wait_s: float | None = None,
        kill_after_s: float | None = None,
        answers: Sequence[Answer] = (),
    ) -> CommandResult:
        """Run a command and return its result; after `wait_s` it goes on in the background, state `running`.

        A list of words runs that program with exactly these arguments, without a shell (provider `pipe`).
        Cancelling kills the command.
        """
        self._check_open()
        if provider not in ("pty", "pipe"):
            raise InvalidRequest(f"provider {provider!r} is not known; use pty or pipe")
        wait_s = self.settings.run.wait_s if wait_s is None else checked_time("wait_s", wait_s)
        kill_after_s = checked_time("kill_after_s", kill_after_s)
        if kill_after_s is None:
            kill_after_s = self.settings.run.kill_after_s
        checked_answers(answers)
        directory = self._directory(cwd)
        if isinstance(command, str):
            checked_line(command)
        result: CommandResult | None = None
        warnings: list[str] = []
        if provider == "pty" and isinstance(command, str) and not self.settings.terminal.shell_integration_disabled:
            terminal = await self._terminal_for(directory, shell, session, _checked_env(env))
            if terminal.takes_commands:
                result = await self._run_in(terminal, command, wait_s, kill_after_s, answers)
            else:
                warnings.append(f"{terminal.integration_failed}; run without a terminal instead")
                await self.close_terminal(terminal.id)
        if result is None:
            result = await self._run_piped(command, directory, shell, _checked_env(env), wait_s, kill_after_s)
        return replace(result, session=session, warnings=[*warnings, *result.warnings])

    def terminal(self, terminal_id: str) -> Terminal:
        """Return a terminal by its id."""
        self._forget_closed()
        try:
            return self._terminals[TerminalId(terminal_id)]
        except KeyError:
            raise TerminalNotFound(terminal_id, list(self._terminals)) from None

    def terminals(self) -> list[Terminal]:
        """Return the terminals that are open."""
        self._forget_closed()
        return list(self._terminals.values())

    async def close_terminal(self, terminal_id: str) -> None:
        """Close a terminal and everything started from it."""
        terminal = self.terminal(terminal_id)
        del self._terminals[terminal.id]
        await terminal.close()

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call back for every event from now on; return the function that ends it."""
        return self._subscribers.subscribe(callback)

    def events(self) -> AsyncIterator[Event]:
        """Yield events from now on."""
        return self._subscribers.stream()

    async def close(self) -> None:
        """Close every terminal and process."""
        if self._closed:
            raise InvalidRequest("the runtime is closed already")
        self._closed = True
        terminals, self._terminals = list(self._terminals.values()), {}
        await asyncio.gather(*(self._close_one(terminal) for terminal in terminals))
        await asyncio.gather(*(process.close() for process in self._processes))
        await self._host.aclose()

    async def _close_one(self, terminal: Terminal) -> None:
        if terminal.is_open:
            await terminal.close("the runtime was closed")
        await terminal.finished()

    async def _run_in(
        self,
        terminal: Terminal,
        command: str,
        wait_s: float | None,
        kill_after_s: float | None,
        answers: Sequence[Answer],
    ) -> CommandResult:
        if not answers:
            return await terminal.run(command, wait_s=wait_s, kill_after_s=kill_after_s)
        handle = await terminal.start(command, kill_after_s=kill_after_s)
        try:
            return await answer_prompts(handle, answers, timeout_s=wait_s)
        except asyncio.CancelledError:
            terminal.abandon(handle)
            raise

    async def _run_piped(
        self,
        command: str | Sequence[str],
        cwd: str,
        shell: str | None,
        env: dict[str, str],
        wait_s: float | None,
        kill_after_s: float | None,
    ) -> CommandResult:
        process = await start_process(self._host, command, cwd=cwd, shell=shell, env=env, settings=self.settings)
        self._processes.add(process)
        if kill_after_s is not None:
            process.kill_later(kill_after_s)
        try:
            result = await process.wait(wait_s)
        except asyncio.CancelledError:
            process.abandon()
            raise
        if result.state.is_final:
            self._processes.discard(process)
            await process.close()
        return result

    async def _terminal_for(self, cwd: str, shell: str | None, session: str | None, env: dict[str, str]) -> Terminal:
        """Return an idle terminal of the session in that directory, or a new one."""
        self._forget_closed()
        if not env:
            for terminal in self._terminals.values():
                if (
                    not terminal.is_busy
                    and terminal.takes_commands
                    and terminal.cwd == cwd
                    and self._sessions[terminal.id] == session
                    and shell in (None, terminal.shell)
                ):
                    return terminal
        return await self.open_terminal(cwd=cwd, shell=shell, session=session, env=env)

    def _forget_closed(self) -> None:
        for terminal in [t for t in self._terminals.values() if not t.is_open]:
            del self._terminals[terminal.id]

    def _directory(self, cwd: str | os.PathLike[str] | None) -> str:
        path = os.getcwd() if cwd is None else os.path.abspath(os.fspath(cwd))
        self._host.check_directory(path)
        return path

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidRequest("the runtime is closed; open another one")


def _checked_env(env: Mapping[str, str] | None) -> dict[str, str]:
    checked = dict(env or {})
    for name, value in checked.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise InvalidRequest(f"environment variable {name!r} cannot be set")
    return checked
