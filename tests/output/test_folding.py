"""fold_repeats: runs of equal lines, said once."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.output.folding import Fold, Folded, fold_repeats, repeat_note

LONG = "warning: a line that is long enough to be worth it"
NOTE = re.compile(r"\[\.\.\. the same line ([0-9]+) more times? \.\.\.\]")


def unfolded(folded: Folded) -> str:
    lines: list[str] = []
    for line in folded.text.split("\n"):
        note = NOTE.fullmatch(line)
        lines += [lines[-1]] * int(note[1]) if note else [line]
    return "\n".join(lines)


def test_six_equal_long_lines_become_one_and_a_note() -> None:
    assert fold_repeats(f"{LONG}\n" * 6).text == f"{LONG}\n[... the same line 5 more times ...]\n"


def test_what_the_note_would_make_longer_stays() -> None:
    assert fold_repeats("y\n" * 5) == Folded("y\n" * 5)


@pytest.mark.parametrize("line", ["y", "four", LONG])
def test_a_run_is_folded_from_the_length_on_at_which_that_is_shorter(line: str) -> None:
    for count in range(1, 60):
        text = f"{line}\n" * count
        folded = f"{line}\n{repeat_note(count - 1)}\n"
        assert fold_repeats(text).text == (folded if len(folded) < len(text) else text)


@pytest.mark.parametrize("line", ["", " ", "\t  "])
def test_blank_lines_are_left_alone(line: str) -> None:
    text = f"a\n{f'{line}{chr(10)}' * 500}b\n"
    assert fold_repeats(text) == Folded(text)


def test_runs_are_told_apart_and_what_is_between_them_stays() -> None:
    text = f"start\n{LONG}\n{LONG}\n{LONG}\nbetween\n\n{LONG}\n{LONG}!\n{LONG}!\n{LONG}!"
    assert fold_repeats(text).text == (
        f"start\n{LONG}\n[... the same line 2 more times ...]\nbetween\n\n{LONG}\n{LONG}!\n"
        "[... the same line 2 more times ...]"
    )


def test_one_more_is_worded_in_the_singular() -> None:
    assert fold_repeats(f"{LONG}\n{LONG}\n").text == f"{LONG}\n[... the same line 1 more time ...]\n"


def test_a_fold_knows_what_it_stands_for() -> None:
    line = "é" * 30
    folded = fold_repeats(f"ab\n{line}\n{line}\n{line}\nz")
    note = len("[... the same line 2 more times ...]\n")
    assert folded.folds == (Fold(start=34, end=34 + note, bytes=122, lines=2),)
    assert folded.original_bytes(0, len(folded.text)) == len(f"ab\n{line}\n{line}\n{line}\nz".encode())
    assert [folded.whole_notes_head(at) for at in (34, 35, 33 + note, 34 + note)] == [34, 34, 34, 34 + note]
    assert [folded.whole_notes_tail(at) for at in (34, 35, 33 + note, 34 + note)] == [34 + note] * 4


@given(st.lists(st.tuples(st.sampled_from(["", " ", "a", "日本語" * 9, LONG]), st.integers(1, 40))), st.booleans())
def test_nothing_is_lost_and_nothing_gets_longer(runs: list[tuple[str, int]], is_terminated: bool) -> None:
    text = "\n".join(line for line, count in runs for _ in range(count)) + "\n" * is_terminated
    folded = fold_repeats(text)
    assert unfolded(folded) == text
    assert len(folded.text) <= len(text)
    assert folded.original_bytes(0, len(folded.text)) == len(text.encode())


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    folded = fold_repeats(text)
    assert folded.original_bytes(0, len(folded.text)) == len(text.encode("utf-8", "surrogatepass"))
    assert folded.folds or folded.text == text
