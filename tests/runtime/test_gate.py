"""The gate: what runs, what is asked, what is remembered and what is recorded. Nothing is executed here."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from hermitty.config import PolicySettings
from hermitty.errors import ApprovalTimeout, CommandDenied, CommandSkipped
from hermitty.events import ApprovalAnswered, ApprovalAsked
from hermitty.policy.rule import Action, Rule, words_of
from hermitty.runtime.approvals import Approval, Approvals, Question, Scope
from hermitty.runtime.audit import Audit, read_audit
from hermitty.runtime.gate import Gate, Permit
from hermitty.runtime.places import Places
from hermitty.runtime.rules import RuleStore
from tests.support.shells import PATIENCE_S


@dataclass
class Bench:
    """A gate with a person in front of it who says what the test wants, and notes what was asked."""

    gate: Gate
    root: str
    settings: PolicySettings = field(default_factory=PolicySettings)
    says: Callable[[Question], Approval] = lambda question: Approval("deny", by="Ann")
    asked: list[Question] = field(default_factory=list)
    events: list[ApprovalAsked | ApprovalAnswered] = field(default_factory=list)

    async def approver(self, question: Question) -> Approval:
        self.asked.append(question)
        return self.says(question)

    def turn(self, **values: Any) -> None:
        self.settings = replace(self.settings, **values)

    def answer(self, reply: Any, scope: Scope = Scope.ONCE, **more: Any) -> None:
        self.says = lambda question: Approval(reply, scope, by="Ann", **more)

    async def check(self, command: str | list[str], **more: Any) -> Permit:
        given = {"shell": "bash", "cwd": self.root, "workspace": self.root, "session": "fix", "terminal": "t_1", **more}
        return await self.gate.check(command, **given)

    def repository_says(self, text: str) -> None:
        Path(self.root, ".hermitty.toml").write_text(text)

    def recorded(self) -> list[dict[str, Any]]:
        return read_audit(self.gate.audit.path)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root = tmp_path / "proj"
    root.mkdir()
    store = RuleStore(user_file=tmp_path / "config" / "rules.toml", workspaces=tmp_path / "state" / "rules")
    audit = Audit(tmp_path / "state" / "audit.jsonl")
    approvals = Approvals()
    made = Bench(Gate(store, approvals, audit, lambda: made.settings), str(root))
    made.gate.approvals = Approvals(made.events.append, approver=made.approver)
    return made


def without_people(bench: Bench) -> Bench:
    bench.gate.approvals = Approvals(bench.events.append)
    return bench


def rule(decision: str, command: str, **more: object) -> Rule:
    return Rule(Action(decision), words_of(command), **more)  # type: ignore[arg-type]


async def until(fact: Callable[[], object]) -> None:
    """Let other tasks go on until something is so."""
    async with asyncio.timeout(PATIENCE_S):
        while not fact():
            await asyncio.sleep(0)


async def test_what_is_safe_runs_without_a_question(bench: Bench) -> None:
    permit = await bench.check("ls -l | wc -l")
    assert (permit.command, permit.how, permit.question) == ("ls -l | wc -l", "safe", None)
    assert bench.asked == []
    (record,) = bench.recorded()
    assert (record["outcome"], record["how"], record["decision"], record["level"]) == ("allow", "safe", "allow", "low")
    assert (record["command"], record["cwd"], record["session"]) == ("ls -l | wc -l", bench.root, "fix")


async def test_a_person_says_yes(bench: Bench) -> None:
    bench.answer("allow")
    permit = await bench.check("some-tool x")
    assert (permit.how, permit.by, permit.question) == ("answer", "Ann", bench.asked[0].id)
    (record,) = bench.recorded()
    assert (record["outcome"], record["how"], record["by"], record["question"]) == (
        "allow",
        "answer",
        "Ann",
        permit.question,
    )
    assert [type(event) for event in bench.events] == [ApprovalAsked, ApprovalAnswered]


async def test_a_person_says_no(bench: Bench) -> None:
    bench.answer("deny", note="not today")
    with pytest.raises(CommandDenied, match="not allowed: Ann said no: not today") as caught:
        await bench.check("some-tool x")
    assert (caught.value.command, caught.value.by, caught.value.level) == ("some-tool x", "Ann", "medium")
    assert bench.recorded()[0]["outcome"] == "deny"


async def test_a_person_skips_it(bench: Bench) -> None:
    bench.answer("skip")
    with pytest.raises(CommandSkipped, match="Ann chose to skip this command; go on without it"):
        await bench.check("some-tool x")
    assert bench.recorded()[0]["outcome"] == "skip"


async def test_nobody_answers_in_time_which_means_no(bench: Bench) -> None:
    bench.turn(question_timeout_s=0.0)
    without_people(bench)
    with bench.gate.approvals.client("web"), pytest.raises(ApprovalTimeout, match="nobody answered") as caught:
        await bench.check("some-tool x")
    assert isinstance(caught.value, CommandDenied)
    assert bench.recorded()[0]["outcome"] == "timeout"


async def test_whoever_asks_leaves(bench: Bench) -> None:
    without_people(bench)
    with bench.gate.approvals.client("web"):
        task = asyncio.ensure_future(bench.check("some-tool x"))
        await until(bench.gate.approvals.pending)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert bench.gate.approvals.pending() == []
    assert bench.recorded()[0]["outcome"] == "cancelled"


async def test_the_session_ends_while_a_question_waits(bench: Bench) -> None:
    without_people(bench)
    with bench.gate.approvals.client("web"):
        task = asyncio.ensure_future(bench.check("some-tool x"))
        await until(bench.gate.approvals.pending)
        bench.gate.approvals.withdraw(session="fix")
        with pytest.raises(CommandDenied, match="withdrawn"):
            await task


async def test_the_question_shows_everything(bench: Bench) -> None:
    line = "curl x | sh\nrm -rf build"
    with pytest.raises(CommandDenied):
        await bench.check(line, origin="mcp")
    (question,) = bench.asked
    assert question.line == question.command == line
    assert (question.cwd, question.shell, question.level, question.decision) == (bench.root, "bash", "critical", "ask")
    assert (question.session, question.terminal, question.origin) == ("fix", "t_1", "mcp")
    assert "deletes files" in question.effects
    assert "deletes files recursively without asking" in question.reasons
    assert question.expires_at == question.asked_at + 300.0
    assert question.confirmation is None


async def test_control_characters_are_shown(bench: Bench) -> None:
    bench.answer("allow")
    permit = await bench.check("ls \x1b[2J\u202e")
    assert bench.asked[0].command == "ls \\x1b[2J\\u202e"
    # What runs is what was given.
    assert permit.command == bench.asked[0].line == "ls \x1b[2J\u202e"


async def test_without_anybody_to_ask_the_reason_says_how_to_allow_it(bench: Bench) -> None:
    without_people(bench)
    with pytest.raises(CommandDenied) as caught:
        await bench.check("some-tool x")
    for text in ("what some-tool does is not known", "approver", "hermitty rules add", "policy.mode"):
        assert text in str(caught.value)
    with pytest.raises(CommandDenied, match="it is blocked"):
        await bench.check("rm -rf /")
    assert (await bench.check("ls")).how == "safe"
    assert [record["how"] for record in bench.recorded()] == ["safe", "policy", "policy"]


@pytest.mark.parametrize("mode", ["ask_always", "normal", "trust_workspace", "off"])
async def test_a_block_holds_in_every_mode_unless_it_is_typed(bench: Bench, mode: str) -> None:
    bench.turn(mode=mode, confirm_dangerous=False)
    bench.gate.rules.add(rule("allow", "*"), Scope.USER)
    bench.answer("allow")
    with pytest.raises(CommandDenied, match="type exactly: rm -rf /"):
        await bench.check("rm -rf /")
    assert bench.asked[0].confirmation == "rm -rf /"
    assert bench.asked[0].scopes == (Scope.ONCE,)
    bench.answer("allow", typed="rm -rf /")
    assert (await bench.check("rm -rf /")).how == "answer"
    # For that one line, once.
    bench.answer("allow")
    with pytest.raises(CommandDenied):
        await bench.check("rm -rf /")


async def test_a_long_or_strange_block_is_confirmed_with_a_phrase(bench: Bench) -> None:
    line = "rm -rf /" + " x" * 100
    bench.answer("allow", typed="run this dangerous command")
    assert (await bench.check(line)).how == "answer"
    assert bench.asked[0].confirmation == "run this dangerous command"
    bench.answer("allow", typed=line)
    assert (await bench.check(line)).how == "answer"


async def test_off_asks_about_nothing_but_blocks(bench: Bench) -> None:
    bench.turn(mode="off")
    bench.gate.rules.add(rule("deny", "some-tool"), Scope.USER)
    without_people(bench)
    for line in ("some-tool x", "rm -rf build", "ls '", "alias ls=x", "ls"):
        assert (await bench.check(line)).how == "mode"
    with pytest.raises(CommandDenied, match="it is blocked"):
        await bench.check("rm -rf ~")


async def test_always_for_a_session_is_for_that_session(bench: Bench) -> None:
    bench.answer("allow", Scope.SESSION)
    assert (await bench.check("npm test")).how == "answer"
    permit = await bench.check("npm test")
    assert permit.how == "rule"
    assert permit.decision.rule is not None
    assert len(bench.asked) == 1
    assert (await bench.check("npm test", session="other")).how == "answer"
    assert (await bench.check("npm run build")).how == "answer"
    assert len(bench.asked) == 3
    bench.gate.rules.forget_session("fix")
    assert (await bench.check("npm test")).how == "answer"


@pytest.mark.parametrize("scope", [Scope.WORKSPACE, Scope.USER])
async def test_always_for_longer_counts_in_every_session(bench: Bench, scope: Scope, tmp_path: Path) -> None:
    bench.answer("allow", scope)
    assert (await bench.check("npm test")).how == "answer"
    assert (await bench.check("npm test", session="other", terminal="t_2")).how == "rule"
    (kept,) = bench.gate.rules.listed(workspace=bench.root)
    assert (kept.command, kept.cwd, kept.reason) == (("npm", "test"), bench.root, "answered by Ann")
    assert kept.counter_examples
    # Another directory is another question.
    other = str(tmp_path / "other")
    assert (await bench.check("npm test", cwd=other, workspace=other)).how == "answer"


async def test_never_for_a_session(bench: Bench) -> None:
    bench.answer("deny", Scope.SESSION)
    with pytest.raises(CommandDenied, match="Ann said no"):
        await bench.check("npm test")
    with pytest.raises(CommandDenied, match="a rule denies it"):
        await bench.check("ls && npm test -- -x")
    assert len(bench.asked) == 1


async def test_what_can_run_anything_is_allowed_once_only(bench: Bench) -> None:
    for line in ("python x.py", "rm x", "npm test > y", "npm test $(other)", "sudo npm test", "npm test && other"):
        with pytest.raises(CommandDenied):
            await bench.check(line)
    assert {question.scopes for question in bench.asked} == {(Scope.ONCE,)}
    assert {question.suggested_rule for question in bench.asked} == {None}


async def test_a_line_with_a_secret_is_not_remembered(bench: Bench) -> None:
    bench.answer("allow")
    await bench.check("some-tool --password hunter2")
    assert bench.asked[0].scopes == (Scope.ONCE,)
    assert "hunter2" not in bench.gate.audit.path.read_text()


async def test_scopes_need_what_they_are_about(bench: Bench) -> None:
    bench.answer("allow")
    await bench.check("npm test", session=None, workspace=None)
    assert bench.asked[0].scopes == (Scope.ONCE, Scope.USER)
    await bench.check("npm test")
    assert bench.asked[1].scopes == (Scope.ONCE, Scope.SESSION, Scope.WORKSPACE, Scope.USER)


async def test_an_answer_that_cannot_be_kept_counts_once_and_is_told(bench: Bench) -> None:
    bench.gate.rules = RuleStore(user_file=None, workspaces=Path(bench.root) / "rules")
    bench.answer("allow", Scope.USER)
    permit = await bench.check("npm test")
    assert permit.how == "answer"
    assert "could not be remembered" in permit.warnings[0]


async def test_one_answer_for_many_that_ask_the_same(bench: Bench) -> None:
    without_people(bench)
    approvals = bench.gate.approvals
    with approvals.client("web"):
        tasks = [asyncio.ensure_future(bench.check("npm test")) for _ in range(5)]
        other = asyncio.ensure_future(bench.check("npm test", session="other"))
        await until(lambda: len(approvals.pending()) == 6)
        approvals.answer(approvals.pending()[2].id, Approval("allow", Scope.SESSION, by="Ann"))
        permits = await asyncio.gather(*tasks)
        assert [question.session for question in approvals.pending()] == ["other"]
        approvals.answer(approvals.pending()[0].id, Approval("deny"))
        with pytest.raises(CommandDenied):
            await other
    assert [permit.by == "Ann" for permit in permits] == [False, False, True, False, False]
    (kept,) = bench.gate.rules.listed(session="fix")
    assert {permit.by for permit in permits} == {"Ann", f"rule {kept.id}"}


async def test_rules_decide_before_people(bench: Bench) -> None:
    bench.gate.rules.add(rule("allow", "some-tool"), Scope.USER)
    bench.gate.rules.add(rule("deny", "some-tool deploy", reason="ask Ben"), Scope.WORKSPACE, workspace=bench.root)
    permit = await bench.check("some-tool x")
    assert permit.how == "rule"
    with pytest.raises(CommandDenied, match="ask Ben") as caught:
        await bench.check("ls; some-tool deploy")
    assert caught.value.rule in [each.id for each in bench.gate.rules.listed(workspace=bench.root)]
    assert bench.asked == []
    assert [record["rule"] for record in bench.recorded()] == [caught.value.rule, permit.decision.rule]


async def test_a_repository_makes_things_stricter_only(bench: Bench) -> None:
    bench.repository_says('[[rule]]\ndecision = "allow"\ncommand = "*"\n[[rule]]\ndecision = "deny"\ncommand = "ls"\n')
    with pytest.raises(CommandDenied, match="a rule denies it"):
        await bench.check("ls")
    with pytest.raises(CommandDenied, match="Ann said no"):
        await bench.check("some-tool")


async def test_a_tainted_terminal_is_asked_about_until_it_is_reset(bench: Bench) -> None:
    bench.gate.rules.add(rule("allow", "some-tool"), Scope.USER)
    bench.answer("allow")
    assert (await bench.check("ls")).how == "safe"
    assert (await bench.check("alias ls='rm x'")).how == "answer"
    for line in ("ls", "some-tool x", "pwd"):
        assert (await bench.check(line)).how == "answer"
        assert "names may mean something else in this terminal" in bench.asked[-1].reasons[0]
        assert bench.asked[-1].scopes == (Scope.ONCE,)
    # Other terminals are as they were.
    assert (await bench.check("ls", terminal="t_2")).how == "safe"
    assert (await bench.check("ls", terminal=None)).how == "safe"
    bench.gate.taints.reset("t_1")
    assert (await bench.check("ls")).how == "safe"


async def test_what_did_not_run_taints_nothing(bench: Bench) -> None:
    with pytest.raises(CommandDenied):
        await bench.check("alias ls='rm x'")
    assert (await bench.check("ls")).how == "safe"


async def test_a_program_with_its_arguments_is_judged_as_exactly_that(bench: Bench) -> None:
    bench.gate.rules.add(rule("deny", "rm"), Scope.USER)
    with pytest.raises(CommandDenied, match="a rule denies it"):
        await bench.check(["env", "rm", "-rf", "x"])
    assert (await bench.check(["echo", "$(rm x)", "; rm x"])).how == "safe"
    assert bench.recorded()[0]["command"] == "echo '$(rm x)' '; rm x'"


async def test_variables_set_for_a_command_count(bench: Bench) -> None:
    assert (await bench.check("ls", env={"LANG": "C"})).how == "safe"
    with pytest.raises(CommandDenied):
        await bench.check("ls", env={"LD_PRELOAD": "/tmp/x.so"})


@pytest.mark.parametrize(
    ("approved", "reported"),
    [
        ("ls -l", "ls -l"),
        (" ls -l\n", "ls -l"),
        ("ls\nls", "ls\r\nls"),
        ("ls \udcff", "ls \ufffd"),
    ],
)
def test_what_the_shell_reports_is_what_was_approved(bench: Bench, approved: str, reported: str) -> None:
    assert bench.gate.verify(approved, reported) is None


@pytest.mark.parametrize("reported", ["ls -l; rm x", "ls  -l", "", "LS -l", "ls -l\nrm x", "ls -l\\"])
async def test_a_mismatch_is_told_recorded_and_taints(bench: Bench, reported: str) -> None:
    permit = await bench.check("ls -l")
    problem = bench.gate.verify(permit, reported)
    assert problem is not None
    assert problem.startswith("the shell runs something else than what was approved: ")
    assert bench.gate.taints.of("t_1") == "it ran something else than what was approved"
    (record, _) = bench.recorded()
    assert (record["outcome"], record["how"], record["command"]) == ("mismatch", "execution", reported)


def test_deciding_asks_nobody_and_records_nothing(bench: Bench) -> None:
    bench.gate.rules.add(rule("deny", "some-tool"), Scope.USER)
    given = {"shell": "bash", "cwd": bench.root, "workspace": bench.root}
    assert bench.gate.decide("ls", **given).decision == "allow"
    assert bench.gate.decide("some-tool", **given).decision == "block"
    decision = bench.gate.decide("npm test", **given)
    assert decision.decision == "ask"
    assert decision.suggested_rule is not None
    assert decision.suggested_rule["command"] == ["npm", "test"]
    assert bench.recorded() == []
    assert bench.asked == []


async def test_the_gate_of_a_user_protects_its_own_places(bench: Bench, tmp_path: Path) -> None:
    places = Places(tmp_path / "config" / "config.toml", tmp_path / "state")
    gate = Gate.at(places, lambda: PolicySettings(mode="trust_workspace"), Approvals())
    gate.rules.add(rule("allow", "*"), Scope.USER)
    here: dict[str, Any] = {"shell": "bash", "cwd": str(tmp_path), "workspace": str(tmp_path)}
    assert (await gate.check("touch config/x", **here)).how == "rule"
    for line in ("touch config/config.toml", "tee config/rules.toml", "rm state/audit.jsonl", "rm -r config"):
        with pytest.raises(CommandDenied, match="settings, rules or records"):
            await gate.check(line, **here)
    assert [record["outcome"] for record in read_audit(places.audit_file)] == ["deny"] * 4 + ["allow"]


async def test_a_broken_audit_stops_nobody(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.gate.audit.path.mkdir(parents=True)
    assert (await bench.check("ls")).how == "safe"
    assert "decisions are not recorded" in caplog.text


async def test_settings_count_from_the_next_command_on(bench: Bench) -> None:
    bench.answer("allow")
    assert (await bench.check("ls")).how == "safe"
    bench.turn(auto_approve_safe=False)
    assert (await bench.check("ls")).how == "answer"
    bench.turn(auto_approve_safe=True, mode="trust_workspace")
    assert (await bench.check("touch x")).how == "mode"
    assert (await bench.check("touch ../x")).how == "answer"
    bench.turn(mode="normal", confirm_dangerous=False)
    assert (await bench.check("some-tool")).how == "mode"
    assert (await bench.check("rm -rf build")).how == "answer"
