"""Questions of an agent, answered by our policy, our rules and our people.

A command is judged like any other: what is safe or allowed by a rule is answered at once, the rest is asked about where
hermitty always asks. Anything else that an agent wants to do is asked about each time. The answer is always
an option that the agent offered, chosen by its kind. "Allow always" is never chosen: what a person allows for longer
is a rule of ours, which can be seen and taken back, and answers the next time.
"""

import json
import os
import re
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
_GRANTS = 100

# Shells that run a line, by their language: a line of one may be another command to the other.
_SHELLS = {"bash": "posix", "sh": "posix", "dash": "posix", "zsh": "zsh", "fish": "fish"}
# Where a program called like a shell is one. Any other directory may be the agent's.
_SYSTEM = frozenset({"/bin", "/usr/bin", "/usr/local/bin"})
# Words that every shell reads as they stand. With `=` in front of it, a line would set a variable instead.
_PROGRAM = re.compile(r"[A-Za-z0-9_./+-]+")
_PLAIN = re.compile(r"[A-Za-z0-9_./+:,@-][A-Za-z0-9_./+:,@=-]*")

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
        turn = self.grants.turn(session)
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
            self.grants.add(session, command, where, Approval("allow", by=permit.by or "somebody"), turn)
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

    A grant is for one run of this very command in this directory, by a terminal that sets no variables, in the turn
    in which the agent asked.
    """

    def __init__(self) -> None:
        self._given: OrderedDict[_Run, Approval] = OrderedDict()
        self._turns: dict[str, object] = {}

    def turn(self, session: str) -> object:
        """Return what stands for the present turn of a session, to be passed to `add`."""
        return self._turns.setdefault(session, object())

    def add(self, session: str, command: str | Sequence[str], cwd: str, approval: Approval, turn: object) -> None:
        """Note what was allowed, unless the turn in which it was asked about is over."""
        if self._turns.get(session) is not turn:
            return
        self._given[_run(session, command, cwd)] = approval
        if len(self._given) > _GRANTS:
            self._given.popitem(last=False)

    def take(self, session: str, command: str | Sequence[str], cwd: str) -> Approval | None:
        """Return a grant, and forget it."""
        return self._given.pop(_run(session, command, cwd), None)

    def forget(self, session: str) -> None:
        """Forget the grants of a session, also those for questions that still wait: a turn begins or is over."""
        self._turns.pop(session, None)
        for run in [run for run in self._given if run.session == session]:
            del self._given[run]


@dataclass(frozen=True, slots=True)
class _Run:
    """What a person said yes to. The directory is what was read, and what it stood for then."""

    session: str
    command: tuple[str, ...]
    cwd: str
    real_cwd: str


def _run(session: str, command: str | Sequence[str], cwd: str) -> _Run:
    try:
        real = os.path.realpath(cwd)
    except ValueError:  # no path at all, so nothing will run there
        real = cwd
    return _Run(session, meaning(command), cwd, real)


@dataclass(frozen=True, slots=True)
class _Leave:
    session: str
    line: str
    approval: Approval


_granted: ContextVar[_Leave | None] = ContextVar("hermitty_acp_granted", default=None)


@contextmanager
def granted(session: str, command: str | Sequence[str], approval: Approval | None) -> Iterator[None]:
    """Let the question about this command be answered by what a person has said already."""
    line = command if isinstance(command, str) else shlex.join(command)
    token = _granted.set(None if approval is None else _Leave(session, line, approval))
    try:
        yield
    finally:
        _granted.reset(token)


def with_grants(approver: AsyncApprover) -> AsyncApprover:
    """Return an approver that asks nobody twice. A block is never lifted so: that takes what is typed."""

    async def approve(question: Question) -> Approval:
        leave = _granted.get()
        # Whatever is started in the context of a run has its leave in sight, and may have other questions.
        is_meant = leave is not None and (question.session, question.line) == (leave.session, leave.line)
        if leave is not None and is_meant and question.decision != "block":
            return leave.approval
        return await approver(question)

    return approve


def essence(command: str | Sequence[str]) -> str:
    """Return a command as a line to show; one that only tells a shell of the system to run a line is that line."""
    if isinstance(command, str):
        return command
    return command[2] if _language(command) is not None else shlex.join(command)


def meaning(command: str | Sequence[str]) -> tuple[str, ...]:
    """Return what is equal for two commands only if they run the same: a line and its language, or exact words.

    Words are the same as a line if no shell could read that line in another way.
    """
    if isinstance(command, str):
        return ("posix", command)
    if (language := _language(command)) is not None:
        return (language, command[2])
    if _PROGRAM.fullmatch(command[0]) and all(map(_PLAIN.fullmatch, command[1:])):
        return ("posix", " ".join(command))
    return ("words", *command)


def _language(words: Sequence[str]) -> str | None:
    """Return the language of a shell that is told to run a line and nothing else; None for any other command."""
    # A line that looks like an option would be read as one.
    if len(words) != 3 or words[1] not in ("-c", "-lc") or words[2].startswith(("-", "+")):
        return None
    directory, slash, name = words[0].rpartition("/")
    return _SHELLS.get(name) if not slash or directory in _SYSTEM else None


def _directory(raw_input: object, cwd: str) -> str:
    given = raw_input.get("cwd") if isinstance(raw_input, Mapping) else None
    if not isinstance(given, str) or not given:
        return cwd
    return given if os.path.isabs(given) else os.path.normpath(os.path.join(cwd, given))


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
