"""The durable host: owns PTYs and outlives whoever uses them.

One user at a time has the terminals; whoever only observes may ask for the status, or for the end. Nothing here
understands output, and nothing is imported that is not of the standard library or of this package.
"""

import asyncio
import contextlib
import json
import os
import secrets
import socket
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hermitty.errors import (
    HermittyError,
    HostBusy,
    HostMismatch,
    HostUnavailable,
    InvalidRequest,
    SandboxRefused,
    SandboxUnavailable,
    TerminalNotFound,
)
from hermitty.host import orphans, telling
from hermitty.host.connection import Connection
from hermitty.host.directories import PrivateDirectories
from hermitty.host.kept import KeptPty
from hermitty.host.loan import most_loans
from hermitty.host.local import confined, raise_descriptor_limit
from hermitty.model import ExitStatus, Size
from hermitty.sandbox.plan import Prepared
from hermitty.sandbox.spec import Confinement
from hermitty.version import __version__
from hermitty.wire.hostlink import messages as m
from hermitty.wire.hostlink.frames import failure

if TYPE_CHECKING:
    from pathlib import Path

# How long somebody may take to read the last answer.
_LAST_WORDS_S = 2.0
# Shells that ended keep their status and their last output for this long when nobody comes for them.
_FORGET_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class DaemonOptions:
    """How long a host waits for whom."""

    grace_s: float = 5.0  # output is held for a user who is gone, and programs wait
    adopt_s: float = 60.0  # the same while a new user is there, who has not taken a terminal over yet
    idle_s: float = 30.0  # without a terminal and a user, the host ends
    look_s: float = 10.0  # how often it looks whether it can still be found


class Daemon:
    """All terminals, and who uses them."""

    def __init__(self, options: DaemonOptions, log: Callable[[str], None], can_be_found: Callable[[], bool]) -> None:
        self._options = options
        self._log = log
        self._can_be_found = can_be_found
        self._loop = asyncio.get_running_loop()
        self._limit = raise_descriptor_limit()
        self.token = secrets.token_hex(8)
        self._incarnation = secrets.token_hex(8)
        self._started_at = time.time()
        self._directories = PrivateDirectories(self.token)
        self._directories.prepare()
        self._unopened: dict[str, Path] = {}
        self._terminals: dict[str, KeptPty] = {}
        self._by_handle: dict[int, KeptPty] = {}
        self._closing: dict[str, asyncio.Task[None]] = {}
        self._last_handle = 0
        self._user: Connection | None = None
        self._courier: Connection | None = None  # takes descriptors to the user
        self._connections: set[Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._grace: asyncio.TimerHandle | None = None
        self._end: asyncio.TimerHandle | None = None
        self._server: asyncio.Server | None = None
        self._stopping: asyncio.Task[None] | None = None
        self.stopped = asyncio.Event()

    async def listen(self, listener: socket.socket) -> None:
        """Begin to take connections."""
        self._server = await self._loop.create_unix_server(lambda: Connection(self), sock=listener)
        self._look_idle()
        self._loop.call_later(self._options.look_s, self._look_lost)

    def stop(self, reason: str) -> None:
        """End every terminal, then this host."""
        if self._stopping is None:
            self._stopping = self._loop.create_task(self._stop(reason))

    async def _stop(self, reason: str) -> None:
        self._log(f"stops: {reason}")
        if self._server is not None:
            self._server.close()
        for timer in (self._grace, self._end):
            if timer is not None:
                timer.cancel()
        for connection in self._connections:
            if connection.hello is not None:
                connection.send(m.Stopping(reason))
        ends = await asyncio.gather(*(self._close(name) for name in list(self._terminals)), return_exceptions=True)
        for problem in filter(None, ends):
            self._log(f"{problem!r}")
        self._directories.close()
        self.stopped.set()

    async def aclose(self) -> None:
        """Finish what is under way, and let the connections go after their last answers."""
        if self._stopping is not None:
            await self._stopping
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in list(self._connections):
            connection.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                for connection in list(self._connections):
                    await connection.gone.wait()
        for connection in list(self._connections):
            connection.abort()  # it does not read

    # Connections.

    def connected(self, connection: Connection) -> None:
        """Note a new connection."""
        self._connections.add(connection)

    def welcome(self, connection: Connection, hello: m.Hello) -> m.Welcome | m.Refused:
        """Decide who may use the terminals."""
        if hello.role == "user":
            if hello.version != m.VERSION:
                return self._refuse(HostMismatch.code, _mismatch(hello))
            if self._stopping is not None:
                return self._refuse(m.ENDING, f"the host of terminals (process {os.getpid()}) is ending")
            if self._user is not None:
                pid = self._user.hello.pid if self._user.hello else "unknown"
                return self._refuse(
                    HostBusy.code,
                    f"process {pid} uses the terminals of this state directory; stop it, or choose another --state-dir",
                )
            self._user, self._courier = connection, None
            self._hold()
        elif hello.role == "descriptors":
            if self._user is None or connection.peer is None or connection.peer != self._user.peer:
                return self._refuse(HostBusy.code, f"process {hello.pid} does not use the terminals")
            self._courier = connection
        return m.Welcome(m.VERSION, __version__, os.getpid(), self._started_at, self._incarnation, self.token)

    def disconnected(self, connection: Connection) -> None:
        """Note that somebody has gone, with a goodbye or without."""
        self._connections.discard(connection)
        if connection is self._courier:
            self._courier = None
        if connection is not self._user:
            return
        self._user = None
        for kept in self._terminals.values():
            kept.let_go()
        for directory in self._unopened.values():
            self._directories.remove(directory)
        self._unopened.clear()
        if not connection.said_goodbye and connection.hello is not None:
            self._log(f"the user (process {connection.hello.pid}) is gone without a goodbye")
            self._run(orphans.end_left_by(connection.process, connection.hello.token))
        self._wait_for_users(self._options.grace_s)
        self._look_idle()

    def malformed(self, connection: Connection, problem: str) -> None:
        """Note that somebody does not speak our language."""
        who = f"process {connection.hello.pid}" if connection.hello else "somebody"
        self._log(f"{who} was disconnected: {problem}")

    # What users say.

    def tell(self, message: m.Told) -> None:
        """Do what needs no answer. A terminal that is gone meanwhile needs nothing."""
        kept = self._by_handle.get(message.handle)
        if kept is None or not kept.is_used:
            return
        match message:
            case m.Write():
                kept.write(message)
            case m.Acknowledge():
                kept.acknowledge(message.offset)
            case m.DiscardInput():
                kept.discard_input()
            case m.Resize():
                kept.resize(Size.checked(message.cols, message.rows), is_done=message.is_done)
            case m.RememberProgram():
                kept.remember_program()
            case m.Borrow():
                self._lend(kept)
            case m.GaveBack():
                kept.reclaim()
            case m.InputLeft():
                kept.finish_input()
            case m.LetGo():
                kept.let_go()
                self._wait_for_users(self._options.adopt_s)

    def ask(self, connection: Connection, request: m.Request) -> None:
        """Answer a request, now or when it is done."""
        try:
            answer = self._answer(connection, request)
        except HermittyError as error:
            connection.send(failure(request.request, error, tuple(self._terminals)))
            return
        except (OSError, ValueError, OverflowError) as error:  # such as a signal that does not exist
            connection.send(failure(request.request, HostUnavailable(str(error))))
            return
        if isinstance(answer, Coroutine):
            self._run(self._answer_later(connection, request.request, answer))
        else:
            connection.send(answer)

    def _answer(self, connection: Connection, request: m.Request) -> m.Answer | Coroutine[Any, Any, m.Answer | None]:
        match request:
            case m.MakeDirectory(terminal=terminal):
                return m.Directory(request.request, self._make_directory(terminal))
            case m.DropDirectory(terminal=terminal):
                if (directory := self._unopened.pop(terminal, None)) is not None:
                    self._directories.remove(directory)
                return m.Done(request.request)
            case m.Open(sandbox=None):
                return telling.opened(request.request, self._open(request))
            case m.Open():
                return self._open_confined(request)
            case m.Found():
                self._hold()
                waiting = (kept for name, kept in self._terminals.items() if name not in self._closing)
                return m.FoundList(request.request, tuple(telling.found(kept) for kept in waiting if not kept.is_used))
            case m.TakeOver(terminal=terminal, since=since):
                return self._take_over(connection, request.request, terminal, since)
            case m.Inspect(handle=handle):
                return telling.state(request.request, self._used(handle))
            case m.SignalForeground(handle=handle, number=number, unless=unless):
                group = self._used(handle).pty.signal_foreground(number, unless=unless)
                return m.Number(request.request, group)
            case m.SignalSince(handle=handle, mark=mark, number=number):
                return m.Number(request.request, self._used(handle).pty.signal_since(mark, number))
            case m.Close(terminal=terminal):
                return self._close(terminal)
            case m.Goodbye():
                connection.said_goodbye = True
                return m.Done(request.request)
            case m.Status():
                return self._report(request.request)
            case m.Stop():
                self.stop("somebody asked for it")
                return self._end_of_all()

    async def _answer_later(
        self, connection: Connection, request: int, work: Coroutine[Any, Any, m.Answer | None]
    ) -> None:
        try:
            answer = await work
        except (SandboxRefused, SandboxUnavailable, InvalidRequest) as exc:
            connection.send(failure(request, exc))
        except (HermittyError, OSError) as exc:
            self._log(f"{exc!r}")
            connection.send(failure(request, HostUnavailable(f"it failed at the host: {exc}")))
        else:
            connection.send(answer or m.Done(request))

    async def _end_of_all(self) -> None:
        await self.stopped.wait()

    def _make_directory(self, terminal: str) -> str:
        if self._stopping is not None:
            raise HostUnavailable(f"the host of terminals (process {os.getpid()}) is ending")
        if not terminal or "/" in terminal or terminal in (".", "..", "lock") or "\0" in terminal:
            raise InvalidRequest(f"{terminal[:80]!r} cannot be the id of a terminal")
        try:
            directory = self._directories.make(terminal)
        except OSError as exc:
            raise HostUnavailable(f"cannot make a private directory: {exc.strerror or exc}") from exc
        self._unopened[terminal] = directory
        return str(directory)

    async def _open_confined(self, asked: m.Open) -> m.Opened:
        """Open a terminal with a sandbox. What the machine can do is found out in a thread, the first time."""
        try:
            order = Confinement.from_json(json.loads(asked.sandbox or ""))
        except ValueError as exc:
            raise InvalidRequest(f"the order for a sandbox cannot be read: {exc}") from exc
        directory = self._unopened.get(asked.terminal)
        prepared: Prepared | None = None
        try:
            if str(directory) != asked.directory or directory is None:
                raise InvalidRequest(f"terminal {asked.terminal!r} has no private directory to be opened with")
            prepared = await confined(order, asked.argv, cwd=asked.cwd, env=asked.env, directory=directory)
            return telling.opened(asked.request, self._open(asked, prepared))
        except BaseException:
            if prepared is not None:
                prepared.abandon()
            if (unused := self._unopened.pop(asked.terminal, None)) is not None:
                self._directories.remove(unused)
            raise

    def _open(self, asked: m.Open, sandbox: Prepared | None = None) -> KeptPty:
        if str(self._unopened.get(asked.terminal)) != asked.directory or self._stopping is not None:
            raise InvalidRequest(f"terminal {asked.terminal!r} has no private directory to be opened with")
        Size.checked(asked.cols, asked.rows)
        directory = self._unopened.pop(asked.terminal)
        try:
            kept = KeptPty(
                self._last_handle + 1,
                asked,
                owner=f"{self.token}.{asked.terminal}",
                descriptor_limit=self._limit,
                on_output=self._output,
                on_exit=self._exited,
                on_input_taken=self._input_taken,
                on_settled=self._settled,
                on_recall=self._recall,
                sandbox=sandbox,
            )
        except (OSError, ValueError) as exc:
            self._directories.remove(directory)
            reason = exc.strerror or exc if isinstance(exc, OSError) else exc
            raise HostUnavailable(f"cannot open a terminal: {reason}") from exc
        except BaseException:
            self._directories.remove(directory)
            raise
        self._last_handle += 1
        self._terminals[asked.terminal] = self._by_handle[kept.handle] = kept
        return kept

    def _lend(self, kept: KeptPty) -> None:
        if self._courier is None or self._user is None:
            return
        if not kept.is_on_loan and sum(each.is_on_loan for each in self._terminals.values()) >= most_loans():
            return
        is_lent = kept.lend(self._courier.hand_over)
        if is_lent is not None:
            self._user.send(m.Lent(kept.handle, kept.end) if is_lent else m.Recalled(kept.handle))

    def _take_over(self, connection: Connection, request: int, terminal: str, since: int) -> m.Opened:
        kept = self._terminals.get(terminal)
        if kept is None or terminal in self._closing:
            raise TerminalNotFound(terminal, list(self._terminals))
        if kept.is_used:
            raise InvalidRequest(f"terminal {terminal!r} is in use already")
        if not kept.start <= since <= kept.end:
            raise InvalidRequest(f"terminal {terminal!r} has output from {kept.start} to {kept.end}, not from {since}")
        self._wait_for_users(self._options.adopt_s)  # it goes on with the others
        answer = telling.opened(request, kept)
        kept.take_over(since)
        # Its events come after the answer.
        self._loop.call_soon(self._catch_up, connection, kept)
        return answer

    def _catch_up(self, connection: Connection, kept: KeptPty) -> None:
        if connection is self._user and kept.is_used:
            self._output(kept)
            if kept.status is not None:
                self._exited(kept)

    def _used(self, handle: int) -> KeptPty:
        kept = self._by_handle.get(handle)
        if kept is None or not kept.is_used:
            raise TerminalNotFound(f"number {handle}", list(self._terminals))
        return kept

    async def _close(self, terminal: str) -> None:
        if terminal in self._terminals and terminal not in self._closing:
            self._closing[terminal] = self._loop.create_task(self._end_terminal(self._terminals[terminal]))
        if (closing := self._closing.get(terminal)) is not None:
            await asyncio.shield(closing)

    async def _end_terminal(self, kept: KeptPty) -> None:
        try:
            await kept.close()
        except BaseException:
            del self._closing[kept.terminal]  # it is still there, and somebody may try again
            raise
        self._directories.remove(kept.directory)
        del self._terminals[kept.terminal], self._by_handle[kept.handle], self._closing[kept.terminal]
        self._look_idle()

    # What terminals tell.

    def _output(self, kept: KeptPty) -> None:
        if self._user is not None and kept.is_used:
            self._user.notice(kept.handle, kept.end)

    def _exited(self, kept: KeptPty) -> None:
        status = kept.status or ExitStatus()
        if self._user is not None and kept.is_used:
            self._user.send(m.Exited(kept.handle, kept.end, status.code, status.signal))

    def _input_taken(self, kept: KeptPty) -> None:
        if self._user is not None and kept.is_used:
            self._user.send(m.InputTaken(kept.handle, kept.input_reported))

    def _settled(self, kept: KeptPty) -> None:
        if self._user is not None and kept.is_used:
            self._user.send(m.Settled(kept.handle, kept.told))

    def _recall(self, kept: KeptPty) -> None:
        if self._user is not None and kept.is_used:
            self._user.send(m.Recalled(kept.handle))

    # Time.

    def _wait_for_users(self, patience_s: float) -> None:
        """Hold what nobody uses for a while."""
        if self._grace is not None:
            self._grace.cancel()
        self._grace = self._loop.call_later(patience_s, self._drop_oldest)

    def _hold(self) -> None:
        """Stop dropping what terminals print: somebody has come who may take them over."""
        self._wait_for_users(self._options.adopt_s)
        for kept in self._terminals.values():
            kept.hold()

    def _drop_oldest(self) -> None:
        for kept in self._terminals.values():
            kept.drop_oldest()

    def _look_idle(self) -> None:
        if self._end is not None:
            self._end.cancel()
        delay_s = self._options.idle_s if not self._terminals else _FORGET_S
        self._end = self._loop.call_later(delay_s, self._end_if_idle)

    def _end_if_idle(self) -> None:
        is_over = all(kept.status is not None for kept in self._terminals.values())
        if self._user is None and is_over:
            self.stop("nobody needs it")
        else:
            self._look_idle()

    def _look_lost(self) -> None:
        # Whoever removed the state directory has no other way to end it, and nobody will come for its terminals.
        if self._user is None and not self._can_be_found():
            self.stop("its state directory was removed")
        else:
            self._loop.call_later(self._options.look_s, self._look_lost)

    def _report(self, request: int) -> m.StatusReport:
        user = self._user
        return m.StatusReport(
            request,
            None if user is None or user.hello is None else user.hello.pid,
            None if user is None else user.since,
            telling.memory_bytes(),
            tuple(map(telling.report, self._terminals.values())),
        )

    def _refuse(self, code: str, message: str) -> m.Refused:
        return m.Refused(m.VERSION, __version__, os.getpid(), code, message)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._log(f"{problem!r}")


def _mismatch(hello: m.Hello) -> str:
    return (
        f"the host of terminals that runs (process {os.getpid()}, hermitty {__version__}) speaks version {m.VERSION}, "
        f"this hermitty ({hello.release}) version {hello.version}; `hermitty host stop` ends it and its terminals"
    )
