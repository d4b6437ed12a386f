"""Commands on their way: while a call waits for one, and after the call has left it behind.

A command may wait for a person, or for a free terminal, for longer than a call may take. Its flight goes on then, and
is found again by the command's id. A call that is cancelled cancels its flight.

A server that ends answers whoever waits (`stop_waiting`), and hands the flights on to an owner who outlives it: the
runtime decides then whether their commands go on.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from hermitty.adapters.mcp.terminals import Consent
from hermitty.errors import HermittyError
from hermitty.events import ApprovalAnswered, ApprovalAsked, Event
from hermitty.runtime.approvals import Approval, Scope

if TYPE_CHECKING:
    from hermitty.runtime.api import Runtime

T = TypeVar("T")

# Takes what is on its way when the server ends.
Keep = Callable[["asyncio.Task[Any]"], None]

# How many flights are remembered that ended after their call had left.
_MOST_LEFT_BEHIND = 200

# Whose command is judged. Tasks inherit it, and a question is told in the task that asks it.
_current: "ContextVar[Flight | None]" = ContextVar("flight", default=None)


@dataclass(slots=True, eq=False)
class Flight:
    """One command on its way."""

    consent: Consent | None
    task: "asyncio.Task[Any]"
    question: str | None = None  # that it waits for


class Flights:
    """The commands of one server. What a person said in a client's form answers the question about that command."""

    def __init__(self, runtime: "Runtime", *, keep: Keep | None = None) -> None:
        self._runtime = runtime
        self._keep = keep
        self._stopping: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._flights: dict[str, Flight] = {}
        self._running: set[asyncio.Task[Any]] = set()
        self._stop = runtime.subscribe(self._on_event)

    @property
    def is_stopping(self) -> bool:
        """Tell whether nobody may wait any more."""
        return self._stopping.done()

    def stop_waiting(self) -> None:
        """Let every call answer with what is known now. From here on nobody's leaving cancels a flight."""
        if not self._stopping.done():
            self._stopping.set_result(None)

    def find(self, command_id: str) -> Flight | None:
        """Return the flight of a command that no call waits for any more, if it is one of ours."""
        return self._flights.get(command_id)

    def depart(self, work: Coroutine[Any, Any, T], consent: Consent | None) -> Flight:
        """Start something that may ask a question."""
        task = asyncio.get_running_loop().create_task(self._fly(work))
        flight = Flight(consent, task)
        # The task has not begun: it looks for its flight when it does.
        self._flights[task.get_name()] = flight
        self._running.add(task)
        task.add_done_callback(self._landed)
        return flight

    async def arrive(self, flight: Flight, timeout_s: float) -> bool:
        """Wait for the end of a flight, and tell whether it came. Cancelling cancels the flight."""
        try:
            return await self.arrived(flight.task, timeout_s)
        except asyncio.CancelledError:
            if not self.is_stopping:
                flight.task.cancel()
            raise

    async def arrived(self, task: "asyncio.Task[Any]", timeout_s: float | None) -> bool:
        """Wait for a task as long as calls may wait, and tell whether it is over. Cancelling leaves it alone."""
        await asyncio.wait({task, self._stopping}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        return task.done()

    def leave_behind(self, flight: Flight, command_id: str) -> None:
        """Keep a flight that no call waits for, to be found by its command."""
        self._flights[command_id] = flight
        over = [each for each, known in self._flights.items() if known.task.done()]
        for old in over[:-_MOST_LEFT_BEHIND]:
            del self._flights[old]

    async def aclose(self) -> None:
        """Cancel what is on its way, or hand it on."""
        self.stop_waiting()
        self._stop()
        if self._keep is not None:
            for task in tuple(self._running):
                self._keep(task)
            return
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)

    async def _fly(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        _current.set(self._flights.pop(task.get_name()))
        return await work

    def _landed(self, task: "asyncio.Task[Any]") -> None:
        self._running.discard(task)
        self._flights.pop(task.get_name(), None)
        if not task.cancelled():
            task.exception()  # whoever waits is told; nobody may be left who does

    def _on_event(self, event: Event) -> None:
        flight = _current.get()
        if flight is None:
            return
        if isinstance(event, ApprovalAsked):
            flight.question = event.approval
            self._answer(flight, event.approval)
        elif isinstance(event, ApprovalAnswered) and flight.question == event.approval:
            flight.question = None

    def _answer(self, flight: Flight, question_id: str) -> None:
        consent, flight.consent = flight.consent, None  # it counts for one question
        approvals = self._runtime.gate.approvals
        question = approvals.find(question_id)
        if consent is None or question.decision == "block" or question.line != consent.line:
            return
        if consent.allow and question.cwd != consent.cwd:
            return  # the person saw another place: this is a question of its own
        scope = Scope(consent.scope) if consent.scope in tuple(question.scopes) else Scope.ONCE
        answer = Approval("allow" if consent.allow else "deny", scope, by=consent.by, note=consent.note)
        try:
            approvals.answer(question_id, answer)
        except HermittyError:  # somebody else was quicker
            return
