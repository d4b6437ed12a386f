"""The ways a command runs: in a reused terminal, in a given one, in one of its own, or without any terminal."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from hermitty.config import Settings
from hermitty.engine.command import Command
from hermitty.engine.interact import answer_prompts
from hermitty.engine.oneshot import Process, start_process
from hermitty.engine.registry import Lease, Registry
from hermitty.engine.terminal import Terminal
from hermitty.errors import TerminalNotFound
from hermitty.host.base import Host, Stream
from hermitty.model import CommandId, CommandResult, State
from hermitty.runtime.artifacts import ArtifactStore
from hermitty.runtime.history.entry import HistoryEntry, entry_of_result
from hermitty.runtime.requests import RunRequest, checked_env
from hermitty.runtime.tracks import Tracks

if TYPE_CHECKING:
    from hermitty.runtime.artifact_writer import ArtifactWriter

T = TypeVar("T")


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
    ) -> None:
        self._host = host
        self._registry = registry
        self._tracks = tracks
        self._settings = settings
        self._artifacts = artifacts
        self._record = record
        self._processes: set[Process] = set()
        self._followers: set[asyncio.Task[None]] = set()  # of processes that outlived the wait for them

    async def run(self, request: RunRequest) -> CommandResult:
        """Run a command where it fits best. Cancelling kills it."""
        request.check()
        settings = self._settings()
        warnings: list[str] = []
        if request.provider == "pty" and isinstance(request.command, str):
            if settings.terminal.shell_integration_disabled:
                warnings.append("the shell integration is switched off; run without a terminal")
            else:
                with await self._acquire(request) as lease:
                    if lease.terminal.takes_commands:
                        return await self._run_leased(lease.terminal, request, settings)
                    warnings.append(f"{lease.terminal.integration_failed}; run without a terminal instead")
                await self._registry.close_terminal(lease.terminal.id)
        result = await self._run_piped(request, settings)
        return replace(result, session=request.session, warnings=[*warnings, *result.warnings])

    async def run_in(self, terminal: Terminal, request: RunRequest) -> CommandResult:
        """Run a command in a given terminal."""
        request.check()
        return await self._run_leased(terminal, request, self._settings())

    async def run_temporary(self, request: RunRequest) -> CommandResult:
        """Run a command in a terminal of its own, which is gone afterwards, whatever happens."""
        request.check()
        settings = self._settings()
        limit_s = settings.tools.wait_temporary_s if request.wait_s is None else request.wait_s
        async with self._temporary(request) as terminal:
            if not terminal.takes_commands:
                return await self.run(replace(request, provider="pipe", wait_s=limit_s, kill_after_s=limit_s))
            command = await terminal.start(_line(request))
            result = await self._waited(terminal, command, self._outcome(command, request, limit_s))
            if not result.state.is_final:
                if result.needs_input is not None:
                    command.warnings.append(
                        f"it asked for input ({result.needs_input.prompt.strip()!r}) and nobody could answer; "
                        "use a persistent terminal, or pass answers"
                    )
                else:
                    command.warnings.append(f"killed: it ran longer than {limit_s:g} s")
                result = await command.kill() if command.is_running else command.result()
            return replace(result, session=request.session)

    async def run_batch(self, requests: Sequence[RunRequest], *, stop_on_error: bool) -> list[CommandResult]:
        """Run commands one after the other in one terminal; the first request says which. One result each.

        Ends early when a command does not end, when the terminal is gone, and on a failure if that is asked for.
        """
        for request in requests:
            request.check()
        results: list[CommandResult] = []
        with await self._acquire(requests[0]) as lease:
            for request in requests:
                result = await self._run_leased(lease.terminal, request, self._settings())
                results.append(result)
                failed = result.state is not State.DONE or result.exit_code != 0
                if not result.state.is_final or not lease.terminal.is_open or (failed and stop_on_error):
                    break
        return results

    async def close(self) -> None:
        """Kill the processes that still run."""
        await asyncio.gather(*(process.close() for process in self._processes))
        await asyncio.gather(*self._followers)

    async def _acquire(self, request: RunRequest) -> Lease:
        return await self._registry.acquire(
            self.directory(request),
            session=request.session,
            workspace=request.workspace,
            shell=request.shell,
            env=checked_env(request.env),
        )

    def directory(self, request: RunRequest) -> str | os.PathLike[str]:
        """Return where a request wants to be: where it says, where its session is, or where this process is."""
        if request.cwd is not None:
            return request.cwd
        of_session = self._registry.session_cwd(request.session) if request.session is not None else None
        return of_session or "."

    @contextlib.asynccontextmanager
    async def _temporary(self, request: RunRequest) -> AsyncIterator[Terminal]:
        lease = await self._registry.open(
            self.directory(request),
            session=request.session,
            workspace=request.workspace,
            shell=request.shell,
            env=checked_env(request.env),
            keep=True,
        )
        try:
            yield lease.terminal
        finally:
            with contextlib.suppress(TerminalNotFound):  # its shell has left by itself
                await self._registry.close_terminal(lease.terminal.id, "its command has ended")

    async def _run_leased(self, terminal: Terminal, request: RunRequest, settings: Settings) -> CommandResult:
        command = await terminal.start(_line(request), kill_after_s=request.kill_after(settings.run))
        wait_s = request.wait(settings.run)
        result = await self._waited(terminal, command, self._outcome(command, request, wait_s))
        if request.session is not None:
            self._tracks.tell(request.session, command, terminal.id)
            return replace(result, session=request.session)
        return result

    async def _outcome(self, command: Command, request: RunRequest, wait_s: float | None) -> CommandResult:
        if request.answers:
            return await answer_prompts(command, request.answers, timeout_s=wait_s)
        return await command.wait(wait_s)

    async def _waited(self, terminal: Terminal, command: Command, work: Awaitable[T]) -> T:
        try:
            return await work
        except asyncio.CancelledError:
            # Whoever cancels has nobody left to stop it.
            terminal.abandon(command)
            raise

    async def _run_piped(self, request: RunRequest, settings: Settings) -> CommandResult:
        directory = self._registry.path(self.directory(request), request.session)
        piped = _Piped(request, self._artifacts, time.time(), directory)
        process = await start_process(
            self._host,
            request.command,
            cwd=directory,
            shell=request.shell,
            env=checked_env(request.env),
            settings=settings,
            listener=piped.output,
        )
        self._processes.add(process)
        kill_after_s = request.kill_after(settings.run)
        if kill_after_s is not None:
            process.kill_later(kill_after_s)
        try:
            result = piped.finished(await process.wait(request.wait(settings.run)))
        except asyncio.CancelledError:
            process.abandon()
            raise
        self._record(piped.entry(result))
        if result.state.is_final:
            await self._forget(process)
        else:
            self._followers.add(follower := asyncio.get_running_loop().create_task(self._follow(process, piped)))
            follower.add_done_callback(self._followers.discard)
        return result

    async def _follow(self, process: Process, piped: "_Piped") -> None:
        self._record(piped.entry(piped.finished(await process.wait())))
        await self._forget(process)

    async def _forget(self, process: Process) -> None:
        self._processes.discard(process)
        await process.close()


class _Piped:
    """What is kept of a process without a terminal: its complete output and its place in the history."""

    def __init__(self, request: RunRequest, artifacts: ArtifactStore, started_at: float, cwd: str) -> None:
        self._request = request
        self._artifacts = artifacts
        self._started_at = started_at
        self._cwd = cwd
        self._writer: ArtifactWriter | None = None

    def output(self, command_id: CommandId, stream: Stream, data: bytes) -> None:
        """Take output as it comes."""
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


def _line(request: RunRequest) -> str:
    if not isinstance(request.command, str):
        return " ".join(request.command)
    return request.command
