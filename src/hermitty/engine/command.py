"""One command line run in a terminal: a handle that is there at once, and the result when there is one."""

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hermitty.engine.flag import Flag
from hermitty.engine.pulse import Pulse
from hermitty.engine.waiting import QUIET_S
from hermitty.errors import CommandEnded, IncompleteCommand, InputOverflow, InvalidPattern
from hermitty.events import CommandEvent, Completed, InputWanted, OutputArrived
from hermitty.host.base import TtyState, Waiting
from hermitty.model import (
    CommandId,
    CommandResult,
    NeedsInput,
    State,
    checked_time,
    new_command_id,
    signal_of_exit_code,
)
from hermitty.output.model_text import ModelText, model_text
from hermitty.sandbox.denials import Outcome, explain_denials
from hermitty.vt.capture import HeadTail
from hermitty.vt.keys import key_bytes
from hermitty.vt.plain import plain_text

if TYPE_CHECKING:
    from hermitty.engine.terminal import Terminal

# While a command runs in silence, the kernel is asked again after these pauses, growing to the longest.
_FIRST_LOOK_S = QUIET_S
_LONGEST_LOOK_S = 1.0
# How often the kernel is asked whether a program that has asked a question reads the answer.
_READS_LOOK_S = 0.005
# A program that does not read for so long gets what is for it all the same, and finds it when it does.
_READS_WITHIN_S = 1.0
# How long what was written just before somebody read may take to arrive here.
_ARRIVAL_S = 0.001
# How much of the output before new bytes a pattern may reach back into.
_PATTERN_OVERLAP = 8 * 1024
# How much may be typed for a command that the shell has not started yet.
_EARLY_LIMIT = 1024 * 1024
_NO_TEXT = ModelText("", truncated=False, omitted_bytes=0)

Origin = Literal["agent", "user", "internal"]


@dataclass(frozen=True, slots=True)
class OutputSlice:
    """A piece of a command's output. `next` is where to go on; `missed` bytes were no longer there."""

    offset: int
    data: bytes
    text: str
    missed: int
    next: int


class Command:
    """A command that runs, or has run. Cancelling a wait leaves the command alone."""

    def __init__(
        self, terminal: "Terminal", line: str | None, origin: Origin, command_id: CommandId | None = None
    ) -> None:
        settings = terminal.settings
        self.id = command_id or new_command_id()
        self.line = line
        self.origin: Origin = origin
        self.state = State.RUNNING
        self.exit_code: int | None = None
        self.is_sent = False
        self.expected: str | None = None  # what the shell is to report, if that is to be checked
        self.mismatch: str | None = None  # what it reported instead
        self.decided: tuple[str, str | None] | None = None  # who allowed it, and by which rule
        self.has_begun = False
        self.output_from: int | None = None
        self.output_to: int | None = None  # the end of what has been printed so far
        self.mark = 0
        self.warnings: list[str] = []
        self.farewell: str | None = None  # what the shell added when the command told it to exit
        self.capture = HeadTail(settings.capture_head_bytes, settings.capture_tail_bytes)
        self._terminal = terminal
        self.started = time.monotonic()
        self.time_limit: tuple[float, float] | None = None  # how long it may run, and until when by the same clock
        self.kept_head = -1  # how much of the beginning of its output is in a file
        self._ended_at: float | None = None
        self._ended = Flag(terminal.alarm)
        self._grown = Pulse()
        self._early = bytearray()  # typed before the command has begun
        self.clearing: asyncio.Task[None] | None = None  # kills it: over when nothing of it is left
        self._incomplete = False
        self.stopping: State | None = None  # how its end is to be called
        self.took_s: float | None = None  # known before its end is told, from a process that has seen it
        self._final: CommandResult | None = None
        self.last_activity = self.started

    # What the terminal tells it.

    def begin(self, offset: int) -> None:
        """Note that the shell has started the command."""
        self.has_begun = True
        self.output_from = self.output_to = offset
        if self._early:
            self._terminal.spawn(self._type_early())

    def take(self, offset: int, data: bytes) -> None:
        """Take output that stands at `offset` of the log."""
        self.capture.append(data)
        self.output_to = offset + len(data)
        self.last_activity = time.monotonic()
        self._grown.fire()

    def touch(self) -> None:
        """Note that somebody typed: what the program does with it takes a moment."""
        self.last_activity = time.monotonic()

    def reject_incomplete(self) -> None:
        """Note that the shell asked for more input than the line had."""
        self._incomplete = True

    def is_another(self, reported: str | None) -> bool:
        """Tell whether the shell runs another line than the one that was sent, and note it."""
        if self.expected is None or reported is None or _as_reported(self.expected) == reported.strip():
            return False
        self.mismatch = reported
        self.warnings.append("killed: the shell ran another line than the one that was sent")
        return True

    def stop_as(self, state: State) -> None:
        """Note how the end is to be called when it comes: somebody interrupts or kills the command."""
        if self.stopping is not State.KILLED:
            self.stopping = state

    def finish(self, state: State, exit_code: int | None, *, at: float | None = None) -> None:
        """Note the end, now or when it was. Only the first one counts."""
        if not self.is_running:
            return
        self.exit_code = exit_code
        self.state = self.stopping or state
        if at is None:
            at = time.monotonic() if self.took_s is None else self.started + self.took_s
        self._ended_at = at
        self._ended.set()
        self._grown.fire()

    # What callers ask.

    @property
    def is_running(self) -> bool:
        """Tell whether the command has not ended yet."""
        return self._ended_at is None

    @property
    def duration_s(self) -> float:
        """Return how long it took, or has taken so far."""
        return (self._ended_at or time.monotonic()) - self.started

    def output(self, since: int | None = None) -> OutputSlice:
        """Return raw output from an offset on (default: from the start), as far as the log still has it."""
        log = self._terminal.log
        start, end = (self.output_from, self.output_to) if self.has_begun else (log.end, log.end)
        assert start is not None
        assert end is not None
        piece = log.read(min(max(start, since if since is not None else start), end), end)
        return OutputSlice(piece.offset, piece.data, plain_text(piece.data), piece.missed, piece.end)

    async def wait(self, timeout_s: float | None = None, *, until_input: bool = True) -> CommandResult:
        """Wait for the end, for a question of the program (`until_input`), or for the time-out.

        Cancelling this leaves the command running. Raises IncompleteCommand when the shell asked for more.
        """
        checked_time("timeout_s", timeout_s)
        needs_input = await self._settled(until_input, timeout_s)
        if self.clearing is not None and not self.is_running:
            # Its shell has told the end, but what it had started is still being looked for.
            await asyncio.wait({self.clearing})
        if self._incomplete:
            raise IncompleteCommand(self.line or "")
        return self.result(needs_input)

    async def ended(self, within_s: float) -> bool:
        """Wait for the end, at most that long, and tell whether it came."""
        return await self._ended.wait(within_s)

    async def _settled(self, until_input: bool, timeout_s: float | None) -> NeedsInput | None:
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        pause = _FIRST_LOOK_S
        seen = -1
        while not await self.ended(max(0.0, min(pause, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                return None
            found = await self._terminal.look(self)
            if found is not None and until_input:
                return found
            pause = _FIRST_LOOK_S if self.capture.total != seen else min(pause * 1.5, _LONGEST_LOOK_S)
            seen = self.capture.total
        return None

    async def wait_for(self, pattern: str, timeout_s: float | None = None) -> re.Match[str] | None:
        """Wait until the output matches; return the match, or None when the command ends or the time is over first."""
        checked_time("timeout_s", timeout_s)
        try:
            wanted = re.compile(pattern, re.MULTILINE)
        except re.error as exc:
            raise InvalidPattern(pattern, str(exc)) from exc
        try:
            async with asyncio.timeout(timeout_s):
                position = 0
                while True:
                    piece = self.output(max(self.output_from or 0, position - _PATTERN_OVERLAP))
                    # Where earlier output is not part of the piece, its first character only tells what stands before
                    # the second: `^` must not match in the middle of a line.
                    start = int(piece.offset > (self.output_from or 0))
                    if piece.data and (found := wanted.search(piece.text, start)):
                        return found
                    position = piece.next
                    if not self.is_running:
                        return None
                    await self._grown.wait()
        except TimeoutError:
            return None

    async def events(self, interval_s: float | None = None) -> AsyncIterator[CommandEvent]:
        """Yield output as it comes (at most one event in each interval), questions, and the result at the end."""
        checked_time("interval_s", interval_s)
        pause = self._terminal.settings.event_interval_s if interval_s is None else interval_s
        position: int | None = None
        asked: NeedsInput | None = None
        while True:
            running = self.is_running
            piece = self.output(position)
            if piece.data or piece.missed:
                yield OutputArrived(piece.offset, piece.data, piece.text, piece.missed)
                asked = None
            position = piece.next if self.output_from is not None else None
            if not running:
                break
            ended = await self.ended(pause)
            if not ended and self.output_to == position:
                needs_input = await self.next_change(repeated=asked)
                if needs_input is not None:
                    asked = needs_input
                    yield InputWanted(needs_input)
        yield Completed(self.result())

    async def next_change(self, *, repeated: NeedsInput | None = None) -> NeedsInput | None:
        """Wait for output, the end, or a question that has not been told yet."""
        while True:
            found = await self._terminal.look(self)
            if found is not None and found != repeated:
                return found
            try:
                async with asyncio.timeout(_LONGEST_LOOK_S if repeated else _FIRST_LOOK_S):
                    await self._grown.wait()
                return None
            except TimeoutError:
                if not self.is_running:
                    return None

    async def until_it_reads(self) -> TtyState:
        """Wait until the program in front waits for input, but not for ever; return what the kernel told last."""
        deadline = time.monotonic() + _READS_WITHIN_S
        while True:
            state = await self._terminal.pty.inspect()
            # A shell that polls may be about to start the program.
            polls = state.waiting is Waiting.POLLING and not state.shell_in_front
            if polls or state.waiting in (Waiting.READING, Waiting.UNKNOWN):
                # It may be the shell that reads, at its prompt: what it told of the end is there by now.
                await asyncio.sleep(_ARRIVAL_S)
                return state
            if not self.is_running or time.monotonic() >= deadline:
                return state
            await asyncio.sleep(_READS_LOOK_S)  # the kernel does not tell when a process starts to read

    # What callers do.

    def write(self, text: str | bytes) -> None:
        """Type into the terminal while the command runs."""
        self._type(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)

    def send_key(self, key: str) -> None:
        """Press a key by name: enter, ctrl-c, up, f5."""
        self._type(key_bytes(key, application_cursor=self._terminal.screen.application_cursor_keys))

    def interrupt(self) -> None:
        """Interrupt the program as Ctrl-C would. It may take its time, or ignore it."""
        self._check_running()
        self._terminal.interrupt(self)

    async def kill(self) -> CommandResult:
        """Kill the command and everything it started, and return its result. Gentle first, certain at the end."""
        self._check_running()
        await self._terminal.kill(self)
        return self.result()

    def result(self, needs_input: NeedsInput | None = None) -> CommandResult:
        """Return what is known now."""
        if self._final is None:
            result = self._terminal.result_of(self, needs_input)
            if self.is_running:
                return result
            self._final = result
            if self.capture.total:
                # The text is made; what it was made from can go.
                self.capture = HeadTail(0, 0)
        return self._final

    def _type(self, data: bytes) -> None:
        self._check_running()
        self._terminal.check_handed_over()
        if self.has_begun and not self._early:
            self._terminal.write(data)
            return
        # Until its program runs, the shell's line editor holds the terminal: it would read this, or leave it to the
        # program with carriage returns that nobody turned into newlines.
        if len(self._early) + len(data) > _EARLY_LIMIT:
            raise InputOverflow(self._terminal.id, len(self._early), _EARLY_LIMIT)
        self._early += data

    async def _type_early(self) -> None:
        """Type what waits when the program reads. A command that ends before has no use for it, nor has the prompt."""
        await self.until_it_reads()
        data, self._early = bytes(self._early), bytearray()
        if self.is_running and self._terminal.is_open:
            self._terminal.write(data)

    def _check_running(self) -> None:
        if not self.is_running:
            raise CommandEnded(self.id)


def _as_reported(line: str) -> str:
    return line.encode("utf-8", "surrogateescape").decode("utf-8", "replace").strip()


def build_result(command: Command, terminal: "Terminal", needs_input: NeedsInput | None) -> CommandResult:
    """Make the result of a command as it stands."""
    settings = terminal.settings
    capture = command.capture
    warnings = list(command.warnings)
    total = capture.total
    text = _NO_TEXT
    if total:
        text = model_text(
            capture,
            rows=terminal.size.rows,
            max_lines=settings.output_line_limit,
            max_chars=settings.output_character_limit,
            compress_progress=settings.compress_progress_bar,
        )
    shown, truncated, omitted = text.text, text.truncated, text.omitted_bytes
    if command.farewell and shown.endswith(command.farewell):
        shown = shown.removesuffix(command.farewell)
        total -= len(command.farewell.replace("\n", "\r\n"))
    state = command.state
    effective = terminal.sandbox_effective
    if command.is_running:
        state = State.NEEDS_INPUT if needs_input else State.RUNNING
        if terminal.screen.alternate:
            shown = terminal.screen.text()
            warnings.append("a full-screen program is running; text is its screen")
    elif effective is not None:
        warnings += explain_denials(Outcome(command.exit_code, shown), terminal.sandbox, effective)
    return CommandResult(
        id=command.id,
        command=command.line or "",
        terminal=terminal.id,
        provider="pty",
        shell=terminal.shell,
        state=state,
        exit_code=command.exit_code,
        signal=signal_of_exit_code(command.exit_code),
        quality=terminal.quality,
        text=shown,
        truncated=truncated,
        omitted_bytes=omitted,
        total_bytes=total,
        artifact=terminal.observer.artifact(command) if truncated else None,
        cwd=terminal.cwd,
        duration_s=command.duration_s,
        needs_input=needs_input if command.is_running else None,
        warnings=warnings,
        sandbox=None if effective is None else effective.summary,
    )
