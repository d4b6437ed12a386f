"""Playing a recording: what is due when, with pauses, steps and skips. No clock of its own, nothing waits here."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hermitty.runtime.recording.harmless import Harmless
from hermitty.runtime.recording.segments import RESET
from hermitty.wire.asciicast import OUTPUT, Event


def timeline(events: Iterable[Event], idle_limit_s: float | None = None) -> list[Event]:
    """Return what is shown and when, with no pause longer than the limit."""
    shown: list[Event] = []
    saved = last = 0.0
    for event in events:
        if event.code == OUTPUT:
            if idle_limit_s is not None:
                saved += max(0.0, event.at_s - last - idle_limit_s)
            last = event.at_s
            shown.append(replace(event, at_s=event.at_s - saved))
    return shown


class Playback:
    """Where a recording is. Times called `now` are of any clock that goes on; positions are of the recording.

    What the methods return is to be written to a terminal, and is harmless for it.
    """

    def __init__(self, shown: Sequence[Event], *, speed: float = 1.0, start_s: float = 0.0) -> None:
        self._shown = shown
        self._speed = speed
        self._next = 0
        self._position_s = 0.0
        self._since: float | None = None  # when `position` was that; None: paused
        self._start_s = start_s
        self._screen = Harmless()

    @property
    def is_over(self) -> bool:
        """Tell whether everything was shown."""
        return self._next >= len(self._shown)

    @property
    def is_paused(self) -> bool:
        """Tell whether it waits for a key."""
        return self._since is None

    def begin(self, now: float) -> str:
        """Start, and return everything before the starting point."""
        self._position_s = self._start_s
        self._since = now
        return self._until(self._start_s)

    def advance(self, now: float) -> str:
        """Return what is due."""
        return self._until(self._position(now))

    def wait_s(self, now: float) -> float | None:
        """Return how long nothing will be due; None: until a key is pressed, or at all."""
        if self.is_over or self.is_paused:
            return None
        return max(0.0, (self._shown[self._next].at_s - self._position(now)) / self._speed)

    def toggle(self, now: float) -> None:
        """Pause, or go on."""
        self._position_s = self._position(now)
        self._since = now if self._since is None else None

    def step(self, now: float) -> str:
        """Pause and return the next thing that is shown."""
        self._position_s = self._position(now)
        self._since = None
        if self.is_over:
            return ""
        self._position_s = self._shown[self._next].at_s
        self._next += 1
        return self._screen.feed(self._shown[self._next - 1].text)

    def skip(self, now: float, seconds: float) -> str:
        """Go forward or back. Back means: all over again, up to there."""
        target = max(0.0, self._position(now) + seconds)
        self._position_s = target
        self._since = None if self._since is None else now
        if seconds >= 0:
            return self._until(target)
        self._next = 0
        self._screen = Harmless()
        return self._screen.feed(RESET) + self._until(target)

    def _position(self, now: float) -> float:
        return self._position_s if self._since is None else self._position_s + (now - self._since) * self._speed

    def _until(self, position_s: float) -> str:
        shown = []
        while self._next < len(self._shown) and self._shown[self._next].at_s <= position_s:
            shown.append(self._screen.feed(self._shown[self._next].text))
            self._next += 1
        return "".join(shown)
