"""A PTY and a process of a node, as they are served to a gateway.

Output is not copied into queues: it lies in the ring of the durable host, and is read from there when the connection
takes more. The host lets a program be only so far ahead of what the gateway has acknowledged, and that is the window.
"""

import asyncio
import contextlib
from typing import Protocol

from hermitty.cluster.translation import checked_name
from hermitty.errors import InputOverflow, InvalidRequest
from hermitty.host.base import Stream
from hermitty.host.client_pty import ClientPty
from hermitty.host.local import LocalProcess
from hermitty.model import ExitStatus, Size
from hermitty.wire.nodelink import messages as m

# What is sent of one terminal before it is the next one's turn.
PIECE_BYTES = 64 * 1024


class Gateway(Protocol):
    """Who is told."""

    @property
    def is_full(self) -> bool:
        """Tell whether he takes no more at the moment."""

    def send(self, message: m.Message) -> None:
        """Tell him something."""

    def has_more(self, served: "ServedPty") -> None:
        """Note that a terminal has something to send, once he takes more."""

    def waits_for_input(self, served: "ServedPty") -> None:
        """Note that the programs of a terminal have much input to read."""


class ServedPty:
    """The sink of one PTY. Everything before `sent` has been sent."""

    pty: ClientPty

    def __init__(self, gateway: Gateway, sent: int) -> None:
        self._gateway = gateway
        self._sent = sent
        self._end: m.Exited | None = None
        self.is_over = False  # nothing more will be sent
        self.flushed = asyncio.Event()
        self.count = 0  # of what was said to it and needs no answer

    @property
    def input_waiting(self) -> int:
        """Return how much input no program has read yet, as far as is known."""
        return self.pty.input_bytes - self.pty.input_taken

    # What the PTY does.

    def glance(self, data: bytes) -> None:
        """Ignore it: it is sent on, and nobody has to know what it is."""

    def on_output(self, data: bytes) -> None:
        """Send it on at once if nothing else waits."""
        end = self.pty.log.end
        if self._sent == end - len(data) and not self._gateway.is_full:
            self._sent = end
            self._gateway.send(m.Data(self.pty.handle, end - len(data), data))
        elif self._sent < end:
            self._gateway.has_more(self)

    def on_exit(self, status: ExitStatus) -> None:
        """Tell it after all output."""
        self._end = m.Exited(self.pty.handle, self.pty.log.end, status.code, status.signal)
        self._gateway.has_more(self)

    def on_lost(self, reason: str) -> None:
        """Send what is left. That the host is gone is told once, for all."""
        self.is_over = True
        self._gateway.has_more(self)

    def send_piece(self) -> bool:
        """Send a part of what waits; return whether more does."""
        log = self.pty.log
        if self._sent < log.end:
            piece = log.read(self._sent, min(log.end, self._sent + PIECE_BYTES))
            self._sent = piece.end
            self._gateway.send(m.Data(self.pty.handle, piece.offset, piece.data))
        if self._sent < log.end:
            return True
        if self._end is not None:
            self._gateway.send(self._end)
            self._end, self.is_over = None, True
        if self.is_over:
            self.flushed.set()
        return False

    # What the gateway says.

    def take(self, told: m.Told) -> None:
        """Do what needs no answer."""
        pty = self.pty
        match told:
            case m.Acknowledge(offset=offset):
                pty.acknowledge(offset)
                return
            case m.Write(number=number, answers_to=answers_to, data=data):
                self._write(number, answers_to, data)
            case m.DiscardInput():
                pty.discard_input()
            case m.Resize(cols=cols, rows=rows):
                pty.resize(Size.checked(cols, rows))
            case m.RememberProgram():
                pty.remember_program()
            case m.PutFile(name=name, data=data):
                self._put(checked_name(name), data)
            case m.DropFile(name=name):
                with contextlib.suppress(OSError):
                    pty.drop_file(checked_name(name))
        self.count += 1

    def _put(self, name: str, data: bytes) -> None:
        try:
            self.pty.put_file(name, data)
        except OSError:
            # The node has no room, say. Nobody may take what was there before for the new text: a shell would run it.
            with contextlib.suppress(OSError):
                self.pty.drop_file(name)

    def _write(self, number: int, answers_to: int, data: bytes) -> None:
        if number != self.pty.writes + 1:
            raise InvalidRequest(f"write {number} after {self.pty.writes}")
        try:
            self.pty.write(data, answers_to=answers_to)
        except InputOverflow:
            # Gateways keep below the limit. It counts, so that the next one has the right number.
            self.pty.write(b"", answers_to=answers_to)
        self._gateway.waits_for_input(self)


class ServedProcess:
    """The sink of one process with pipes."""

    hosted: LocalProcess

    def __init__(self, gateway: Gateway, handle: int) -> None:
        self._gateway = gateway
        self._handle = handle
        self._early: list[m.ProcessOutput | m.ProcessExited] | None = []  # before the gateway knows of it
        self._killing: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Tell what has happened so far: the gateway knows the process now."""
        early, self._early = self._early or [], None
        for event in early:
            self._gateway.send(event)

    def on_output(self, stream: Stream, data: bytes) -> None:
        """Send it on; a gateway that takes no more lets the process wait."""
        self._tell(m.ProcessOutput(self._handle, 1 if stream == "stdout" else 2, data))
        if self._gateway.is_full:
            self.hosted.pause_reading()

    def on_exit(self, status: ExitStatus) -> None:
        """Tell it."""
        self._tell(m.ProcessExited(self._handle, status.code, status.signal))

    def on_lost(self, reason: str) -> None:
        """Never: it is a process of this one."""

    def write(self, data: bytes) -> None:
        """Pass input on. A process that does not read is killed: what it would get later is not what was written."""
        try:
            self.hosted.write(data)
        except InputOverflow:
            if self._killing is None:
                self._killing = asyncio.get_running_loop().create_task(self.hosted.close())

    async def close(self) -> None:
        """Kill what is left of it."""
        if self._killing is not None:
            await self._killing
        await self.hosted.close()

    def _tell(self, event: m.ProcessOutput | m.ProcessExited) -> None:
        if self._early is not None:
            self._early.append(event)
        else:
            self._gateway.send(event)
