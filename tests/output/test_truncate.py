"""fit: the middle of long text, replaced by a line that says exactly what is missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.output.truncate import Fitted, count_lines, fit, join_head_tail, take_head, take_tail


def numbered(first: int, last: int) -> str:
    return "".join(f"{number}\n" for number in range(first, last + 1))


def test_25_lines_in_10_are_2_then_a_note_for_15_then_8() -> None:
    omitted = numbered(3, 17)
    assert fit(numbered(1, 25), max_lines=10) == Fitted(
        numbered(1, 2) + "[... 15 lines omitted ...]\n" + numbered(18, 25), 15, len(omitted), len(omitted)
    )


def test_a_last_line_without_newline_counts_and_stays_without_one() -> None:
    assert fit("a\nb\nc\nd", max_lines=3).text == "a\n[... 1 line omitted ...]\nc\nd"


def test_too_many_characters_are_cut_a_fifth_from_the_end_of_the_head() -> None:
    assert fit("x" * 2 + "é" * 10 + "y" * 8, max_chars=10) == Fitted(
        "xx\n[... 10 characters omitted ...]\n" + "y" * 8, 0, 10, 20
    )


def test_with_both_limits_exceeded_the_characters_decide() -> None:
    text = "".join(f"{number:09}\n" for number in range(100))
    fitted = fit(text, max_lines=50, max_chars=100)
    assert fitted == Fitted(text[:20] + "[... 900 characters omitted ...]\n" + text[-80:], 90, 900, 900)


def test_with_both_limits_exceeded_both_hold() -> None:
    fitted = fit("\n" * 1000, max_lines=10, max_chars=500)
    assert fitted == Fitted("\n\n[... 990 characters omitted ...]\n" + "\n" * 8, 990, 990, 990)


def test_a_line_that_the_cut_makes_two_of_counts_as_two() -> None:
    assert fit("aa\n\n\n\n\n\na", max_lines=7, max_chars=8).text == ("a\n[... 2 characters omitted ...]\n\n\n\n\n\na")


def test_lines_of_which_a_part_is_shown_are_not_omitted_lines() -> None:
    assert fit("abc\ndef\nghijklmnop", max_chars=5) == Fitted("a\n[... 13 characters omitted ...]\nmnop", 1, 13, 13)


@pytest.mark.parametrize("none", [0, None])
def test_no_limit_changes_nothing(none: int | None) -> None:
    text = "line\n" * 20_000
    assert fit(text, max_lines=none, max_chars=none) == Fitted(text, 0, 0, 0)


@pytest.mark.parametrize("text", ["", "a", "a\n", "1\n2\n3\n", "1\n2\n3"])
def test_text_within_the_limits_has_no_note(text: str) -> None:
    assert fit(text, max_lines=3, max_chars=6) == Fitted(text, 0, 0, 0)


@pytest.mark.parametrize("whole", ["e\u0301\u0302", "👩\u200d👧\u200d👦", "👍🏽", "\ud83d\ude00", "❤\ufe0f"])
def test_what_people_see_as_one_character_is_not_cut(whole: str) -> None:
    text = whole * 100
    for room in range(len(whole) + 1, 4 * len(whole)):
        head = take_head(text, max_lines=None, max_chars=room)
        tail = take_tail(text, max_lines=None, max_chars=room)
        assert head == tail == whole * (room // len(whole))


def test_a_row_of_marks_without_end_is_cut_all_the_same() -> None:
    assert len(take_head("a" + "\u0301" * 1000, max_lines=None, max_chars=500)) == 500
    assert len(take_tail("a" + "\u0301" * 1000, max_lines=None, max_chars=500)) == 500


@given(st.text("ab\n\u0301日", max_size=60), st.integers(0, 12), st.integers(0, 30))
def test_limits_hold_and_nothing_is_lost_without_being_counted(text: str, lines: int, chars: int) -> None:
    fitted = fit(text, max_lines=lines, max_chars=chars)
    if not fitted.omitted_chars:
        assert fitted.text == text
        assert not (lines and count_lines(text) > lines)
        assert not (chars and len(text) > chars)
        return
    head, note, tail = fitted.text.partition("[... ")
    note, _, tail = tail.partition(" omitted ...]")
    tail = tail.removeprefix("\n")
    if len(head) + len(tail) + fitted.omitted_chars > len(text):
        head = head.removesuffix("\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(text) == len(head) + fitted.omitted_chars + len(tail)
    assert len(text.encode()) == len(head.encode()) + fitted.omitted_bytes + len(tail.encode())
    assert not chars or len(head) + len(tail) <= chars
    assert not lines or count_lines(head) + count_lines(tail) <= lines
    by_chars = chars and len(text) > chars
    assert note.split()[0] == str(fitted.omitted_chars if by_chars else fitted.omitted_lines)


def test_dropped_bytes_are_named_where_they_were() -> None:
    assert join_head_tail("head", "tail\n", 1) == "head\n[... 1 byte omitted ...]\ntail\n"
    assert join_head_tail("head\n", "tail", 12345) == "head\n[... 12345 bytes omitted ...]\ntail"
    assert join_head_tail("", "", 7) == "[... 7 bytes omitted ...]"
    assert join_head_tail("he", "ad", 0) == "head"
