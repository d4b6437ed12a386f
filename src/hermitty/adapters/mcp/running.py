"""Running commands for calls that must answer within a minute, however long the command takes.

A call whose time is over answers with what is known then, and its command goes on: it is found again by its id. So it
is with a server that ends: nobody may wait any more.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast, get_args

from hermitty.adapters.mcp.bounded import BoundedRuntime
from hermitty.adapters.mcp.flights import Flight, Flights, Keep
from hermitty.adapters.mcp.terminals import (
    LONGEST_WAIT_S,
    TAKE_OFF_S,
    Consent,
    Glimpse,
    Line,
    SandboxMode,
    Until,
    Waited,
)
from hermitty.adapters.mcp.waits import glimpsing, wait_for
from hermitty.errors import ApprovalTimeout, CommandNotFound, HostUnavailable, InvalidRequest, TerminalNotFound
from hermitty.model import CommandResult, State, new_command_id, not_started
from hermitty.runtime.api import Runtime
from hermitty.runtime.commands import Known
from hermitty.runtime.tools import TOOLS, ToolResult

_MODES: tuple[str, ...] = get_args(SandboxMode)  # by what they confine
_ENDING = "hermitty's server ends"

T = TypeVar("T")


class Running:
    """The commands that calls run and wait for."""

    def __init__(self, runtime: Runtime, *, keep: Keep | None = None) -> None:
        self._runtime = runtime
        self._bounded = BoundedRuntime(runtime)
        self._flights = Flights(runtime, keep=keep)

    async def run(
        self,
        line: Line,
        *,
        wait_s: float,
        consent: Consent | None,
        glimpse: Callable[[Glimpse | None], None] | None = None,
    ) -> CommandResult:
        """Run a command and wait for it. Cancelling stops the command."""
        command_id = new_command_id()
        flight = self._flights.depart(self._run(line, command_id, wait_s), consent)
        timeout_s = min(LONGEST_WAIT_S, wait_s + TAKE_OFF_S)
        with glimpsing(self._runtime, command_id, glimpse):
            if await self._flights.arrive(flight, timeout_s):
                return cast("CommandResult", flight.task.result())
        self._flights.leave_behind(flight, command_id)
        known = self._known(command_id)
        if known is not None and self._flights.is_stopping:
            return self._as_it_is(known)
        return _not_yet(command_id, flight, line)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, session: str, consent: Consent | None
    ) -> ToolResult:
        """Call one of the specification's tools."""
        # Only what the tools use of a runtime, with waits that a call may have.
        work = TOOLS[name].call(cast("Runtime", self._bounded), arguments, session=session)
        flight = self._flights.depart(work, consent)
        if await self._flights.arrive(flight, LONGEST_WAIT_S):
            return cast("ToolResult", flight.task.result())
        if self._flights.is_stopping:
            raise HostUnavailable(f"{_ENDING} before the command was over; look at its terminal when it is there again")
        flight.task.cancel()
        raise ApprovalTimeout(str(arguments.get("command", "")), LONGEST_WAIT_S)

    async def wait(
        self,
        target: str,
        until: Until,
        *,
        timeout_s: float,
        pattern: str | None = None,
        idle_s: float = 2.0,
        glimpse: Callable[[Glimpse | None], None] | None = None,
    ) -> Waited:
        """Wait for something of a command, or of the command of a terminal."""
        async with asyncio.timeout(None) as limit:
            deadline = asyncio.get_running_loop().time() + timeout_s
            limit.reschedule(deadline + TAKE_OFF_S)  # the kernel may be slow to tell
            command_id = await self._in_the_air(self._command_id(target), timeout_s)
            if command_id is None:
                flight = self._flights.find(target)
                assert flight is not None
                return Waited(_not_yet(target, flight), "timeout")
            known = self._known(command_id)
            if known is None:
                return Waited(await self._runtime.result(command_id), "exit")
            left_s = max(0.0, deadline - asyncio.get_running_loop().time())
            with glimpsing(self._runtime, command_id, glimpse):
                work = wait_for(self._runtime, known, until, timeout_s=left_s, pattern=pattern, idle_s=idle_s)
                waited = await self._unless_stopping(work)
            if waited is None:
                return Waited(self._as_it_is(known), "timeout")
            return replace(waited, result=replace(waited.result, session=known.session))
        raise AssertionError("the wait returns")

    async def kill(self, target: str) -> CommandResult | None:
        """Kill a command and return its result, or close a terminal. What is over already stays so."""
        if target.startswith("t_"):
            try:
                await self._runtime.close_terminal(target)
            except TerminalNotFound:
                if not self._runtime.commands(terminal=target):
                    raise
            return None
        flight = self._flights.find(target)
        known = self._known(target)
        if known is None and flight is not None:
            flight.task.cancel()
            return not_started(target, "", session=None, state=State.KILLED, why="it was stopped before it started")
        if known is None:
            return await self._runtime.result(target)
        if known.handle.is_running:
            await known.handle.kill()
        return known.result()

    def stop_waiting(self) -> None:
        """Let every call answer with what is known now: the server ends."""
        self._flights.stop_waiting()

    async def aclose(self) -> None:
        """Stop what calls left behind, or hand it on."""
        await self._flights.aclose()

    # Inside.

    async def _unless_stopping(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return what the work gives, None if the server ends before."""
        task = asyncio.get_running_loop().create_task(work)
        try:
            return task.result() if await self._flights.arrived(task, None) else None
        finally:
            task.cancel()
            await asyncio.wait({task})

    def _as_it_is(self, known: Known) -> CommandResult:
        """Return a command that nobody can wait for any more."""
        result = known.result()
        if result.state.is_final:
            return result
        goes_on = known.terminal is not None and self._runtime.terminal(known.terminal).pty.is_durable
        what = f"the command goes on: wait for {result.id} when it is there again" if goes_on else "the command with it"
        return replace(result, warnings=[*result.warnings, f"{_ENDING}, {what}"])

    async def _run(self, line: Line, command_id: str, wait_s: float) -> CommandResult:
        if line.terminal is not None:
            if line.cwd is not None or line.shell is not None or line.env:
                raise InvalidRequest(
                    "a terminal has its own directory, shell and environment; leave cwd, shell, env out"
                )
            self._check_sandbox(line.terminal, line.sandbox)
            return await self._runtime.run_in(
                line.terminal,
                line.command,
                session=line.session,
                wait_s=wait_s,
                kill_after_s=line.kill_after_s,
                command_id=command_id,
            )
        return await self._runtime.run(
            line.command,
            cwd=line.cwd,
            session=line.session,
            shell=line.shell,
            env=line.env,
            wait_s=wait_s,
            kill_after_s=line.kill_after_s,
            command_id=command_id,
            sandbox=line.sandbox,
        )

    def _check_sandbox(self, terminal_id: str, wanted: SandboxMode | None) -> None:
        """Raise InvalidRequest when a terminal confines less than is wanted: its sandbox never changes."""
        order = self._runtime.terminal(terminal_id).sandbox
        has = "off" if order is None else order.mode.value
        if wanted is not None and _MODES.index(has) < _MODES.index(wanted):
            raise InvalidRequest(
                f"the sandbox of terminal {terminal_id} is {has}, and never changes; leave terminal_id out, or open "
                "another terminal"
            )

    def _command_id(self, target: str) -> str:
        """Return the command that is meant by its id, or by its terminal."""
        if target.startswith("c_"):
            return target
        command = self._runtime.last_command(target)
        if command is None:
            raise InvalidRequest(f"no command has run in terminal {target} yet; start one with run")
        return command.id

    async def _in_the_air(self, command_id: str, timeout_s: float) -> str | None:
        """Wait until a command that was left behind runs; None if it still waits. Raises what became of it."""
        flight = self._flights.find(command_id)
        if flight is None or self._known(command_id) is not None:
            return command_id
        is_over = await self._flights.arrived(flight.task, timeout_s)
        if self._known(command_id) is not None:
            return command_id
        if not is_over:
            return None
        if flight.task.cancelled():
            raise CommandNotFound(command_id)
        flight.task.result()
        return command_id

    def _known(self, command_id: str) -> Known | None:
        try:
            return self._runtime.command(command_id)
        except CommandNotFound:
            return None


def _not_yet(command_id: str, flight: Flight, line: Line | None = None) -> CommandResult:
    """Say what a command waits for that has not started. Its line is not known to a call that did not bring it."""
    if flight.question is not None:
        why = (
            f"it has not started: it waits for a person to answer question {flight.question} (on hermitty's page, "
            f"or with `hermitty approvals`); wait for {command_id}, or kill it"
        )
    else:
        why = f"it has not started: it waits for a free terminal; wait for {command_id}, or kill it"
    command, session = ("", None) if line is None else (line.command, line.session)
    return not_started(command_id, command, session=session, state=State.RUNNING, why=why)
