"""Questions to people about commands, and their answers.

A question is answered once: the first answer counts, everybody else is told whose it was. Nobody answers in time: that
is a no. Whoever asked leaves: the question is withdrawn. Only people (clients, an approver) answer; nothing that an
agent can call does.
"""

import asyncio
import contextlib
import inspect
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from hermitty.errors import AlreadyAnswered, ApprovalNotFound, InvalidRequest
from hermitty.events import ApprovalAnswered, ApprovalAsked
from hermitty.policy.rule import Rule, Scope

__all__ = ["Approval", "Approvals", "Approver", "Outcome", "Question", "Reply", "Scope", "Verdict", "parsed_answer"]

Reply = Literal["allow", "deny", "skip"]
Outcome = Literal["allow", "deny", "skip", "timeout", "cancelled"]

# How many questions that are over are remembered, for those who come late.
_REMEMBERED = 1000
_MAX_NOTE = 1000

_NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked. `command` is complete, with control characters made visible; `line` is what would run."""

    id: str
    line: str
    command: str
    cwd: str | None
    shell: str
    decision: Literal["ask", "block"]
    level: str
    effects: tuple[str, ...]  # in plain words
    reasons: tuple[str, ...]
    scopes: tuple[Scope, ...]  # what an answer can count for
    suggested_rule: Rule | None  # what is remembered for any scope but once
    confirmation: str | None  # what has to be typed to allow it; None: nothing
    session: str | None
    workspace: str | None
    terminal: str | None
    origin: str  # agent, user, or the name of a door
    asked_at: float  # seconds since 1970
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class Approval:
    """What a person said. `typed` is the confirmation of a command that is blocked; `note` is for whoever asked."""

    answer: Reply
    scope: Scope = Scope.ONCE
    typed: str | None = None
    by: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a question ended."""

    question: Question
    outcome: Outcome
    scope: Scope
    by: str
    at: float
    note: str = ""


Approver = Callable[[Question], Approval | Awaitable[Approval]]


class Approvals:
    """The questions of one runtime. Everything but a plain approver happens in the event loop."""

    def __init__(
        self,
        emit: Callable[[ApprovalAsked | ApprovalAnswered], None] = lambda event: None,
        *,
        approver: Approver | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.approver = approver
        self._emit = emit
        self._clock = clock
        self._pending: dict[str, _Pending] = {}
        self._over: deque[Verdict] = deque(maxlen=_REMEMBERED)
        self._clients: list[str] = []

    @property
    def is_anybody_there(self) -> bool:
        """Tell whether somebody could answer."""
        return self.approver is not None or bool(self._clients)

    @contextlib.contextmanager
    def client(self, name: str) -> Iterator[None]:
        """Count as somebody who can answer, for as long as the context is open."""
        self._clients.append(name)
        try:
            yield
        finally:
            self._clients.remove(name)

    def pending(self) -> list[Question]:
        """Return the questions that wait for an answer, the oldest first."""
        return [pending.question for pending in self._pending.values()]

    def history(self) -> list[Verdict]:
        """Return the questions that are over, the newest first."""
        return list(reversed(self._over))

    def find(self, question_id: str) -> Question:
        """Return a question that waits for an answer. Raises ApprovalNotFound or AlreadyAnswered."""
        pending = self._pending.get(question_id)
        if pending is None:
            for verdict in self._over:
                if verdict.question.id == question_id:
                    raise AlreadyAnswered(question_id, verdict.outcome, verdict.by)
            raise ApprovalNotFound(question_id, list(self._pending))
        return pending.question

    def answer(self, question_id: str, answer: Approval) -> Verdict:
        """Approval a question. The first answer counts: a later one raises AlreadyAnswered."""
        question = self.find(question_id)
        _check(question, answer)
        note = answer.note[:_MAX_NOTE]
        return self._end(question_id, answer.answer, _scope_of(answer), answer.by or "somebody", note)

    async def ask(self, question: Question, timeout_s: float | None = None) -> Verdict:
        """Ask, and wait until the question is over. Cancelling withdraws it."""
        loop = asyncio.get_running_loop()
        pending = _Pending(question, loop.create_future())
        self._pending[question.id] = pending
        timer = None
        if timeout_s is not None:
            timer = loop.call_later(timeout_s, self._end_if_open, question.id, "timeout")
        helper = loop.create_task(self._ask_approver(question)) if self.approver is not None else None
        try:
            self._emit(_asked(question))
            return await asyncio.shield(pending.over)
        finally:
            self._end_if_open(question.id, "cancelled")
            if timer is not None:
                timer.cancel()
            if helper is not None:
                helper.cancel()
                await asyncio.wait({helper})

    def withdraw(self, *, session: str | None = None, terminal: str | None = None) -> int:
        """Withdraw the questions of a session or a terminal that has ended; tell how many there were."""
        wanted = [
            each.id
            for each in self.pending()
            if (session is not None and each.session == session) or (terminal is not None and each.terminal == terminal)
        ]
        for question_id in wanted:
            self._end_if_open(question_id, "cancelled")
        return len(wanted)

    def close(self) -> None:
        """Withdraw all questions."""
        for question_id in list(self._pending):
            self._end_if_open(question_id, "cancelled")

    def _end_if_open(self, question_id: str, outcome: Outcome) -> None:
        if question_id in self._pending:
            self._end(question_id, outcome, Scope.ONCE, _NOBODY)

    def _end(self, question_id: str, outcome: Outcome, scope: Scope, by: str, note: str = "") -> Verdict:
        pending = self._pending.pop(question_id)
        verdict = Verdict(pending.question, outcome, scope, by, self._clock(), note)
        self._over.append(verdict)
        pending.over.set_result(verdict)
        self._emit(ApprovalAnswered(question_id, outcome, scope.value, by))
        return verdict

    async def _ask_approver(self, question: Question) -> None:
        assert self.approver is not None
        approver = self.approver
        try:
            if inspect.iscoroutinefunction(approver) or inspect.iscoroutinefunction(type(approver).__call__):
                said = await approver(question)  # type: ignore[misc]
            else:
                said = await _in_thread(approver, question)
                if inspect.isawaitable(said):
                    said = await said
            if question.id in self._pending:
                self.answer(question.id, said)
        except Exception as exc:  # whatever somebody else's code does wrong, it has not said yes
            logging.getLogger("hermitty.approvals").warning("the approver failed: %r", exc)
            if question.id in self._pending:
                self._end(question.id, "deny", Scope.ONCE, "the approver", f"the approver failed: {exc!r}"[:_MAX_NOTE])


@dataclass(slots=True)
class _Pending:
    question: Question
    over: asyncio.Future[Verdict]


def new_question_id() -> str:
    """Make an id that nobody guesses."""
    return f"q_{secrets.token_hex(8)}"


def parsed_answer(
    answer: object, *, scope: object = None, typed: object = None, by: str = "", note: object = None
) -> Approval:
    """Make an answer of what came through a door, or raise InvalidRequest."""
    if answer not in get_args(Reply):
        raise InvalidRequest(f"answer must be allow, deny or skip, not {str(answer)[:80]!r}")
    if scope is not None and scope not in tuple(Scope):
        raise InvalidRequest(f"scope must be {', '.join(Scope)}, not {str(scope)[:80]!r}")
    for name, value in (("typed", typed), ("note", note)):
        if value is not None and not isinstance(value, str):
            raise InvalidRequest(f"{name} must be a text")
    return Approval(
        answer,  # type: ignore[arg-type]
        Scope(str(scope)) if scope is not None else Scope.ONCE,
        typed if isinstance(typed, str) else None,
        by,
        note if isinstance(note, str) else "",
    )


def _check(question: Question, answer: Approval) -> None:
    """Raise InvalidRequest for an answer that this question cannot have; it stays open."""
    if not isinstance(answer, Approval) or answer.answer not in get_args(Reply):
        raise InvalidRequest("an answer is allow, deny or skip")
    if answer.answer == "skip":
        return
    if answer.answer == "allow" and question.confirmation is not None:
        typed = (answer.typed or "").strip()
        if typed not in (question.confirmation, question.line.strip()):
            raise InvalidRequest(
                f"this command is blocked; to run it once all the same, type exactly: {question.confirmation}"
            )
    if answer.scope not in question.scopes:
        there = ", ".join(question.scopes)
        raise InvalidRequest(f"an answer to this question can count for: {there}; not for {answer.scope}")


def _scope_of(answer: Approval) -> Scope:
    return Scope.ONCE if answer.answer == "skip" else answer.scope


def _asked(question: Question) -> ApprovalAsked:
    return ApprovalAsked(
        question.id,
        question.command,
        question.cwd,
        question.level,
        question.effects,
        question.reasons,
        question.session,
        question.terminal,
        question.origin,
        question.expires_at,
    )


async def _in_thread(approver: Approver, question: Question) -> Approval | Awaitable[Approval]:
    """Call a plain function, which may block. A thread that nobody waits for any more keeps nobody from ending."""
    loop = asyncio.get_running_loop()
    came: asyncio.Future[Approval | Awaitable[Approval]] = loop.create_future()

    def tell(said: Approval | Awaitable[Approval] | None, problem: Exception | None) -> None:
        if came.done():
            return
        if problem is not None:
            came.set_exception(problem)
        elif said is not None:
            came.set_result(said)
        else:
            came.set_exception(TypeError("the approver returned None"))

    def call() -> None:
        said, problem = None, None
        try:
            said = approver(question)
        except Exception as exc:  # told to whoever waits
            problem = exc
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(tell, said, problem)

    threading.Thread(target=call, name=f"approver {question.id}", daemon=True).start()
    return await came
