"""What a runtime knows, as the server's answers have it. The one place that looks into terminals and commands."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, UnsetType

from hermitty.errors import HermittyError
from hermitty.model import CommandResult
from hermitty.runtime.api import Command, Runtime, Terminal
from hermitty.server import decision_replies, replies

if TYPE_CHECKING:
    from hermitty.runtime.api import Effective
    from hermitty.runtime.approvals import Question, Verdict
    from hermitty.runtime.commands import Known

# Ids of terminals that are gone; an older one counts as never known.
_GONE_REMEMBERED = 10_000


class Views:
    """The terminals of one runtime as others see them; knows which ones there were."""

    def __init__(self, runtime: Runtime, viewers: Callable[[str], int]) -> None:
        self._runtime = runtime
        self._viewers = viewers
        self._gone: OrderedDict[str, None] = OrderedDict()

    def ended(self, terminal_id: str) -> None:
        """Note that a terminal is gone."""
        self._gone[terminal_id] = None
        if len(self._gone) > _GONE_REMEMBERED:
            self._gone.popitem(last=False)

    def was_there(self, terminal_id: str) -> bool:
        """Tell whether there was such a terminal."""
        return terminal_id in self._gone

    def terminal(self, terminal: Terminal) -> replies.Terminal:
        """Describe a terminal."""
        info = self._runtime.info(terminal.id)
        size = terminal.size
        current, last = terminal.current, terminal.last
        return replies.Terminal(
            id=terminal.id,
            number=info.number,
            name=info.name,
            workspace=info.workspace,
            session=info.session,
            kind="agent" if info.session is not None else "user" if info.is_kept else "system",
            provider="pty",
            shell=terminal.shell,
            cwd=terminal.cwd,
            cols=size.cols,
            rows=size.rows,
            pid=terminal.pty.pid,
            quality=terminal.quality.value,
            state="exited" if not terminal.is_open else "running" if terminal.is_busy else "idle",
            command=_running(current),
            last=None if last is None else _last(last),
            title=_title(terminal),
            offset=terminal.log.end,
            start=terminal.log.start,
            opened_at=info.opened_at or None,
            paused_by=terminal.paused_by,
            viewers=self._viewers(terminal.id),
            sandbox=None if terminal.sandbox is None else _mode(terminal.sandbox.mode),
            sandbox_effective=_sandbox(terminal.sandbox_effective),
        )

    def terminals(self, *, workspace: str | None = None, session: str | None = None) -> list[replies.Terminal]:
        """Describe the terminals that are open: all, or those of a workspace or a session."""
        found = self._runtime.terminals(workspace=workspace, session=session)
        return [self.terminal(terminal) for terminal in found]


def _mode(mode: str) -> Literal["workspace", "strict"]:
    return "strict" if mode == "strict" else "workspace"


def _sandbox(effective: "Effective | None") -> replies.SandboxEffective | UnsetType:
    if effective is None:
        return UNSET
    return replies.SandboxEffective(
        mode=_mode(effective.mode),
        mechanism=effective.mechanism,
        network=effective.network,
        weaker=effective.is_weaker,
        enforced=dict(effective.enforced),
        not_enforced=[replies.NotEnforced(what=what, why=why) for what, why in effective.not_enforced],
    )


def result_of(result: CommandResult) -> replies.CommandResult:
    """Describe the result of a command."""
    asked = result.needs_input
    return replies.CommandResult(
        id=result.id,
        command=result.command,
        session=result.session,
        terminal=result.terminal,
        provider=result.provider,
        shell=result.shell,
        state=result.state.value,
        exit_code=result.exit_code,
        signal=result.signal,
        quality=result.quality.value,
        text=result.text,
        truncated=result.truncated,
        omitted_bytes=result.omitted_bytes,
        total_bytes=result.total_bytes,
        artifact=result.artifact,
        stdout=result.stdout,
        stderr=result.stderr,
        cwd=result.cwd,
        duration_s=result.duration_s,
        needs_input=None
        if asked is None
        else replies.NeedsInput(prompt=asked.prompt, secret=asked.secret, how=asked.how),
        warnings=result.warnings,
        sandbox=UNSET if result.sandbox is None else result.sandbox,
    )


def command_of(known: "Known") -> replies.Command:
    """Describe a command without its output."""
    handle = known.handle
    source: Literal["agent", "user"] = "agent"
    if isinstance(handle, Command):
        source = "user" if handle.origin == "user" else "agent"
        line, state, exit_code, duration_s = handle.line or "", handle.state.value, handle.exit_code, handle.duration_s
    else:
        result = handle.result()
        line, state = result.command, result.state.value
        exit_code, duration_s = result.exit_code, result.duration_s
    return replies.Command(
        id=handle.id,
        command=line,
        terminal=known.terminal,
        session=known.session,
        workspace=known.workspace,
        source=source,
        state=state,
        exit_code=exit_code,
        started_at=known.started_at,
        duration_s=duration_s,
    )


def question_of(question: "Question") -> decision_replies.Question:
    """Describe a question to a person."""
    from hermitty.runtime.rules import table_of

    rule = question.suggested_rule
    return decision_replies.Question(
        id=question.id,
        command=question.command,
        line=question.line,
        cwd=question.cwd,
        shell=question.shell,
        decision=question.decision,
        level=question.level,
        effects=list(question.effects),
        reasons=list(question.reasons),
        scopes=[scope.value for scope in question.scopes],
        suggested_rule=None if rule is None else table_of(rule),
        confirmation=question.confirmation,
        session=question.session,
        workspace=question.workspace,
        terminal=question.terminal,
        origin=question.origin,
        asked_at=question.asked_at,
        expires_at=question.expires_at,
    )


def verdict_of(verdict: "Verdict") -> decision_replies.Verdict:
    """Describe how a question ended."""
    return decision_replies.Verdict(
        question=question_of(verdict.question),
        outcome=verdict.outcome,
        scope=verdict.scope.value,
        by=verdict.by,
        at=verdict.at,
        note=verdict.note,
    )


def _running(command: Command | None) -> replies.RunningCommand | None:
    if command is None or command.origin == "internal" or not command.is_sent:
        return None
    return replies.RunningCommand(
        id=command.id,
        command=command.line,
        source="user" if command.origin == "user" else "agent",
        started_at=round(time.time() - command.duration_s, 3),
    )


def _last(command: Command) -> replies.LastCommand:
    return replies.LastCommand(
        id=command.id,
        command=command.line,
        exit_code=command.exit_code,
        state=command.state.value,
        duration_s=command.duration_s,
    )


def _title(terminal: Terminal) -> str:
    try:
        return terminal.screen.title
    except HermittyError:  # a terminal that has ended has no screen any more
        return ""
