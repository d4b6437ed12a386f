"""Terminals that an agent asks its client for: `terminal/create` and the four methods that follow it.

    terminals = AcpTerminals(runtime)
    terminals.begin_session(session_id, cwd)
    ...                       # the methods have the names and arguments of the SDK's `Client`
    await terminals.aclose()

A terminal of this protocol is one command with merged output and an exit status, not a shell to type into. So it is a
process of the runtime without a PTY: it starts as exactly the program and the arguments that were judged, reads an
empty standard input, and ends with its own status. `docs/acp.md` says more about that choice.
"""

import asyncio
import contextlib
import os
import secrets
import shlex
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from acp.schema import (
    CreateTerminalResponse,
    EnvVariable,
    KillTerminalResponse,
    ReleaseTerminalResponse,
    TerminalExitStatus,
    TerminalOutputResponse,
    WaitForTerminalExitResponse,
)

from hermitty.adapters.acp import faults
from hermitty.adapters.acp.plain_stream import PlainStream
from hermitty.adapters.acp.tail import TailText
from hermitty.errors import CommandEnded, InvalidRequest, SessionNotFound
from hermitty.model import CommandResult, new_command_id
from hermitty.runtime.api import HostedProcess, Process, Runtime

# Of the event loop, from the end of a process to the answer on its way.
_TURNS_TO_ANSWER = 4
# What is kept of a released terminal, for whoever still shows it, and of how many.
_SHOWN_BYTES = 64 * 1024
_SHOWN_TERMINALS = 100


@dataclass(frozen=True, slots=True)
class Limits:
    """How much agents may have. The smaller of what they ask for and `ceiling_bytes` counts."""

    default_bytes: int = 1024 * 1024
    # Twice this, which quoting can make of it, is far below the 32 MiB that peers take in one message.
    ceiling_bytes: int = 8 * 1024 * 1024
    terminals_per_session: int = 128


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended: with a code, by a signal, or nobody knows."""

    code: int | None = None
    signal: str | None = None


@dataclass(frozen=True, slots=True)
class TerminalEvent:
    """What happened to a terminal."""

    what: Literal["created", "exited", "released"]
    session_id: str
    terminal_id: str
    command: str
    exit: Exit | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """A terminal as a viewer sees it."""

    command: str
    text: str
    is_truncated: bool
    exit: Exit | None


class _Terminal:
    """One command: its text, and its end once it has one."""

    def __init__(self, session: "_Session", line: str, limit_bytes: int) -> None:
        self.id = f"term_{secrets.token_hex(16)}"
        self.session = session
        self.line = line
        self.tail = TailText(limit_bytes)
        self.exit: Exit | None = None
        self.ended = asyncio.Event()
        self.turn = session.turn
        self.process: Process
        self.watching: asyncio.Task[None]
        self.killing: asyncio.Task[None] | None = None
        self._stream = PlainStream()

    def process_ended(self) -> bool:
        """Tell whether the command is over, told or not."""
        return not self.process.is_running

    def output(self, stream: object, data: bytes) -> None:
        """Take output."""
        self.tail.append(self._stream.feed(data))

    def end(self, result: CommandResult) -> None:
        """Note the end; all output has come before."""
        self.tail.append(self._stream.finish())
        self.exit = exit_of(result)
        self.ended.set()

    def shown(self) -> Shown:
        """Return it as it is now."""
        return Shown(self.line, self.tail.text(), self.tail.is_truncated, self.exit)


@dataclass(slots=True)
class _Session:
    id: str
    name: str  # of the session in the runtime
    cwd: str
    terminals: dict[str, _Terminal] = field(default_factory=dict)
    starting: set["asyncio.Task[CommandResult]"] = field(default_factory=set)
    turn: int = 0
    is_stopped: bool = False  # its turn was cancelled, and the next has not begun


class _AnswersFirst:
    """A process whose clean-up lets whoever waits for its end have the answer first.

    What a process left behind is found by looking at every process of the machine, which takes longer than the rest.
    """

    def __init__(self, hosted: HostedProcess, has_ended: Callable[[], bool]) -> None:
        self.pid = hosted.pid
        self.sandbox = hosted.sandbox
        self.write = hosted.write
        self.close_input = hosted.close_input
        self.signal = hosted.signal
        self._close = hosted.close
        self._has_ended = has_ended

    async def close(self) -> None:
        """Kill what is left, and free the pipes."""
        if self._has_ended():
            for _ in range(_TURNS_TO_ANSWER):
                await asyncio.sleep(0)
        await self._close()


class AcpTerminals:
    """The terminals of all sessions of one connection. Everything happens in the runtime's event loop.

    What runs ends with its session or with `aclose`, unless `keep_running`: then it ends with the runtime.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        limits: Limits | None = None,
        keep_running: bool = False,
        tell: Callable[[TerminalEvent], None] = lambda event: None,
    ) -> None:
        self._runtime = runtime
        self._limits = limits or Limits()
        self._keep_running = keep_running
        self._tell = tell
        self._sessions: dict[str, _Session] = {}
        self._released: OrderedDict[str, Shown] = OrderedDict()

    # Sessions.

    def begin_session(self, session_id: str, cwd: str, *, name: str | None = None) -> str:
        """Let a session have terminals; commands run in `cwd` unless they say otherwise.

        Returns the name that the runtime knows the session by, in its history, its rules and its questions.
        """
        if not os.path.isabs(cwd):
            raise InvalidRequest(f"the directory of a session must be absolute, not {cwd!r}")
        if session_id in self._sessions:
            raise InvalidRequest(f"session {session_id[:80]!r} has begun already")
        self._sessions[session_id] = session = _Session(session_id, name or f"acp-{secrets.token_hex(4)}", cwd)
        return session.name

    def begin_turn(self, session_id: str) -> None:
        """Note that a new turn begins: `stop_turn` means the terminals from now on."""
        session = self._session(session_id)
        session.turn += 1
        session.is_stopped = False

    async def stop_turn(self, session_id: str) -> None:
        """Stop what the present turn started, as when a person cancels it, and start nothing until the next one.

        Outputs and ids stay.
        """
        session = self._session(session_id)
        session.is_stopped = True
        for task in session.starting:
            task.cancel()
        mine = [each for each in session.terminals.values() if each.turn == session.turn]
        await asyncio.gather(*map(self._kill, mine))

    async def close_session(self, session_id: str) -> None:
        """End a session: kill what runs (unless it is kept) and forget its terminals."""
        session = self._sessions.pop(session_id, None)
        if session is None:
            return
        for task in session.starting:
            task.cancel()
        if session.starting:
            await asyncio.wait(session.starting)
        terminals, session.terminals = list(session.terminals.values()), {}
        await asyncio.gather(*map(self._free, terminals))
        if not self._keep_running:
            with contextlib.suppress(SessionNotFound):  # it never ran anything
                await self._runtime.end(session.name)

    async def aclose(self) -> None:
        """End every session."""
        await asyncio.gather(*map(self.close_session, list(self._sessions)))

    def shown(self, terminal_id: str) -> Shown | None:
        """Return what a terminal shows, also for a while after its release; None for one that nobody knows."""
        for session in self._sessions.values():
            if terminal_id in session.terminals:
                return session.terminals[terminal_id].shown()
        return self._released.get(terminal_id)

    # The methods of the protocol. Whatever else a caller passes on (`_meta`) is not looked at.

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: Sequence[str] | None = None,
        env: Sequence[EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **_: Any,
    ) -> CreateTerminalResponse:
        """Start a command, once it is allowed. Without arguments it is a line for the shell."""
        session = self._session(session_id)
        if session.is_stopped:
            raise faults.cancelled()
        if cwd is not None and not os.path.isabs(cwd):
            raise faults.invalid(f"cwd must be an absolute path, not {cwd[:200]!r}")
        if output_byte_limit is not None and output_byte_limit < 0:
            raise faults.invalid("outputByteLimit must not be negative")
        if len(session.terminals) + len(session.starting) >= self._limits.terminals_per_session:
            raise faults.invalid(
                f"a session can have {self._limits.terminals_per_session} terminals; release those that are over"
            )
        wanted = self._limits.default_bytes if output_byte_limit is None else output_byte_limit
        line = shlex.join([command, *args]) if args else command
        terminal = _Terminal(session, line, min(wanted, self._limits.ceiling_bytes))
        command_id = new_command_id()
        await self._started(
            session,
            self._runtime.run(
                [command, *args] if args else command,
                cwd=session.cwd if cwd is None else cwd,
                session=session.name,
                provider="pipe",
                env={each.name: each.value for each in env or ()},
                wait_s=0,
                on_output=terminal.output,
                merged=True,
                command_id=command_id,
            ),
        )
        handle = self._runtime.command(command_id).handle
        assert isinstance(handle, Process)
        handle.hosted = _AnswersFirst(handle.hosted, terminal.process_ended)
        terminal.process = handle
        terminal.watching = asyncio.get_running_loop().create_task(self._watch(terminal))
        if self._sessions.get(session_id) is not session or session.is_stopped:
            await self._free(terminal)
            raise faults.cancelled()
        session.terminals[terminal.id] = terminal
        self._tell(TerminalEvent("created", session.id, terminal.id, line))
        return CreateTerminalResponse(terminal_id=terminal.id)

    async def terminal_output(self, session_id: str, terminal_id: str, **_: Any) -> TerminalOutputResponse:
        """Return the text so far, and how the command ended if it has."""
        terminal = self._terminal(session_id, terminal_id)
        exit_status = None
        if terminal.exit is not None:
            exit_status = TerminalExitStatus(exit_code=terminal.exit.code, signal=terminal.exit.signal)
        return TerminalOutputResponse(
            output=terminal.tail.text(), truncated=terminal.tail.is_truncated, exit_status=exit_status
        )

    async def wait_for_terminal_exit(self, session_id: str, terminal_id: str, **_: Any) -> WaitForTerminalExitResponse:
        """Wait for the end. Cancelling gives up the wait, not the command."""
        terminal = self._terminal(session_id, terminal_id)
        await terminal.ended.wait()
        ended = terminal.exit or Exit()
        return WaitForTerminalExitResponse(exit_code=ended.code, signal=ended.signal)

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> KillTerminalResponse:
        """End the command and everything it started; it stays readable."""
        await self._kill(self._terminal(session_id, terminal_id))
        return KillTerminalResponse()

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> ReleaseTerminalResponse:
        """Kill the command if it runs, and forget the id."""
        terminal = self._terminal(session_id, terminal_id)
        del terminal.session.terminals[terminal.id]
        await self._free(terminal)
        return ReleaseTerminalResponse()

    # What is behind them.

    def _session(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise faults.no_session(session_id)
        return session

    def _terminal(self, session_id: str, terminal_id: str) -> _Terminal:
        terminal = self._session(session_id).terminals.get(terminal_id)
        if terminal is None:
            raise faults.not_found(terminal_id)
        return terminal

    async def _started(self, session: _Session, work: Awaitable[CommandResult]) -> None:
        """Wait until a command runs. It can be stopped before that: while a person is asked, and by its session."""
        task = asyncio.ensure_future(work)
        session.starting.add(task)
        try:
            await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if task.cancelled() and not (current is not None and current.cancelling()):
                raise faults.cancelled() from None
            raise
        finally:
            session.starting.discard(task)

    async def _watch(self, terminal: _Terminal) -> None:
        terminal.end(await terminal.process.wait())
        self._tell(TerminalEvent("exited", terminal.session.id, terminal.id, terminal.line, terminal.exit))

    async def _kill(self, terminal: _Terminal) -> None:
        if terminal.killing is None:
            if terminal.ended.is_set():
                return
            terminal.killing = asyncio.get_running_loop().create_task(_kill(terminal.process))
        # Whoever gives up waiting does not save the command.
        await asyncio.shield(terminal.killing)
        await terminal.ended.wait()

    async def _free(self, terminal: _Terminal) -> None:
        if terminal.process.is_running:
            if self._keep_running and terminal.session.id not in self._sessions:
                terminal.watching.cancel()
            else:
                await terminal.process.close()
        if terminal.killing is not None:
            await asyncio.wait({terminal.killing})
        await asyncio.wait({terminal.watching})
        terminal.tail.shrink(_SHOWN_BYTES)
        self._released[terminal.id] = terminal.shown()
        if len(self._released) > _SHOWN_TERMINALS:
            self._released.popitem(last=False)
        self._tell(TerminalEvent("released", terminal.session.id, terminal.id, terminal.line, terminal.exit))


def exit_of(result: CommandResult) -> Exit:
    """Return how a command ended, as the protocol tells it: a signal and no code, or a code and no signal."""
    if result.signal is not None:
        return Exit(signal=result.signal)
    if result.exit_code is not None and 0 <= result.exit_code < 2**32:
        return Exit(code=result.exit_code)
    return Exit()


async def _kill(process: Process) -> None:
    with contextlib.suppress(CommandEnded):  # it was quicker
        await process.kill()
