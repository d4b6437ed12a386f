"""Questions to people, rules, and the record of who allowed what."""

from typing import TYPE_CHECKING

from hermitty.server import decision_replies, requests
from hermitty.server.routing import Call
from hermitty.server.views import question_of, verdict_of

if TYPE_CHECKING:
    from hermitty.runtime.rules import Rule


async def list_approvals(call: Call[None, requests.ApprovalsQuery]) -> decision_replies.Approvals:
    """List the questions that wait for an answer."""
    approvals = call.parts.runtime.gate.approvals
    history = [verdict_of(each) for each in approvals.history()] if call.query.history else None
    return decision_replies.Approvals(approvals=[question_of(each) for each in approvals.pending()], history=history)


async def show_approval(call: Call[None, None]) -> decision_replies.Question:
    """Look at a question that waits for an answer."""
    return question_of(call.parts.runtime.gate.approvals.find(call.path("id")))


async def answer_approval(call: Call[requests.AnswerApproval, None]) -> decision_replies.Verdict:
    """Answer a question. The first answer counts."""
    from hermitty.runtime.approvals import parsed_answer

    body = call.body
    answer = parsed_answer(body.answer, scope=body.scope, typed=body.typed, by=call.access.name, note=body.note)
    return verdict_of(call.parts.runtime.gate.approvals.answer(call.path("id"), answer))


async def list_rules(call: Call[None, requests.RulesQuery]) -> decision_replies.Rules:
    """List the rules that count."""
    rules, query = call.parts.runtime.gate.rules, call.query
    return decision_replies.Rules(
        rules=[_rule(rule) for rule in rules.listed(session=query.session, workspace=query.workspace)],
        problems=rules.problems(workspace=query.workspace),
    )


async def delete_rule(call: Call[None, requests.RulesQuery]) -> None:
    """Forget a rule."""
    _delete(call, call.path("id"), call.query)


async def delete_rule_by_query(call: Call[None, requests.DeleteRuleQuery]) -> None:
    """Forget a rule."""
    _delete(call, call.query.id, call.query)


async def list_audit(call: Call[None, requests.AuditQuery]) -> decision_replies.Audit:
    """List what was decided about commands, and by whom."""
    import asyncio

    from hermitty.runtime.audit import read_audit

    session = call.query.session
    entries = await asyncio.to_thread(
        read_audit,
        call.parts.audit_file,
        limit=call.query.limit,
        wanted=lambda record: session is None or record.get("session") == session,
    )
    return decision_replies.Audit(entries=entries)


def _delete(call: "Call[None, object]", rule_id: str, query: requests.RulesQuery) -> None:
    call.parts.runtime.gate.rules.remove(rule_id, session=query.session, workspace=query.workspace)
    call.parts.feed.publish("rules_changed", {"removed": rule_id})


def _rule(rule: "Rule") -> decision_replies.Rule:
    from hermitty.runtime.rules import table_of

    return decision_replies.Rule(
        id=rule.id,
        decision=rule.decision.value,
        command=list(rule.command),
        layer=rule.layer.label,
        origin=rule.origin,
        reason=rule.reason,
        expires_at=rule.expires_at,
        rule=table_of(rule),
    )
