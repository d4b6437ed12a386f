"""Terminals of this process, as the tools see them."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast, get_args

from hermitty.adapters.mcp.flights import Flight, Flights, Keep
from hermitty.adapters.mcp.terminals import (
    LONGEST_WAIT_S,
    Change,
    Consent,
    Glimpse,
    Line,
    SandboxMode,
    Shown,
    TerminalView,
    Until,
    Waited,
)
from hermitty.adapters.mcp.typing_into import check_keys, check_text, running_command, settle
from hermitty.adapters.mcp.waits import glimpse_of, wait_for
from hermitty.errors import (
    ApprovalTimeout,
    CommandNotFound,
    HermittyError,
    HostUnavailable,
    InvalidRequest,
    SessionNotFound,
    TerminalNotFound,
)
from hermitty.events import Event, TerminalEnded, TerminalOpened
from hermitty.model import CommandId, CommandResult, Quality, State, new_command_id
from hermitty.runtime.api import Command, Runtime, Sandbox, Terminal
from hermitty.runtime.approvals import Question
from hermitty.runtime.artifacts import SearchResult
from hermitty.runtime.commands import Known
from hermitty.runtime.foresight import foresee
from hermitty.runtime.outputs import Piece, output_of, read_lines, read_piece
from hermitty.runtime.pictures import png_later
from hermitty.runtime.requests import RunRequest
from hermitty.runtime.tools import TOOLS, ToolResult

# How long a command may take to get a terminal, beyond the wait for it.
_TAKE_OFF_S = 10.0
# What is left of a call's time for the commands of the specification's tools.
_TOOL_WAIT_S = LONGEST_WAIT_S - _TAKE_OFF_S
# How often a call that waits is told how far the command is.
_GLIMPSE_S = 0.25
_MOST_HINTS = 2
_MODES: tuple[str, ...] = get_args(SandboxMode)  # by what they confine
_ENDING = "hermitty's server ends"

T = TypeVar("T")
ReadCast = Callable[[str], Iterator[bytes]]


class LocalTerminals:
    """The terminals of a runtime, which is its owner's. `aclose` ends what calls left behind, or hands it to `keep`."""

    def __init__(self, runtime: Runtime, *, read_cast: ReadCast | None = None, keep: Keep | None = None) -> None:
        self.runtime = runtime
        self._flights = Flights(runtime, keep=keep)
        self._read_cast = read_cast
        self._bounded = _Bounded(runtime)

    # Commands.

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
        timeout_s = min(LONGEST_WAIT_S, wait_s + _TAKE_OFF_S)
        with self._glimpsing(glimpse, lambda: glimpse_of(self.runtime, command_id)):
            if await self._flights.arrive(flight, timeout_s):
                return cast("CommandResult", flight.task.result())
        self._flights.leave_behind(flight, command_id)
        known = self._known(command_id)
        if known is not None and self._flights.is_stopping:
            return self._as_it_is(known)
        return self._not_yet(line.command, line.session, command_id, flight)

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
            limit.reschedule(deadline + _TAKE_OFF_S)  # the kernel may be slow to tell
            command_id = await self._in_the_air(self._command_id(target), timeout_s)
            if command_id is None:
                flight = self._flights.find(target)
                assert flight is not None
                return Waited(self._not_yet("", None, target, flight), "timeout")
            known = self._known(command_id)
            if known is None:
                return Waited(await self.runtime.result(command_id), "exit")
            left_s = max(0.0, deadline - asyncio.get_running_loop().time())
            with self._glimpsing(glimpse, lambda: glimpse_of(self.runtime, command_id)):
                work = wait_for(self.runtime, known, until, timeout_s=left_s, pattern=pattern, idle_s=idle_s)
                waited = await self._unless_stopping(work)
            if waited is None:
                return Waited(self._as_it_is(known), "timeout")
            return replace(waited, result=replace(waited.result, session=known.session))
        raise AssertionError("the wait returns")

    async def kill(self, target: str) -> CommandResult | None:
        """Kill a command and return its result, or close a terminal. What is over already stays so."""
        if target.startswith("t_"):
            try:
                await self.runtime.close_terminal(target)
            except TerminalNotFound:
                if not self.runtime.commands(terminal=target):
                    raise
            return None
        flight = self._flights.find(target)
        known = self._known(target)
        if known is None and flight is not None:
            flight.task.cancel()
            return self._not_yet("", None, target, flight, State.KILLED)
        if known is None:
            return await self.runtime.result(target)
        if known.handle.is_running:
            await known.handle.kill()
        return known.result()

    async def hints(self, result: CommandResult) -> list[str]:
        """Say what may help after a failure."""
        explained = await self.runtime.explain(result)
        return [f"{each.reason}: {each.command}" for each in explained.suggestions[:_MOST_HINTS]]

    # Output.

    async def read(self, target: str, *, offset: int, limit: int) -> Piece:
        """Read output from a byte on."""
        return await read_piece(await output_of(self.runtime, target), offset, limit)

    async def read_lines(self, target: str, *, first: int, count: int, limit: int) -> Piece:
        """Read lines of output."""
        return await read_lines(await output_of(self.runtime, target), first, count, limit)

    async def search(self, target: str, pattern: str, *, offset: int) -> SearchResult:
        """Find lines of output."""
        output = await output_of(self.runtime, target)
        if offset >= output.size:
            return SearchResult((), literal=False, problem=None, stopped=None, next=None, size=output.size)
        return await output.search(pattern, offset)

    async def recording(self, terminal: str) -> bytes | None:
        """Return the recording of a terminal, None if there is none."""
        if self._read_cast is None:
            return None
        read_cast = self._read_cast
        try:
            return await asyncio.to_thread(lambda: b"".join(read_cast(terminal)))
        except HermittyError:
            return None

    # Input.

    async def write(self, target: str, text: str) -> str:
        """Type for the program that runs."""
        command = running_command(self.runtime, target)
        ends_it = check_text(text)
        command.write(text)
        await settle(command, ends_it=ends_it)
        return command.id

    async def press(self, target: str, keys: Sequence[str]) -> str:
        """Press keys for the program that runs."""
        command = running_command(self.runtime, target)
        ends_it = check_keys(keys)
        for key in keys:
            command.send_key(key)
        await settle(command, ends_it=ends_it)
        return command.id

    # Terminals.

    async def screen(self, terminal: str, *, picture: bool) -> Shown:
        """Look at a terminal."""
        found = self.runtime.terminal(terminal)
        found.check_open()
        screen = found.screen
        draw = png_later(screen) if picture else None
        shown = Shown(
            terminal=found.id,
            cols=screen.size.cols,
            rows=screen.size.rows,
            cursor_col=screen.cursor.col,
            cursor_row=screen.cursor.row,
            is_alternate=screen.alternate,
            text=screen.text(),
        )
        return replace(shown, png=await asyncio.to_thread(draw)) if draw is not None else shown

    async def listed(self, session: str | None) -> list[TerminalView]:
        """List the terminals of a session, or all."""
        return [self._view(each) for each in self.runtime.terminals(session=session)]

    async def open(
        self,
        *,
        session: str,
        cwd: str | None = None,
        shell: str | None = None,
        name: str | None = None,
        env: Mapping[str, str] | None = None,
        cols: int | None = None,
        rows: int | None = None,
        sandbox: SandboxMode | None = None,
    ) -> TerminalView:
        """Open a terminal."""
        opened = await self.runtime.open_terminal(
            cwd=cwd, shell=shell, session=session, env=env, cols=cols, rows=rows, name=name, sandbox=sandbox
        )
        return self._view(opened)

    def watch(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Tell the listener what changes until the returned function is called."""
        watched: dict[str, Callable[[], None]] = {}

        def follow(terminal: Terminal) -> None:
            watched[terminal.id] = terminal.watch(lambda: listener(Change(terminal.id)))

        def on_event(event: Event) -> None:
            if isinstance(event, TerminalOpened):
                with contextlib.suppress(TerminalNotFound):  # a spare, which is nobody's yet
                    follow(self.runtime.terminal(event.terminal))
                listener(Change(None))
            elif isinstance(event, TerminalEnded):
                watched.pop(event.terminal, lambda: None)()
                listener(Change(None))

        for terminal in self.runtime.terminals():
            follow(terminal)
        stop = self.runtime.subscribe(on_event)

        def stop_all() -> None:
            stop()
            for end in watched.values():
                end()

        return stop_all

    def release(self, session: str) -> None:
        """End a session; its terminals go on in the background."""
        with contextlib.suppress(SessionNotFound):
            self.runtime.release(session)

    # The policy.

    async def check(self, command: str, *, cwd: str | None, shell: str | None, session: str) -> dict[str, Any]:
        """Say what the policy makes of a command."""
        decision = self.runtime.check(command, cwd=cwd, shell=shell, session=session)
        return cast("dict[str, Any]", decision.to_dict())

    def foresee(self, line: Line) -> Question | None:
        """Return the question that a person would be asked about a command."""
        wish = Sandbox.parse(line.sandbox)
        request = RunRequest(line.command, line.cwd, line.session, None, line.shell, env=line.env, sandbox=wish)
        return foresee(self.runtime, request, terminal_id=line.terminal)

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
        result = replace(known.result(), session=known.session)
        if result.state.is_final:
            return result
        goes_on = known.terminal is not None and self.runtime.terminal(known.terminal).pty.is_durable
        what = f"the command goes on: wait for {result.id} when it is there again" if goes_on else "the command with it"
        return replace(result, warnings=[*result.warnings, f"{_ENDING}, {what}"])

    async def _run(self, line: Line, command_id: str, wait_s: float) -> CommandResult:
        if line.terminal is not None:
            if line.cwd is not None or line.shell is not None or line.env:
                raise InvalidRequest(
                    "a terminal has its own directory, shell and environment; leave cwd, shell, env out"
                )
            self._check_sandbox(line.terminal, line.sandbox)
            return await self.runtime.run_in(
                line.terminal,
                line.command,
                session=line.session,
                wait_s=wait_s,
                kill_after_s=line.kill_after_s,
                command_id=command_id,
            )
        return await self.runtime.run(
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
        order = self.runtime.terminal(terminal_id).sandbox
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
        command = self.runtime.last_command(target)
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
            return self.runtime.command(command_id)
        except CommandNotFound:
            return None

    def _not_yet(
        self, command: str, session: str | None, command_id: str, flight: Flight, state: State = State.RUNNING
    ) -> CommandResult:
        why = "it was stopped before it started"
        if state is State.RUNNING and flight.question is not None:
            why = (
                f"it has not started: it waits for a person to answer question {flight.question} (on hermitty's page, "
                f"or with `hermitty approvals`); wait for {command_id}, or kill it"
            )
        elif state is State.RUNNING:
            why = f"it has not started: it waits for a free terminal; wait for {command_id}, or kill it"
        return CommandResult(
            id=CommandId(command_id),
            command=command,
            terminal=None,
            provider="pty",
            shell=None,
            state=state,
            exit_code=None,
            signal=None,
            quality=Quality.NONE,
            text="",
            total_bytes=0,
            cwd=None,
            duration_s=0.0,
            session=session,
            warnings=[why],
        )

    def _view(self, terminal: Terminal) -> TerminalView:
        info = self.runtime.info(terminal.id)
        current: Command | None = terminal.current
        return TerminalView(
            id=terminal.id,
            name=info.name,
            session=info.session,
            shell=terminal.shell,
            cwd=terminal.cwd,
            cols=terminal.size.cols,
            rows=terminal.size.rows,
            quality=terminal.quality.value,
            is_busy=terminal.is_busy,
            command=current.line if current is not None else None,
            command_id=current.id if current is not None else None,
            paused_by=terminal.paused_by,
            sandbox=None if terminal.sandbox_effective is None else terminal.sandbox_effective.summary,
        )

    @contextlib.contextmanager
    def _glimpsing(
        self, glimpse: Callable[[Glimpse | None], None] | None, look: Callable[[], Glimpse | None]
    ) -> Iterator[None]:
        """Tell how far something is, as long as the context is open."""
        if glimpse is None:
            yield
            return
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle | None = None

        def tell() -> None:
            nonlocal timer
            glimpse(look())
            timer = loop.call_later(_GLIMPSE_S, tell)

        timer = loop.call_later(_GLIMPSE_S, tell)
        try:
            yield
        finally:
            timer.cancel()


class _Bounded:
    """What the specification's tools use of a runtime; no wait is longer than a call may be."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.open_terminal = runtime.open_terminal
        self.close_terminal = runtime.close_terminal

    @property
    def settings(self) -> Any:
        settings = self._runtime.settings
        wait_s = min(settings.tools.wait_persistent_s, _TOOL_WAIT_S)
        return settings.with_values({"tools.wait_persistent_s": wait_s})

    def run_in(self, terminal_id: str, command: str, **options: Any) -> Awaitable[CommandResult]:
        return self._runtime.run_in(terminal_id, command, **options)

    def run_temporary(self, command: str, **options: Any) -> Awaitable[CommandResult]:
        limit_s = min(self._runtime.settings.tools.wait_temporary_s, _TOOL_WAIT_S)
        return self._runtime.run_temporary(command, wait_s=limit_s, **options)
