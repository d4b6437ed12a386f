"""Requests that wait for their answers, on a connection where events come in between."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hermitty.errors import HermittyError, HostUnavailable

T = TypeVar("T")
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class _Asked:
    kind: type[Any]
    adopt: Callable[[Any], Any]
    undo: Callable[[Any], None] | None  # for an answer that nobody waits for any more
    future: "asyncio.Future[Any]"


class Asking:
    """Numbers requests. What an answer means is made of it as it comes, before the next event."""

    def __init__(self) -> None:
        self._waiting: dict[int, _Asked] = {}
        self._last = 0
        self._loop = asyncio.get_running_loop()

    def ask(
        self,
        send: Callable[[int], None],
        kind: type[AnswerT],
        adopt: Callable[[AnswerT], T],
        undo: Callable[[T], None] | None,
    ) -> "asyncio.Future[T]":
        """Send a request by its number; return what will be made of its answer."""
        self._last += 1
        send(self._last)
        future: asyncio.Future[T] = self._loop.create_future()
        self._waiting[self._last] = _Asked(kind, adopt, undo, future)
        return future

    def answered(self, number: int, answer: object, who: str) -> None:
        """Take an answer. One that nobody asked for is nothing."""
        if (asked := self._waiting.pop(number, None)) is None:
            return
        if not isinstance(answer, asked.kind):
            _fail(asked, HostUnavailable(f"{who} answered with {type(answer).__name__}"))
            return
        try:
            made = asked.adopt(answer)
        except HermittyError as error:
            _fail(asked, error)
            return
        if not asked.future.done():
            asked.future.set_result(made)
        elif asked.undo is not None:
            asked.undo(made)

    def failed(self, number: int, error: HermittyError) -> None:
        """Note that a request was refused."""
        if (asked := self._waiting.pop(number, None)) is not None:
            _fail(asked, error)

    def end(self, reason: str) -> None:
        """Tell everybody who waits that no answer will come."""
        waiting, self._waiting = self._waiting, {}
        for asked in waiting.values():
            _fail(asked, HostUnavailable(reason))


def _fail(asked: _Asked, error: HermittyError) -> None:
    if not asked.future.done():
        asked.future.set_exception(error)
        asked.future.exception()  # whoever asked may have gone, too
