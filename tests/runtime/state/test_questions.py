"""Questions as records: whole after a round trip, and refused with a reason when they are anything else."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.engine.interact import Answer
from hermitty.policy.check import examine
from hermitty.policy.context import Surroundings
from hermitty.policy.rule import Action, Layer, Rule, Scope
from hermitty.policy.suggesting import suggested_rule
from hermitty.runtime.approvals import Question
from hermitty.runtime.requests import RunRequest
from hermitty.runtime.state.questions import PendingQuestion, Unreadable, decode, encode

QUESTION = Question(
    id="q_1", line="make deploy", command="make deploy", cwd="/proj", shell="bash", decision="ask", level="medium",
    effects=("changes files",), reasons=("unknown target",), scopes=(Scope.ONCE, Scope.USER),
    suggested_rule=Rule(Action.ALLOW, ("make", "deploy")), confirmation=None, session="fix-42", workspace="/proj",
    terminal=None, origin="agent", asked_at=1000.5, expires_at=1300.5,
)  # fmt: skip
REQUEST = RunRequest(
    "make deploy", "/proj", "fix-42", "/proj", "bash", "pty", {"TOKEN": "s3cret"}, 5.0, 60.0,
    (Answer("Password:", "hunter2"),), None, "c_0123456789abcdef",
)  # fmt: skip
WHOLE = PendingQuestion(QUESTION, REQUEST, "t_1")

# Python keeps bytes of file names that are no text as lone surrogates.
texts = st.text(st.characters(exclude_categories=()), max_size=20)
times = st.floats(0, 1e10)
rules = st.builds(
    Rule,
    decision=st.sampled_from(Action),
    command=st.lists(st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True), min_size=1, max_size=4).map(tuple),
    reason=st.text(st.characters(codec="utf-8", min_codepoint=160), max_size=20),
    cwd=st.none() | st.just("/proj"),
    shells=st.sampled_from([(), ("bash",), ("zsh", "fish")]),
    layer=st.sampled_from(Layer),
    origin=texts,
)
questions = st.builds(
    Question,
    id=texts, line=texts, command=texts, cwd=st.none() | texts, shell=texts, decision=st.sampled_from(["ask", "block"]),
    level=texts, effects=st.lists(texts).map(tuple), reasons=st.lists(texts).map(tuple),
    scopes=st.lists(st.sampled_from(Scope)).map(tuple), suggested_rule=st.none() | rules,
    confirmation=st.none() | texts, session=st.none() | texts, workspace=st.none() | texts, terminal=st.none() | texts,
    origin=texts, asked_at=times, expires_at=st.none() | times,
)  # fmt: skip
requests = st.builds(
    RunRequest,
    command=texts | st.lists(texts).map(tuple), cwd=st.none() | texts, session=st.none() | texts,
    workspace=st.none() | texts, shell=st.none() | texts, provider=st.sampled_from(["pty", "pipe"]),
    env=st.dictionaries(texts, texts, max_size=3), wait_s=st.none() | times, kill_after_s=st.none() | times,
    answers=st.lists(st.builds(Answer, texts, texts), max_size=2).map(tuple), on_output=st.none(),
    command_id=st.none() | texts,
)  # fmt: skip
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(st.builds(PendingQuestion, questions, requests, st.none() | texts))
def test_a_question_and_its_request_come_back_as_they_were(pending: PendingQuestion) -> None:
    assert decode(encode(pending)) == pending


def test_a_rule_that_the_policy_suggests_comes_back_as_it_was() -> None:
    _, line = examine("npm install left-pad", "bash", Surroundings("/proj", "/proj", None, "bash"))
    rule = suggested_rule(line)
    assert rule is not None
    pending = replace(WHOLE, question=replace(QUESTION, suggested_rule=rule))
    assert decode(encode(pending)) == pending


def test_a_path_becomes_text_and_whoever_watched_is_forgotten() -> None:
    request = replace(REQUEST, cwd=Path("/proj"), on_output=lambda stream, data: None)
    assert decode(encode(replace(WHOLE, request=request))) == WHOLE


def test_every_field_of_a_request_and_a_question_is_in_the_record() -> None:
    record = json.loads(encode(WHOLE))
    assert record["request"].keys() == {each.name for each in fields(RunRequest)} - {"on_output"}
    assert record["question"].keys() == {each.name for each in fields(Question)}


@given(st.binary(max_size=50) | anything.map(lambda value: json.dumps(value).encode()))
def test_noise_is_refused_with_a_reason(record: bytes) -> None:
    found = decode(record)
    assert isinstance(found, Unreadable)
    assert found.reason


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to each value of a record."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, each in inner for path in places(each, (*at, key)))]


PLACES = places(json.loads(encode(WHOLE)))[1:]


@given(st.sampled_from(PLACES), anything)
def test_any_value_put_anywhere_never_raises(place: tuple[Any, ...], value: object) -> None:
    record = json.loads(encode(WHOLE))
    target = record
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    assert isinstance(decode(json.dumps(record).encode()), Unreadable | PendingQuestion)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 2}, "version is 2"),
        ({"version": True}, "version"),
        ({"more": 1}, "'more' is not known"),
        ({"terminal": 5}, "terminal is not of the right kind"),
        ({"request": {**json.loads(encode(WHOLE))["request"], "wait_s": float("inf")}}, "wait_s"),
        ({"request": {**json.loads(encode(WHOLE))["request"], "wait_s": 10**400}}, "not well formed"),
        ({"question": {**json.loads(encode(WHOLE))["question"], "scopes": ["forever"]}}, "forever"),
        ({"question": {**json.loads(encode(WHOLE))["question"], "suggested_rule": {"layer": []}}}, "layer"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, object], reason: str) -> None:
    found = decode(json.dumps({**json.loads(encode(WHOLE)), **change}).encode())
    assert isinstance(found, Unreadable)
    assert reason in found.reason


def test_a_field_that_is_missing_is_named_and_depth_is_no_problem() -> None:
    record = json.loads(encode(WHOLE))
    del record["request"]["env"]
    assert decode(json.dumps(record).encode()) == Unreadable("'env' is missing")
    assert isinstance(decode(b"[" * 100_000), Unreadable)
