"""What a runtime leaves to the next one beside its terminals: sessions, results, and questions that wait.

Everything is stored when it happens, so that it does not matter how this process ends.
"""

import json
import math
import time
from collections.abc import Iterator, MutableMapping
from dataclasses import replace

from hermitty.model import CommandResult, State, new_command_id
from hermitty.runtime.approvals import Question
from hermitty.runtime.requests import RunRequest
from hermitty.runtime.state.questions import PendingQuestion, decode, encode
from hermitty.runtime.state.store import StateStore
from hermitty.wire.records import result_of_dict, result_to_dict, to_json


class SessionDirectories(MutableMapping[str, str]):
    """Where each session began."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._known = store.sessions()

    def __getitem__(self, session: str) -> str:
        return self._known[session]

    def __setitem__(self, session: str, directory: str) -> None:
        self._known[session] = directory
        self._store.begin_session(session, directory)

    def __delitem__(self, session: str) -> None:
        del self._known[session]
        self._store.end_session(session)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class KeptResults:
    """The results of commands, also of those that a process before this one ran."""

    def __init__(self, store: StateStore) -> None:
        self._store = store

    def put(self, result: CommandResult) -> None:
        """Keep a result as it stands."""
        ended_at = time.time() if result.state.is_final else math.inf
        self._store.put_result(result.id, to_json(result_to_dict(result)).encode(), ended_at)

    def get(self, command_id: str) -> CommandResult | None:
        """Return the result of a command, if it is kept."""
        data = self._store.result(command_id)
        return None if data is None else result_of_dict(json.loads(data))

    def give_up(self, alive: set[str]) -> list[CommandResult]:
        """End what was running when an earlier process ended, and did not live on; return what became of it."""
        lost = []
        for data in self._store.unfinished():
            result = result_of_dict(json.loads(data))
            if result.id not in alive:
                why = "the process that ran this command has ended; what became of the command is not known"
                lost.append(replace(result, state=State.LOST, warnings=[*result.warnings, why]))
                self.put(lost[-1])
        return lost


class KeptQuestions:
    """The questions that wait, with the requests behind them."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._again: dict[str, Question] = {}
        self._is_leaving = False

    def asked(self, question: Question, request: RunRequest, terminal: str | None) -> None:
        """Keep a question that is asked."""
        kept = request if request.command_id else replace(request, command_id=new_command_id())
        self._store.put_question(question.id, encode(PendingQuestion(question, kept, terminal)))

    def over(self, question: Question) -> None:
        """Forget a question that is over, unless that is because this process ends."""
        if not self._is_leaving:
            self._store.drop_question(question.id)

    def leave(self) -> None:
        """Keep what waits for the next process."""
        self._is_leaving = True

    def left(self) -> list[PendingQuestion]:
        """Return the questions that an earlier process left. What cannot be read is forgotten."""
        found = []
        for question_id, record in self._store.question_records():
            pending = decode(record)
            if isinstance(pending, PendingQuestion) and pending.request.command_id is not None:
                self._again[pending.request.command_id] = pending.question
                found.append(pending)
            else:
                self._store.drop_question(question_id)
        return found

    def again(self, request: RunRequest) -> Question | None:
        """Return the question that was asked about a request before; this is the second time."""
        return self._again.pop(request.command_id, None) if request.command_id else None


class Survival:
    """Everything of it."""

    def __init__(self, store: StateStore) -> None:
        self.store = store
        self.sessions = SessionDirectories(store)
        self.results = KeptResults(store)
        self.questions = KeptQuestions(store)

    def close(self) -> None:
        """Store what waits to be stored. Nothing is from then on."""
        self.store.close()
