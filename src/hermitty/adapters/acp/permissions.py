"""Questions of an agent, answered by our policy, our rules and our people.

A command is judged like any other: what is safe or allowed by a rule is answered at once, the rest is asked about where
hermitty always asks. Anything else that an agent wants to do is asked about each time. The answer is always
an option that the agent offered, chosen by its kind. "Allow always" is never chosen: what a person allows for longer
is a rule of ours, which can be seen and taken back, and answers the next time.
"""

import json
import os
import shlex
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from hermitty.adapters.acp.updates import ToolCall
from hermitty.errors import CommandDenied, CommandSkipped
from hermitty.runtime.api import Runtime
from hermitty.runtime.approvals import Approval, Question, Scope, new_question_id
from hermitty.runtime.audit import AuditEntry
from hermitty.runtime.checking import visible

ORIGIN = "acp"
_DETAIL_CHARACTERS = 8000
_SHELLS = {"bash", "sh", "zsh", "dash", "fish"}
_GRANTS = 100

AsyncApprover = Callable[[Question], Awaitable[Approval]]


@dataclass(frozen=True, slots=True)
class Option:
    """One of the answers that an agent offers."""

    id: str
    name: str
    kind: str


def options_of(raw: object) -> list[Option]:
    """Return the options in a request, those that can be understood."""
    found = []
    for each in raw if isinstance(raw, list) else ():
        match each:
            case {"optionId": str(option_id), "kind": str(kind)}:
                found.append(Option(option_id, str(each.get("name", "")), kind))
    return found


def chosen(options: Sequence[Option], *, allow: bool) -> str | None:
    """Return the id of the option that says so, or None: the agent offers no such answer."""
    for kind in ("allow_once",) if allow else ("reject_once", "reject_always"):
        for option in options:
            if option.kind == kind:
                return option.id
    return None


class Permissions:
    """Decides about what agents ask for."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.grants = Grants()

    async def decide(self, session: str, cwd: str, call: ToolCall) -> bool:
        """Tell whether a tool call may happen. Cancelling withdraws the question."""
        command = call.command
        if command is None:
            return await self._asked_about(session, cwd, call)
        where = _directory(call.raw_input, cwd)
        try:
            permit = await self._runtime.gate.check(
                command,
                shell="bash",
                cwd=where,
                workspace=cwd if cwd != os.sep else None,
                session=session,
                origin=ORIGIN,
            )
        except (CommandDenied, CommandSkipped):
            return False
        if permit.how == "caller":  # the agent wants a person to decide, and there is none
            return False
        if permit.how == "answer":
            self.grants.add(session, command, where, Approval("allow", by=permit.by or "somebody"))
        return True

    async def _asked_about(self, session: str, cwd: str, call: ToolCall) -> bool:
        """Ask a person about something that is no command."""
        policy = self._runtime.settings.policy
        if policy.mode == "off":
            return True
        gate = self._runtime.gate
        text = _described(call)
        if not gate.approvals.is_anybody_there:
            gate.audit.record(_entry(text, cwd, session, "deny", "policy"))
            return False
        timeout_s = policy.question_timeout_s
        now = time.time()
        question = Question(
            id=new_question_id(),
            line=text,
            command=visible(text),
            cwd=cwd,
            shell="sh",
            decision="ask",
            level="medium",
            effects=(),
            reasons=(f"the agent asks before it goes on; nothing is known about this but what it says ({call.kind})",),
            scopes=(Scope.ONCE,),
            suggested_rule=None,
            confirmation=None,
            session=session,
            workspace=None,
            terminal=None,
            origin=ORIGIN,
            asked_at=now,
            expires_at=None if timeout_s is None else now + timeout_s,
        )
        verdict = await gate.approvals.ask(question, timeout_s)
        gate.audit.record(_entry(text, cwd, session, verdict.outcome, "answer", by=verdict.by, question=question.id))
        return verdict.outcome == "allow"


class Grants:
    """What people allowed just now when the agent asked, so that the same command is not asked about twice.

    A grant is for one run of this very command in this directory, by a terminal that sets no variables.
    """

    def __init__(self) -> None:
        self._given: OrderedDict[tuple[str, str, str], Approval] = OrderedDict()

    def add(self, session: str, command: str | Sequence[str], cwd: str, approval: Approval) -> None:
        """Note what was allowed."""
        self._given[session, essence(command), cwd] = approval
        if len(self._given) > _GRANTS:
            self._given.popitem(last=False)

    def take(self, session: str, command: str | Sequence[str], cwd: str) -> Approval | None:
        """Return a grant, and forget it."""
        return self._given.pop((session, essence(command), cwd), None)

    def forget(self, session: str) -> None:
        """Forget the grants of a session."""
        for key in [key for key in self._given if key[0] == session]:
            del self._given[key]


_granted: ContextVar[Approval | None] = ContextVar("hermitty_acp_granted", default=None)


@contextmanager
def granted(approval: Approval | None) -> Iterator[None]:
    """Let questions that are asked in this context be answered by what a person has said already."""
    token = _granted.set(approval)
    try:
        yield
    finally:
        _granted.reset(token)


def with_grants(approver: AsyncApprover) -> AsyncApprover:
    """Return an approver that asks nobody twice. A block is never lifted so: that takes what is typed."""

    async def approve(question: Question) -> Approval:
        said = _granted.get()
        return said if said is not None and question.decision != "block" else await approver(question)

    return approve


def essence(command: str | Sequence[str]) -> str:
    """Return a command as a line; one that only tells a shell to run a line is that line."""
    if isinstance(command, str):
        return command
    words = tuple(command)
    if len(words) == 3 and os.path.basename(words[0]) in _SHELLS and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)


def _directory(raw_input: object, cwd: str) -> str:
    given = raw_input.get("cwd") if isinstance(raw_input, Mapping) else None
    return given if isinstance(given, str) and os.path.isabs(given) else cwd


def _described(call: ToolCall) -> str:
    lines = [f"{call.kind}: {call.title or call.id}", *call.paths]
    if call.raw_input is not None:
        detail = json.dumps(call.raw_input, ensure_ascii=False, indent=1)
        if len(detail) > _DETAIL_CHARACTERS:
            detail = f"{detail[:_DETAIL_CHARACTERS]}\n... and {len(detail) - _DETAIL_CHARACTERS} more characters"
        lines.append(detail)
    return "\n".join(lines)


def _entry(
    text: str, cwd: str, session: str, outcome: str, how: str, *, by: str | None = None, question: str | None = None
) -> AuditEntry:
    return AuditEntry(
        text, outcome, how, "ask", "medium", cwd=cwd, session=session, origin=ORIGIN, by=by, question=question,
        at=time.time(),
    )  # fmt: skip
