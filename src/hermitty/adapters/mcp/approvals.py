"""Questions about commands, asked in a form of the client.

The question is foreseen before the command is sent, because a client of the newer protocol answers it with a second
request; the same function runs again then, and changes nothing. What the person said goes with the command and answers
the question that the gate really asks, if it is about the same command in the same directory. A block is never lifted
by a form: that takes a typed confirmation, on hermitty's page or its command line.

A client that has no forms is not asked, nor one whose token is not for answering. The question then waits for the page
of a server, or is answered with no.
"""

from typing import Any, Literal

from mcp.server.mcpserver import (
    AcceptedElicitation,
    CancelledElicitation,
    DeclinedElicitation,
    Elicit,
    ElicitationResult,
)
from pydantic import BaseModel, Field

from hermitty.adapters.mcp.clients import AnyContext, can_elicit, client_name, is_legacy, may_answer
from hermitty.adapters.mcp.terminals import Consent, Line, Terminals
from hermitty.adapters.mcp.texts import question_text
from hermitty.errors import HermittyError, InvalidRequest
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


class Asking:
    """Asks the clients of a server about commands."""

    def __init__(self, terminals: Terminals) -> None:
        self._terminals = terminals

    def foresee(self, line: Line, ctx: AnyContext) -> Question | None:
        """Return what to ask a client; None when there is nothing to ask, or nobody to ask this way."""
        if not can_elicit(ctx):
            return None
        try:
            question = self._terminals.foresee(line)
        except HermittyError:  # whatever is wrong with the command is told when it is sent
            return None
        return None if question is None or question.decision == "block" else question

    async def consent(self, line: Line, asked: Question | None, said: Said, ctx: AnyContext) -> Consent | None:
        """Return what a person said when they were asked, None if nobody was.

        In the older protocol the call goes on when the person has answered, however long that takes. If the command
        would run elsewhere by then, they are asked again. (In the newer one, the question was foreseen just now.)
        """
        consent = _consent(said, asked, ctx)
        while is_legacy(ctx) and consent is not None and consent.allow:
            now = self.foresee(line, ctx)
            if now is None or now.cwd == consent.cwd:
                break
            try:
                said = await ctx.elicit(question_text(now), form_of(now))
            except ValueError as exc:
                raise InvalidRequest("the form was not filled in as it says") from exc
            consent = _consent(said, now, ctx)
        return consent


def ask(question: Question | None) -> Elicit[Any] | None:
    """Return what is sent to a client."""
    return None if question is None else Elicit(question_text(question), form_of(question))


def form_of(question: Question) -> type[OnceForm | RuleForm]:
    """Return the form for the answers that a question can have."""
    return RuleForm if len(question.scopes) > 1 else OnceForm


def _consent(said: Said, question: Question | None, ctx: AnyContext) -> Consent | None:
    if question is None or not may_answer(ctx):
        return None
    line, cwd, by = question.line, question.cwd, f"mcp client {client_name(ctx)}"
    match said:
        case AcceptedElicitation(data=None):
            return None
        case AcceptedElicitation(data=OnceForm() | RuleForm() as form):
            allow = form.answer != "reject"
            return Consent(line, cwd, allow, _SCOPES.get(form.answer, "once"), by, form.note)
        case DeclinedElicitation():
            return Consent(line, cwd, False, "once", by)
        case CancelledElicitation():
            return Consent(line, cwd, False, "once", by, "the question was dismissed without an answer")
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
