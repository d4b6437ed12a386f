"""What a gateway uses of one node: its PTYs and processes, through breaks of the connection.

While the connection is gone, PTYs wait: nothing is lost on either side. Each is taken over again where its output ends
here. Another run of the node's host means that they are gone; a process with pipes ends with its connection.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Protocol

from hermitty.cluster.link import NodeLink
from hermitty.cluster.remote_process import RemoteProcess
from hermitty.cluster.remote_pty import RemotePty
from hermitty.errors import HermittyError, HostUnavailable
from hermitty.host.base import ProcessSink, Sink
from hermitty.model import ExitStatus, TerminalId
from hermitty.wire.nodelink import messages as m


class Connection(Protocol):
    """The connection to the node."""

    link: NodeLink | None

    @property
    def is_live(self) -> bool:
        """Tell whether the node can be asked for something now."""

    async def ready(self) -> NodeLink:
        """Wait for the connection. Raises HostUnavailable when it does not come."""


class Holdings:
    """The PTYs and processes of a node that are used here, and those that are still to be closed."""

    def __init__(
        self, name: str, on_change: Callable[[], None], on_closed: Callable[[TerminalId], None] | None = None
    ) -> None:
        self._name = name
        self._on_closed = on_closed
        self._ptys: dict[TerminalId, RemotePty] = {}
        self._handles: dict[int, TerminalId] = {}  # the numbers of this connection
        self._processes: dict[int, RemoteProcess] = {}
        self._to_close: set[TerminalId] = set()
        self._ticks: Callable[[], int] = int
        self.connection: Connection | None = None
        self.welcome: m.Welcome | None = None
        self.on_change = on_change

    # For the PTYs.

    @property
    def link(self) -> NodeLink | None:
        """Return the connection, if there is one."""
        return None if self.connection is None else self.connection.link

    def ticks(self) -> int:
        """Return the node's idea of now, in hundredths of a second."""
        return self._ticks()

    async def ready(self) -> NodeLink:
        """Wait for the connection. Raises HostUnavailable when it does not come."""
        if self.connection is None:
            raise HostUnavailable(f"nobody looks for node {self._name}")
        return await self.connection.ready()

    def close_later(self, terminal: TerminalId) -> None:
        """Close a terminal as soon as the node can be reached."""
        if self.connection is not None and self.connection.is_live:
            self.end(terminal)
        else:
            self._to_close.add(terminal)

    def forget(self, pty: RemotePty) -> None:
        """Let go of a PTY that is closed."""
        if self._ptys.get(pty.terminal) is pty:
            del self._ptys[pty.terminal]
            self._handles.pop(pty.handle, None)
            self._closed(pty.terminal)

    # What the host makes and drops.

    def __len__(self) -> int:
        """Count the PTYs that are used here."""
        return len(self._ptys)

    @property
    def has_to_close(self) -> bool:
        """Tell whether something is to be closed that could not be reached."""
        return bool(self._to_close)

    def unused(self, terminals: Iterable[TerminalId]) -> set[TerminalId]:
        """Return which of these are neither used here nor about to be closed."""
        return set(terminals) - self._to_close - self._ptys.keys()

    def adopt(
        self,
        terminal: TerminalId,
        opened: m.Opened,
        sink: Sink,
        *,
        log_bytes: int,
        since: int = 0,
        first: int | None = None,
    ) -> RemotePty:
        """Use a PTY from now on."""
        pty = RemotePty(self, terminal, opened, sink, since=since, first=first, log_bytes=log_bytes)
        self._ptys[terminal] = pty
        self._handles[opened.handle] = terminal
        return pty

    def adopt_process(self, link: NodeLink, started: m.Started, sink: ProcessSink) -> RemoteProcess:
        """Use a process from now on, for as long as the connection lives."""
        process = RemoteProcess(link, started, sink, self.forget_process)
        self._processes[started.handle] = process
        return process

    def forget_process(self, process: RemoteProcess) -> None:
        """Let go of a process that is closed."""
        self._processes.pop(process.handle, None)

    def drop(self, pty: RemotePty) -> None:
        """End what was opened for somebody who did not wait for it."""
        self.release(pty)
        self.end(pty.terminal)

    def release(self, pty: RemotePty) -> None:
        """Let go of a PTY, which goes on."""
        pty.abandon()
        self.forget(pty)

    def end(self, terminal: TerminalId) -> None:
        """Close a terminal, now or when the node is there again."""
        try:
            if self.link is None:
                raise HostUnavailable("it cannot be reached")
            self.link.ask(lambda number: m.Close(number, terminal), m.Done, lambda _: None)
        except HermittyError:
            self._to_close.add(terminal)

    async def close_all(self) -> None:
        """Close everything that is used here."""
        await asyncio.gather(*(pty.close() for pty in list(self._ptys.values())))
        await asyncio.gather(*(process.close() for process in list(self._processes.values())))

    def release_all(self) -> None:
        """Let go of every PTY; they go on."""
        for pty in self._ptys.values():
            pty.abandon()
        self._ptys.clear()

    # What the presence of the node tells.

    async def resume(self, link: NodeLink, welcome: m.Welcome) -> None:
        """Take everything over that is used here, and close what should have been closed."""
        before, self.welcome = self.welcome, welcome
        if before is not None and before.incarnation != welcome.incarnation:
            self._to_close.clear()
            self._lose_all(f"the host of node {self._name} has ended, and the terminals with it")
        self._ticks = link.ticks
        await asyncio.gather(*(self._take_again(link, pty) for pty in list(self._ptys.values())))
        while self._to_close and link.is_up:
            await asyncio.gather(*(self._close_now(link, terminal) for terminal in list(self._to_close)))

    def on_cut(self, why: str) -> None:
        """Note that the connection is gone."""
        self._handles.clear()
        for pty in self._ptys.values():
            pty.detached()
        lost, self._processes = list(self._processes.values()), {}
        for process in lost:
            process.lost(f"the connection to node {self._name} broke: {why}")

    def on_given_up(self, reason: str) -> None:
        """Tell every terminal that the node is lost."""
        self._lose_all(f"node {self._name} is lost: {reason}; what became of it is not known")

    def on_event(self, event: m.Event) -> None:
        """Pass on what the node tells."""
        if isinstance(event, m.DrainChanged):
            return  # the link has noted it
        if isinstance(event, m.HostGone):
            self._lose_all(event.reason)
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

    def _lose_all(self, reason: str) -> None:
        lost, self._ptys = list(self._ptys.values()), {}
        for pty in lost:
            pty.lost(reason)
            self._closed(pty.terminal)

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

    def _closed(self, terminal: TerminalId) -> None:
        if self._on_closed is not None:
            self._on_closed(terminal)
