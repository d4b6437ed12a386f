"""What a gateway has of a node: its terminals and processes, through a connection of its own to the durable host."""

import asyncio
from typing import TYPE_CHECKING, Protocol

from hermitty.cluster import translation
from hermitty.cluster.served import ServedProcess, ServedPty
from hermitty.cluster.translation import checked_name
from hermitty.errors import HostUnavailable, InvalidDirectory, TerminalNotFound
from hermitty.host.client import HostClient
from hermitty.model import TerminalId
from hermitty.wire.hostlink import messages as hm
from hermitty.wire.nodelink import messages as m

if TYPE_CHECKING:
    from hermitty.host.base import FoundPty

# How often the input of a program that reads slowly is looked at, and how much is no reason to.
_INPUT_LOOK_S = 0.05
_INPUT_BYTES = 256 * 1024


class Outlet(Protocol):
    """The connection to the gateway."""

    @property
    def is_full(self) -> bool:
        """Tell whether it takes no more at the moment."""

    def send(self, message: m.Message) -> None:
        """Say something."""


class Lease:
    """Does what the gateway says. It ends with the connection."""

    def __init__(self, client: HostClient, outlet: Outlet) -> None:
        self._client = client
        self._outlet = outlet
        self._loop = asyncio.get_running_loop()
        self._ptys: dict[int, ServedPty] = {}
        self._processes: dict[int, ServedProcess] = {}
        self._last_process = 0
        self._found: dict[str, FoundPty] = {}
        self._waiting: dict[ServedPty, None] = {}  # have something to send
        self._touched: set[ServedPty] = set()  # were told something that has not been confirmed
        self._has_barrier = False
        self._slow_readers: set[ServedPty] = set()
        self._looking: asyncio.TimerHandle | None = None
        self.is_leaving = False
        self.send = outlet.send

    @property
    def is_full(self) -> bool:
        """Tell whether the gateway takes no more at the moment."""
        return self._outlet.is_full

    def go_on(self) -> None:
        """Go on sending: the gateway takes more."""
        for process in self._processes.values():
            process.hosted.resume_reading()
        self._pump()

    async def host_is_gone(self) -> str | None:
        """Wait until the host of the terminals has ended and the rest of their output was sent; return how to tell it.

        None: nobody needs to be told, because the gateway leaves.
        """
        await self._client.gone.wait()
        if self.is_leaving:
            return None
        for served in list(self._ptys.values()):
            await served.flushed.wait()
        return f"the host of the terminals (process {self._client.pid}) has ended"

    async def end(self) -> None:
        """Let go of everything: terminals go on, processes end."""
        self.is_leaving = True
        if self._looking is not None:
            self._looking.cancel()
        await self._client.leave()

    # Sending output.

    def has_more(self, served: ServedPty) -> None:
        """Send it when its turn has come."""
        self._waiting[served] = None
        if not self.is_full:
            self._pump()

    def _pump(self) -> None:
        while self._waiting and not self.is_full:
            served = next(iter(self._waiting))
            del self._waiting[served]
            if served.send_piece():
                self._waiting[served] = None  # after the others

    # What is said.

    def tell(self, told: m.Told) -> None:
        """Do what needs no answer. A terminal that was closed meanwhile needs nothing."""
        served = self._ptys.get(told.handle)
        if served is None:
            return
        served.take(told)
        if not isinstance(told, m.Acknowledge):
            self._touched.add(served)
            self._confirm()

    def tell_process(self, told: m.ToldProcess) -> None:
        """The same for a process."""
        process = self._processes.get(told.handle)
        if process is None:
            return
        if isinstance(told, m.ProcessInput):
            process.write(told.data)
        else:
            process.hosted.close_input()

    def _confirm(self) -> None:
        """Find out that the host has got what was said: it answers in order, so any answer will do."""
        if self._has_barrier or not self._client.link.is_up:
            return
        told = [(served, served.count) for served in self._touched]
        self._touched.clear()
        self._has_barrier = True

        def confirmed(_: hm.Done) -> None:
            self._has_barrier = False
            for served, count in told:
                self.send(m.Applied(served.pty.handle, count, served.pty.input_taken))
            if self._touched:
                self._confirm()

        # A directory that is not there is dropped: nothing happens.
        self._client.link.ask(lambda number: hm.DropDirectory(number, ""), hm.Done, confirmed)

    def waits_for_input(self, served: ServedPty) -> None:
        """Tell the gateway now and then how much was read: it counts what is on its way."""
        if served.input_waiting >= _INPUT_BYTES:
            self._slow_readers.add(served)
            if self._looking is None:
                self._looking = self._loop.call_later(_INPUT_LOOK_S, self._look_at_input)

    def _look_at_input(self) -> None:
        self._looking = None
        for served in list(self._slow_readers):
            self._touched.add(served)
            if served.input_waiting < _INPUT_BYTES or served.is_over:
                self._slow_readers.discard(served)
        self._confirm()
        if self._slow_readers:
            self._looking = self._loop.call_later(_INPUT_LOOK_S, self._look_at_input)

    async def answer(self, request: m.Request) -> m.Answer | None:
        """Answer a request; None: it was answered in the very moment in which it was done."""
        client, number = self._client, request.request
        match request:
            case m.MakeDirectory(terminal=terminal):
                return m.Directory(number, await client.make_directory(TerminalId(terminal)))
            case m.DropDirectory(terminal=terminal):
                await client.link.ask(lambda asked: hm.DropDirectory(asked, terminal), hm.Done, lambda _: None)
                return m.Done(number)
            case m.Open():
                await self._open(request)
                return None
            case m.TakeOver():
                await self._take_over(request)
                return None
            case m.Found():
                return m.FoundList(number, tuple(translation.found_item(each) for each in await self._list()))
            case m.ReadFile(terminal=terminal, name=name):
                data = await client.read_file(await self._left(terminal), checked_name(name))
                return m.File(number, data is not None, data or b"")
            case m.GetFile(handle=handle, name=name):
                data = await self._pty(handle).pty.get_file(checked_name(name))
                return m.File(number, data is not None, data or b"")
            case m.Inspect(handle=handle):
                return translation.state_message(number, await self._pty(handle).pty.inspect())
            case m.SignalForeground(handle=handle, number=sent, unless=unless):
                return m.Number(number, await self._pty(handle).pty.signal_foreground(sent, unless=unless))
            case m.SignalSince(handle=handle, mark=mark, number=sent):
                return m.Number(number, await self._pty(handle).pty.signal_since(mark, sent))
            case m.Close(terminal=terminal):
                await self._close(terminal)
                return m.Done(number)
            case m.Start():
                await self._start(request)
                return None
            case m.SignalProcess(handle=handle, number=sent):
                process = self._processes.get(handle)
                return m.Number(number, 0 if process is None else await process.hosted.signal(sent))
            case m.CloseProcess(handle=handle):
                process = self._processes.get(handle)
                if process is not None:
                    await process.close()
                    self._processes.pop(handle, None)
                return m.Done(number)
            case m.FindProgram(name=name):
                return m.Text(number, await client.find_program(name))
            case m.CheckDirectory(path=path):
                try:
                    await client.check_directory(path)
                except InvalidDirectory as error:
                    return m.Text(number, error.problem)
                return m.Text(number, None)
            case m.Goodbye():
                self.is_leaving = True
                await client.leave()
                return m.Done(number)
            case m.Ping() | m.Status() | m.Drain():
                raise AssertionError("these were answered before")

    async def _open(self, request: m.Open) -> None:
        served = ServedPty(self, 0)
        served.pty = await self._client.open(translation.pty_spec(request), served)
        self._serve(request.request, served, end=0)

    async def _take_over(self, request: m.TakeOver) -> None:
        served = ServedPty(self, request.have)
        served.pty = await self._client.take_over(TerminalId(request.terminal), served, since=request.acknowledged)
        self._serve(request.request, served, end=request.have)
        if request.have < served.pty.log.end:
            self.has_more(served)

    def _serve(self, request: int, served: ServedPty, end: int) -> None:
        """Answer in the same turn in which the PTY is ours: the sink is told things in the next one."""
        pty = served.pty
        self._ptys[pty.handle] = served
        self.send(
            m.Opened(
                request,
                pty.handle,
                pty.pid,
                str(pty.directory),
                pty.log.start,
                end,
                pty.writes,
                pty.input_bytes,
                pty.input_taken,
                translation.effective_text(pty.sandbox),
            )
        )

    async def _list(self) -> "list[FoundPty]":
        found = await self._client.found()
        self._found = {each.terminal: each for each in found}
        return found

    async def _left(self, terminal: str) -> "FoundPty":
        """Return a terminal that nobody uses: the gateway may have found it through an earlier connection.

        Of one that is not there nothing is known: a gateway that was told that it has no files would close it.
        """
        if terminal not in self._found:
            await self._list()
        found = self._found.get(terminal)
        if found is None:
            raise HostUnavailable(f"terminal {terminal} is not among those that nobody uses")
        return found

    async def _close(self, terminal: str) -> None:
        served = next((each for each in self._ptys.values() if each.pty.terminal == terminal), None)
        if served is None:
            await self._client.link.ask(lambda number: hm.Close(number, terminal), hm.Done, lambda _: None)
            return
        await served.pty.close()
        # Its last output, and how it ended, come before the answer.
        served.is_over = True
        self.has_more(served)
        await served.flushed.wait()
        self._ptys.pop(served.pty.handle, None)

    async def _start(self, request: m.Start) -> None:
        self._last_process += 1
        handle = self._last_process
        process = ServedProcess(self, handle)
        process.hosted = await self._client.start(translation.pipe_spec(request), process)
        self._processes[handle] = process
        hosted = process.hosted
        self.send(m.Started(request.request, handle, hosted.pid, translation.effective_text(hosted.sandbox)))
        process.begin()

    def _pty(self, handle: int) -> ServedPty:
        served = self._ptys.get(handle)
        if served is None:
            raise TerminalNotFound(f"number {handle}", [each.pty.terminal for each in self._ptys.values()])
        return served
