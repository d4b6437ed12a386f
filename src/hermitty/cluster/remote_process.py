"""A process with pipes on another machine. It belongs to the connection, and ends with it."""

import contextlib
from collections.abc import Callable

from hermitty.cluster import translation
from hermitty.cluster.link import NodeLink
from hermitty.errors import HermittyError, InputOverflow
from hermitty.host.base import ProcessSink
from hermitty.model import ExitStatus
from hermitty.pty.write_queue import INPUT_LIMIT
from hermitty.wire.nodelink import messages as m


class RemoteProcess:
    """A `HostedProcess` of a node."""

    def __init__(
        self,
        link: NodeLink,
        started: m.Started,
        sink: ProcessSink,
        forget: Callable[["RemoteProcess"], None],
    ) -> None:
        self._link = link
        self._sink = sink
        self._forget = forget
        self._is_over = False
        self.handle = started.handle
        self.pid = started.pid
        self.sandbox = translation.effective(started.sandbox)

    # What the node tells.

    def printed(self, stream: int, data: bytes) -> None:
        """Pass output on."""
        if not self._is_over:
            self._sink.on_output("stdout" if stream == 1 else "stderr", data)

    def exited(self, status: ExitStatus) -> None:
        """Note the end."""
        if not self._is_over:
            self._is_over = True
            self._sink.on_exit(status)

    def lost(self, reason: str) -> None:
        """Note that nobody knows what became of it."""
        if not self._is_over:
            self._is_over = True
            self._sink.on_lost(reason)

    # What its user asks for.

    def write(self, data: bytes) -> None:
        """Send input."""
        if not self._is_over:
            if self._link.unsent_bytes + len(data) > INPUT_LIMIT:
                raise InputOverflow(f"process {self.pid}", self._link.unsent_bytes, INPUT_LIMIT)
            self._link.send(m.ProcessInput(self.handle, data))

    def close_input(self) -> None:
        """End the input."""
        self._link.send(m.CloseInput(self.handle))

    async def signal(self, number: int) -> int:
        """Signal the process and everything it started."""
        with contextlib.suppress(HermittyError):
            asked = self._link.ask(
                lambda request: m.SignalProcess(request, self.handle, int(number)),
                m.Number,
                lambda answer: answer.value or 0,
            )
            return await asked
        return 0

    async def close(self) -> None:
        """Kill what is left. A node that cannot be reached does so by itself."""
        with contextlib.suppress(HermittyError):
            await self._link.ask(lambda request: m.CloseProcess(request, self.handle), m.Done, lambda _: None)
        self._is_over = True
        self._forget(self)
