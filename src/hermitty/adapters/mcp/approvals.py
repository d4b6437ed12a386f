"""Questions about commands, asked in a form of the client.

The question is foreseen before the command is sent, because a client of the newer protocol answers it with a second
request; the same function runs again then, and changes nothing. What the person said goes with the command and answers
the question that the gate really asks, if it is the same. A block is never lifted by a form: that takes a typed
confirmation, on hermitty's page or its command line.

A client that has no forms is not asked. The question then waits for the page of a server, or is answered with no.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from mcp.server.mcpserver import (
    AcceptedElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    Elicit,
    ElicitationResult,
)
from pydantic import BaseModel, Field

from hermitty.adapters.mcp.clients import AnyContext, can_elicit, client_name
from hermitty.adapters.mcp.terminals import Consent, Line, Terminals
from hermitty.adapters.mcp.texts import question_text
from hermitty.errors import HermittyError
from hermitty.runtime.approvals import Approval, Question

Scope = Literal["once", "session", "workspace", "user"]

_SCOPES: dict[str, Scope] = {
    "allow_once": "once",
    "allow_session": "session",
    "allow_workspace": "workspace",
    "allow_always": "user",
}


class OnceForm(BaseModel):
    """An answer that counts for this time."""

    answer: Literal["allow_once", "reject"] = Field(description="May it run?")
    note: str = Field(default="", description="What the agent should know, if anything.")


class RuleForm(BaseModel):
    """An answer that may be kept as a rule: for the session, the project or always."""

    answer: Literal["allow_once", "allow_session", "allow_workspace", "allow_always", "reject"] = Field(
        description="May it run, and what does the answer count for?"
    )
    note: str = Field(default="", description="What the agent should know, if anything.")


Said = ElicitationResult[Any]
# Asks about a line; None when there is nothing to ask, or nobody to ask this way.
Asks = Callable[[Line, AnyContext], Awaitable[Elicit[Any] | None]]


def asking(terminals: Terminals) -> Asks:
    """Make the function that finds out what to ask a client."""

    async def ask(line: Line, ctx: AnyContext) -> Elicit[Any] | None:
        if not can_elicit(ctx):
            return None
        try:
            question = terminals.foresee(line)
        except HermittyError:  # whatever is wrong with the command is told when it is sent
            return None
        if question is None or question.decision == "block":
            return None
        return Elicit(question_text(question), RuleForm if len(question.scopes) > 1 else OnceForm)

    return ask


def consent_of(said: Said, command: str, ctx: AnyContext) -> Consent | None:
    """Return what a person said about a command, None if nobody was asked."""
    by = f"mcp client {client_name(ctx)}"
    match said:
        case AcceptedElicitation(data=None):
            return None
        case AcceptedElicitation(data=OnceForm() | RuleForm() as form):
            allow = form.answer != "reject"
            return Consent(command, allow, _SCOPES.get(form.answer, "once"), by, form.note)
        case DeclinedElicitation():
            return Consent(command, False, "once", by)
        case CancelledElicitation():
            return Consent(command, False, "once", by, "the question was dismissed without an answer")
    return None


async def refuse(question: Question) -> Approval:
    """Answer no, with what would allow it: the approver of a runtime that nobody else can be asked for."""
    why = "; ".join(question.reasons[:3]) or "it needs an approval"
    if question.decision == "block":
        how = "it is blocked, which only a person can lift, by typing a confirmation in `hermitty run`"
    else:
        how = (
            "it needs an approval, and this MCP client did not ask anybody. A person can allow it: with "
            "`hermitty rules add`, on the page of `hermitty serve`, with the setting policy.mode, or in a client that "
            "supports elicitation"
        )
    return Approval("deny", by="hermitty mcp", note=f"{why}; {how}")
