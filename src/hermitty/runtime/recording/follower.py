"""Recording one terminal: what it prints becomes a few events a second, in segments on disk.

Output is read from the terminal's log by offset, at most once in 50 ms, so a recording costs nothing while nothing
happens. More output than anybody could have seen is recorded as the screen it left, with a note of what was skipped;
the pauses grow while that goes on. A disk that is full makes a gap in the recording and disturbs nobody: it goes on
with a picture of the screen as soon as there is room.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermitty.engine.terminal import Terminal
from hermitty.errors import HermittyError
from hermitty.host.base import TtyState
from hermitty.model import ExitStatus, Size
from hermitty.runtime.places import make_private
from hermitty.runtime.recording.limits import Limits, surplus
from hermitty.runtime.recording.segments import RESET, Meta, segment_path, segments
from hermitty.wire.asciicast import EXIT, INPUT, MARKER, OUTPUT, RESIZE, CastWriter, Event, Header, TextDecoder

TICK_S = 0.05
_LONGEST_TICK_S = 1.0
# How often a disk that was full is tried again.
RETRY_S = 5.0
# A flood of markers (commands that do nothing, in a loop) is not worth the disk.
_MARKERS_PER_TICK = 50
_INPUT_PER_TICK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class _Note:
    """An event that is not output; it comes after the output before `offset`."""

    offset: int
    at: float  # of the monotonic clock
    code: str
    text: str | Callable[[], str]


class Follower:
    """Records a terminal until it ends or `close` is called. Everything happens in the event loop.

    `wrote` is told how many bytes went to the disk; `failed` why nothing did, and None when something does again;
    `over` that nothing more will, and why if that is a failure.
    """

    def __init__(
        self,
        terminal: Terminal,
        directory: Path,
        *,
        title: str | None,
        limits: Callable[[], Limits],
        wrote: Callable[[int], None],
        failed: Callable[[str | None], None],
        over: Callable[[str | None], None],
        retry_s: float = RETRY_S,
    ) -> None:
        self.terminal = terminal
        self._directory = directory
        self._title = title
        self._limits = limits
        self._wrote = wrote
        self._failed = failed
        self._over = over
        self._retry_s = retry_s
        self._is_failing = False
        self._number = 0  # of the segment that is written; 0: none yet
        self._segment_bytes = 0
        self._writer = CastWriter()
        self._decoder = TextDecoder()
        self._input = TextDecoder()
        self._input_bytes = 0
        self._began_at = 0.0  # of the segment, by the monotonic clock
        self._position = 0  # output before this offset is recorded
        self._seen = 0  # where the log ended when somebody last told of output
        self._size = terminal.size
        self._notes: list[_Note] = []
        self._skipped_notes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._tick_s = TICK_S
        self._changed_at: float | None = None  # when the first thing came that is not recorded yet
        self._is_over = False
        self._unwatch: Callable[[], None] = terminal.watch(self._changed)
        self._changed()

    def note(self, code: str, text: str | Callable[[], str]) -> None:
        """Record a marker or the like, after the output that there is. A function is called when it is written."""
        if self._is_over:
            return
        if len(self._notes) >= _MARKERS_PER_TICK:
            self._skipped_notes += 1
            return
        self._notes.append(_Note(self.terminal.log.end, time.monotonic(), code, text))
        self._arm()

    async def before_input(self, data: bytes) -> None:
        """Record what is about to be typed, unless the terminal would not show it."""
        try:
            is_secret = _is_secret(await self.terminal.pty.inspect())
        except HermittyError:
            is_secret = True  # nobody knows
        if not is_secret and self._input_bytes + len(data) <= _INPUT_PER_TICK_BYTES:
            self._input_bytes += len(data)
            if text := self._input.feed(data):
                self.note(INPUT, text)
        else:
            self._input = TextDecoder()

    def flush(self) -> None:
        """Write what there is."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_over:
            return
        try:
            self._write()
        except OSError as exc:
            self._wait_for_room(exc.strerror or str(exc))
        except HermittyError as exc:  # the directory is not ours, or there is no screen any more
            self._stop(str(exc))

    def close(self) -> None:
        """Write what there is and stop, while the terminal goes on."""
        self.flush()
        self._stop(None)

    def restart(self) -> None:
        """Begin a new segment with the next event: the files before it are gone."""
        self._number = 0

    # What happens inside.

    def _changed(self) -> None:
        """Take note of new output, a new size or the end; called for every piece of output, so be quick."""
        terminal = self.terminal
        if terminal.size is not self._size:
            self._resized(terminal.size)
        self._seen = terminal.log.end
        if not terminal.is_open:
            self._finish()
        elif self._timer is None and self._seen > self._position:
            self._arm()

    def _resized(self, size: Size) -> None:
        if size != self._size:
            self._notes.append(_Note(self._seen, time.monotonic(), RESIZE, f"{size.cols}x{size.rows}"))
        self._size = size

    def _arm(self) -> None:
        if self._changed_at is None:
            self._changed_at = time.monotonic()
        if self._timer is None and not self._is_over:
            self._timer = asyncio.get_running_loop().call_later(self._tick_s, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.flush()

    def _wait_for_room(self, problem: str) -> None:
        """Try again later, with a new segment."""
        self._is_failing = True
        self._failed(problem)
        self._number, self._tick_s = 0, self._retry_s
        self._arm()

    def _finish(self) -> None:
        status = self.terminal.exit_status
        self._notes.append(_Note(self._seen, time.monotonic(), MARKER, f"ended: {self.terminal.closed_because}"))
        if status is not None:
            self._notes.append(_Note(self._seen, time.monotonic(), EXIT, str(_exit_code(status))))
        self.flush()
        self._stop(None)

    def _stop(self, problem: str | None) -> None:
        if not self._is_over:
            self._is_over = True
            self._unwatch()
            self._notes.clear()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._over(problem)

    def _write(self) -> None:
        limits = self._limits()
        log = self.terminal.log
        end = log.end
        since = time.monotonic() if self._changed_at is None else self._changed_at
        self._changed_at = None
        if end == self._position and not self._notes and not self._is_failing:
            return
        notes, self._notes, self._input_bytes = self._notes, [], 0
        if self._skipped_notes:
            notes.append(_Note(end, time.monotonic(), MARKER, f"{self._skipped_notes} markers were skipped"))
            self._skipped_notes = 0
        if self._number == 0:
            self._begin_first(limits, since)
        if end - self._position > limits.tick_bytes or self._position < log.start:
            lines = self._flood(notes, end, limits)
            self._tick_s = min(2 * self._tick_s, _LONGEST_TICK_S)
        else:
            lines = self._lines(notes, since, end)
            self._tick_s = TICK_S
        self._position = end
        if lines:
            self._append(lines)
        if self._segment_bytes >= limits.segment_bytes and self.terminal.is_open:
            self._begin(limits, time.monotonic(), continues=True, with_picture=True)

    def _lines(self, notes: list[_Note], at: float, end: int) -> bytes:
        """Return the lines of notes and the output between them."""
        lines: list[bytes] = []
        position = self._position
        for note in [*notes, None]:
            until = end if note is None else min(max(note.offset, position), end)
            if until > position:
                text = self._decoder.feed(self.terminal.log.read(position, until).data)
                if text:
                    lines.append(self._line(at, OUTPUT, text))
                position = until
            if note is not None:
                at = max(at, note.at)
                lines.append(self._line(note.at, note.code, note.text))
        return b"".join(lines)

    def _flood(self, notes: list[_Note], end: int, limits: Limits) -> bytes:
        """Return the lines of a screen that much output left."""
        skipped = end - self._position
        now = time.monotonic()
        lines = [self._line(note.at, note.code, note.text) for note in notes if note.code != EXIT]
        lines.append(self._line(now, MARKER, f"{skipped} bytes of output were skipped"))
        lines.append(self._picture(now, RESET, limits))
        lines += [self._line(note.at, note.code, note.text) for note in notes if note.code == EXIT]
        return b"".join(lines)

    def _picture(self, at: float, before: str, limits: Limits) -> bytes:
        """Return the line of the screen as it is. What follows goes on behind it."""
        self._decoder = TextDecoder()
        line = self._line(at, OUTPUT, before + self._decoder.feed(self.terminal.screen.repaint()))
        if len(line) > limits.segment_bytes:
            return self._line(at, OUTPUT, RESET) + self._line(at, MARKER, "the screen is too large to be recorded")
        return line

    def _begin_first(self, limits: Limits, at: float) -> None:
        """Begin with the first byte of the terminal, or with a picture when there was something before."""
        make_private(self._directory.parent)
        make_private(self._directory)
        files = segments(self._directory)
        self._number = files[-1].number if files else 0
        is_whole = self._number == 0 and self._position == 0 and self.terminal.log.start == 0
        if not is_whole:
            self._position = self.terminal.log.end
        self._begin(limits, at, continues=False, with_picture=not is_whole)

    def _begin(self, limits: Limits, at: float, *, continues: bool, with_picture: bool) -> None:
        for each in surplus(segments(self._directory), limits.kept_bytes):
            each.path.unlink(missing_ok=True)
            self._wrote(-each.size)
        self._number += 1
        self._segment_bytes = 0
        self._writer = CastWriter()
        self._began_at = at
        size, env = self.terminal.size, self.terminal.started_with
        now = time.time() - (time.monotonic() - at)
        header = Header(
            size.cols,
            size.rows,
            timestamp=int(now),
            title=self._title,
            term_type=env.get("TERM"),
            env={"SHELL": self.terminal.shell},
        )
        lines = self._writer.header(Meta(now, continues, with_picture).put(header))
        if with_picture:
            lines += self._picture(self._began_at, "", limits)
        try:
            self._append(lines, is_new=True)
        except FileNotFoundError:  # the directory was empty, and somebody tidied up
            make_private(self._directory)
            self._append(lines, is_new=True)

    def _line(self, at: float, code: str, text: str | Callable[[], str]) -> bytes:
        told = text if isinstance(text, str) else text()
        return self._writer.event(Event(max(0.0, at - self._began_at), code, told))

    def _append(self, lines: bytes, *, is_new: bool = False) -> None:
        """Write whole lines. The file is open for no longer than that: there may be hundreds of terminals."""
        how = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        how |= os.O_CREAT | os.O_EXCL if is_new else 0
        number = os.open(segment_path(self._directory, self._number), how, 0o600)
        size = os.fstat(number).st_size
        try:
            left: Any = memoryview(lines)
            while left:
                left = left[os.write(number, left) :]
        except OSError:
            _take_back(segment_path(self._directory, self._number), number, size)
            raise
        finally:
            os.close(number)
        self._segment_bytes += len(lines)
        self._wrote(len(lines))
        if self._is_failing:
            self._is_failing = False
            self._failed(None)


def _take_back(path: Path, number: int, size: int) -> None:
    """Let a file be as it was before a write that failed: with whole lines only, or not there."""
    with contextlib.suppress(OSError):  # readers leave out what is no whole line
        os.ftruncate(number, size)
        if size == 0:
            path.unlink()


def _is_secret(state: TtyState) -> bool:
    """Tell whether what is typed is not to be seen.

    Nothing is echoed at the prompt of a shell, either: its line editor does that itself. A system that does not tell
    who is in front does not tell about the echo, either.
    """
    return state.shell_in_front is None or (not state.echo and (state.canonical or not state.shell_in_front))


def _exit_code(status: ExitStatus) -> int:
    return status.code if status.code is not None else 128 + (status.signal or 0)
