"""A host whose PTYs outlive this process: the other end of the durable host, behind the same protocol.

Processes with pipes are this process's own; when it is killed, the durable host ends them.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hermitty.errors import HostUnavailable, InvalidRequest
from hermitty.host import directories, orphans
from hermitty.host.base import FoundPty, Host, PipeSpec, ProcessSink, PtySpec, Sink
from hermitty.host.client_pty import ClientPty
from hermitty.host.link import Link
from hermitty.host.local import LocalHost, LocalProcess
from hermitty.host.place import peer_process
from hermitty.host.private_files import private_path, read_private, write_private
from hermitty.host.translation import found_pty
from hermitty.model import ExitStatus, TerminalId
from hermitty.pty.processes import ProcessInfo, read_process
from hermitty.sandbox.spec import SHELL_DIRECTORY
from hermitty.wire.hostlink import messages as m

if TYPE_CHECKING:
    import socket

    from hermitty.host.descriptors import Inbox

T = TypeVar("T")


class HostClient:
    """Uses the terminals of a durable host. Made by `starter.connect`."""

    def __init__(self, local: LocalHost) -> None:
        self._local = local
        self._ptys: dict[int, ClientPty] = {}
        self._why_gone: str | None = None
        self._is_leaving = False
        self._clean_up: asyncio.Task[None] | None = None
        self._process: ProcessInfo | None = None  # the host's
        self.link = Link(self._told, self._lost)
        self.welcome: m.Welcome
        self.inbox: Inbox | None = None

    async def greet(self, connection: "socket.socket") -> None:
        """Become the user. Raises what `Link.greet` does."""
        host = peer_process(connection)
        self.welcome = await self.link.greet(connection, self._local.token)
        self._process = None if host is None else read_process(host)

    @property
    def pid(self) -> int:
        """Return the process of the host."""
        return self.welcome.pid

    @property
    def gone(self) -> asyncio.Event:
        """Return what is set when the host can no longer be reached: it has ended, or this user has left it."""
        return self.link.gone

    @property
    def incarnation(self) -> str:
        """Return what tells this host from one that ran before or will run later."""
        return self.welcome.incarnation

    async def at(self, workspace: str | None) -> Host:
        """Return this host: there is no other."""
        return self

    def name_terminal(self, terminal: TerminalId) -> TerminalId:
        """Return the same id: there is only one place."""
        return terminal

    async def make_directory(self, terminal: TerminalId) -> str:
        """Make a private directory for one terminal."""

        def drop(directory: str) -> None:
            self._drop_directory(terminal)

        asked = self.link.ask(
            lambda number: m.MakeDirectory(number, terminal), m.Directory, lambda answer: answer.path, drop
        )
        return await _waited(asked, drop)

    async def open(self, spec: PtySpec, sink: Sink) -> ClientPty:
        """Start a program on a new PTY."""
        try:
            directory = Path(spec.directory)
            if spec.sandbox is not None:
                (directory / SHELL_DIRECTORY).mkdir(mode=0o700)
            for name, data in spec.files.items():
                write_private(private_path(directory, name), data)
            asked = self.link.ask(
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
                    None if spec.sandbox is None else json.dumps(spec.sandbox.to_json()),
                ),
                m.Opened,
                lambda opened: self._adopt(spec.terminal, opened, sink, None),
                self._drop,
            )
        except (OSError, InvalidRequest) as exc:
            self._drop_directory(spec.terminal)
            raise HostUnavailable(f"cannot open a terminal: {exc}") from exc
        pty = await _waited(asked, self._drop)
        pty.begin()
        return pty

    async def start(self, spec: PipeSpec, sink: ProcessSink) -> LocalProcess:
        """Start a program with pipes, in this process."""
        return await self._local.start(spec, sink)

    async def found(self) -> list[FoundPty]:
        """Return what nobody uses."""
        return await self.link.ask(m.Found, m.FoundList, lambda answer: [found_pty(each) for each in answer.terminals])

    async def read_file(self, found: FoundPty, name: str) -> bytes | None:
        """Read a file of the private directory of a PTY that was found."""
        return read_private(private_path(Path(found.directory), name))

    async def take_over(self, terminal: TerminalId, sink: Sink, *, since: int) -> ClientPty:
        """Go on with a PTY that was found."""
        asked = self.link.ask(
            lambda number: m.TakeOver(number, terminal, since),
            m.Opened,
            lambda opened: self._adopt(terminal, opened, sink, since),
            self._let_go,
        )
        pty = await _waited(asked, self._let_go)
        pty.begin()
        return pty

    async def find_program(self, name: str) -> str | None:
        """Return the path of a program: the host is on this machine."""
        return await self._local.find_program(name)

    def known_program(self, name: str) -> str | None:
        """Return the path of a program."""
        return self._local.known_program(name)

    async def check_directory(self, path: str) -> None:
        """Raise InvalidDirectory unless `path` can be entered."""
        await self._local.check_directory(path)

    def environment(self) -> dict[str, str]:
        """Return this process's environment."""
        return self._local.environment()

    async def leave(self) -> None:
        """Say goodbye. PTYs go on, processes with pipes end."""
        self._is_leaving = True
        for pty in list(self._ptys.values()):
            pty.abandon()
        self._ptys.clear()
        if self.link.is_up:
            try:
                with contextlib.suppress(HostUnavailable):
                    await self.link.ask(m.Goodbye, m.Done, lambda _: None)
            finally:
                self.link.close()
            await self.link.gone.wait()
        await self._local.aclose()
        if self._clean_up is not None:
            await self._clean_up

    async def give_up(self) -> None:
        """Leave a host that nothing was asked of yet, without waiting for it."""
        self._is_leaving = True
        self.link.send(m.Goodbye(0))
        self.link.close()
        await self._local.aclose()

    async def aclose(self) -> None:
        """Close every PTY that is used here, and leave."""
        await asyncio.gather(*(pty.close() for pty in list(self._ptys.values())))
        await self.leave()

    def _adopt(self, terminal: TerminalId, opened: m.Opened, sink: Sink, since: int | None) -> ClientPty:
        try:
            pty = ClientPty(
                self.link,
                terminal,
                opened,
                sink,
                since=since or 0,
                descriptors=self._take_descriptors,
                forget=self._forget,
            )
        except (OSError, ValueError) as exc:
            if since is None:
                self._end(terminal)
            else:
                self.link.send(m.LetGo(opened.handle))
            raise HostUnavailable(f"cannot read the output of terminal {terminal}: {exc}") from exc
        self._ptys[opened.handle] = pty
        return pty

    def _forget(self, pty: ClientPty) -> None:
        self._ptys.pop(pty.handle, None)

    def _drop_directory(self, terminal: TerminalId) -> None:
        if self.link.is_up:
            self.link.ask(lambda number: m.DropDirectory(number, terminal), m.Done, lambda _: None)

    def _drop(self, pty: ClientPty) -> None:
        """End what was opened for somebody who did not wait for it."""
        pty.abandon()
        self._forget(pty)
        self._end(pty.terminal)

    def _end(self, terminal: TerminalId) -> None:
        if self.link.is_up:
            self.link.ask(lambda number: m.Close(number, terminal), m.Done, lambda _: None)

    def _let_go(self, pty: ClientPty) -> None:
        """Leave what was taken over for somebody who did not wait for it."""
        pty.abandon()
        self._forget(pty)
        self.link.send(m.LetGo(pty.handle))

    def _told(self, event: m.Event) -> None:
        if isinstance(event, m.Stopping):
            self._why_gone = f"its host (pid {self.welcome.pid}) was stopped: {event.reason}"
        elif (pty := self._ptys.get(event.handle)) is None:
            if isinstance(event, m.Lent):
                self.link.send(m.GaveBack(event.handle))
        elif isinstance(event, m.Output):
            pty.noticed(event.offset)
        elif isinstance(event, m.InputTaken):
            pty.input_taken = max(pty.input_taken, event.offset)
        elif isinstance(event, m.Lent):
            pty.lent(event.end)
        elif isinstance(event, m.Recalled):
            pty.borrowing.recalled()
        elif isinstance(event, m.Settled):
            pty.borrowing.settled(event.count)
        else:
            pty.exited(event.end, ExitStatus(event.code, event.signal))

    def _take_descriptors(self, handle: int) -> list[int]:
        return [] if self.inbox is None else self.inbox.take(handle)

    def _lost(self) -> None:
        if self.inbox is not None:
            self.inbox.close()
            self.inbox = None
        if self._is_leaving or not hasattr(self, "welcome"):
            return
        reason = self._why_gone or f"its host (pid {self.welcome.pid}) is gone"
        for pty in self._ptys.values():
            pty.lost(reason)
        self._ptys.clear()
        self._clean_up = asyncio.get_running_loop().create_task(self._end_orphans())

    async def _end_orphans(self) -> None:
        """End what the host left behind: its shells hang up with it, but not what they started and let go."""
        await orphans.end_left_by(self._process, self.welcome.token)
        directories.remove_abandoned()


async def _waited(asked: "asyncio.Future[T]", undo: Callable[[T], None]) -> T:
    """Wait for an answer. One that comes for somebody who was cancelled is undone, here or by the link."""
    try:
        return await asked
    except asyncio.CancelledError:
        if not asked.cancelled() and asked.exception() is None:
            undo(asked.result())
        raise
