"""Commands that requests start. They belong to the server: a client that goes away changes nothing for them.

A client can choose the id of a command. The same id again, after a lost connection or a restart of the client, waits
for the same command instead of running it twice.
"""

import asyncio
import inspect
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from hermitty.errors import CommandEnded, CommandIdTaken, CommandNotFound, HostUnavailable
from hermitty.model import CommandResult, State, new_command_id, not_started
from hermitty.runtime.api import Command, Runtime

if TYPE_CHECKING:
    from hermitty.runtime.commands import Known

T = TypeVar("T")

# How many runs that are over are remembered, and how much of their texts.
_MOST_RUNS = 500
_MOST_CHARACTERS = 8 * 1024 * 1024
# What is left of a runtime that was closed or left ends by itself, at once; this is for what does not.
_LAST_S = 5.0
_GOES_ON = "the server ends; this command goes on, and the next server knows it by its id"
_ENDS_TOO = "the server ends, and this command with it"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a run is about: the same id with something else is a mistake of the client."""

    command: str | tuple[str, ...]
    terminal: str | None = None
    session: str | None = None

    @property
    def line(self) -> str:
        """Return the command as one text."""
        return self.command if isinstance(self.command, str) else " ".join(self.command)


@dataclass(slots=True, eq=False)
class _Run:
    wanted: Wanted
    task: asyncio.Task[CommandResult]
    is_resumed: bool = False  # begun by a server before this one
    stopped: State | None = None  # before it had started
    size: int = 0


class Runs:
    """The commands of requests, by id. `close` waits for them; whoever is answered meanwhile gets what is known."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._others: set[asyncio.Task[Any]] = set()
        self._size = 0
        self._closing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for command_id, (request, task) in runtime.resumed.items():
            command = request.command if isinstance(request.command, str) else tuple(request.command)
            self._add(command_id, _Run(Wanted(command, session=request.session), task, is_resumed=True))

    async def run(
        self,
        wanted: Wanted,
        work: Callable[[str], Coroutine[Any, Any, CommandResult]],
        *,
        command_id: str | None = None,
        wait_s: float,
    ) -> CommandResult:
        """Run a command and wait for its outcome; with an id that is known, wait for that command."""
        if command_id is not None and await self._is_known(command_id, wanted):
            run = self._runs.get(command_id)
            if run is not None and not run.task.done():
                await self._wait(run.task, None)
            return await self.look(command_id, wait_s)
        chosen = command_id or new_command_id()
        run = _Run(wanted, asyncio.get_running_loop().create_task(work(chosen)))
        self._add(chosen, run)
        await self._wait(run.task, None)
        return run.task.result() if run.task.done() and not run.task.cancelled() else await self.look(chosen)

    async def detached(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something short that goes on when its client leaves."""
        return await asyncio.shield(self._begin(work))

    async def commands(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something that runs commands. Raises HostUnavailable when the server ends before they do."""
        task = self._begin(work)
        await self._wait(task, None)
        if not task.done():
            raise HostUnavailable(
                "the server ends before the commands do; `hermitty history` tells what became of them"
            )
        return task.result()

    async def look(self, command_id: str, wait_s: float = 0.0) -> CommandResult:
        """Return what is known of a command, after waiting for its end or a question at most that long."""
        run = self._runs.get(command_id)
        if run is not None:
            if wait_s and not run.task.done():
                await self._wait(run.task, wait_s)
            found = self._find(command_id)
            if found is None or run.task.done():
                result = self._result(command_id, run)
                if found is None or result.state.is_final:
                    return result
        known = self._find(command_id)
        if known is None:
            return await self._runtime.result(command_id)  # perhaps a server before this one ran it
        if wait_s and known.handle.is_running:
            return await self._waited(known, wait_s)
        return await self._now(known)

    async def stop(self, command_id: str, how: State, wait_s: float) -> CommandResult:
        """Interrupt or kill a command; one that has not started never will."""
        run = self._runs.get(command_id)
        if run is not None and not run.task.done() and self._find(command_id) is None:
            run.stopped = how
            run.task.cancel()
            await asyncio.wait({run.task})
            return self._result(command_id, run)
        handle = self._runtime.command(command_id).handle
        if not handle.is_running:
            raise CommandEnded(command_id)
        if how is State.KILLED:
            await self.detached(handle.kill())
        elif inspect.isawaitable(sent := handle.interrupt()):
            await sent
        return await self.look(command_id, wait_s)

    def stop_waiting(self) -> None:
        """Answer everybody who waits with what is known now."""
        if not self._closing.done():
            self._closing.set_result(None)

    async def close(self) -> None:
        """Wait until nothing runs any more. The runtime is closed or left first: it decides about its commands."""
        self.stop_waiting()
        tasks = {run.task for run in self._runs.values() if not run.task.done()} | self._others
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_LAST_S)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    def _begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work)
        self._others.add(task)
        task.add_done_callback(self._forget)
        return task

    async def _waited(self, known: "Known", wait_s: float) -> CommandResult:
        """Wait for the end or a question. Cancelling the wait leaves the command alone."""
        waiting = asyncio.get_running_loop().create_task(known.handle.wait(wait_s))
        try:
            await self._wait(waiting, None)
            if not waiting.done():
                return await self._now(known)
            return replace(waiting.result(), session=known.session)
        finally:
            waiting.cancel()
            await asyncio.wait({waiting})

    async def _now(self, known: "Known") -> CommandResult:
        handle = known.handle
        is_durable = False
        if isinstance(handle, Command) and handle.is_running and known.terminal is not None:
            terminal = self._runtime.terminal(known.terminal)
            is_durable = terminal.pty.is_durable
            result = replace(handle.result(await terminal.look(handle)), session=known.session)
        else:
            result = known.result()
        if self._closing.done() and not result.state.is_final:
            return replace(result, warnings=[*result.warnings, _GOES_ON if is_durable else _ENDS_TOO])
        return result

    async def _wait(self, task: asyncio.Task[Any], timeout_s: float | None) -> None:
        await asyncio.wait({task, self._closing}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)

    async def _is_known(self, command_id: str, wanted: Wanted) -> bool:
        """Tell whether a command with this id runs or ran, here or in a server before this one."""
        run = self._runs.get(command_id)
        if run is not None:
            if run.wanted.line.strip() != wanted.line.strip() or not (run.is_resumed or run.wanted == wanted):
                raise CommandIdTaken(command_id)
            return True
        try:
            # Answered at once, so that nobody else comes between this and the start.
            result = await self._runtime.result(command_id)
        except CommandNotFound:
            return False
        if result.command.strip() != wanted.line.strip():
            raise CommandIdTaken(command_id)
        return True

    def _add(self, command_id: str, run: _Run) -> None:
        self._runs[command_id] = run
        run.task.add_done_callback(lambda task: self._ended(command_id, run))

    def _find(self, command_id: str) -> "Known | None":
        try:
            return self._runtime.command(command_id)
        except CommandNotFound:
            return None

    def _result(self, command_id: str, run: _Run) -> CommandResult:
        if not run.task.done():
            state, why = State.RUNNING, "it has not started yet: it waits for its turn"
        elif run.task.cancelled():
            state, why = run.stopped or State.INTERRUPTED, "it was stopped before it started"
        else:
            return run.task.result()
        return not_started(command_id, run.wanted.line, session=run.wanted.session, state=state, why=why)

    def _ended(self, command_id: str, run: _Run) -> None:
        """Note the end of a run, and forget the oldest that are too many. Errors are kept for whoever asks."""
        run.size = len(run.wanted.line)
        if not run.task.cancelled() and run.task.exception() is None:
            result = run.task.result()
            run.size += len(result.text) + len(result.stdout or "") + len(result.stderr or "")
        self._size += run.size
        while len(self._runs) > _MOST_RUNS or self._size > _MOST_CHARACTERS:
            old = next((each for each, known in self._runs.items() if known.task.done()), command_id)
            if old == command_id:
                break
            self._size -= self._runs.pop(old).size

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._others.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waited was told; nobody may be left who did
