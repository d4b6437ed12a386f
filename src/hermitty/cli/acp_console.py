"""The person at the terminal during a conversation: lines to send, and answers to questions.

Both come from one keyboard. A line goes to whoever asked last: to a question while there is one, else to the prompt.
"""

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import Iterator

from hermitty.cli.asking import dialogue, forget_typed_ahead, own_name
from hermitty.runtime.approvals import Approval, Question

_TYPED_AHEAD = 100


class Console:
    """Reads lines of standard input without blocking anybody."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[str | None]] = []
        self._lines: deque[str] = deque(maxlen=_TYPED_AHEAD)
        self._rest = b""
        self._is_over = False
        self._asking = asyncio.Lock()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Read as long as the context is open."""
        loop = asyncio.get_running_loop()
        descriptor = sys.stdin.fileno()
        loop.add_reader(descriptor, self._readable, descriptor)
        try:
            yield
        finally:
            loop.remove_reader(descriptor)

    async def line(self, prompt: str = "") -> str | None:
        """Return the next line, or None at the end of the input."""
        sys.stderr.write(prompt)
        sys.stderr.flush()
        if self._lines:
            return self._lines.popleft()
        if self._is_over:
            return None
        waiting: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            return await waiting
        finally:
            self._waiting.remove(waiting)

    async def ask(self, question: Question) -> Approval:
        """Show a question, and return what the person says. The end of the input is a no."""
        async with self._asking:  # one at a time
            # What was typed before the question was seen is no answer to it.
            forget_typed_ahead()
            self._lines.clear()
            self._rest = b""
            talk = dialogue(question, own_name())
            try:
                show = "\n" + next(talk)
                while True:
                    show = talk.send(await self.line(show))
            except StopIteration as over:
                answer: Approval = over.value
                return answer

    def _readable(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            self._is_over = True
            asyncio.get_running_loop().remove_reader(descriptor)
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._deliver(line.decode("utf-8", "replace"))

    def _deliver(self, line: str) -> None:
        for waiting in reversed(self._waiting):
            if not waiting.done():
                waiting.set_result(line)
                return
        self._lines.append(line)
