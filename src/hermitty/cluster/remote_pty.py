"""One PTY on another machine, as the gateway has it.

The newest output is kept here, too, by the same offsets, so that readers are served without asking the node. When the
connection breaks, the PTY stays: it is taken over again where its output ends here, and what was said meanwhile is said
then. A sink is told of neither.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

from hermitty.cluster import translation
from hermitty.cluster.inflow import Inflow, Missing
from hermitty.cluster.link import NodeLink
from hermitty.cluster.outbox import Entry, Outbox
from hermitty.errors import HermittyError, InputOverflow, TerminalNotFound
from hermitty.host.base import Sink, TtyState
from hermitty.host.translation import tty_state
from hermitty.model import ExitStatus, Size, TerminalId
from hermitty.pty.write_queue import INPUT_LIMIT
from hermitty.vt.byte_log import ByteLog
from hermitty.wire.nodelink import messages as m

# What is on its way to a node for all terminals together. A node that takes nothing must not eat our memory.
_UNSENT_LIMIT = 8 * INPUT_LIMIT
# Acknowledgements are sent when they have become worth it: a small part of what the host lets be unacknowledged.
_ACKNOWLEDGE_BYTES = 16 * 1024


class Node(Protocol):
    """The machine, as its PTYs need it."""

    @property
    def link(self) -> NodeLink | None:
        """Return the connection, if there is one."""

    def ticks(self) -> int:
        """Return the machine's idea of now."""

    async def ready(self) -> NodeLink:
        """Wait for the connection. Raises HostUnavailable when it does not come."""

    def close_later(self, terminal: TerminalId) -> None:
        """Close a terminal as soon as the machine can be reached."""

    def forget(self, pty: "RemotePty") -> None:
        """Let go of a PTY that is closed."""


class RemotePty:
    """A `HostedPty` of a node."""

    is_durable = True

    def __init__(
        self,
        node: Node,
        terminal: TerminalId,
        opened: m.Opened,
        sink: Sink,
        *,
        since: int,
        first: int | None = None,
        log_bytes: int,
    ) -> None:
        """Make one whose sink is told everything from `since` on; what comes from `first` on is only kept."""
        self._node = node
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self.terminal = terminal
        self.directory = opened.directory
        self.pid = opened.pid
        self.sandbox = translation.effective(opened.sandbox)
        self.handle = opened.handle
        self.writes = opened.writes
        first = since if first is None else first
        self.log = ByteLog(log_bytes, start=first)
        self._log_bytes = log_bytes
        self._inflow = Inflow(first=first, since=since)  # what has come, told or not
        self._is_caught_up = asyncio.Event()
        self.acknowledged = since
        self._told_acknowledged = since
        self._held: deque[Callable[[], None]] | None = deque()  # what the sink is told later
        self._input_sent = opened.input_bytes
        self._input_taken = opened.input_taken
        self._outbox = Outbox()
        self._outbox.reopen(opened.handle, opened.writes)
        self._is_over = False  # the sink was told of the end
        self._is_closed = False  # nothing reaches it any more
        self._is_lost = False
        self._closing: asyncio.Task[None] | None = None

    @property
    def have(self) -> int:
        """Return up to where its output has come."""
        return self._inflow.have

    @property
    def is_lost(self) -> bool:
        """Tell whether the sink was told that it is."""
        return self._is_lost

    # What the node tells.

    def begin(self) -> None:
        """Let the sink be told things, once whoever asked for this PTY has got it."""
        # Twice: when it was asked for in a task of its own, that task ends first.
        self._loop.call_soon(self._loop.call_soon, self._begin)

    def _begin(self) -> None:
        held, self._held = self._held or deque(), None
        while held:
            held.popleft()()

    def received(self, offset: int, data: bytes) -> None:
        """Take output. What came before a break may come again."""
        if self._is_over:
            return
        taken = self._inflow.take(offset, data)
        if isinstance(taken, Missing):
            self.lost(f"{taken.count} bytes of its output were lost on the way")
            return
        if taken.restart is not None:
            self.log = ByteLog(self._log_bytes, start=taken.restart)
        if taken.known:
            self.log.append(taken.known)
        if self._inflow.is_caught_up:
            self._is_caught_up.set()
        if taken.fresh:
            self._tell(partial(self._tell_output, taken.fresh))

    async def caught_up(self) -> None:
        """Wait until the log ends where the sink is told things from."""
        if not self._inflow.is_caught_up and not self._is_closed:
            await self._is_caught_up.wait()

    def exited(self, end: int, status: ExitStatus) -> None:
        """Note that the shell has ended."""
        if missing := self._inflow.missing_at(end):
            self.lost(f"{missing} bytes of its output were lost on the way")
        else:
            self._tell(partial(self._tell_end, partial(self._sink.on_exit, status)))

    def lost(self, reason: str) -> None:
        """Note that the node is gone. The terminal may still be there, so it is not closed."""
        self._is_lost = self._is_closed = True
        self._is_caught_up.set()
        self._tell(partial(self._tell_end, partial(self._sink.on_lost, reason)))

    def applied(self, told: m.Applied) -> None:
        """Note what has arrived."""
        self._outbox.confirm(told.count)
        self._input_taken = max(self._input_taken, told.input_taken)

    def detached(self) -> None:
        """Note that the connection is gone."""
        self._outbox.close()

    def resumed(self, link: NodeLink, opened: m.Opened) -> None:
        """Go on with a new connection: say again what did not arrive."""
        self.handle = opened.handle
        self._told_acknowledged = self.acknowledged
        for entry in self._outbox.reopen(opened.handle, opened.writes):
            link.send(entry)
        self._input_taken = max(self._input_taken, opened.input_taken)

    def abandon(self) -> None:
        """Tell the sink nothing more."""
        self._is_closed = self._is_over = True
        self._is_caught_up.set()
        self._held = None

    def _tell(self, call: Callable[[], None]) -> None:
        if self._held is not None:
            self._held.append(call)
        else:
            call()

    def _tell_output(self, data: bytes) -> None:
        if self._is_over:
            return
        self.log.append(data)
        self._guard(partial(self._sink.on_output, data))

    def _tell_end(self, call: Callable[[], None]) -> None:
        if not self._is_over:
            self._is_over = True
            self._guard(call)

    def _guard(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as exc:
            # A mistake in one terminal's sink must not end the connection of all.
            self._loop.call_exception_handler({"message": f"sink of terminal {self.terminal}", "exception": exc})

    # What its user asks for.

    def acknowledge(self, offset: int) -> None:
        """Say what is no longer needed."""
        self.acknowledged = max(self.acknowledged, min(offset, self.log.end))
        link = self._node.link
        if self.acknowledged - self._told_acknowledged < _ACKNOWLEDGE_BYTES or self._is_closed:
            return
        if link is not None and self._outbox.is_open:
            self._told_acknowledged = self.acknowledged
            link.send(m.Acknowledge(self.handle, self.acknowledged))

    def write(self, data: bytes, *, answers_to: int = 0) -> None:
        """Send input. What waits is counted here, so that it can be refused at once."""
        if self._is_closed:
            return
        waiting = self._input_sent - self._input_taken
        link = self._node.link
        unsent = 0 if link is None else link.unsent_bytes
        if waiting + len(data) > INPUT_LIMIT or unsent + len(data) > _UNSENT_LIMIT:
            raise InputOverflow(self.terminal, waiting, INPUT_LIMIT)
        self.writes += 1
        self._input_sent += len(data)
        self._say(m.Write(self.handle, self.writes, answers_to, data))

    def discard_input(self) -> None:
        """Forget input that no program has read yet."""
        self._say(m.DiscardInput(self.handle))
        # What was sent before is forgotten before anything that is sent from now on arrives.
        self._input_taken = self._input_sent

    def resize(self, size: Size) -> None:
        """Change the window size."""
        checked = Size.checked(size.cols, size.rows)
        self._say(m.Resize(self.handle, checked.cols, checked.rows))

    def put_file(self, name: str, data: bytes) -> None:
        """Write a file of the private directory, all of it or nothing, before anything that is said later."""
        self._say(m.PutFile(self.handle, name, data))

    def drop_file(self, name: str) -> None:
        """Delete a file of the private directory."""
        self._say(m.DropFile(self.handle, name))

    def remember_program(self) -> None:
        """Note what the shell's process runs now."""
        self._say(m.RememberProgram(self.handle))

    def mark(self) -> int:
        """Return now, in the ticks of the node's kernel."""
        return self._node.ticks()

    async def get_file(self, name: str) -> bytes | None:
        """Read a file of the private directory; a connection that breaks meanwhile is waited for."""
        while not self._is_closed:
            link = await self._node.ready()
            try:
                return await link.ask(
                    lambda number: m.GetFile(number, self.handle, name),
                    m.File,
                    lambda answer: answer.data if answer.found else None,
                )
            except TerminalNotFound:
                return None  # it was closed meanwhile
            except HermittyError:
                if link.is_up:
                    raise
                await link.known_gone()
        return None

    async def inspect(self) -> TtyState:
        """Ask the node to ask its kernel. Of a PTY that is gone, or out of reach, nothing is known."""
        link = self._node.link
        if self._is_closed or link is None or not self._outbox.is_open:
            return TtyState()
        with contextlib.suppress(HermittyError):
            return await link.ask(lambda number: m.Inspect(number, self.handle), m.State, tty_state)
        return TtyState()

    async def signal_foreground(self, number: int, *, unless: Collection[int] = ()) -> int | None:
        """Signal the process group in front."""
        groups = tuple(unless)
        return await self._number(lambda request: m.SignalForeground(request, self.handle, int(number), groups))

    async def signal_since(self, mark: int, number: int) -> int:
        """Signal the processes that started after `mark`."""
        return await self._number(lambda request: m.SignalSince(request, self.handle, mark, int(number))) or 0

    async def close(self) -> None:
        """End everything of this terminal; of one out of reach, as soon as it can be reached."""
        if self._closing is None:
            self._closing = self._loop.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if not self._is_closed:
            link = self._node.link
            try:
                if link is None or not self._outbox.is_open:
                    self._node.close_later(self.terminal)
                else:
                    await link.ask(lambda number: m.Close(number, self.terminal), m.Done, lambda _: None)
            except HermittyError:
                if not self._is_lost:
                    self._node.close_later(self.terminal)
        self._is_closed = True
        if self._held is not None:
            self._begin()
        self._is_over = True
        self._node.forget(self)

    async def _number(self, request: Callable[[int], m.Request]) -> int | None:
        link = self._node.link
        if self._is_closed or link is None or not self._outbox.is_open:
            return None
        try:
            return await link.ask(request, m.Number, lambda answer: answer.value)
        except HermittyError:
            return None  # it ended meanwhile, or cannot be reached

    def _say(self, entry: Entry) -> None:
        if self._is_closed:
            return
        link = self._node.link
        self._outbox.add(entry)
        if link is not None and self._outbox.is_open:
            link.send(entry)
