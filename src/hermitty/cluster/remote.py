"""A machine of the cluster as a host: its agent is found, reached, and reached again.

After a while out of reach the machine counts as lost, and its terminals with it; what became of their commands nobody
knows, and nothing is run again. It is looked for all the same: with the same run of its host it is live again, and its
terminals can be found.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from hermitty.cluster import names, translation
from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.holdings import Holdings
from hermitty.cluster.link import LinkTimes, NodeLink
from hermitty.cluster.placement import Capacity
from hermitty.cluster.presence import NodeState, Presence
from hermitty.cluster.remote_process import RemoteProcess
from hermitty.cluster.remote_pty import RemotePty
from hermitty.errors import HermittyError, HostUnavailable, InvalidDirectory, InvalidRequest
from hermitty.host.base import FoundPty, Host, HostedPty, PipeSpec, ProcessSink, PtySpec, Sink
from hermitty.host.translation import found_pty
from hermitty.model import TerminalId
from hermitty.wire.nodelink import messages as m

T = TypeVar("T")
AnswerT = TypeVar("AnswerT", bound=m.Answer)

# A node that may hear what is said to it now, or soon.
_THERE = (NodeState.LIVE, NodeState.UNREACHABLE)
_LOG_BYTES = 512 * 1024
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
        self._on_change = on_change
        self._held = Holdings(name, self._changed, on_closed)
        self._presence = Presence(
            name, find, self._held, gateway=gateway, programs=programs, times=times or LinkTimes()
        )
        self._held.connection = self._presence
        self._starts: dict[TerminalId, int] = {}  # from where on the output of what was found can be had
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
    def welcome(self) -> m.Welcome | None:
        """Return how the node described itself last."""
        return self._held.welcome

    @property
    def key(self) -> str:
        """Return the node's name in the ids of its terminals, once it is known."""
        return "" if self.welcome is None else self.welcome.node

    @property
    def incarnation(self) -> str:
        """Return which run of the node's host this is."""
        return "" if self.welcome is None else self.welcome.incarnation

    @property
    def capacity(self) -> Capacity:
        """Return what the machine has, as far as its agent told."""
        return Capacity() if self.welcome is None else Capacity(self.welcome.cpus, self.welcome.memory_bytes)

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
        return len(self._held)

    def _changed(self) -> None:
        if self._on_change is not None:
            self._on_change(self)

    async def drain(self, *, on: bool) -> None:
        """Say whether the node shall get new terminals; it remembers that itself."""
        link = await self.ready()
        # The change itself is told as an event, before the answer.
        await link.ask(lambda number: m.Drain(number, on), m.Done, lambda _: None)

    # The host.

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
        try:
            asked = link.ask(
                lambda number: translation.open_message(number, spec),
                m.Opened,
                lambda opened: self._held.adopt(spec.terminal, opened, sink, log_bytes=spec.log_bytes),
                self._held.drop,
            )
        except InvalidRequest as exc:
            self._drop_directory(spec.terminal)
            raise HostUnavailable(f"cannot open a terminal: {exc}") from exc
        try:
            pty = await _waited(asked, self._held.drop)
        except HostUnavailable:
            if not link.is_up:
                self._held.close_later(spec.terminal)
            raise
        pty.begin()
        return pty

    async def start(self, spec: PipeSpec, sink: ProcessSink) -> RemoteProcess:
        """Start a program with pipes; it ends with the connection."""
        link = await self.ready()

        def drop(process: RemoteProcess) -> None:
            self._held.forget_process(process)
            with contextlib.suppress(HermittyError):
                link.ask(lambda number: m.CloseProcess(number, process.handle), m.Done, lambda _: None)

        asked = link.ask(
            lambda number: translation.start_message(number, spec),
            m.Started,
            lambda started: self._held.adopt_process(link, started, sink),
            drop,
        )
        return await _waited(asked, drop)

    async def found(self) -> list[FoundPty]:
        """Return what nobody uses, and is not about to be closed."""
        found = await self._ask(m.Found, m.FoundList, lambda answer: [found_pty(each) for each in answer.terminals])
        unused = self._held.unused(each.terminal for each in found)
        free = [each for each in found if each.terminal in unused]
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
            self._held.release(pty)
            link.abort("a terminal was taken over for nobody")

        # Viewers may be a little behind what was kept.
        first = min(since, max(self._starts.pop(terminal, since), since - _OLDER_BYTES))
        asked = link.ask(
            lambda number: m.TakeOver(number, terminal, since, first),
            m.Opened,
            lambda opened: self._held.adopt(terminal, opened, sink, log_bytes=_LOG_BYTES, since=since, first=first),
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

    async def leave(self) -> None:
        """Let go of the node: its terminals go on. One that is away gets a moment to hear what was closed.

        Whoever is cancelled meanwhile has let go of it, too; another call waits until nothing is left.
        """
        try:
            if self._held.has_to_close and not self._is_leaving and self.state in _THERE:
                await self._presence.settled()
                with contextlib.suppress(HostUnavailable):
                    await self.ready()
            self._let_go()
            if self.link is not None and self.link.is_up:
                with contextlib.suppress(HermittyError):
                    await self.link.ask(m.Goodbye, m.Done, lambda _: None)
        finally:
            self._let_go()
            self._presence.close()
        await self._presence.closed()

    def _let_go(self) -> None:
        self._is_leaving = True
        self._held.release_all()
        self._presence.stop()

    async def aclose(self) -> None:
        """Close everything that is used here, and leave."""
        await self.close_all()
        await self.leave()

    async def close_all(self) -> None:
        """Close everything that is used here."""
        await self._held.close_all()

    def _drop_directory(self, terminal: TerminalId) -> None:
        if self.link is not None:
            with contextlib.suppress(HermittyError):
                self.link.ask(lambda number: m.DropDirectory(number, terminal), m.Done, lambda _: None)

    async def _ask(self, request: Callable[[int], m.Request], kind: type[AnswerT], adopt: Callable[[AnswerT], T]) -> T:
        """Ask something that may be asked twice: a connection that breaks meanwhile is waited for."""
        while True:
            link = await self.ready()
            try:
                return await link.ask(request, kind, adopt)
            except HermittyError:
                if link.is_up or self._is_leaving:
                    raise
                await link.known_gone()


async def _waited(asked: "asyncio.Future[T]", undo: Callable[[T], None]) -> T:
    """Wait for an answer. One that comes for somebody who was cancelled is undone, here or by the link."""
    try:
        return await asked
    except asyncio.CancelledError:
        if not asked.cancelled() and asked.exception() is None:
            undo(asked.result())
        raise
