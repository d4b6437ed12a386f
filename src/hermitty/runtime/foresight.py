"""What a person would be asked about a command, found out without asking.

For doors that have to show the question before the command is sent, such as MCP since 2026: a client answers it in a
second request. The gate judges again when the command is really sent; this only says what it would say now.
"""

from typing import TYPE_CHECKING

from hermitty.policy.check import canonical_shell
from hermitty.policy.decision import ruled
from hermitty.policy.modes import Ask, plan
from hermitty.runtime.gate import Request
from hermitty.runtime.requests import RunRequest

if TYPE_CHECKING:
    from hermitty.runtime.approvals import Question
    from hermitty.runtime.gate import Gate
    from hermitty.runtime.runtime import Runtime


def foresee(runtime: "Runtime", wanted: RunRequest, *, terminal_id: str | None = None) -> "Question | None":
    """Return the question that sending this command would ask now; None if it would be run or refused without one."""
    if runtime.settings.policy.mode == "off":
        return None
    wanted.check()
    if terminal_id is not None:
        terminal = runtime.terminal(terminal_id)
        cwd, shell = terminal.cwd or runtime._registry.path(".", None), terminal.shell
        confined_to = runtime.confining.trusted_root(terminal)
    else:
        cwd = runtime._registry.path(runtime._runner.directory(wanted), wanted.session)
        shell = runtime._registry.shell(wanted.shell)
        confined_to = None  # which terminal it gets is not known yet; at worst there is a question too many
    command = wanted.command if isinstance(wanted.command, str) else tuple(wanted.command)
    request = Request(
        command,
        canonical_shell(shell.rpartition("/")[2]),
        cwd,
        wanted.root(cwd),
        session=wanted.session,
        terminal=terminal_id,
        confined_to=confined_to,
    )
    return question_of(runtime.gate, request, dict(wanted.env) or None)


def question_of(gate: "Gate", request: Request, env: dict[str, str] | None = None) -> "Question | None":
    """Return the question that the gate would ask about a request."""
    settings = gate._settings()
    decision, line = gate._examined(request, env)
    ruling = gate.rules.rules(session=request.session, workspace=request.workspace).judge(line, gate._clock())
    taint = gate.taints.of(request.terminal) if request.terminal is not None else None
    chosen = plan(settings, line, decision.level, ruling, taint, gate._own_places, request.confined_to)
    if not isinstance(chosen, Ask):
        return None
    decision = decision if settings.mode == "off" else ruled(decision, ruling)
    return gate._question(request, decision, line, chosen, settings.question_timeout_s)
