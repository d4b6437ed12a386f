"""A machine of the cluster as a host: its agent is found, reached, and reached again.

While the connection is gone, its PTYs wait: nothing is lost on either side. After a while the machine counts as lost,
and its terminals with it; what became of their commands nobody knows, and nothing is run again. It is looked for all
the same: with the same run of its host it is live again, and its terminals can be found.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import TypeVar

from hermitty.cluster import names
from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.link import LinkTimes, NodeLink
from hermitty.cluster.presence import NodeState, Presence
from hermitty.cluster.remote_process import RemoteProcess
from hermitty.cluster.remote_pty import RemotePty
from hermitty.errors import HermittyError, HostUnavailable, InvalidDirectory, InvalidRequest
from hermitty.host.base import FoundPty, Host, HostedPty, PipeSpec, ProcessSink, PtySpec, Sink
from hermitty.model import ExitStatus, Size, TerminalId
from hermitty.sandbox.spec import Confinement
from hermitty.wire.nodelink import messages as m

T = TypeVar("T")
AnswerT = TypeVar("AnswerT", bound=m.Answer)

_LOG_BYTES = 768 * 1024
# So much output from before what a terminal goes on from is fetched, too.
_OLDER_BYTES = 64 * 1024


class RemoteHost:
    """A `Host` on another machine. `look` begins to look for it; `on_change` is told whenever its state changes."""

    def __init__(
        self,
        name: str,
        find: Callable[[], Awaitable[Endpoint]],
        *,
        gateway: str,
        programs: tuple[str, ...] = (),
        times: LinkTimes | None = None,
        on_change: Callable[["RemoteHost"], None] | None = None,
        on_closed: Callable[[TerminalId], None] | None = None,
    ) -> None:
        self.name = name
        self.welcome: m.Welcome | None = None
        self._presence = Presence(
            name, find, _Told(self), gateway=gateway, programs=programs, times=times or LinkTimes()
        )
        self._on_change = on_change
        self._on_closed = on_closed
        self._ptys: dict[TerminalId, RemotePty] = {}
        self._handles: dict[int, TerminalId] = {}  # the numbers of this connection
        self._processes: dict[int, RemoteProcess] = {}
        self._to_close: set[TerminalId] = set()
        self._starts: dict[TerminalId, int] = {}  # from where on the output of what was found can be had
        self._ticks: Callable[[], int] = int
        self._is_leaving = False
        self.look = self._presence.look
        self.ready = self._presence.ready
        self.give_up = self._presence.give_up

    @property
    def state(self) -> NodeState:
        """Return how the node is seen."""
        return self._presence.state

    @property
    def problem(self) -> str:
        """Return why it cannot be reached."""
        return self._presence.problem

    @property
    def link(self) -> NodeLink | None:
        """Return the connection, if there is one."""
        return self._presence.link

    @property
    def key(self) -> str:
        """Return the node's name in the ids of its terminals, once it is known."""
        return "" if self.welcome is None else self.welcome.node

    @property
    def incarnation(self) -> str:
        """Return which run of the node's host this is."""
        return "" if self.welcome is None else self.welcome.incarnation

    @property
    def is_draining(self) -> bool:
        """Tell whether the node shall get no new terminals."""
        return self.link is not None and self.link.is_draining

    @property
    def is_live(self) -> bool:
        """Tell whether it can be asked for something now."""
        return self._presence.is_live

    @property
    def terminals(self) -> int:
        """Count the terminals that are used from here."""
        return len(self._ptys)

    # The connection.

    def ticks(self) -> int:
        """Return the node's idea of now, in hundredths of a second."""
        return self._ticks()

    async def resume(self, link: NodeLink, welcome: m.Welcome) -> None:
        """Take everything over that is used here, and close what should have been closed."""
        before, self.welcome = self.welcome, welcome
        if before is not None and before.incarnation != welcome.incarnation:
            self._to_close.clear()
            self.lose_all(f"the host of node {self.name} has ended, and the terminals with it")
        self._ticks = link.ticks
        await asyncio.gather(*(self._take_again(link, pty) for pty in list(self._ptys.values())))
        while self._to_close and link.is_up:
            await asyncio.gather(*(self._close_now(link, terminal) for terminal in list(self._to_close)))

    async def _take_again(self, link: NodeLink, pty: RemotePty) -> None:
        def go_on(opened: m.Opened) -> None:
            self._handles[opened.handle] = pty.terminal
            pty.resumed(link, opened)

        try:
            await link.ask(lambda number: m.TakeOver(number, pty.terminal, pty.acknowledged, pty.have), m.Opened, go_on)
        except HermittyError as error:
            if link.is_up and self._ptys.pop(pty.terminal, None) is not None:
                pty.lost(f"it could not be taken over again: {error.message}")
                self._closed(pty.terminal)
        else:
            if pty.is_lost:
                # It was given up meanwhile. A new connection leaves it to whoever finds it.
                link.abort("a terminal was taken over for nobody")

    async def _close_now(self, link: NodeLink, terminal: TerminalId) -> None:
        with contextlib.suppress(HermittyError):
            await link.ask(lambda number: m.Close(number, terminal), m.Done, lambda _: None)
        if link.is_up:
            self._to_close.discard(terminal)

    def detach(self, why: str) -> None:
        """Note that the connection is gone."""
        self._handles.clear()
        for pty in self._ptys.values():
            pty.detached()
        lost, self._processes = list(self._processes.values()), {}
        for process in lost:
            process.lost(f"the connection to node {self.name} broke: {why}")

    def lose_all(self, reason: str) -> None:
        """Tell every terminal that it is lost."""
        lost, self._ptys = list(self._ptys.values()), {}
        for pty in lost:
            pty.lost(reason)
            self._closed(pty.terminal)

    def changed(self) -> None:
        """Tell whoever wants to know that the state is another one."""
        if self._on_change is not None:
            self._on_change(self)

    def take_event(self, event: m.Event) -> None:
        """Pass on what the node tells."""
        if isinstance(event, m.HostGone):
            self.lose_all(event.reason)
        elif isinstance(event, m.ProcessOutput | m.ProcessExited):
            self._process_event(event)
        elif (pty := self._by_handle(event.handle)) is None:
            return
        elif isinstance(event, m.Data):
            pty.received(event.offset, event.data)
        elif isinstance(event, m.Applied):
            pty.applied(event)
        else:
            pty.exited(event.end, ExitStatus(event.code, event.signal))

    def _process_event(self, event: m.ProcessOutput | m.ProcessExited) -> None:
        process = self._processes.get(event.handle)
        if process is None:
            return
        if isinstance(event, m.ProcessOutput):
            process.printed(event.stream, event.data)
        else:
            process.exited(ExitStatus(event.code, event.signal))

    def _by_handle(self, handle: int) -> RemotePty | None:
        terminal = self._handles.get(handle)
        return None if terminal is None else self._ptys.get(terminal)

    async def drain(self, *, on: bool) -> None:
        """Say whether the node shall get new terminals; it remembers that itself."""
        link = await self.ready()
        await link.ask(lambda number: m.Drain(number, on), m.Done, lambda _: None)
        link.is_draining = on
        self.changed()

    # Terminals.

    async def at(self, workspace: str | None) -> Host:
        """Return this host: it is one machine."""
        return self

    def name_terminal(self, terminal: TerminalId) -> TerminalId:
        """Return an id that tells the node and the run of its host."""
        return terminal if self.welcome is None else names.name_terminal(terminal, self.key, self.incarnation)

    async def make_directory(self, terminal: TerminalId) -> str:
        """Make a private directory for one terminal."""
        link = await self.ready()

        def drop(directory: str) -> None:
            self._drop_directory(terminal)

        asked = link.ask(
            lambda number: m.MakeDirectory(number, terminal), m.Directory, lambda answer: answer.path, drop
        )
        return await _waited(asked, drop)

    async def open(self, spec: PtySpec, sink: Sink) -> HostedPty:
        """Start a program on a new PTY. One that may have been opened for nobody is closed when the node is there."""
        link = await self.ready()
        files = tuple(m.InitialFile(name, data.decode("latin-1")) for name, data in spec.files.items())
        try:
            asked = link.ask(
                lambda number: m.Open(
                    number,
                    spec.terminal,
                    (spec.program, *spec.args),
                    spec.cwd,
                    dict(spec.env),
                    spec.size.cols,
                    spec.size.rows,
                    spec.directory,
                    spec.log_bytes,
                    files,
                    _order(spec.sandbox),
                ),
                m.Opened,
                lambda opened: self._adopt(spec.terminal, opened, sink, 0, spec.log_bytes),
                self._drop,
            )
        except InvalidRequest as exc:
            self._drop_directory(spec.terminal)
            raise HostUnavailable(f"cannot open a terminal: {exc}") from exc
        try:
            pty = await _waited(asked, self._drop)
        except HostUnavailable:
            if not link.is_up:
                self.close_later(spec.terminal)
            raise
        pty.begin()
        return pty

    async def start(self, spec: PipeSpec, sink: ProcessSink) -> RemoteProcess:
        """Start a program with pipes; it ends with the connection."""
        link = await self.ready()

        def adopt(started: m.Started) -> RemoteProcess:
            process = RemoteProcess(link, started, sink, self._forget_process)
            self._processes[started.handle] = process
            return process

        def drop(process: RemoteProcess) -> None:
            self._forget_process(process)
            with contextlib.suppress(HermittyError):
                link.ask(lambda number: m.CloseProcess(number, process.handle), m.Done, lambda _: None)

        asked = link.ask(
            lambda number: m.Start(
                number,
                spec.owner,
                spec.argv,
                spec.cwd,
                dict(spec.env),
                spec.stdin,
                spec.merged,
                _order(spec.sandbox),
            ),
            m.Started,
            adopt,
            drop,
        )
        return await _waited(asked, drop)

    async def found(self) -> list[FoundPty]:
        """Return what nobody uses, and is not about to be closed."""
        found = await self._ask(m.Found, m.FoundList, lambda answer: [_found(each) for each in answer.terminals])
        free = [each for each in found if each.terminal not in self._to_close and each.terminal not in self._ptys]
        self._starts = {each.terminal: each.start for each in free}
        return free

    async def read_file(self, found: FoundPty, name: str) -> bytes | None:
        """Read a file of the private directory of a PTY that was found."""
        return await self._ask(
            lambda number: m.ReadFile(number, found.terminal, name),
            m.File,
            lambda answer: answer.data if answer.found else None,
        )

    async def take_over(self, terminal: TerminalId, sink: Sink, *, since: int) -> HostedPty:
        """Go on with a PTY that was found."""
        link = await self.ready()

        def leave(pty: RemotePty) -> None:
            """Give it back for somebody who did not wait for it: a new connection lets go of all."""
            pty.abandon()
            self.forget(pty)
            link.abort("a terminal was taken over for nobody")

        # Viewers may be a little behind what was kept.
        first = min(since, max(self._starts.pop(terminal, since), since - _OLDER_BYTES))
        asked = link.ask(
            lambda number: m.TakeOver(number, terminal, since, first),
            m.Opened,
            lambda opened: self._adopt(terminal, opened, sink, since, _LOG_BYTES, first),
            leave,
        )
        pty = await _waited(asked, leave)
        try:
            await pty.caught_up()
        except asyncio.CancelledError:
            leave(pty)
            raise
        pty.begin()
        return pty

    async def find_program(self, name: str) -> str | None:
        """Return the path of a program on the node."""
        if self.welcome is not None and name in self._presence.programs:
            return self.welcome.programs.get(name)
        return await self._ask(lambda number: m.FindProgram(number, name), m.Text, lambda answer: answer.value)

    def known_program(self, name: str) -> str | None:
        """Return the path of a program that was asked for in the beginning."""
        return None if self.welcome is None else self.welcome.programs.get(name)

    async def check_directory(self, path: str) -> None:
        """Raise InvalidDirectory unless `path` can be entered on the node."""
        problem = await self._ask(lambda number: m.CheckDirectory(number, path), m.Text, lambda answer: answer.value)
        if problem is not None:
            raise InvalidDirectory(path, problem)

    def environment(self) -> dict[str, str]:
        """Return the environment of the node's agent, as it was told."""
        return {} if self.welcome is None else dict(self.welcome.environment)

    def close_later(self, terminal: TerminalId) -> None:
        """Close a terminal as soon as the node can be reached."""
        if self.link is not None and self.is_live and self.link.is_up:
            self._end(terminal)
        else:
            self._to_close.add(terminal)

    def forget(self, pty: RemotePty) -> None:
        """Let go of a PTY that is closed."""
        if self._ptys.get(pty.terminal) is pty:
            del self._ptys[pty.terminal]
            self._handles.pop(pty.handle, None)
            self._closed(pty.terminal)

    def _closed(self, terminal: TerminalId) -> None:
        if self._on_closed is not None:
            self._on_closed(terminal)

    async def leave(self) -> None:
        """Let go of the node: its terminals go on. One that is away gets a moment to hear what was closed."""
        if self._to_close and self.state in (NodeState.LIVE, NodeState.UNREACHABLE):
            await self._presence.settled()
            with contextlib.suppress(HostUnavailable):
                await self.ready()
        self._is_leaving = True
        for pty in list(self._ptys.values()):
            pty.abandon()
        self._ptys.clear()
        link = await self._presence.stop()
        if link is not None and link.is_up:
            with contextlib.suppress(HermittyError):
                await link.ask(m.Goodbye, m.Done, lambda _: None)
            link.close()
            await link.gone.wait()

    async def aclose(self) -> None:
        """Close everything that is used here, and leave."""
        await self.close_all()
        await self.leave()

    async def close_all(self) -> None:
        """Close everything that is used here."""
        await asyncio.gather(*(pty.close() for pty in list(self._ptys.values())))
        await asyncio.gather(*(process.close() for process in list(self._processes.values())))

    def _adopt(
        self,
        terminal: TerminalId,
        opened: m.Opened,
        sink: Sink,
        since: int,
        log_bytes: int,
        first: int | None = None,
    ) -> RemotePty:
        pty = RemotePty(self, terminal, opened, sink, since=since, first=first, log_bytes=log_bytes)
        self._ptys[terminal] = pty
        self._handles[opened.handle] = terminal
        return pty

    def _drop(self, pty: RemotePty) -> None:
        """End what was opened for somebody who did not wait for it."""
        pty.abandon()
        self.forget(pty)
        self._end(pty.terminal)

    def _drop_directory(self, terminal: TerminalId) -> None:
        if self.link is not None:
            with contextlib.suppress(HermittyError):
                self.link.ask(lambda number: m.DropDirectory(number, terminal), m.Done, lambda _: None)

    def _end(self, terminal: TerminalId) -> None:
        try:
            if self.link is None:
                raise HostUnavailable("it cannot be reached")
            self.link.ask(lambda number: m.Close(number, terminal), m.Done, lambda _: None)
        except HermittyError:
            self._to_close.add(terminal)

    def _forget_process(self, process: RemoteProcess) -> None:
        self._processes.pop(process.handle, None)

    async def _ask(self, request: Callable[[int], m.Request], kind: type[AnswerT], adopt: Callable[[AnswerT], T]) -> T:
        """Ask something that may be asked twice: a connection that breaks meanwhile is waited for."""
        while True:
            link = await self.ready()
            try:
                return await link.ask(request, kind, adopt)
            except HermittyError:
                if link.is_up or self._is_leaving:
                    raise
                await link.gone.wait()
                await asyncio.sleep(0)  # until everybody knows


class _Told:
    """What the presence of a node tells its host."""

    def __init__(self, remote: RemoteHost) -> None:
        self._remote = remote
        self.on_event = remote.take_event
        self.resume = remote.resume
        self.on_cut = remote.detach
        self.on_change = remote.changed

    def on_given_up(self, reason: str) -> None:
        """Lose everything."""
        self._remote.lose_all(f"node {self._remote.name} is lost: {reason}; what became of it is not known")


def _order(sandbox: Confinement | None) -> str | None:
    return None if sandbox is None else json.dumps(sandbox.to_json())


async def _waited(asked: "asyncio.Future[T]", undo: Callable[[T], None]) -> T:
    """Wait for an answer. One that comes for somebody who was cancelled is undone, here or by the link."""
    try:
        return await asked
    except asyncio.CancelledError:
        if not asked.cancelled() and asked.exception() is None:
            undo(asked.result())
        raise


def _found(item: m.FoundItem) -> FoundPty:
    return FoundPty(
        terminal=TerminalId(item.terminal),
        pid=item.pid,
        directory=item.directory,
        size=Size(item.cols, item.rows),
        start=item.start,
        end=item.end,
        writes=item.writes,
        answered=item.answered,
        exit_status=ExitStatus(item.exit_code, item.exit_signal) if item.ended else None,
    )
