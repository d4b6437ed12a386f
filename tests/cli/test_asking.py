"""Asking the person at the terminal: what is shown, what counts as an answer, and who is never asked."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from hermitty.cli.asking import _ask, ask_on_terminal, describe
from hermitty.policy.rule import Action, Rule
from hermitty.runtime.approvals import Approval, Question, Scope
from tests.support.shells import PATIENCE_S

QUESTION = Question(
    id="q_1",
    line="npm test",
    command="npm test",
    cwd="/proj",
    shell="bash",
    decision="ask",
    level="medium",
    effects=("runs code that the line does not show", "uses the network"),
    reasons=("npm runs scripts of the project", "and more"),
    scopes=tuple(Scope),
    suggested_rule=Rule(Action.ALLOW, ("npm", "test")),
    confirmation=None,
    session="fix",
    workspace="/proj",
    terminal="t_1",
    origin="agent",
    asked_at=0.0,
    expires_at=None,
)
BLOCK = replace(
    QUESTION, line="rm -rf /", command="rm -rf /", scopes=(Scope.ONCE,), suggested_rule=None, confirmation="rm -rf /"
)


def answered(question: Question, typed: str) -> tuple[Approval, str]:
    out = io.StringIO()
    return _ask(question, "Ann", io.StringIO(typed).readline, out), out.getvalue()


def test_a_person_sees_all_that_matters() -> None:
    assert describe(QUESTION) == (
        "hermitty: may this command run?\n"
        "\n"
        "    npm test\n"
        "\n"
        "  in       /proj\n"
        "  level    medium\n"
        "  effects  runs code that the line does not show, uses the network\n"
        "  because  npm runs scripts of the project\n"
        "           and more\n"
        "  rule     npm test (what any longer answer would allow)\n"
    )


def test_nothing_that_is_shown_moves_the_cursor() -> None:
    question = replace(QUESTION, command="ls\n\\x1b[2J\x1b[2J", cwd="/\x1b[2J", reasons=("\x07\u202e",))
    shown = describe(question)
    assert "\x1b" not in shown
    assert "    ls\n    \\x1b[2J\\x1b[2J\n" in shown
    assert "\\x07\\u202e" in shown


def test_a_directory_and_a_reason_cannot_add_lines() -> None:
    question = replace(QUESTION, cwd="/proj\n  level    low", reasons=("so\n  rule     none",))
    shown = describe(question).splitlines()
    assert "  in       /proj\\n  level    low" in shown
    assert "  because  so\\n  rule     none" in shown
    assert "  level    low" not in shown


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("y\n", Approval("allow", by="Ann")),
        (" YES \n", Approval("allow", by="Ann")),
        ("n\n", Approval("deny", by="Ann")),
        ("s\n", Approval("skip", by="Ann")),
        ("e\n", Approval("allow", Scope.SESSION, by="Ann")),
        ("w\n", Approval("allow", Scope.WORKSPACE, by="Ann")),
        ("a\n", Approval("allow", Scope.USER, by="Ann")),
        ("what?\n\ny\n", Approval("allow", by="Ann")),
    ],
)
def test_keys(typed: str, expected: Approval) -> None:
    assert answered(QUESTION, typed)[0] == expected


@pytest.mark.parametrize("typed", ["", "\n", "yy\n", "1\n2\n3\ny\n", "\n\n\ny\n"])
def test_anything_else_is_a_no(typed: str) -> None:
    assert answered(QUESTION, typed)[0].answer == "deny"


def test_only_scopes_of_the_question_are_offered() -> None:
    question = replace(QUESTION, scopes=(Scope.ONCE, Scope.SESSION))
    said, shown = answered(question, "a\nw\ne\n")
    assert said == Approval("allow", Scope.SESSION, by="Ann")
    assert "[e] allow for this session" in shown
    assert "always" not in shown


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("rm -rf /\n", Approval("allow", typed="rm -rf /", by="Ann")),
        ("y\n", Approval("deny", by="Ann")),
        ("\n", Approval("deny", by="Ann")),
        ("", Approval("deny", by="Ann")),
        ("y\nrm -rf /\n", Approval("deny", by="Ann")),
    ],
)
def test_a_block_is_typed_out_or_not_run(typed: str, expected: Approval) -> None:
    said, shown = answered(BLOCK, typed)
    assert said == expected
    assert "this command is blocked" in shown


def test_nobody_is_asked_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    said = ask_on_terminal(QUESTION)
    assert (said.answer, said.note) == ("deny", "there is no terminal to ask on")


_SCRIPT = """
from tests.cli.test_asking import QUESTION
from hermitty.cli.asking import ask_on_terminal
answer = ask_on_terminal(QUESTION)
print("answer:", answer.answer, answer.scope, answer.by)
"""


@contextlib.contextmanager
def at_a_terminal(typed_ahead: bytes = b"") -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """A person at a terminal who is asked; what the person sees and types goes through the descriptor."""
    person, terminal = os.openpty()
    try:
        os.write(person, typed_ahead)
        process = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={**os.environ, "USER": "Ann"},
            start_new_session=True,
        )
        with process:
            yield person, process
    finally:
        os.close(person)
        os.close(terminal)


def seen_until(person: int, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        seen += os.read(person, 65536)
    return seen


@pytest.mark.parametrize(("typed", "expected"), [(b"y\n", b"allow once Ann"), (b"\x04", b"deny once Ann")])
def test_a_person_answers_at_a_terminal(typed: bytes, expected: bytes) -> None:
    with at_a_terminal() as (person, process):
        seen_until(person, b"always allow: ")
        os.write(person, typed)
        assert b"answer: " + expected in seen_until(person, expected)
        assert process.wait(PATIENCE_S) == 0


def test_what_was_typed_before_the_question_is_no_answer() -> None:
    with at_a_terminal(b"y\n") as (person, process):
        seen_until(person, b"always allow: ")
        os.write(person, b"n\n")
        assert b"answer: deny" in seen_until(person, b"answer: deny")
        assert process.wait(PATIENCE_S) == 0
