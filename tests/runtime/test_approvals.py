"""Questions and answers: the first answer counts, no answer is a no, and whoever leaves takes the question along."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from hermitty.errors import AlreadyAnswered, ApprovalNotFound, InvalidRequest
from hermitty.events import ApprovalAnswered, ApprovalAsked
from hermitty.runtime.approvals import Approval, Approvals, Question, Scope, Verdict, new_question_id, parsed_answer
from tests.support.shells import PATIENCE_S

Told = list[ApprovalAsked | ApprovalAnswered]

QUESTION = Question(
    id="q_1",
    line="npm i",
    command="npm i",
    cwd="/proj",
    shell="bash",
    decision="ask",
    level="medium",
    effects=("uses the network",),
    reasons=("it installs packages",),
    scopes=(Scope.ONCE, Scope.SESSION),
    suggested_rule=None,
    confirmation=None,
    session="fix",
    workspace="/proj",
    terminal="t_1",
    origin="agent",
    asked_at=1000.0,
    expires_at=None,
)
BLOCK = replace(QUESTION, line="rm -rf /", decision="block", scopes=(Scope.ONCE,), confirmation="rm -rf /")


@pytest.fixture
def told() -> Told:
    return []


@pytest.fixture
def approvals(told: Told) -> Approvals:
    return Approvals(told.append, clock=lambda: 1001.0)


def asked(approvals: Approvals, question: Question = QUESTION, timeout_s: float | None = None) -> asyncio.Task[Verdict]:
    return asyncio.ensure_future(approvals.ask(question, timeout_s))


async def until(fact: Callable[[], object]) -> None:
    """Let other tasks go on until something is so."""
    async with asyncio.timeout(PATIENCE_S):
        while not fact():
            await asyncio.sleep(0)


async def test_an_answer_ends_a_question_and_everybody_is_told(approvals: Approvals, told: Told) -> None:
    task = asked(approvals)
    await until(approvals.pending)
    assert approvals.pending() == [QUESTION]
    assert approvals.find("q_1") is QUESTION

    said = approvals.answer("q_1", Approval("allow", Scope.SESSION, by="Ann", note="fine"))

    assert said == Verdict(QUESTION, "allow", Scope.SESSION, "Ann", 1001.0, "fine")
    assert await task == said
    assert approvals.pending() == []
    assert approvals.history() == [said]
    assert told == [
        ApprovalAsked(
            approval="q_1",
            command="npm i",
            cwd="/proj",
            level="medium",
            effects=("uses the network",),
            reasons=("it installs packages",),
            session="fix",
            terminal="t_1",
            origin="agent",
            expires_at=None,
        ),
        ApprovalAnswered("q_1", "allow", "session", "Ann"),
    ]


async def test_the_first_answer_counts_and_the_others_learn_whose_it_was(approvals: Approvals, told: Told) -> None:
    task = asked(approvals)
    await until(approvals.pending)
    start = asyncio.Event()

    async def client(number: int) -> str:
        await start.wait()
        try:
            approvals.answer("q_1", Approval("deny" if number % 2 else "allow", by=f"client {number}"))
        except AlreadyAnswered as late:
            return f"{late.answer} by {late.by}"
        return "first"

    clients = [asyncio.ensure_future(client(number)) for number in range(20)]
    await asyncio.sleep(0)
    start.set()
    results = await asyncio.gather(*clients)
    verdict = await task

    assert results.count("first") == 1
    assert results[int(verdict.by.removeprefix("client "))] == "first"
    assert {each for each in results if each != "first"} == {f"{verdict.outcome} by {verdict.by}"}
    assert len([event for event in told if isinstance(event, ApprovalAnswered)]) == 1


async def test_nobody_answers_in_time(approvals: Approvals, told: Told) -> None:
    verdict = await approvals.ask(QUESTION, 0.0)
    assert (verdict.outcome, verdict.by) == ("timeout", "nobody")
    with pytest.raises(AlreadyAnswered, match="timeout, by nobody"):
        approvals.answer("q_1", Approval("allow", by="Ann"))
    assert told[-1] == ApprovalAnswered("q_1", "timeout", "once", "nobody")


async def test_an_answer_stops_the_clock(approvals: Approvals) -> None:
    task = asked(approvals, timeout_s=PATIENCE_S)
    await until(approvals.pending)
    approvals.answer("q_1", Approval("skip", by="Ann"))
    assert (await task).outcome == "skip"


async def test_whoever_asked_leaves(approvals: Approvals, told: Told) -> None:
    task = asked(approvals, timeout_s=PATIENCE_S)
    await until(approvals.pending)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert approvals.pending() == []
    assert told[-1] == ApprovalAnswered("q_1", "cancelled", "once", "nobody")
    with pytest.raises(AlreadyAnswered, match="cancelled"):
        approvals.answer("q_1", Approval("allow"))


async def test_the_questions_of_a_session_or_terminal_are_withdrawn(approvals: Approvals) -> None:
    tasks = [
        asked(approvals, replace(QUESTION, id="q_1")),
        asked(approvals, replace(QUESTION, id="q_2", session="other")),
        asked(approvals, replace(QUESTION, id="q_3", session=None, terminal="t_2")),
        asked(approvals, replace(QUESTION, id="q_4", session=None, terminal=None)),
    ]
    await until(lambda: len(approvals.pending()) == 4)
    assert approvals.withdraw(session="fix") == 1
    assert approvals.withdraw(terminal="t_2") == 1
    assert approvals.withdraw(session="nobody's") == 0
    assert approvals.withdraw() == 0
    assert [question.id for question in approvals.pending()] == ["q_2", "q_4"]
    approvals.close()
    assert [(await task).outcome for task in tasks] == ["cancelled"] * 4


async def test_questions_do_not_wait_for_each_other(approvals: Approvals) -> None:
    tasks = [asked(approvals, replace(QUESTION, id=f"q_{number}")) for number in range(100)]
    await until(lambda: len(approvals.pending()) == 100)
    for number in reversed(range(100)):
        approvals.answer(f"q_{number}", Approval("allow" if number % 2 else "deny"))
    assert [(await task).outcome for task in tasks] == ["deny", "allow"] * 50


async def test_what_is_over_is_forgotten_some_day(approvals: Approvals) -> None:
    for number in range(1001):
        await approvals.ask(replace(QUESTION, id=f"q_{number}"), 0.0)
    assert len(approvals.history()) == 1000
    with pytest.raises(ApprovalNotFound):
        approvals.find("q_0")
    with pytest.raises(AlreadyAnswered):
        approvals.find("q_1000")


async def test_an_unknown_question_is_refused_with_those_that_wait(approvals: Approvals) -> None:
    task = asked(approvals)
    await until(approvals.pending)
    with pytest.raises(ApprovalNotFound, match="no question 'q_9'; waiting for an answer: q_1"):
        approvals.answer("q_9", Approval("allow"))
    approvals.close()
    await task


@pytest.mark.parametrize(
    ("question", "answer", "problem"),
    [
        (QUESTION, Approval("allow", Scope.USER), "can count for: once, session; not for user"),
        (QUESTION, Approval("deny", Scope.WORKSPACE), "can count for: once, session; not for workspace"),
        (QUESTION, Approval("perhaps"), "an answer is allow, deny or skip"),  # type: ignore[arg-type]
        (BLOCK, Approval("allow"), "type exactly: rm -rf /"),
        (BLOCK, Approval("allow", typed="yes"), "type exactly: rm -rf /"),
        (BLOCK, Approval("allow", typed="rm -rf /x"), "type exactly: rm -rf /"),
        (BLOCK, Approval("allow", Scope.SESSION, typed="rm -rf /"), "can count for: once; not for session"),
    ],
)
async def test_an_answer_that_cannot_be_leaves_the_question_open(
    approvals: Approvals, question: Question, answer: Approval, problem: str
) -> None:
    task = asked(approvals, question)
    await until(approvals.pending)
    with pytest.raises(InvalidRequest, match=problem):
        approvals.answer("q_1", answer)
    assert approvals.pending() == [question]
    approvals.answer("q_1", Approval("skip", Scope.USER))
    assert (await task).scope is Scope.ONCE


@pytest.mark.parametrize("typed", ["rm -rf /", "  rm -rf /\n"])
async def test_a_block_needs_the_typed_confirmation(approvals: Approvals, typed: str) -> None:
    task = asked(approvals, BLOCK)
    await until(approvals.pending)
    approvals.answer("q_1", Approval("allow", typed=typed, by="Ann"))
    assert (await task).outcome == "allow"


def _plain(question: Question) -> Approval:
    return Approval("allow", by=threading.current_thread().name)


async def _coroutine(question: Question) -> Approval:
    await asyncio.sleep(0)
    return Approval("allow", by=threading.current_thread().name)


class _Asynchronous:
    async def __call__(self, question: Question) -> Approval:
        return Approval("allow", by=threading.current_thread().name)


@pytest.mark.parametrize(
    ("approver", "in_loop"),
    [
        (_plain, False),
        (_coroutine, True),
        (_Asynchronous(), True),
        (lambda question: _coroutine(question), True),
    ],
)
async def test_an_approver_answers(
    told: Told, approver: Callable[[Question], Approval | Awaitable[Approval]], in_loop: bool
) -> None:
    approvals = Approvals(told.append, approver=approver)
    assert approvals.is_anybody_there
    verdict = await approvals.ask(QUESTION, PATIENCE_S)
    assert verdict.outcome == "allow"
    # What may block must not block the loop.
    assert (verdict.by == threading.current_thread().name) is in_loop
    assert [type(event) for event in told] == [ApprovalAsked, ApprovalAnswered]


def _failing(question: Question) -> Approval:
    raise RuntimeError("no screen")


async def _failing_later(question: Question) -> Approval:
    raise RuntimeError("no screen")


@pytest.mark.parametrize(
    ("approver", "note"),
    [
        (_failing, "no screen"),
        (_failing_later, "no screen"),
        (lambda question: None, "returned None"),
        (lambda question: True, "an answer is allow, deny or skip"),
        (lambda question: "allow", "an answer is allow, deny or skip"),
        (lambda question: Approval("allow", Scope.USER), "not for user"),
    ],
)
async def test_an_approver_that_fails_has_said_no(
    told: Told, approver: Callable[[Question], Approval], note: str, caplog: pytest.LogCaptureFixture
) -> None:
    verdict = await Approvals(told.append, approver=approver).ask(QUESTION, PATIENCE_S)
    assert (verdict.outcome, verdict.by) == ("deny", "the approver")
    assert note in verdict.note
    assert "the approver failed" in caplog.text


async def test_a_client_can_be_faster_than_the_approver(told: Told) -> None:
    cancelled = asyncio.Event()

    async def slow(question: Question) -> Approval:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError

    approvals = Approvals(told.append, approver=slow)
    task = asked(approvals)
    await until(approvals.pending)
    await asyncio.sleep(0)
    approvals.answer("q_1", Approval("deny", by="Ann"))
    assert (await task).by == "Ann"
    assert cancelled.is_set()


async def test_a_plain_approver_that_blocks_keeps_nobody_waiting(told: Told) -> None:
    let, came = threading.Event(), threading.Event()

    def blocking(question: Question) -> Approval:
        came.set()
        let.wait(PATIENCE_S)
        return Approval("allow", by="too late")

    approvals = Approvals(told.append, approver=blocking)
    task = asked(approvals)
    await asyncio.to_thread(came.wait, PATIENCE_S)
    approvals.answer("q_1", Approval("skip", by="Ann"))
    assert (await task).by == "Ann"
    let.set()
    assert [event.by for event in told if isinstance(event, ApprovalAnswered)] == ["Ann"]


def test_somebody_is_there_while_a_client_is() -> None:
    own = Approvals()
    seen = [own.is_anybody_there]
    with own.client("web"), own.client("web"):
        seen.append(own.is_anybody_there)
    seen.append(own.is_anybody_there)
    assert seen == [False, True, False]


async def test_whoever_listens_may_answer_at_once() -> None:
    def listen(event: ApprovalAsked | ApprovalAnswered) -> None:
        if isinstance(event, ApprovalAsked):
            own.answer(event.approval, Approval("allow", by="listener"))

    own = Approvals(listen)
    assert (await own.ask(QUESTION)).by == "listener"


def test_answers_from_outside_are_checked() -> None:
    assert parsed_answer("allow", scope="user", typed="x", by="web", note="y") == Approval(
        "allow", Scope.USER, "x", "web", "y"
    )
    assert parsed_answer("deny") == Approval("deny")
    for bad in ({"answer": "yes"}, {"answer": None}, {"answer": ["allow"]}, {"answer": True}):
        with pytest.raises(InvalidRequest, match="answer must be allow, deny or skip"):
            parsed_answer(**bad)
    with pytest.raises(InvalidRequest, match="scope must be once, session, workspace, user"):
        parsed_answer("allow", scope="forever")
    with pytest.raises(InvalidRequest, match="typed must be a text"):
        parsed_answer("allow", typed=7)


def test_ids_are_not_guessed() -> None:
    assert len({new_question_id() for _ in range(100)}) == 100
