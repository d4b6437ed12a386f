"""One PTY of the durable host, as its user sees it.

Its output is read from the ring; the host only says how far it goes, unless it has lent the PTY. The sink is told a
part of it in each turn of the event loop.
"""

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

from hermitty.errors import HermittyError, HostUnavailable, InputOverflow
from hermitty.host.base import Sink, TtyState, Waiting
from hermitty.host.borrowing import Borrowing
from hermitty.host.link import Link
from hermitty.host.loan import Turn
from hermitty.host.private_files import private_path, read_private, replace_private
from hermitty.host.ring import RING_FILE, Geometry, RingLog
from hermitty.host.translation import tty_state
from hermitty.model import ExitStatus, Size, TerminalId
from hermitty.pty import processes
from hermitty.pty.posix import READ_TURN
from hermitty.pty.write_queue import INPUT_LIMIT
from hermitty.sandbox.spec import Effective
from hermitty.wire.hostlink import messages as m

# What is on its way to the host for all terminals together. A host that takes nothing must not eat our memory.
_UNSENT_LIMIT = 8 * INPUT_LIMIT
# Acknowledgements are sent when they have become worth it: a small part of what the host lets be unacknowledged.
_ACKNOWLEDGE_BYTES = 16 * 1024

_WAITS = (Waiting.READING, Waiting.POLLING)


class ClientPty:
    """A `HostedPty` of the durable host."""

    is_durable = True

    def __init__(
        self,
        link: Link,
        terminal: TerminalId,
        opened: m.Opened,
        sink: Sink,
        *,
        since: int,
        descriptors: Callable[[int], list[int]],
        forget: Callable[["ClientPty"], None],
    ) -> None:
        self._link = link
        self._forget = forget
        self.terminal = terminal
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._available = since
        self._ending: Callable[[], None] | None = None
        self._has_begun = False
        self._is_scheduled = False
        self._is_over = False  # the sink was told of the end
        self._is_closed = False  # nothing reaches it any more
        self._closing: asyncio.Future[None] | None = None
        self._acknowledged = since
        self._input_sent = opened.input_bytes
        self.input_taken = opened.input_taken
        self.directory = Path(opened.directory)
        self.handle = opened.handle
        self.pid = opened.pid
        self.sandbox = None if opened.sandbox is None else Effective.from_json(json.loads(opened.sandbox))
        self.writes = opened.writes
        self._geometry = Geometry(opened.ring_size)
        self.log = RingLog(self.directory / RING_FILE, self._geometry, start=opened.start, end=since)
        self.borrowing = Borrowing(
            self.handle,
            self._geometry,
            say=link.send,
            descriptors=descriptors,
            may_read=self._may_read,
            on_turn=self._read,
        )

    @property
    def input_bytes(self) -> int:
        """Return how much input was sent since the PTY was opened, by everybody who used it."""
        return self._input_sent

    # What the host tells.

    def begin(self) -> None:
        """Let the sink be told things, once whoever asked for this PTY has got it."""
        # Twice: when it was asked for in a task of its own, that task ends first.
        self._loop.call_soon(self._loop.call_soon, self._begin)

    def noticed(self, end: int) -> None:
        """Note that there is output up to `end`."""
        if end > self._available:
            self._available = end
            if self._has_begun and not self._is_scheduled and not self._is_over:
                # The first in a turn is told at once: a key's echo waits for nothing.
                self._schedule()
                self._tell_guarded()

    def exited(self, end: int, status: ExitStatus) -> None:
        """Note that the shell has ended, and where its output ends."""
        self.borrowing.stop()
        self._available = max(self._available, end)
        self._ending = partial(self._sink.on_exit, status)
        self._schedule()

    def lost(self, reason: str) -> None:
        """Note that the host is gone."""
        self._is_closed = True
        self.borrowing.stop()
        if self._is_over:
            self.log.freeze()
        elif self._ending is None:
            self._ending = partial(self._sink.on_lost, reason)
        self._schedule()

    def abandon(self) -> None:
        """Tell the sink nothing more."""
        self._is_closed = self._is_over = True
        self.borrowing.stop()
        self.log.freeze(keep=False)

    def lent(self, end: int) -> None:
        """Note that output from `end` on is ours to read."""
        self.noticed(end)
        self.borrowing.lent(end)

    def _begin(self) -> None:
        self._has_begun = True
        self._schedule()
        self.borrowing.regulate()

    def _may_read(self) -> bool:
        """Tell whether the sink has been told everything so far, and may be told more."""
        is_ahead = self.log.end - self.log.acknowledged >= self._geometry.hold
        return self._has_begun and self.log.end == self._available and not is_ahead

    def _read(self, turn: Turn) -> None:
        if turn.end > self._available:
            self._available = turn.end
            self._tell_output()

    def _schedule(self) -> None:
        if self._has_begun and not self._is_scheduled and not self._is_over:
            self._is_scheduled = True
            self._loop.call_soon(self._deliver)

    def _tell_guarded(self) -> None:
        try:
            self._tell_output()
        except Exception as exc:
            # A mistake in one terminal's sink must not end the connection of all.
            self._loop.call_exception_handler({"message": f"sink of terminal {self.terminal}", "exception": exc})

    def _tell_output(self) -> None:
        """Tell the sink a bounded part, so that one that floods does not starve the others."""
        self._sink.on_output(self.log.advance(min(self._available, self.log.end + READ_TURN)))

    def _deliver(self) -> None:
        self._is_scheduled = False
        if self._is_over:
            return
        if self.log.end < self._available:
            is_last = self._available - self.log.end <= READ_TURN
            if not is_last or self._ending is not None:
                self._schedule()
            self._tell_output()
            self.borrowing.regulate()
        elif self._ending is not None:
            self._is_over = True
            if self._is_closed:
                self.log.freeze()
            self._ending()

    # What its user asks for.

    def acknowledge(self, offset: int) -> None:
        """Say what is no longer needed."""
        self.log.acknowledged = max(self.log.acknowledged, min(offset, self.log.end))
        if self.log.acknowledged - self._acknowledged >= _ACKNOWLEDGE_BYTES and not self._is_closed:
            self._acknowledged = self.log.acknowledged
            self._link.send(m.Acknowledge(self.handle, self._acknowledged))
            self.borrowing.regulate()

    def write(self, data: bytes, *, answers_to: int = 0) -> None:
        """Send input. What waits is counted here, so that it can be refused at once."""
        if self._is_closed or not self._link.is_up:
            return
        waiting = self._input_sent - self.input_taken
        if waiting + len(data) > INPUT_LIMIT or self._link.unsent_bytes + len(data) > _UNSENT_LIMIT:
            raise InputOverflow(self.terminal, waiting, INPUT_LIMIT)
        self.writes += 1
        self._input_sent += len(data)
        taken = self.borrowing.write(data, self.writes, answers_to, self._input_sent)
        if taken is None:
            self.borrowing.tell(m.Write(self.handle, self.writes, answers_to, data))
        else:
            self.input_taken += taken
        self.borrowing.ask()

    def discard_input(self) -> None:
        """Forget input that no program has read yet."""
        if not self._is_closed:
            self.borrowing.tell(m.DiscardInput(self.handle))
            # What was sent before is forgotten before anything that is sent from now on arrives.
            self.input_taken = self._input_sent

    def resize(self, size: Size) -> None:
        """Change the window size."""
        checked = Size.checked(size.cols, size.rows)
        if not self._is_closed:
            self.borrowing.resize(checked)

    def put_file(self, name: str, data: bytes) -> None:
        """Write a file of the private directory, all of it or nothing."""
        replace_private(private_path(self.directory, name), data)

    async def get_file(self, name: str) -> bytes | None:
        """Read a file of the private directory."""
        return read_private(private_path(self.directory, name))

    def drop_file(self, name: str) -> None:
        """Delete a file of the private directory."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(private_path(self.directory, name))

    def mark(self) -> int:
        """Return now, in the kernel's ticks, which are the host's too."""
        return processes.ticks_now()

    def remember_program(self) -> None:
        """Note what the shell's process runs now."""
        if not self._is_closed:
            self.borrowing.tell(m.RememberProgram(self.handle))

    async def inspect(self) -> TtyState:
        """Ask the host to ask the kernel. Of a PTY that is gone nothing is known."""
        if self._is_closed:
            return TtyState()
        with contextlib.suppress(HermittyError):
            state = await self._link.ask(lambda number: m.Inspect(number, self.handle), m.State, tty_state)
            # What the sink has not been told yet may be the end of the command that seems to wait.
            is_behind = self.log.end < self._available
            return replace(state, waiting=Waiting.NO) if is_behind and state.waiting in _WAITS else state
        return TtyState()

    async def signal_foreground(self, number: int, *, unless: Collection[int] = ()) -> int | None:
        """Signal the process group in front."""
        groups = tuple(unless)
        return await self._number(lambda request: m.SignalForeground(request, self.handle, int(number), groups))

    async def signal_since(self, mark: int, number: int) -> int:
        """Signal the processes that started after `mark`."""
        return await self._number(lambda request: m.SignalSince(request, self.handle, mark, int(number))) or 0

    async def close(self) -> None:
        """End everything of this terminal."""
        if self._closing is None and not self._is_closed and self._link.is_up:
            self._closing = self._link.ask(lambda number: m.Close(number, self.terminal), m.Done, lambda _: None)
        if self._closing is not None:
            with contextlib.suppress(HostUnavailable):
                await asyncio.shield(self._closing)
        self._is_closed = True
        self.borrowing.stop()
        self._has_begun = True
        while not self._is_over and (self.log.end < self._available or self._ending is not None):
            self._deliver()
        self._is_over = True
        self.log.freeze()
        self._forget(self)

    async def _number(self, request: Callable[[int], m.Request]) -> int | None:
        if self._is_closed:
            return None
        try:
            return await self._link.ask(request, m.Number, lambda answer: answer.value)
        except HermittyError:
            return None  # it ended meanwhile
