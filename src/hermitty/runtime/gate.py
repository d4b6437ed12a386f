"""The gate in front of every command: judged, ruled, asked about if need be, recorded.

    permit = await gate.check("npm test", shell="bash", cwd="/proj", workspace="/proj", session="fix-42", terminal="t1")
    ...                                  # run exactly permit.command
    problem = gate.verify(permit, line_that_the_shell_reports)

What is judged, shown, approved and run is the same text. A terminal whose names may mean something else (an alias, a
function, another PATH) gets nothing without a question until it is reset.
"""

import asyncio
import contextlib
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Protocol

from hermitty.config import PolicySettings
from hermitty.errors import AlreadyAnswered, ApprovalTimeout, CommandDenied, CommandSkipped, HermittyError
from hermitty.policy.check import canonical_shell, examine
from hermitty.policy.context import Surroundings
from hermitty.policy.decision import Decision, ruled
from hermitty.policy.judged import JudgedLine
from hermitty.policy.modes import Ask, Refuse, Run, plan
from hermitty.policy.plain_words import in_plain_words
from hermitty.policy.rule import Action, Rule, Scope
from hermitty.policy.rules import Says
from hermitty.policy.sanity import visible
from hermitty.policy.suggesting import suggested_rule
from hermitty.runtime.approvals import Approval, Approvals, Question, Reply, Verdict, new_question_id
from hermitty.runtime.audit import Audit, AuditEntry
from hermitty.runtime.checking import with_rules
from hermitty.runtime.history.masking import mask_secrets
from hermitty.runtime.places import Places
from hermitty.runtime.rules import RuleStore, user_rules_file
from hermitty.runtime.taints import Taints

# Longer lines are confirmed with a phrase.
_TYPED_CHARACTERS = 80
_PHRASE = "run this dangerous command"

_HOW_TO_ALLOW = (
    "and nobody is here to ask. Pass an approver, answer it in a client, allow it with `hermitty rules add`, "
    "or turn the policy off with policy.mode"
)


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to run one command, as it was judged. `how` says what decided."""

    command: str
    decision: Decision
    how: Literal["safe", "rule", "mode", "sandbox", "answer", "caller"]
    request: "Request"
    question: str | None = None
    by: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants to run, and where. Paths are absolute; `workspace` is the root of the project."""

    command: str | tuple[str, ...]
    shell: str
    cwd: str | None = None
    workspace: str | None = None
    home: str | None = None
    session: str | None = None
    terminal: str | None = None
    origin: str = "agent"
    confined_to: str | None = None  # the directory that a sandbox keeps it in, if that can be relied upon

    @property
    def line(self) -> str:
        """Return the command as one text."""
        return self.command if isinstance(self.command, str) else shlex.join(self.command)


class Watch(Protocol):
    """Somebody who keeps questions as long as they wait."""

    def asked(self, question: Question) -> None:
        """A question waits from now on."""

    def over(self, question: Question) -> None:
        """It does not any more."""


class Gate:
    """Decides about commands. One for each runtime; everything happens in its event loop.

    `own_places` are files and directories that no command changes without a question, whatever the rules say, and
    `secrets` directories that none reads without one. With
    `trusts_caller` and nobody there to ask, what would be asked about runs: the program that calls answers for it.
    """

    def __init__(
        self,
        rules: RuleStore,
        approvals: Approvals,
        audit: Audit,
        settings: Callable[[], PolicySettings],
        *,
        taints: Taints | None = None,
        own_places: Sequence[str] = (),
        trusts_caller: bool = False,
        secrets: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.rules = rules
        self.approvals = approvals
        self.audit = audit
        self.taints = taints or Taints()
        self._settings = settings
        self._own_places = tuple(own_places)
        self._secrets = tuple(secrets)
        self.trusts_caller = trusts_caller
        self._clock = clock
        # What waits for an answer, and could be allowed by a rule that is made meanwhile.
        self._waiting: dict[str, tuple[Request, JudgedLine]] = {}

    @classmethod
    def at(
        cls,
        places: Places,
        settings: Callable[[], PolicySettings],
        approvals: Approvals,
        taints: Taints | None = None,
        *,
        trusts_caller: bool = False,
    ) -> "Gate":
        """Make the gate of this user, with the user's rules and audit."""
        own = [places.config_file, user_rules_file(places), places.state]
        return cls(
            RuleStore.at(places),
            approvals,
            Audit(places.audit_file),
            settings,
            taints=taints,
            own_places=[str(place) for place in own if place is not None and str(place) != os.devnull],
            trusts_caller=trusts_caller,
            # Who can read the token of the server can answer its questions.
            secrets=[os.path.normpath(places.state)] if str(places.state) != os.devnull else (),
        )

    async def check(
        self,
        command: str | Sequence[str],
        *,
        shell: str = "sh",
        cwd: str | None = None,
        workspace: str | None = None,
        home: str | None = None,
        env: Mapping[str, str] | None = None,
        session: str | None = None,
        terminal: str | None = None,
        origin: str = "agent",
        watch: "Watch | None" = None,
        again: Question | None = None,
        confined_to: str | None = None,
    ) -> Permit:
        """Return a permit, or raise CommandDenied, ApprovalTimeout (one of these) or CommandSkipped.

        A sequence of words is a program with exactly these arguments. `env` are variables set for this command.
        Cancelling withdraws the question. `watch` is told when a question is asked and when it is over. A question that
        an earlier process asked is asked `again`, under its own name, and for the rest of its time.
        """
        words = command if isinstance(command, str) else tuple(command)
        request = Request(words, canonical_shell(shell), cwd, workspace, home, session, terminal, origin, confined_to)
        settings = self._settings()
        decision, line = self._examined(request, env)
        ruling = self.rules.rules(session=session, workspace=workspace).judge(line, self._clock())
        taint = self.taints.of(terminal) if terminal is not None else None
        chosen = plan(settings, line, decision.level, ruling, taint, self._own_places, confined_to)
        # In mode off nobody asked for the rules.
        decision = decision if settings.mode == "off" else ruled(decision, ruling)
        match chosen:
            case Run(how):
                if not self.trusts_caller:  # else nobody decided anything; the history has the command
                    self._record(request, decision, "allow", how)
                return self._permitted(Permit(request.line, decision, how, request), line)
            case Refuse(reason):
                self._record(request, decision, "deny", "rule")
                raise CommandDenied(request.line, reason, level=decision.level.label, rule=decision.rule)
            case Ask() if self.trusts_caller and not chosen.is_block and not self.approvals.is_anybody_there:
                return self._permitted(Permit(request.line, decision, "caller", request), line)
            case Ask():
                return await self._ask(request, decision, line, chosen, settings, watch, again)

    def decide(
        self,
        command: str | Sequence[str],
        *,
        shell: str = "sh",
        cwd: str | None = None,
        workspace: str | None = None,
        home: str | None = None,
        session: str | None = None,
    ) -> Decision:
        """Say what the policy and the rules make of a command, without running or asking anything."""
        words = command if isinstance(command, str) else tuple(command)
        request = Request(words, canonical_shell(shell), cwd, workspace, home, session)
        decision, line = self._examined(request, None)
        return with_rules(decision, line, self.rules.rules(session=session, workspace=workspace), self._clock())

    def entered(self, permit: Permit, terminal: str) -> None:
        """Note that a permitted command is about to run in a terminal: it may change what names mean there."""
        self.taints.note(terminal, self._examined(permit.request, None)[1])

    def verify(self, permit: Permit | str, reported: str) -> str | None:
        """Compare what was approved with what the shell says it runs; say what is wrong, or return None.

        After a mismatch the terminal counts as tainted. The caller kills the command.
        """
        approved = permit if isinstance(permit, str) else permit.command
        if _comparable(approved) == _comparable(reported):
            return None
        shown = visible(reported)[:200]
        problem = f"the shell runs something else than what was approved: {mask_secrets(shown)!r}"
        if isinstance(permit, Permit):
            if permit.request.terminal is not None:
                self.taints.add(permit.request.terminal, "it ran something else than what was approved")
            request = replace(permit.request, command=reported)
            self._record(request, permit.decision, "mismatch", "execution")
        return problem

    async def _ask(
        self,
        request: Request,
        decision: Decision,
        line: JudgedLine,
        ask: Ask,
        settings: PolicySettings,
        watch: "Watch | None",
        again: Question | None,
    ) -> Permit:
        level = decision.level.label
        if not self.approvals.is_anybody_there:
            self._record(request, decision, "deny", "policy")
            why = "; ".join(part for part in (ask.reason, *decision.reasons[:3]) if part) or "it needs an approval"
            what = "it is blocked" if ask.is_block else "it needs an approval"
            raise CommandDenied(request.line, f"{what} ({why}), {_HOW_TO_ALLOW}", level=level, rule=decision.rule)
        question = self._question(request, decision, line, ask, settings.question_timeout_s)
        timeout_s = settings.question_timeout_s
        if again is not None:
            question = replace(question, id=again.id, asked_at=again.asked_at, expires_at=again.expires_at)
            timeout_s = None if again.expires_at is None else max(0.0, again.expires_at - self._clock())
        if watch is not None:
            watch.asked(question)
        if not ask.only_once:
            self._waiting[question.id] = request, line
        try:
            verdict = await self.approvals.ask(question, timeout_s)
        except asyncio.CancelledError:
            self._record(request, decision, "cancelled", "answer", question=question.id)
            raise
        finally:
            self._waiting.pop(question.id, None)
            if watch is not None:
                watch.over(question)
        self._record(request, decision, verdict.outcome, "answer", verdict=verdict)
        match verdict.outcome:
            case "allow":
                warnings = self._remember(request, question, verdict)
                permit = Permit(
                    request.line, decision, "answer", request, question.id, verdict.by, warnings=tuple(warnings)
                )
                return self._permitted(permit, line)
            case "skip":
                raise CommandSkipped(request.line, verdict.by, verdict.note or None)
            case "timeout":
                raise ApprovalTimeout(request.line, settings.question_timeout_s or 0.0, level=level)
            case "deny":
                self._remember(request, question, verdict)
                note = f": {verdict.note}" if verdict.note else ""
                raise CommandDenied(request.line, f"{verdict.by} said no{note}", level=level, by=verdict.by)
            case "cancelled":
                raise CommandDenied(request.line, "the question was withdrawn", level=level)

    def _question(
        self, request: Request, decision: Decision, line: JudgedLine, ask: Ask, timeout_s: float | None
    ) -> Question:
        now = self._clock()
        suggested = None if ask.only_once or mask_secrets(request.line) != request.line else suggested_rule(line)
        return Question(
            id=new_question_id(),
            line=request.line,
            command=visible(request.line),
            cwd=None if request.cwd is None else visible(request.cwd),
            shell=request.shell,
            decision="block" if ask.is_block else "ask",
            level=decision.level.label,
            effects=in_plain_words(decision.effects),
            # Files and directories may be called anything, as may what programs are given.
            reasons=tuple(dict.fromkeys(visible(part) for part in (ask.reason, *decision.reasons) if part)),
            scopes=_scopes(request, suggested),
            suggested_rule=suggested,
            confirmation=_confirmation(request.line) if ask.is_block else None,
            session=request.session,
            workspace=request.workspace,
            terminal=request.terminal,
            origin=request.origin,
            asked_at=now,
            expires_at=None if timeout_s is None else now + timeout_s,
        )

    def _remember(self, request: Request, question: Question, verdict: Verdict) -> list[str]:
        """Keep the answer as a rule, if it counts for more than once. What cannot be kept is told."""
        rule = question.suggested_rule
        if verdict.scope is Scope.ONCE or rule is None:
            return []
        if verdict.outcome == "deny":
            rule = Rule(Action.DENY, rule.command, exact=rule.exact, shells=rule.shells, cwd=rule.cwd)
        kept = replace(rule, id="", reason=f"answered by {verdict.by}")
        try:
            self.rules.add(kept, verdict.scope, session=request.session, workspace=request.workspace)
        except HermittyError as error:
            return [f"the answer could not be remembered: {error}"]
        self._answer_by_rules()
        return []

    def _answer_by_rules(self) -> None:
        """Approval questions that a new rule has made superfluous."""
        for question_id, (request, line) in list(self._waiting.items()):
            rules = self.rules.rules(session=request.session, workspace=request.workspace)
            ruling = rules.judge(line, self._clock())
            if ruling.rule is not None and ruling.says in (Says.ALLOW, Says.DENY):
                reply: Reply = "allow" if ruling.says is Says.ALLOW else "deny"
                with contextlib.suppress(AlreadyAnswered):  # its task has not run since
                    self.approvals.answer(question_id, Approval(reply, by=f"rule {ruling.rule.id}"))

    def _examined(self, request: Request, env: Mapping[str, str] | None) -> tuple[Decision, JudgedLine]:
        home = request.home or _own_home()
        here = Surroundings(request.cwd, request.workspace, home, request.shell, self._secrets)
        return _remembered(request.command, request.shell, here, frozenset(env.items()) if env else None)

    def _permitted(self, permit: Permit, line: JudgedLine) -> Permit:
        terminal = permit.request.terminal
        if terminal is not None:
            self.taints.note(terminal, line)
        return permit

    def _record(
        self,
        request: Request,
        decision: Decision,
        outcome: str,
        how: str,
        *,
        verdict: Verdict | None = None,
        question: str | None = None,
    ) -> None:
        self.audit.record(
            AuditEntry(
                command=request.line,
                outcome=outcome,
                how=how,
                decision=decision.decision,
                level=decision.level.label,
                cwd=request.cwd,
                shell=request.shell,
                effects=tuple(effect.value for effect in decision.effects),
                reasons=decision.reasons,
                rule=decision.rule,
                session=request.session,
                terminal=request.terminal,
                origin=request.origin,
                question=verdict.question.id if verdict else question,
                scope=verdict.scope.value if verdict else None,
                by=verdict.by if verdict else None,
                at=self._clock(),
            )
        )


@lru_cache(maxsize=256)
def _remembered(
    command: str | tuple[str, ...], shell: str, here: Surroundings, env: frozenset[tuple[str, str]] | None
) -> tuple[Decision, JudgedLine]:
    """Judge a command. Agents repeat themselves, and the same command in the same place is judged alike."""
    return examine(command, shell, here, environment=dict(env) if env else None)


def _own_home() -> str | None:
    home = os.environ.get("HOME") or os.path.expanduser("~")
    return os.path.normpath(home) if os.path.isabs(home) else None


def _scopes(request: Request, suggested: Rule | None) -> tuple[Scope, ...]:
    if suggested is None:
        return (Scope.ONCE,)
    scopes = [Scope.ONCE]
    if request.session is not None:
        scopes.append(Scope.SESSION)
    if request.workspace is not None:
        scopes.append(Scope.WORKSPACE)
    return (*scopes, Scope.USER)


def _confirmation(line: str) -> str:
    """Return what has to be typed to run a blocked line: the line itself, if a person can type it."""
    is_short = len(line) <= _TYPED_CHARACTERS and line.isprintable() and line.isascii() and line == line.strip()
    return line if is_short else _PHRASE


def _comparable(line: str) -> str:
    """Return a line as shells report it: without blanks around it, and with bytes that were no text replaced."""
    text = line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text.replace("\r\n", "\n").strip(" \t\n")
