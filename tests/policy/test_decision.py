"""The decision: the gravest part counts, reasons are told once, and parts cover the line."""

import json

import pytest

from hermitty.policy.decision import Decision, decided, ruled, undecided
from hermitty.policy.effects import Effect, Level, Verdict
from hermitty.policy.findings import ask, block, note, unclear
from hermitty.policy.record import Piece, Record
from hermitty.policy.rule import Action, Rule
from hermitty.policy.rules import Ruling, Says

from .lines import decide


def test_nothing_found_is_allowed() -> None:
    assert decided(Record()) == Decision(Verdict.ALLOW, Level.LOW)


def test_the_gravest_counts_and_is_told_first() -> None:
    record = Record()
    record.add(
        [
            note("reads a", Effect.READ),
            unclear("odd"),
            ask("deletes b", Level.HIGH, Effect.DELETE),
            ask("writes c", Level.LOW, Effect.WRITE),
            ask("deletes b", Level.HIGH, Effect.DELETE),
            block("the end", Effect.DEVICE),
        ],
        0,
        9,
        is_visible=True,
    )
    assert decided(record) == Decision(
        Verdict.BLOCK,
        Level.CRITICAL,
        ("the end", "deletes b", "odd", "writes c"),
        (Effect.READ, Effect.WRITE, Effect.DELETE, Effect.DEVICE, Effect.UNKNOWN),
        parts=(Piece(0, 9, Verdict.BLOCK, Level.CRITICAL),),
    )


def test_many_reasons_are_cut() -> None:
    decision = decide("; ".join(f"rm f{number}" for number in range(100)))
    assert len(decision.reasons) == 31
    assert decision.reasons[0] == "deletes f0"
    assert decision.reasons[-1] == "and 70 more"


def test_it_goes_over_the_wire_as_promised() -> None:
    shown = decide("cat a && rm -r b").to_dict()
    assert json.loads(json.dumps(shown)) == {
        "decision": "ask",
        "level": "high",
        "reasons": list(decide("cat a && rm -r b").reasons),
        "effects": ["read", "delete"],
        "commands": [["cat", "a"], ["rm", "-r", "b"]],
        "rule": None,
        "suggested_rule": None,
        "parts": [
            {"start": 0, "end": 5, "verdict": "allow", "level": "low"},
            {"start": 9, "end": 16, "verdict": "ask", "level": "high"},
        ],
    }


def pieces(line: str) -> list[tuple[str, str | None]]:
    found = decide(line).segments(len(line))
    assert "".join(line[start:end] for start, end, _ in found) == line
    return [(line[start:end], None if verdict is None else verdict.label) for start, end, verdict in found]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls", [("ls", "allow")]),
        ("ls; rm a", [("ls", "allow"), ("; ", None), ("rm a", "ask")]),
        ("echo $(rm a) b", [("echo $(", "allow"), ("rm a", "ask"), (") b", "allow")]),
        ("rm $(ls)", [("rm $(", "ask"), ("ls", "allow"), (")", "ask")]),
        ("ls > a", [("ls > a", "ask")]),
        ("bash -c 'ls; rm -r /'", [("bash -c 'ls; rm -r /'", "block")]),
        ("if a; then mkfs /; fi", [("if ", None), ("a", "ask"), ("; then ", None), ("mkfs /", "ask"), ("; fi", None)]),
        ("for i in 1 2; do rm $i; done", [("for i in 1 2; do ", None), ("rm $i", "ask"), ("; done", None)]),
        ("[[ $a -eq 1 ]] && ls", [("[[ $a -eq 1 ]]", "ask"), (" && ", None), ("ls", "allow")]),
        ("", []),
    ],
)  # fmt: skip
def test_the_line_is_cut_into_pieces_by_what_is_said_about_them(
    line: str, expected: list[tuple[str, str | None]]
) -> None:
    assert pieces(line) == expected


def test_a_piece_that_is_not_understood_is_shown_where_it_is() -> None:
    assert pieces("ls; echo 'a")[-1] == ("'a", "ask")
    assert pieces("echo \x07 a") == [("echo ", "allow"), ("\x07", "ask"), (" a", "allow")]


RULE = Rule.checked(Rule(Action.ALLOW, ("rm",), id="r_1"))
ASKED = Decision(Verdict.ASK, Level.HIGH, ("deletes a",), (Effect.DELETE,))
BLOCKED = Decision(Verdict.BLOCK, Level.CRITICAL, ("deletes /",))
ALLOWED = Decision(Verdict.ALLOW, Level.LOW)


@pytest.mark.parametrize(
    ("before", "ruling", "verdict", "rule", "reasons"),
    [
        (ASKED, Ruling(Says.ALLOW, RULE), Verdict.ALLOW, "r_1", ("deletes a",)),
        (ASKED, Ruling(Says.ASK), Verdict.ASK, None, ("deletes a",)),
        (ASKED, Ruling(Says.DENY, RULE, "no"), Verdict.BLOCK, "r_1", ("no", "deletes a")),
        (ALLOWED, Ruling(Says.ALLOW), Verdict.ALLOW, None, ()),
        (ALLOWED, Ruling(Says.ASK, RULE, "asks"), Verdict.ASK, "r_1", ("asks",)),
        (ALLOWED, Ruling(Says.DENY, RULE, "no"), Verdict.BLOCK, "r_1", ("no",)),
        (BLOCKED, Ruling(Says.ALLOW, RULE), Verdict.BLOCK, None, ("deletes /",)),
        (BLOCKED, Ruling(Says.BLOCK), Verdict.BLOCK, None, ("deletes /",)),
    ],
)
def test_rules_allow_ask_and_deny_but_lift_no_block(
    before: Decision, ruling: Ruling, verdict: Verdict, rule: str | None, reasons: tuple[str, ...]
) -> None:
    after = ruled(before, ruling)
    assert (after.verdict, after.rule, after.reasons) == (verdict, rule, reasons)
    assert (after.level, after.effects) == (before.level, before.effects)


def test_what_cannot_be_decided_is_asked() -> None:
    assert undecided("broken", 4) == Decision(
        Verdict.ASK, Level.MEDIUM, ("broken",), (Effect.UNKNOWN,), parts=(Piece(0, 4, Verdict.ASK, Level.MEDIUM),)
    )
