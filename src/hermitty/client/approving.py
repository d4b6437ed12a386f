"""Answering the server's questions about commands that this client has sent, by asking the caller's approver."""

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from hermitty.client.http import Http, part
from hermitty.client.running import Runs
from hermitty.client.values import Question, question_of
from hermitty.errors import HermittyError

_LOG = logging.getLogger("hermitty.client")


class Said(Protocol):
    """What an approver returns: `hermitty.Approval`, or something like it."""

    @property
    def answer(self) -> str:
        """Return allow, deny or skip."""

    @property
    def scope(self) -> Any:
        """Return what it counts for."""

    @property
    def typed(self) -> str | None:
        """Return the confirmation of a command that is blocked."""

    @property
    def note(self) -> str:
        """Return words for whoever asked."""


Asked = Callable[[Any], Said | Awaitable[Said]]


class Approving:
    """Asks an approver, once for each question. Nobody waits for it."""

    def __init__(self, http: Http, runs: Runs, approver: Asked) -> None:
        self._http = http
        self._runs = runs
        self._approver = approver
        self._seen: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, told: object) -> None:
        """Hear a question; those about others' commands are left to others."""
        try:
            question = question_of(told)
        except HermittyError:  # it was answered in the moment in which it was asked
            return
        if question.id in self._seen or not self._runs.is_ours(question.line, question.session, question.terminal):
            return
        self._seen.add(question.id)
        task = asyncio.get_running_loop().create_task(self._answer(question))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop asking."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _answer(self, question: Question) -> None:
        try:
            said = await self._ask(question)
            scope = getattr(said.scope, "value", said.scope)
            body = {"answer": said.answer, "scope": scope, "typed": said.typed, "note": said.note or None}
        except Exception:
            _LOG.exception("the approver failed; that means no")
            body = {"answer": "deny", "note": "the approver failed"}
        try:
            await self._http.send("POST", f"/api/approvals/{part(question.id)}", body=body, repeatable=True)
        except HermittyError as exc:
            # Somebody else was faster, or the server does not take it; it tells whoever waits for the command.
            _LOG.info("the answer to question %s was not taken: %s", question.id, exc)

    async def _ask(self, question: Question) -> Said:
        """Ask in a thread of its own, which does not keep the program from ending."""
        if inspect.iscoroutinefunction(self._approver):
            return await self._approver(question)  # type: ignore[no-any-return]
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Said | Awaitable[Said]] = loop.create_future()

        def settle(said: Said | Awaitable[Said] | None, exc: BaseException | None) -> None:
            if answered.done():
                return
            if exc is not None:
                answered.set_exception(exc)
            else:
                assert said is not None
                answered.set_result(said)

        def ask() -> None:
            said, failed = None, None
            try:
                said = self._approver(question)
            except Exception as exc:
                failed = exc
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, said, failed)

        threading.Thread(target=ask, name="hermitty approver", daemon=True).start()
        said = await answered
        return await said if inspect.isawaitable(said) else said
