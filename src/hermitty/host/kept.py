"""One terminal of a durable host: a PTY whose output goes into a ring, and what its next user must know.

A user who types may read the output himself for a while, and write input: see `hermitty.host.loan`.

Programs wait when they are too far ahead of the user. When there is none, they wait for as long as one may take to come
back; after that the oldest output goes, and the ring says from where on it is complete.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from hermitty.errors import InputOverflow
from hermitty.host.loan import Input, Lender, can_lend
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
    """Tells what happens to it through the functions that it is given, from the event loop."""

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
        on_settled: Callable[["KeptPty"], None],
        on_recall: Callable[["KeptPty"], None],
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
        self.told = 0  # by this user, of what comes before later input
        self.status: ExitStatus | None = None
        self.sandbox = None if sandbox is None else json.dumps(sandbox.effective.to_json())
        self.is_used = True
        self.is_paused = False
        self._drops = False
        self._on_output = on_output
        self._on_exit = on_exit
        self._on_input_taken = on_input_taken
        self._on_settled = on_settled
        self._on_recall = on_recall
        self._lender: Lender | None = None
        self._is_lent = False
        self._is_settled = True
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
                on_exit_held=self._exit_held,
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
        return self._lender.end if self._is_lent and self._lender is not None else self._ring.end

    @property
    def input_taken(self) -> int:
        """Return how much of its input is no longer waiting."""
        return self.input_bytes - self.pty.input_waiting

    def take_over(self, since: int) -> None:
        """Give it to a user who has everything before `since`."""
        self.is_used, self._drops = True, False
        self.acknowledged = since
        self.told = 0
        self.input_reported = self.input_taken
        self._regulate()
        self._report_input()

    def let_go(self) -> None:
        """Note that its user is gone. Output is held for the next one."""
        self.is_used = False
        self.reclaim()
        self._drop_lender()

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
        self._count_input()
        if message.number > self.writes:
            self.writes = message.number
            self.answered = max(self.answered, message.answers_to)
            self.input_bytes += len(message.data)
            try:
                self.pty.write(message.data)
            except InputOverflow:
                self.input_bytes -= len(message.data)
            self._report_input()
        self._settle()

    def discard_input(self) -> None:
        """Forget input that nobody has read."""
        self.pty.discard_input()
        self._report_input()
        self._settle()

    def remember_program(self) -> None:
        """Note what the shell's process runs now."""
        self.pty.remember_program()
        self._settle()

    def resize(self, size: Size, *, is_done: bool) -> None:
        """Change the window size, or note that it was changed."""
        self.size = size
        if not is_done:
            self.pty.resize(size)
            self._settle()

    # What is lent.

    @property
    def is_on_loan(self) -> bool:
        """Tell whether its user has its descriptors."""
        return self._lender is not None

    def lend(self, hand_over: Callable[[int, Sequence[int]], bool]) -> bool | None:
        """Let the user read; tell whether he may now, or None when he never can. Descriptors go to him once."""
        if self._is_lent or self.is_paused or self.status is not None:
            return self._is_lent
        if self._lender is None:
            lender = self._new_lender()
            if lender is None:
                return None
            if not hand_over(self.handle, lender.descriptors):
                lender.close()
                return None
            self._lender = lender
            self._is_settled = False
            self._look_settled()
        self._lender.lend(self._ring.end)
        self._is_lent = True
        self._regulate()
        return True

    def reclaim(self) -> None:
        """Go on reading where the user stopped."""
        if self._is_lent and self._lender is not None:
            self._is_lent = False
            self._ring.end = self._lender.end
            self._ring.append(self._lender.leftover())
            self._regulate()
            self._on_output(self)

    def finish_input(self) -> None:
        """Write what the user could not write."""
        self._count_input()
        if self._lender is not None:
            self.pty.write(self._lender.unwritten())
        self._report_input()
        self._settle()

    def _new_lender(self) -> Lender | None:
        if not can_lend() or self.pty.descriptor < 0:
            return None
        try:
            lender = Lender(self.directory, self.geometry, self.pty.descriptor)
        except OSError:
            return None
        lender.start_input(Input(0, self.writes, self.answered, self.input_bytes))
        return lender

    def _drop_lender(self) -> None:
        if self._lender is not None:
            self.finish_input()
            self._lender.close()
            self._lender = None

    def _count_input(self) -> None:
        if self._lender is not None:
            counted = self._lender.input()
            self.writes = max(self.writes, counted.writes)
            self.answered = max(self.answered, counted.answered)
            self.input_bytes = max(self.input_bytes, counted.bytes)

    def _settle(self) -> None:
        self.told += 1
        self._is_settled = False
        self._look_settled()

    def _look_settled(self) -> None:
        """Tell a user who can write himself when nothing of what he told us is left to do."""
        if self._lender is None or self._is_settled:
            return
        if self.pty.input_waiting:
            self._later("settle", _LOOK_S, self._look_settled)
        else:
            self._is_settled = True
            self._on_settled(self)

    def _exit_held(self) -> None:
        if self._is_lent:
            self._on_recall(self)

    async def close(self) -> None:
        """End everything of this terminal."""
        await self.pty.close()
        for timer in self._timers.values():
            timer.cancel()
        self._is_lent = False
        if self._lender is not None:
            self._lender.close()
            self._lender = None
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
        if self.is_paused or self._is_lent:
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
