"""Noticing commands that print nothing for a long time. Silence is a fact to tell, never a reason to stop them.

Typing into a terminal counts as activity. Each silence is told once; after new output the next one may be told.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hermitty.engine.command import Command
from hermitty.engine.terminal import Terminal

if TYPE_CHECKING:
    from hermitty.model import CommandId

# However short a silence is worth a word, it is not looked for more often.
_SHORTEST_LOOK_S = 0.02


@dataclass(slots=True)
class Silence:
    """The silences of one command. Times are passed in."""

    _told: float | None = None  # the activity after which silence was told

    def is_new(self, last_activity: float, now: float, limit_s: float) -> bool:
        """Tell whether a silence is long enough now, and has not been told; from now on it has."""
        if last_activity == self._told or now - last_activity < limit_s:
            return False
        self._told = last_activity
        return True

    def next_look(self, last_activity: float, now: float, limit_s: float) -> float:
        """Return when the next silence may be long enough, at the earliest."""
        # Whatever ends a silence that was told comes after now.
        return limit_s + (now if last_activity == self._told else last_activity)


@dataclass(slots=True)
class _Watched:
    terminal: Terminal
    command: Command
    silence: Silence = field(default_factory=Silence)


class SilenceWatch:
    """Watches running commands with one timer, which sleeps as long as none can be silent for long enough."""

    def __init__(self, limit_s: Callable[[], float], tell: Callable[[Terminal, Command, float], None]) -> None:
        self._limit_s = limit_s
        self._tell = tell
        self._running: dict[CommandId, _Watched] = {}
        self._timer: asyncio.TimerHandle | None = None

    def began(self, terminal: Terminal, command: Command) -> None:
        """Watch a command from now on."""
        self._running[command.id] = _Watched(terminal, command)
        wanted = asyncio.get_running_loop().time() + self._limit_s()
        if self._timer is None or self._timer.when() > wanted:
            self._look_at(wanted)

    def ended(self, command: Command) -> None:
        """Watch it no longer."""
        self._running.pop(command.id, None)

    def close(self) -> None:
        """Tell nothing any more."""
        self._running.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _look_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(max(when, loop.time() + _SHORTEST_LOOK_S), self._look)

    def _look(self) -> None:
        self._timer = None
        now, limit_s = time.monotonic(), self._limit_s()
        found = list(self._running.values())
        for each in found:
            if each.silence.is_new(each.command.last_activity, now, limit_s):
                self._tell(each.terminal, each.command, now - each.command.last_activity)
        if found:
            looks = (each.silence.next_look(each.command.last_activity, now, limit_s) for each in found)
            self._look_at(asyncio.get_running_loop().time() + min(looks) - now)


def silence_of(command: Command, limit_s: float) -> float | None:
    """Return how long a running command has been silent, if that is long enough to be told."""
    return _silent_s(command.last_activity, limit_s)


def silence_note(last_activity: float, limit_s: float) -> str | None:
    """Say that a running command is silent, if it is for long enough."""
    silent_s = _silent_s(last_activity, limit_s)
    return None if silent_s is None else f"no output for {silent_s:.0f} s; the command goes on"


def _silent_s(last_activity: float, limit_s: float) -> float | None:
    silent_s = time.monotonic() - last_activity
    return silent_s if silent_s >= limit_s else None
