"""What was expected and what was seen: every difference is found, and called what it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soak.ledger import Ledger
from soak.lines import Difference, Numbered, between, difference, fitting, misplaced

LINES = Numbered("tag", 50)
PRINTED = LINES.printed()
EACH = PRINTED.splitlines(keepends=True)
WIDTH = len(EACH[0])


def test_lines_are_numbered_and_unique() -> None:
    assert Numbered("a b", 2).text() == "a b 00000001\na b 00000002\n"
    assert Numbered("t", 1).printed() == b"t 00000001\r\n"
    assert Numbered("t", 1).form == "t %08.0f"
    assert len(set(EACH)) == 50


@given(st.integers(1, 10**6))
def test_padded_lines_have_about_the_size_that_is_asked_for(size: int) -> None:
    lines = fitting("flood", size)
    assert abs(len(lines.printed()) - size) < 200


@given(st.integers(0, 49), st.integers(1, 50))
def test_lines_that_are_missing_are_lost(first: int, count: int) -> None:
    seen = EACH[:first] + EACH[first + count :]
    lost = (len(EACH) - len(seen)) * WIDTH
    assert difference(PRINTED, b"".join(seen)) == Difference(lost=lost)


@given(st.integers(0, 49), st.integers(0, 49))
def test_a_line_that_comes_twice_is_doubled(which: int, where: int) -> None:
    assert difference(PRINTED, b"".join([*EACH[:where], EACH[which], *EACH[where:]])) == Difference(doubled=WIDTH)


def test_what_was_never_printed_is_foreign() -> None:
    assert difference(PRINTED, PRINTED + b"hello\r\n") == Difference(foreign=7)


def test_the_order_counts() -> None:
    assert difference(PRINTED, b"".join(reversed(EACH))) == Difference(disordered=True)
    assert not difference(PRINTED, PRINTED)


@given(st.binary(max_size=200))
def test_anything_else_than_what_was_printed_differs(seen: bytes) -> None:
    assert bool(difference(PRINTED, seen)) == (seen != PRINTED)


def test_between_finds_what_is_between_two_lines() -> None:
    assert between(b"prompt\r\nbegin\r\nabc\r\nend\r\n$ ", b"begin\r\n", b"end\r\n") == b"abc\r\n"
    assert between(b"begin\r\nend\r\n", b"begin\r\n", b"end\r\n") == b""
    assert between(b"begin\r\nabc", b"begin\r\n", b"end\r\n") is None
    assert between(b"abc end\r\n", b"begin\r\n", b"end\r\n") is None


@given(st.integers(-20, len(PRINTED) + 20), st.integers(0, 200))
def test_bytes_are_compared_where_they_are(at: int, count: int) -> None:
    padded = b"?" * 40 + PRINTED + b"?" * 300
    right = padded[at + 40 : at + 40 + count]
    assert misplaced(PRINTED, at, right) == 0
    inside = max(0, min(len(PRINTED), at + count) - max(0, at))
    assert misplaced(PRINTED, at, b"\xff" * count) == inside


def test_a_ledger_counts_bytes_by_what_is_wrong_with_them() -> None:
    ledger = Ledger()
    ledger.compare_bytes("all", PRINTED, PRINTED)
    assert (ledger.checked_bytes, sum(ledger.counts().values())) == (len(PRINTED), 0)
    ledger.compare_bytes("some", PRINTED, b"".join(EACH[2:]) + EACH[5] + b"x")
    ledger.compare_bytes("mixed up", PRINTED, b"".join(reversed(EACH)))
    counts = {kind: count for kind, count in ledger.counts().items() if count}
    assert counts == {"lost_bytes": 2 * WIDTH, "doubled_bytes": WIDTH, "wrong_bytes": 2}
    assert len(ledger.texts) == 4


def test_a_ledger_compares_codes_and_other_facts() -> None:
    ledger = Ledger()
    ledger.compare_code("right", 7, 7)
    ledger.expect("right", [], [])
    assert sum(ledger.counts().values()) == 0
    ledger.compare_code("wrong", 7, 0)
    ledger.expect("wrong", "a", "b" * 1000)
    assert (ledger.wrong["wrong_exit_codes"], ledger.wrong["wrong_answers"], ledger.checked_commands) == (1, 1, 2)
    assert len(ledger.texts[-1]) < 400


@pytest.mark.parametrize(
    ("times", "is_known", "found"),
    [
        (1, True, None),
        (0, False, None),
        (0, True, "lost_commands"),
        (1, False, "lost_commands"),
        (2, True, "doubled_commands"),
        (2, False, "doubled_commands"),
    ],
)
def test_a_command_runs_once_or_is_known_not_to_have_run(times: int, is_known: bool, found: str | None) -> None:
    ledger = Ledger()
    ledger.compare_runs("it", times, is_known=is_known)
    assert {kind for kind, count in ledger.counts().items() if count} == ({found} if found else set())


def test_a_ledger_keeps_a_bounded_number_of_texts() -> None:
    ledger = Ledger()
    for number in range(1000):
        ledger.problem("hung", str(number))
    assert (ledger.wrong["hung"], len(ledger.texts)) == (1000, 40)
