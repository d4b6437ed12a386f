"""The person at the terminal during a conversation: lines to send, and answers to questions.

Both come from one keyboard. A line goes to whoever asked last: to a question while there is one, else to the prompt.
"""

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import Iterator

from hermitty.cli.asking import KEYS, MEANING, TRIES, describe, forget_typed_ahead, own_name
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
            by = own_name()
            sys.stderr.write("\n" + describe(question))
            if question.confirmation is not None:
                typed = await self.line(
                    f"\nto run it once all the same, type: {question.confirmation}\nanything else is a no: "
                )
                is_confirmed = (typed or "").strip() in (question.confirmation, question.line.strip())
                return Approval("allow", typed=typed, by=by) if is_confirmed else Approval("deny", by=by)
            keys = {key: scope for scope, key in KEYS.items() if scope in question.scopes}
            longer = "".join(f", [{key}] {MEANING[scope]}" for key, scope in keys.items())
            for _ in range(TRIES):
                said = await self.line(f"\n[y] allow once, [n] no, [s] skip it{longer}: ")
                match (said or "").strip().lower():
                    case "y" | "yes":
                        return Approval("allow", by=by)
                    case "n" | "no":
                        return Approval("deny", by=by)
                    case "s" | "skip":
                        return Approval("skip", by=by)
                    case key if key in keys:
                        return Approval("allow", keys[key], by=by)
                if said is None:
                    break
            return Approval("deny", by=by, note="no answer that could be understood")

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
