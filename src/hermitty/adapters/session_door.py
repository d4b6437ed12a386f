"""What a session of an agent uses of a runtime, whether that is of this process or of a server.

Every command goes through the runtime's gate. Two things are added: a question has a limit of its own, and a runtime
that trusts its program does not trust a model with it.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from hermitty.config import Settings
from hermitty.errors import (
    ApprovalTimeout,
    HermittyError,
    SessionNotFound,
    TerminalNotFound,
)
from hermitty.events import ApprovalAnswered, ApprovalAsked, Event
from hermitty.model import CommandResult, new_command_id
from hermitty.runtime.api import Runtime
from hermitty.runtime.approvals import Approval
from hermitty.runtime.foresight import foresee
from hermitty.runtime.requests import RunRequest

T = TypeVar("T")

# What killing a command with everything it started may take, on a machine that is busy.
_KILLED_GRACE_S = 60.0
_NOBODY = (
    "it needs an approval, and nobody is here to ask. A person can allow it: with an approver for hermitty.open(), "
    "on the page of `hermitty serve` (hermitty.open(url=…)), with `hermitty rules add`, or with the setting policy.mode"
)


class Terminals(Protocol):
    """The calls that the runtime of this process and that of a server have in common, as far as they are used here."""

    @property
    def settings(self) -> Settings:
        """Return the settings as they are now."""

    run: Callable[..., Coroutine[Any, Any, CommandResult]]
    run_in: Callable[..., Coroutine[Any, Any, CommandResult]]
    open_terminal: Callable[..., Coroutine[Any, Any, Any]]
    close_terminal: Callable[[str], Coroutine[Any, Any, None]]
    last_command: Callable[[str], Any]
    session_cwd: Callable[[str], str | None]
    subscribe: Callable[[Callable[[Event], None]], Callable[[], None]]
    end: Callable[[str], Coroutine[Any, Any, None]]


class SessionDoor:
    """The way of one session into a runtime."""

    def __init__(
        self,
        runtime: Terminals,
        session: str,
        *,
        cwd: str | os.PathLike[str] | None,
        wait_s: float | None,
        approval_wait_s: float,
    ) -> None:
        self.runtime = runtime
        self._session = session
        self._cwd = cwd
        self._wait_s = wait_s
        self._approval_wait_s = approval_wait_s

    def waiting(self, wait_s: float) -> "SessionDoor":
        """Return the same with another wait."""
        return SessionDoor(
            self.runtime, self._session, cwd=self._cwd, wait_s=wait_s, approval_wait_s=self._approval_wait_s
        )

    @property
    def wait_s(self) -> float:
        """Return how long a command in a persistent terminal is waited for."""
        return self.runtime.settings.tools.wait_persistent_s if self._wait_s is None else self._wait_s

    @property
    def settings(self) -> Settings:
        """Return the runtime's settings, with the session's own wait."""
        settings = self.runtime.settings
        if self._wait_s is None:
            return settings
        return settings.with_values({"tools.wait_persistent_s": self._wait_s})

    async def open_terminal(self, *, cwd: str | None = None, session: str | None = None) -> Any:
        """Open a terminal of the session."""
        return await self.runtime.open_terminal(cwd=self._directory(cwd), session=self._session)

    async def close_terminal(self, terminal_id: str) -> None:
        """Close a terminal and everything started from it."""
        await self.runtime.close_terminal(terminal_id)

    def last_command(self, terminal_id: str) -> Any:
        """Return the command that runs in a terminal, or else the last one that ran."""
        return self.runtime.last_command(terminal_id)

    async def run_in(
        self, terminal_id: str, command: str, *, wait_s: float | None = None, session: str | None = None
    ) -> CommandResult:
        """Run a command in a given terminal."""
        request = RunRequest(command, session=self._session)

        async def work() -> CommandResult:
            with self._nobody_is_trusted(request, terminal_id):
                return await self.runtime.run_in(
                    terminal_id, command, session=self._session, wait_s=wait_s, command_id=new_command_id()
                )

        return await self._within_patience(work(), command, terminal_id)

    async def run_temporary(self, command: str, *, cwd: str | None = None, session: str | None = None) -> CommandResult:
        """Run a command in a terminal of its own, which is gone afterwards, and kill it when it takes too long."""
        directory = self._directory(cwd)
        if not isinstance(self.runtime, Runtime):
            return await self._run_temporary_there(command, directory)
        runtime = self.runtime
        request = RunRequest(command, directory, self._session)

        async def work() -> CommandResult:
            with self._nobody_is_trusted(request):
                return await runtime.run_temporary(command, cwd=directory, session=self._session)

        return await self._within_patience(work(), command, None)

    async def run_piped(
        self,
        command: str | list[str],
        *,
        wait_s: float | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """Run a command without a terminal, and kill it after the wait: no tool could follow it."""
        directory = self._directory(cwd)
        limit_s = self.runtime.settings.tools.wait_temporary_s if wait_s is None else wait_s
        # A program with its arguments is judged as sh would run it, whatever the user's shell is.
        shell = None if isinstance(command, str) else "sh"
        request = RunRequest(command, directory, self._session, shell=shell, provider="pipe", env=env or {})

        async def work() -> CommandResult:
            with self._nobody_is_trusted(request):
                return await self.runtime.run(
                    command,
                    cwd=directory,
                    session=self._session,
                    provider="pipe",
                    env=env,
                    wait_s=limit_s + _KILLED_GRACE_S,
                    kill_after_s=limit_s,
                    command_id=new_command_id(),
                )

        return await self._within_patience(work(), command if isinstance(command, str) else None, None)

    async def close(self) -> None:
        """End the session, and everything that runs in its terminals."""
        with contextlib.suppress(SessionNotFound):  # nothing was run
            await self.runtime.end(self._session)

    async def _run_temporary_there(self, command: str, cwd: str | os.PathLike[str] | None) -> CommandResult:
        """Do the same with a server, whose own temporary terminals go on when their client leaves."""
        limit_s = self.runtime.settings.tools.wait_temporary_s
        async with self._terminal(cwd) as terminal:
            result = await self.run_in(terminal.id, command, wait_s=limit_s)
            if result.state.is_final:
                return result
            asked = result.needs_input
            why = (
                f"killed: it ran longer than {limit_s:g} s"
                if asked is None
                else f"it asked for input ({asked.prompt.strip()!r}) and nobody could answer; use a persistent terminal"
            )
            running = self.runtime.last_command(terminal.id)
            killed: CommandResult = await running.kill() if running is not None and running.is_running else result
            return replace(killed, warnings=[*killed.warnings, why])

    @contextlib.asynccontextmanager
    async def _terminal(self, cwd: str | os.PathLike[str] | None) -> AsyncIterator[Any]:
        terminal = await self.runtime.open_terminal(cwd=cwd, session=self._session)
        try:
            yield terminal
        finally:
            with contextlib.suppress(TerminalNotFound):  # its shell has left by itself
                await self.runtime.close_terminal(terminal.id)

    def _directory(self, cwd: str | None) -> str | os.PathLike[str] | None:
        """Return where a command runs: where it says, as seen from where the session is, or began."""
        here = self.runtime.session_cwd(self._session) or self._cwd
        if not cwd or here is None or cwd.startswith("~"):
            return cwd or here
        return os.path.join(here, cwd)

    async def _within_patience(self, work: Coroutine[Any, Any, T], line: str | None, terminal: str | None) -> T:
        """Do something; a question about it that stays open for too long is withdrawn, and nothing runs."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(work)
        timers: dict[str, asyncio.TimerHandle] = {}
        is_late = False

        def give_up() -> None:
            nonlocal is_late
            is_late = True
            task.cancel()

        def on_event(event: Event) -> None:
            if isinstance(event, ApprovalAsked) and self._is_about(event, line, terminal):
                timers[event.approval] = loop.call_later(self._approval_wait_s, give_up)
            elif isinstance(event, ApprovalAnswered) and event.approval in timers:
                timers.pop(event.approval).cancel()

        stop = self.runtime.subscribe(on_event)
        try:
            return await task
        except asyncio.CancelledError:
            here = asyncio.current_task()
            if not is_late or (here is not None and here.cancelling()):
                raise
            raise ApprovalTimeout(line or "", self._approval_wait_s) from None
        finally:
            stop()
            for timer in timers.values():
                timer.cancel()
            # Awaiting a task passes a cancellation on to it; it is not over before its question is withdrawn.
            if not task.done():
                await asyncio.wait({task})

    def _is_about(self, asked: ApprovalAsked, line: str | None, terminal: str | None) -> bool:
        if asked.session != self._session or asked.terminal not in (None, terminal):
            return False
        # Control characters are made visible in questions; two such lines at once are not told apart.
        return line is None or asked.command.strip() == line.strip() or not line.replace("\n", "").isprintable()

    @contextlib.contextmanager
    def _nobody_is_trusted(self, request: RunRequest, terminal: str | None = None) -> Iterator[None]:
        """Refuse what a runtime would let its program do without an answer: a model is not the program.

        It is asked and answered with no, so that the record of decisions has it. Between here and the question nothing
        waits: nobody else's command is asked about meanwhile.
        """
        runtime = self.runtime
        if not isinstance(runtime, Runtime) or runtime.settings.policy.mode == "off":
            yield
            return
        gate = runtime.gate
        is_asked = gate.trusts_caller and not gate.approvals.is_anybody_there
        if not is_asked or foresee(runtime, request, terminal_id=terminal) is None:
            yield
            return

        def refuse(event: Event) -> None:
            if isinstance(event, ApprovalAsked):
                why = "; ".join(event.reasons[:3])
                note = f"{why}; {_NOBODY}" if why else _NOBODY
                with contextlib.suppress(HermittyError):  # somebody was quicker
                    gate.approvals.answer(event.approval, Approval("deny", by="hermitty", note=note))

        stop = runtime.subscribe(refuse)
        try:
            with gate.approvals.client(f"session {self._session}"):
                yield
        finally:
            stop()
