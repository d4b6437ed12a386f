"""Noticing programs that wait for somebody to type, while nobody waits for them: for the people who watch.

A question is told once. When something was typed or printed since, the next one may be told.
"""

import asyncio
from collections.abc import Callable

from hermitty.engine.command import Command
from hermitty.engine.terminal import Terminal
from hermitty.model import NeedsInput
from hermitty.runtime.delayed import Delayed

# Most commands are over before anybody could read a question.
_FIRST_LOOK_S = 1.0
_LONGEST_LOOK_S = 5.0
_SLOWER = 1.5

Tell = Callable[[Terminal, Command, NeedsInput], None]


class PromptWatch:
    """Watches the commands of a runtime that take a while."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._watches: set[asyncio.Task[None]] = set()
        self._first_looks = Delayed(_FIRST_LOOK_S)
        self._is_closed = False

    def began(self, terminal: Terminal, command: Command) -> None:
        """Watch a command, if it does not end at once."""
        self._first_looks.add(lambda: self._watch_later(terminal, command))

    async def close(self) -> None:
        """Tell nothing any more."""
        self._is_closed = True
        for watch in self._watches:
            watch.cancel()
        if self._watches:
            await asyncio.wait(self._watches)

    def _watch_later(self, terminal: Terminal, command: Command) -> None:
        if command.is_running and not self._is_closed:
            watch = asyncio.get_running_loop().create_task(self._watch(terminal, command))
            self._watches.add(watch)
            watch.add_done_callback(self._watches.discard)

    async def _watch(self, terminal: Terminal, command: Command) -> None:
        told_at: float | None = None
        pause_s = _FIRST_LOOK_S
        while command.is_running and terminal.is_open:
            seen = command.last_activity
            if seen != told_at and (asked := await terminal.look(command)) is not None:
                told_at = seen
                self._tell(terminal, command, asked)
            if await command.ended(pause_s):
                return
            is_calm = command.last_activity == seen
            pause_s = min(pause_s * _SLOWER, _LONGEST_LOOK_S) if is_calm else _FIRST_LOOK_S
