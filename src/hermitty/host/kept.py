"""One terminal of a durable host: a PTY whose output goes into a ring, and what its next user must know.

Programs wait when they are too far ahead of the user. When there is none, they wait for as long as one may take to come
back; after that the oldest output goes, and the ring says from where on it is complete.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from hermitty.errors import InputOverflow
from hermitty.host.ring import RING_FILE, Geometry, RingWriter
from hermitty.model import ExitStatus, Size, TerminalId
from hermitty.pty.posix import PosixPty
from hermitty.sandbox.plan import Prepared
from hermitty.wire.hostlink import messages as m

# How often memory that was full is tried again.
_RETRY_S = 0.5
# How much input is taken before it is reported, and how often a program that reads slowly is looked at.
_REPORT_BYTES = 256 * 1024
_LOOK_S = 0.05


class KeptPty:
    """Tells `on_output`, `on_exit` and `on_input_taken` about itself, from the event loop."""

    def __init__(
        self,
        handle: int,
        asked: m.Open,
        *,
        owner: str,
        descriptor_limit: int | None,
        on_output: Callable[["KeptPty"], None],
        on_exit: Callable[["KeptPty"], None],
        on_input_taken: Callable[["KeptPty"], None],
        sandbox: Prepared | None = None,
    ) -> None:
        self.handle = handle
        self.terminal = TerminalId(asked.terminal)
        self.directory = Path(asked.directory)
        self.size = Size(asked.cols, asked.rows)
        self.acknowledged = 0
        self.writes = 0
        self.answered = 0
        self.input_bytes = 0
        self.input_reported = 0
        self.status: ExitStatus | None = None
        self.sandbox = None if sandbox is None else json.dumps(sandbox.effective.to_json())
        self.is_used = True
        self.is_paused = False
        self._drops = False
        self._on_output = on_output
        self._on_exit = on_exit
        self._on_input_taken = on_input_taken
        self._loop = asyncio.get_running_loop()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ring = RingWriter(self.directory / RING_FILE, Geometry.keeping(asked.log_bytes))
        try:
            self.pty = PosixPty(
                self.terminal,
                asked.argv,
                owner=owner,
                cwd=asked.cwd,
                env=asked.env,
                size=self.size,
                descriptor_limit=descriptor_limit,
                on_output=self._output,
                on_exit=self._exit,
                sandbox=sandbox,
            )
        except BaseException:
            self._ring.close()
            raise

    @property
    def geometry(self) -> Geometry:
        """Return how its ring is laid out."""
        return self._ring.geometry

    @property
    def start(self) -> int:
        """Return from where on its output can be had."""
        return self.geometry.start(self.end, self.acknowledged)

    @property
    def end(self) -> int:
        """Return where its output ends."""
        return self._ring.end

    @property
    def input_taken(self) -> int:
        """Return how much of its input is no longer waiting."""
        return self.input_bytes - self.pty.input_waiting

    def take_over(self, since: int) -> None:
        """Give it to a user who has everything before `since`."""
        self.is_used, self._drops = True, False
        self.acknowledged = since
        self.input_reported = self.input_taken
        self._regulate()
        self._report_input()

    def let_go(self) -> None:
        """Note that its user is gone. Output is held for the next one."""
        self.is_used = False

    def hold(self) -> None:
        """Stop dropping: somebody has come who may want all that is still there."""
        self._drops = False
        self._regulate()

    def drop_oldest(self) -> None:
        """Let programs go on although nobody reads."""
        if not self.is_used:
            self._drops = True
            self._regulate()

    def acknowledge(self, offset: int) -> None:
        """Note what is no longer needed."""
        if self.acknowledged < offset <= self.end:
            self.acknowledged = offset
            self._regulate()

    def write(self, message: m.Write) -> None:
        """Pass input on, once. A program that does not read loses what exceeds the limit; users keep below it."""
        if message.number <= self.writes:
            return
        self.writes = message.number
        self.answered = max(self.answered, message.answers_to)
        self.input_bytes += len(message.data)
        try:
            self.pty.write(message.data)
        except InputOverflow:
            self.input_bytes -= len(message.data)
        self._report_input()

    def discard_input(self) -> None:
        """Forget input that nobody has read."""
        self.pty.discard_input()
        self._report_input()

    def resize(self, size: Size) -> None:
        """Change the window size."""
        self.size = size
        self.pty.resize(size)

    async def close(self) -> None:
        """End everything of this terminal."""
        await self.pty.close()
        for timer in self._timers.values():
            timer.cancel()
        self._ring.close()

    def _output(self, data: bytes) -> None:
        self._ring.append(data)
        self._regulate()
        self._on_output(self)

    def _exit(self, status: ExitStatus) -> None:
        self.status = status
        self._on_exit(self)

    def _regulate(self) -> None:
        """Read as long as there is room."""
        if self._ring.is_stuck:
            self._later("retry", _RETRY_S, self._retry)
        is_ahead = not self._drops and self.end - self.acknowledged >= self.geometry.hold
        self.is_paused = is_ahead or self._ring.is_stuck
        if self.is_paused:
            self.pty.pause_reading()
        else:
            self.pty.resume_reading()

    def _retry(self) -> None:
        self._ring.retry()
        self._regulate()
        self._on_output(self)

    def _report_input(self) -> None:
        """Tell the user what was taken, now and then: he counts what is on its way, and so can refuse more."""
        if self.input_taken - self.input_reported >= _REPORT_BYTES:
            self.input_reported = self.input_taken
            self._on_input_taken(self)
        if self.input_bytes - self.input_reported >= _REPORT_BYTES:
            # Nothing tells when the kernel has taken the rest.
            self._later("input", _LOOK_S, self._report_input)

    def _later(self, name: str, delay_s: float, call: Callable[[], None]) -> None:
        if name not in self._timers:

            def now() -> None:
                del self._timers[name]
                call()

            self._timers[name] = self._loop.call_later(delay_s, now)
