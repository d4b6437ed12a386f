"""The ways a command runs: in a reused terminal, in a given one, in one of its own, or without any terminal."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hermitty.config import Settings
from hermitty.engine.command import Command
from hermitty.engine.interact import answer_prompts
from hermitty.engine.oneshot import Process, checked_argv, start_process
from hermitty.engine.registry import Lease, Registry
from hermitty.engine.terminal import Terminal
from hermitty.errors import HostUnavailable, TerminalNotFound
from hermitty.host.base import Host, Stream
from hermitty.model import CommandId, CommandResult, State
from hermitty.runtime.artifacts import ArtifactStore
from hermitty.runtime.commands import Commands
from hermitty.runtime.confining import Confining
from hermitty.runtime.history.entry import HistoryEntry, entry_of_result
from hermitty.runtime.permits import Permits, decided
from hermitty.runtime.requests import RunRequest, checked_env
from hermitty.runtime.silence import silence_note
from hermitty.runtime.tracks import Tracks
from hermitty.sandbox.layout import within
from hermitty.sandbox.spec import Confinement

if TYPE_CHECKING:
    from hermitty.runtime.artifact_writer import ArtifactWriter
    from hermitty.runtime.gate import Permit

# What killing a process may take after both graces of the settings, on a machine that is busy.
_KILLED_GRACE_S = 5.0


class Runner:
    """Runs commands for a runtime."""

    def __init__(
        self,
        host: Host,
        registry: Registry,
        tracks: Tracks,
        settings: Callable[[], Settings],
        artifacts: ArtifactStore,
        record: Callable[[HistoryEntry], object],
        permits: Permits,
        commands: Commands,
        confining: Confining,
    ) -> None:
        self._confining = confining
        self._host = host
        self._registry = registry
        self._tracks = tracks
        self._settings = settings
        self._artifacts = artifacts
        self._record = record
        self._permits = permits
        self._commands = commands
        self._processes: set[Process] = set()
        self._followers: set[asyncio.Task[None]] = set()  # of processes that outlived the wait for them
        self._waiting: set[asyncio.Task[object]] = set()  # for commands of terminals
        self._left: frozenset[asyncio.Task[object]] = frozenset()  # those whose commands go on without this process
        self._followed = settings()

    def settings(self) -> Settings:
        """Return the settings as they are now; from now on new terminals and their number follow them."""
        settings, before = self._settings(), self._followed
        if settings is not before:
            self._followed = settings
            if settings.reuse != before.reuse:
                self._registry.configure(settings.reuse)
            if (settings.terminal, settings.run) != (before.terminal, before.run):
                self._registry.drop_spares()
        return settings

    async def run(self, request: RunRequest) -> CommandResult:
        """Run a command where it fits best. Cancelling kills it."""
        request.check()
        request = self._located(request)
        settings = self.settings()
        order = self.confinement(request)
        permit = await self._permit(request, order)
        why = None
        if request.provider == "pty" and isinstance(request.command, str):
            if settings.terminal.shell_integration_disabled:
                why = "the shell integration is switched off; run without a terminal"
            else:
                with await self._acquire(request, order) as lease:
                    if lease.terminal.takes_commands:
                        return await self._run_leased(lease.terminal, request, settings, permit)
                why = await self._give_up(lease.terminal)
        return await self._run_piped(request, settings, request.wait(settings), why, order)

    async def run_in(self, terminal: Terminal, request: RunRequest) -> CommandResult:
        """Run a command in a given terminal."""
        request.check()
        settings = self.settings()
        cwd = terminal.cwd or self._registry.path(".", None)
        permit = await self._permits.ask(request, cwd=cwd, shell=terminal.shell, terminal=terminal)
        return await self._run_leased(terminal, request, settings, permit)

    async def start_in(self, terminal: Terminal, request: RunRequest) -> Command:
        """Start a command in a given terminal."""
        request.check()
        settings = self.settings()
        cwd = terminal.cwd or self._registry.path(".", None)
        permit = await self._permits.ask(request, cwd=cwd, shell=terminal.shell, terminal=terminal)
        permit = await self._permits.ask_there(permit, request, terminal)
        kill_after_s = request.kill_after(settings.run)
        return await self._start(terminal, request, permit, kill_after_s)

    async def run_temporary(self, request: RunRequest) -> CommandResult:
        """Run a command in a terminal of its own, which is gone afterwards, whatever happens."""
        request.check()
        request = self._located(request)
        settings = self.settings()
        order = self.confinement(request)
        permit = await self._permit(request, order)
        limit_s = settings.tools.wait_temporary_s if request.wait_s is None else request.wait_s
        async with self._temporary(request, order) as terminal:
            if terminal.takes_commands:
                return await self._run_briefly(terminal, request, limit_s, permit)
            why = await self._give_up(terminal)
        # The wait is not over before the command is: killing it takes a moment.
        graces_s = settings.run.interrupt_grace_s + settings.run.terminate_grace_s + _KILLED_GRACE_S
        return await self._run_piped(replace(request, kill_after_s=limit_s), settings, limit_s + graces_s, why, order)

    async def run_batch(self, requests: Sequence[RunRequest], *, stop_on_error: bool) -> list[CommandResult]:
        """Run commands one after the other in one terminal; the first request says which. One result each.

        Ends early when a command does not end, when the terminal is gone, and on a failure if that is asked for.
        """
        for request in requests:
            request.check()
        results: list[CommandResult] = []
        why = None
        first = self._located(requests[0])
        order = self.confinement(first)
        with await self._acquire(first, order) as lease:
            terminal = lease.terminal
            if not terminal.takes_commands:
                why = await self._give_up(terminal)
            for request in requests:
                if why is None:
                    # It is judged where the ones before have left the shell.
                    result = await self.run_in(terminal, request)
                else:
                    settings, request = self.settings(), replace(request, cwd=first.cwd)
                    await self._permit(request, order)
                    result = await self._run_piped(request, settings, request.wait(settings), why, order)
                results.append(result)
                failed = result.state is not State.DONE or result.exit_code != 0
                is_gone = why is None and not terminal.is_open
                if not result.state.is_final or is_gone or (failed and stop_on_error):
                    break
        return results

    async def close(self) -> None:
        """Kill the processes that still run. Who waits for a command that is left to go on is told so."""
        if self._registry.has_left:
            self._left = frozenset(self._waiting)
            for task in self._left:
                task.cancel()
        await asyncio.gather(*(process.close() for process in self._processes))
        await asyncio.gather(*self._followers)

    def confinement(self, request: RunRequest) -> Confinement | None:
        """Return the sandbox of a request: around its workspace, or else where its session began, or its directory."""
        cwd = self._registry.path(self.directory(request), request.session)
        root = request.root(cwd) or cwd
        began = None if request.session is None else self._registry.session_root(request.session)
        if request.workspace is None and began is not None and within(cwd, began):
            root = began
        return self._confining.order(request.sandbox, root=root, began=began, cwd=cwd)

    async def _permit(self, request: RunRequest, order: Confinement | None = None) -> "Permit | None":
        """Ask for leave, once it is clear that the request can be carried out at all."""
        cwd = self._registry.path(self.directory(request), request.session)
        host = await self._host.at(request.workspace)
        await host.check_directory(cwd)
        shell = None
        if isinstance(request.command, str):
            shell = await self._registry.find_shell(request.shell, request.workspace)
        else:
            await checked_argv(host, request.command, cwd)
        confined_to = await self._confining.foreseen(order, host)
        return await self._permits.ask(request, cwd=cwd, shell=shell, confined_to=confined_to)

    async def _acquire(self, request: RunRequest, order: Confinement | None) -> Lease:
        return await self._registry.acquire(
            self.directory(request),
            session=request.session,
            workspace=request.workspace,
            shell=request.shell,
            env=checked_env(request.env),
            sandbox=order,
        )

    def _located(self, request: RunRequest) -> RunRequest:
        """Return a request whose directory is settled: what is asked about must be what is run, whenever that is."""
        path = self._registry.path(self.directory(request), request.session)
        return request if request.cwd == path else replace(request, cwd=path)

    def directory(self, request: RunRequest) -> str | os.PathLike[str]:
        """Return where a request wants to be: where it says, where its session is, or where this process is."""
        if request.cwd is not None:
            return request.cwd
        of_session = self._registry.session_cwd(request.session) if request.session is not None else None
        return of_session or "."

    @contextlib.asynccontextmanager
    async def _temporary(self, request: RunRequest, order: Confinement | None) -> AsyncIterator[Terminal]:
        lease = await self._registry.open(
            self.directory(request),
            session=request.session,
            workspace=request.workspace,
            shell=request.shell,
            env=checked_env(request.env),
            keep=True,
            sandbox=order,
        )
        try:
            yield lease.terminal
        finally:
            if not self._registry.has_left:
                with contextlib.suppress(TerminalNotFound):  # its shell has left by itself
                    await self._registry.close_terminal(lease.terminal.id, "its command has ended")

    async def _give_up(self, terminal: Terminal) -> str:
        """Close a terminal that takes no commands, and say what is done instead."""
        if (closing := self._registry.discard(terminal.id, "it takes no commands")) is not None:
            await asyncio.wait({closing})
        return f"{terminal.integration_failed}; run without a terminal instead"

    async def _run_leased(
        self, terminal: Terminal, request: RunRequest, settings: Settings, permit: "Permit | None"
    ) -> CommandResult:
        permit = await self._permits.ask_there(permit, request, terminal)
        kill_after_s = request.kill_after(settings.run)
        command = await self._start(terminal, request, permit, kill_after_s)
        result = await self._waited(terminal, command, self._outcome(command, request, request.wait(settings)))
        result = _with_silence(result, command.last_activity, settings)
        self._permits.verify(permit, command)
        if permit is not None and permit.warnings:
            result = replace(result, warnings=[*permit.warnings, *result.warnings])
        if request.session is not None:
            self._tracks.tell(request.session, command, terminal.id)
            return replace(result, session=request.session)
        return result

    async def _run_briefly(
        self, terminal: Terminal, request: RunRequest, limit_s: float, permit: "Permit | None"
    ) -> CommandResult:
        permit = await self._permits.ask_there(permit, request, terminal)
        command = await self._start(terminal, request, permit)
        result = await self._waited(terminal, command, self._outcome(command, request, limit_s))
        self._permits.verify(permit, command)
        if not result.state.is_final and not self._registry.has_left:
            if result.needs_input is not None:
                command.warnings.append(
                    f"it asked for input ({result.needs_input.prompt.strip()!r}) and nobody could answer; "
                    "use a persistent terminal, or pass answers"
                )
            else:
                command.warnings.append(f"killed: it ran longer than {limit_s:g} s")
            result = await command.kill() if command.is_running else command.result()
        return replace(result, session=request.session)

    async def _start(
        self, terminal: Terminal, request: RunRequest, permit: "Permit | None", kill_after_s: float | None = None
    ) -> Command:
        verify = self._permits.verifies(permit)
        line = _line(request)
        try:
            command = await terminal.start(line, kill_after_s=kill_after_s, verify=verify, command_id=request.id)
        except OSError as exc:
            # Some shells read their lines from files, in memory that may be full.
            raise HostUnavailable(f"terminal {terminal.id} has no room for the line: {exc.strerror or exc}") from exc
        command.decided = decided(permit)
        return command

    async def _outcome(self, command: Command, request: RunRequest, wait_s: float | None) -> CommandResult:
        if request.answers:
            return await answer_prompts(command, request.answers, timeout_s=wait_s)
        return await command.wait(wait_s)

    async def _waited(self, terminal: Terminal, command: Command, work: Awaitable[CommandResult]) -> CommandResult:
        """Wait for a command; when its terminal is left to go on, return what is known of it."""
        task = asyncio.current_task()
        assert task is not None
        self._waiting.add(task)
        try:
            return await work
        except asyncio.CancelledError:
            if task in self._left and task.uncancel() == 0:
                return command.result()
            # Whoever cancels has nobody left to stop it.
            terminal.abandon(command)
            raise
        finally:
            self._waiting.discard(task)

    async def _run_piped(
        self,
        request: RunRequest,
        settings: Settings,
        wait_s: float | None,
        why: str | None,
        order: Confinement | None = None,
    ) -> CommandResult:
        """Run without a terminal; `why` says why there is none although somebody asked for it."""
        directory = self._registry.path(self.directory(request), request.session)
        piped = _Piped(request, self._artifacts, time.time(), directory)
        process = await start_process(
            await self._host.at(request.workspace),
            request.command,
            cwd=directory,
            shell=request.shell,
            env=checked_env(request.env),
            settings=settings,
            merged=request.merged,
            listener=piped.output,
            command_id=request.id,
            sandbox=order,
        )
        self._processes.add(process)
        self._commands.add(process, session=request.session, workspace=request.workspace)
        if request.session is not None:
            self._registry.begin_session(request.session, directory)
        if why is not None:
            process.warnings.append(why)
            if request.answers:
                process.warnings.append("prompts are not answered: that takes a terminal")
        kill_after_s = request.kill_after(settings.run)
        if kill_after_s is not None:
            process.kill_later(kill_after_s)
        try:
            result = piped.finished(await process.wait(wait_s))
        except asyncio.CancelledError:
            process.abandon()
            self._follow_later(process, piped)
            raise
        self._record(piped.entry(result))
        if result.state.is_final:
            await self._forget(process)
        else:
            self._follow_later(process, piped)
        return _with_silence(result, piped.last_activity, settings)

    def _follow_later(self, process: Process, piped: "_Piped") -> None:
        self._followers.add(follower := asyncio.get_running_loop().create_task(self._follow(process, piped)))
        follower.add_done_callback(self._followers.discard)

    async def _follow(self, process: Process, piped: "_Piped") -> None:
        self._record(piped.entry(piped.finished(await process.wait())))
        await self._forget(process)

    async def _forget(self, process: Process) -> None:
        self._commands.over(process)
        self._processes.discard(process)
        await process.close()


class _Piped:
    """What is kept of a process without a terminal: its complete output and its place in the history."""

    def __init__(self, request: RunRequest, artifacts: ArtifactStore, started_at: float, cwd: str) -> None:
        self._request = request
        self._artifacts = artifacts
        self._started_at = started_at
        self._cwd = cwd
        self.last_activity = time.monotonic()
        self._writer: ArtifactWriter | None = None

    def output(self, command_id: CommandId, stream: Stream, data: bytes) -> None:
        """Take output as it comes."""
        self.last_activity = time.monotonic()
        if self._writer is None:
            self._writer = self._artifacts.open(command_id)
        self._writer.append(data)
        if self._request.on_output is not None:
            self._request.on_output(stream, data)

    def finished(self, result: CommandResult) -> CommandResult:
        """Return the result with the name of its complete output, if the text does not show it."""
        artifact = None
        warnings = result.warnings
        if self._writer is not None:
            if result.state.is_final:
                self._writer.close()
            if result.truncated:
                artifact = self._writer.keep()
            elif result.state.is_final:
                self._writer.discard()
            if self._writer.problem:
                warnings = [*warnings, self._writer.problem]
        return replace(result, session=self._request.session, artifact=artifact, warnings=warnings)

    def entry(self, result: CommandResult) -> HistoryEntry:
        """Describe it for the history."""
        return entry_of_result(result, started_at=self._started_at, cwd=self._cwd, workspace=self._request.workspace)


def _with_silence(result: CommandResult, last_activity: float, settings: Settings) -> CommandResult:
    """Add that a command that goes on has printed nothing for a long time."""
    note = silence_note(last_activity, settings.tools.silence_note_s) if result.state is State.RUNNING else None
    return replace(result, warnings=[*result.warnings, note]) if note else result


def _line(request: RunRequest) -> str:
    if not isinstance(request.command, str):
        return " ".join(request.command)
    return request.command
