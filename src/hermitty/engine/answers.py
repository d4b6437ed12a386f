"""What programs ask the terminal (where is the cursor, which colour is the background), and when they get the answer.

An answer is typed input. A program that asks and leaves at once would have it typed at the shell's prompt, in the midst
of the next command. So an answer waits until somebody is seen reading, and is dropped when the command ends first: what
the shell tells of the end was written before it reads again.
"""

import asyncio
from typing import TYPE_CHECKING

from hermitty.host.base import Waiting

if TYPE_CHECKING:
    from hermitty.engine.terminal import Terminal

# A program that is never seen reading (it may poll) gets its answer after these pauses.
_PAUSES_S = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032)
# How long what a program wrote just before it read may take to arrive here.
_ARRIVAL_S = 0.001


class Answers:
    """The answers that wait in one terminal."""

    def __init__(self, terminal: "Terminal") -> None:
        self._terminal = terminal
        self._waiting = bytearray()

    def add(self, answer: bytes) -> bool:
        """Take one more answer to type; tell whether `deliver` has to be started for it."""
        is_first = not self._waiting
        self._waiting += answer
        return is_first

    def drop(self) -> None:
        """Forget what waits: whoever asked is gone."""
        self._waiting.clear()

    async def deliver(self) -> None:
        """Type what waits as soon as somebody reads."""
        for pause in _PAUSES_S:
            if not self._waiting or not self._terminal.is_open:
                return
            state = await self._terminal.pty.inspect()
            if state.waiting in (Waiting.READING, Waiting.UNKNOWN):
                await asyncio.sleep(_ARRIVAL_S)
                break
            await asyncio.sleep(pause)
        answer = bytes(self._waiting)
        self.drop()
        if answer and self._terminal.is_open:
            self._terminal.type(answer)
