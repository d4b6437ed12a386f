"""The recordings of a runtime's terminals: who is recorded, what there is, and that it stays within its bounds.

What is on the screen is recorded as it is, secrets that were printed too; the files are for their owner alone. What is
typed is not, unless that is asked for.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from hermitty.config import RecordingSettings
from hermitty.engine.terminal import Terminal
from hermitty.errors import HermittyError, HostUnavailable, RecordingNotFound
from hermitty.events import CommandFinished, CommandStarted, Event
from hermitty.runtime.history.masking import mask_secrets
from hermitty.runtime.places import Places
from hermitty.runtime.recording.follower import RETRY_S, Follower
from hermitty.runtime.recording.limits import MAX_RECORDINGS, Limits, doomed, limits_for
from hermitty.runtime.recording.segments import (
    RecordingInfo,
    directory_of,
    info,
    read_cast,
    recorded_terminals,
    segments,
)
from hermitty.wire.asciicast import MARKER

_LOOK_AGAIN_S = 3600.0
_LOOK_AT_INPUT_S = 1.0
_SHOWN_CHARACTERS = 200
# So much of a line is looked at for secrets that the cut goes through.
_MASKED_CHARACTERS = 2000


class Recordings:
    """Records terminals, and reads what was recorded. For the event loop, save for `list` and `open_cast`.

    Whoever made it closes it. `tell` hears of recordings that have gaps, or had to be ended. `gaps` counts those that
    a full or broken disk made.
    """

    def __init__(
        self,
        places: Places,
        settings: Callable[[], RecordingSettings] = RecordingSettings,
        *,
        tell: Callable[[str], None] | None = None,
        retry_s: float = RETRY_S,
    ) -> None:
        self._root = places.recordings
        self._settings = settings
        self._retry_s = retry_s
        self._tell = tell or logging.getLogger("hermitty.recordings").warning
        self._followers: dict[str, Follower] = {}
        self.gaps = 0
        self._failing: dict[str, str] = {}  # the terminals that cannot be recorded now, and why
        self._problems: set[str] = set()
        # As of the last look at the directory, and what was written since.
        self._total = 0
        self._count = 0
        self._looked: float | None = None
        self._records_input = False
        self._look_at_input = 0.0
        self._looking: asyncio.Task[None] | None = None
        self._closed = False

    # Recording.

    def follow(self, terminal: Terminal, *, name: str | None = None) -> None:
        """Record a terminal from its first byte on; one that was recorded before goes on with a picture of its screen.

        Does nothing if recording is off, or the terminal is recorded already.
        """
        if self._closed or terminal.id in self._followers or not terminal.is_open or not self._settings().enabled:
            return
        try:
            directory = directory_of(self._root, terminal.id)
        except RecordingNotFound:
            return
        self._count += 1

        def failed(problem: str | None) -> None:
            self._note_failure(terminal.id, problem)

        def over(problem: str | None) -> None:
            self._followers.pop(terminal.id, None)
            self._failing.pop(terminal.id, None)
            if problem is not None and problem not in self._problems:
                self._problems.add(problem)
                self._tell(f"recordings: terminal {terminal.id} is no longer recorded: {problem}")

        self._followers[terminal.id] = Follower(
            terminal,
            directory,
            title=name,
            limits=self._limits,
            wrote=self._wrote,
            failed=failed,
            over=over,
            retry_s=self._retry_s,
        )
        self._look_if_due()

    def on_event(self, event: Event) -> None:
        """Mark where commands begin and end. Secrets in their lines are masked."""
        if isinstance(event, CommandStarted | CommandFinished) and (follower := self._followers.get(event.terminal)):
            # Masking takes a while; whoever waits for the command does not wait for that.
            follower.note(MARKER, lambda: _marker(event))

    @property
    def records_input(self) -> bool:
        """Tell whether `before_input` is to be called. Settings are looked at now and then, not for every key."""
        now = time.monotonic()
        if now >= self._look_at_input:
            self._look_at_input = now + _LOOK_AT_INPUT_S
            self._records_input = self._settings().input
        return self._records_input

    async def before_input(self, terminal_id: str, data: bytes) -> None:
        """Record what somebody is about to type, if that is wanted and the terminal will show it.

        To be awaited before it is typed: the echo may be off until a password is read, and on again at once.
        """
        follower = self._followers.get(terminal_id)
        if follower is not None and self._settings().input:
            await follower.before_input(data)

    # What there is.

    def list(self) -> "list[RecordingInfo]":
        """Return every recording, the newest first."""
        live = frozenset(self._followers)
        found = (info(self._root / terminal) for terminal in recorded_terminals(self._root))
        known = [replace(each, is_live=each.terminal in live) for each in found if each is not None]
        return sorted(known, key=lambda each: each.started_at, reverse=True)

    def open_cast(self, terminal_id: str, version: Literal[2, 3] = 3) -> Iterator[bytes]:
        """Return one asciicast, line by line, as far as it was written. Raises RecordingNotFound at once.

        What a live terminal printed in this moment is in it after `flush`.
        """
        return read_cast(self._root, terminal_id, version=version)

    def flush(self, terminal_id: str) -> None:
        """Write what a terminal has printed up to now."""
        if (follower := self._followers.get(terminal_id)) is not None:
            follower.flush()

    def delete(self, terminal_id: str) -> None:
        """Delete a recording. A live terminal goes on being recorded. Raises RecordingNotFound."""
        directory = directory_of(self._root, terminal_id)
        files = segments(directory)
        follower = self._followers.get(terminal_id)
        if not files and follower is None:
            raise RecordingNotFound(terminal_id)
        if follower is not None:
            follower.flush()
            follower.restart()
        for each in segments(directory):
            self._total -= each.size
            try:
                each.path.unlink(missing_ok=True)
            except OSError as exc:
                raise HostUnavailable(f"recording {terminal_id} cannot be deleted: {exc.strerror}") from exc
        _remove_empty(directory)

    async def close(self) -> None:
        """Write what there is, and stop; terminals go on."""
        self._closed = True
        for follower in list(self._followers.values()):
            follower.close()
        if self._looking is not None:
            await asyncio.wait({self._looking})

    def _note_failure(self, terminal_id: str, problem: str | None) -> None:
        """Tell that terminals cannot be recorded for now, once for a reason, and that they are again."""
        if problem is None:
            self._failing.pop(terminal_id, None)
            if not self._failing:
                self._tell("recordings: what is printed is recorded again")
            return
        is_told = problem in self._failing.values()
        self.gaps += terminal_id not in self._failing
        self._failing[terminal_id] = problem
        if not is_told:
            self._tell(f"recordings: what is printed is not recorded for now: {problem}")

    # Bounds.

    def _limits(self) -> Limits:
        return limits_for(self._settings(), len(self._followers))

    def _wrote(self, count: int) -> None:
        self._total += count
        self._look_if_due()

    def _look_if_due(self) -> None:
        """Look for what has to be deleted, in a thread, when that may be something."""
        settings = self._settings()
        is_due = (
            self._looked is None
            or time.monotonic() - self._looked > _LOOK_AGAIN_S
            or self._total > settings.total_bytes
            or self._count > MAX_RECORDINGS
        )
        if is_due and self._looking is None and not self._closed:
            self._looking = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        live, settings = frozenset(self._followers), self._settings()
        before = self._total
        try:
            count, total = await asyncio.to_thread(_tidy, self._root, live, settings)
            # Bytes written meanwhile count twice: that only makes the next look come sooner.
            self._count, self._total = count, total + max(0, self._total - before)
        except HermittyError as exc:
            self._tell(f"recordings: old ones cannot be deleted: {exc}")
        finally:
            self._looked = time.monotonic()
            self._looking = None


def _tidy(root: Path, live: frozenset[str], settings: RecordingSettings) -> tuple[int, int]:
    """Delete what is too much; return how many recordings are left, and their bytes."""
    found = {terminal: segments(root / terminal) for terminal in recorded_terminals(root)}
    gone = set(doomed(found, live, settings, time.time()))
    for path in gone:
        with contextlib.suppress(OSError):  # the next look tries again
            path.unlink(missing_ok=True)
    left = 0
    total = 0
    for terminal, files in found.items():
        kept = [each for each in files if each.path not in gone]
        total += sum(each.size for each in kept)
        if kept or terminal in live:
            left += 1
        elif files:
            _remove_empty(root / terminal)
    return left, total


def _remove_empty(directory: Path) -> None:
    with contextlib.suppress(OSError):  # somebody put a file there, or it is gone
        directory.rmdir()


def _marker(event: CommandStarted | CommandFinished) -> str:
    if isinstance(event, CommandStarted):
        return f"$ {_shown(event.command)}"
    return f"exit {'unknown' if event.exit_code is None else event.exit_code}: {_shown(event.command)}"


def _shown(command: str | None) -> str:
    if command is None:
        return "(typed)"
    line = " ".join(mask_secrets(command[:_MASKED_CHARACTERS]).split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]}…"
