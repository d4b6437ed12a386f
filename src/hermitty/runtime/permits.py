"""Leave to run a command: the policy, when there is one, before anything is started.

The policy is loaded with the first command that needs it; a runtime whose mode is `off` never does.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hermitty.config import Settings
from hermitty.engine.command import Command
from hermitty.engine.terminal import Terminal
from hermitty.paths import canonical
from hermitty.runtime.confining import Confining
from hermitty.runtime.requests import RunRequest

if TYPE_CHECKING:
    from hermitty.runtime.approvals import Question
    from hermitty.runtime.gate import Gate, Permit
    from hermitty.runtime.surviving import KeptQuestions


class Permits:
    """Asks the gate of one runtime."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        make_gate: "Callable[[], Gate]",
        questions: "KeptQuestions | None" = None,
        confining: Confining | None = None,
    ) -> None:
        self._settings = settings
        self._confining = confining or Confining(settings)
        self._make_gate = make_gate
        self._questions = questions
        self._gate: Gate | None = None

    @property
    def gate(self) -> "Gate":
        """Return the gate; the first use makes it."""
        if self._gate is None:
            self._gate = self._make_gate()
        return self._gate

    async def ask(
        self,
        request: RunRequest,
        *,
        cwd: str,
        shell: str | None,
        terminal: Terminal | None = None,
        confined_to: str | None = None,
    ) -> "Permit | None":
        """Return leave to run a request there; None without a policy. Raises CommandDenied or CommandSkipped."""
        if self._settings().policy.mode == "off":
            return None
        if terminal is not None:
            confined_to = self._confining.trusted_root(terminal)
        return await self.gate.check(
            request.command,
            shell=os.path.basename(shell or "sh"),
            cwd=cwd,
            workspace=request.root(cwd),
            env=request.env or None,
            session=request.session,
            terminal=terminal.id if terminal is not None else None,
            watch=self._watch(request, terminal),
            again=self._questions.again(request) if self._questions is not None else None,
            confined_to=confined_to,
        )

    def _watch(self, request: RunRequest, terminal: Terminal | None) -> "_Watch | None":
        if self._questions is None:
            return None
        return _Watch(self._questions, request, terminal.id if terminal is not None else None)

    async def ask_there(self, permit: "Permit | None", request: RunRequest, terminal: Terminal) -> "Permit | None":
        """Ask once more for a terminal that is elsewhere by now, or in which names may mean something else."""
        while permit is not None:
            is_as_foreseen = permit.how != "sandbox" or self._confining.trusted_root(terminal) is not None
            is_answered = permit.how == "answer" or (self.gate.taints.of(terminal.id) is None and is_as_foreseen)
            if is_answered and _is_there(permit, terminal):
                self.gate.entered(permit, terminal.id)
                return permit
            cwd = terminal.cwd or permit.request.cwd or "/"
            permit = await self.ask(request, cwd=cwd, shell=terminal.shell, terminal=terminal)
            if _is_there(permit, terminal):
                return permit
        return None

    def verifies(self, permit: "Permit | None") -> bool:
        """Tell whether the shell has to confirm the line: not to a program that is trusted with its own commands."""
        return permit is not None and not self.gate.trusts_caller

    def verify(self, permit: "Permit | None", command: Command) -> None:
        """Note it when the shell ran another line than the one that was approved."""
        if permit is not None and command.mismatch is not None:
            self.gate.verify(permit, command.mismatch)

    def forget_terminal(self, terminal_id: str) -> None:
        """Forget a terminal that is gone, and withdraw the questions about it."""
        if self._gate is not None:
            self._gate.taints.reset(terminal_id)
            self._gate.approvals.withdraw(terminal=terminal_id)

    def forget_session(self, session: str) -> None:
        """Forget the rules of a session that is over, and withdraw its questions."""
        if self._gate is not None:
            self._gate.rules.forget_session(session)
            self._gate.approvals.withdraw(session=session)

    def leave(self) -> None:
        """Leave the questions that wait to another process, if that is possible."""
        if self._questions is not None:
            self._questions.leave()

    def close(self) -> None:
        """Withdraw every question."""
        if self._gate is not None:
            self._gate.approvals.close()


@dataclass(frozen=True, slots=True)
class _Watch:
    """Keeps the questions about one request."""

    questions: "KeptQuestions"
    request: RunRequest
    terminal: str | None

    def asked(self, question: "Question") -> None:
        """Keep it."""
        self.questions.asked(question, self.request, self.terminal)

    def over(self, question: "Question") -> None:
        """Forget it."""
        self.questions.over(question)


def _is_there(permit: "Permit | None", terminal: Terminal) -> bool:
    """Tell whether a terminal is in the directory that was asked about."""
    asked = None if permit is None else permit.request.cwd
    return asked is None or terminal.cwd in (None, asked) or canonical(terminal.cwd or "") == canonical(asked)


def decided(permit: "Permit | None") -> tuple[str, str | None] | None:
    """Return what the history keeps of a permit: who decided, and by which rule."""
    return None if permit is None else (permit.how, permit.decision.rule)
