"""LineSearch: a pattern in output, line by line, within limits."""

import importlib.util
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import InvalidPattern
from hermitty.output.search import LineSearch, Match, compile_pattern

needs_re2 = pytest.mark.skipif(importlib.util.find_spec("re2") is None, reason="google-re2 is not installed")

OUTPUT = b"one\r\n\x1b[31mERR\x1b[0mor: two\r\nthree error\r\nan error at the end"


def search(data: bytes, pattern: str, *, chunk: int = 1 << 30, ignore_case: bool = True) -> list[Match]:
    lines = LineSearch(compile_pattern(pattern, ignore_case=ignore_case), max_chars=10**9, max_matches=10**9)
    found = [match for at in range(0, len(data), chunk) for match in lines.feed(data[at : at + chunk])]
    return found + lines.finish()


def numbers(data: bytes, pattern: str) -> list[int]:
    return [match.line for match in search(data, pattern)]


def test_a_word_is_found_in_both_cases_with_line_and_offset_through_colours() -> None:
    assert search(OUTPUT, "error") == [
        Match(2, OUTPUT.index(b"ERR"), "ERRor: two"),
        Match(3, OUTPUT.index(b"error\r"), "three error"),
        Match(4, OUTPUT.index(b"error at"), "an error at the end"),
    ]
    assert [match.line for match in search(OUTPUT, "error", ignore_case=False)] == [3, 4]


def test_no_match_is_a_normal_answer() -> None:
    assert search(OUTPUT, "nothing of the kind") == []
    assert search(b"", "x") == []


@needs_re2
@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("error$", [3]),
        ("^(three|an)", [3, 4]),
        (r"\berr\w+", [2, 3, 4]),
        (r"one\s+err", []),  # never across lines
        ("e[^x]*r", [2, 3, 4]),
        ("^", [1, 2, 3, 4]),
        ("^$", []),
        ("(?:ONE|two)$", [1, 2]),
    ],
)
def test_expressions_match_within_lines(pattern: str, lines: list[int]) -> None:
    assert numbers(OUTPUT, pattern) == lines


@needs_re2
def test_an_empty_line_is_found_and_none_is_made_up_behind_the_last_newline() -> None:
    assert numbers(b"a\n\nb\n", "^$") == [2]


@needs_re2
def test_letters_outside_ascii_match_in_both_cases() -> None:
    assert numbers("ÉTÉ\nété\n".encode(), "été") == [1, 2]


@pytest.mark.parametrize("pattern", ["[", "(", "a(b", "*x", "foo(?!bar)", r"(a)\1"])
def test_what_is_no_expression_is_searched_for_literally_and_says_why(pattern: str) -> None:
    compiled = compile_pattern(pattern)
    assert compiled.literal
    assert compiled.problem
    assert numbers(f"x\n--{pattern.upper()}--\n".encode(), pattern) == [2]


def test_literal_on_request_is_no_problem() -> None:
    compiled = compile_pattern("a.c", literal=True)
    assert (compiled.literal, compiled.problem) == (True, None)
    assert LineSearch(compiled).feed(b"abc\na.c\n") == [Match(2, 4, "a.c")]


@pytest.mark.parametrize("pattern", ["", "x" * 1001])
def test_a_pattern_of_no_or_too_great_length_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern) as raised:
        compile_pattern(pattern)
    assert len(raised.value.message) < 200


@needs_re2
@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)+$",
        "(a|aa)+$",
        "(.*)*x",
        r"(\w+\s?)*!!",
        "a*" * 30 + "b",
        "(?:a?){50}a{50}b",
        "((a{0,1000}){0,1000}){0,1000}b",
        "(?:(?:a{1000}){1000}){1000}",
        "(" * 450 + "a" + ")" * 450 + "+b",
    ],
)
def test_a_hostile_pattern_takes_linear_time_and_bounded_memory(pattern: str) -> None:
    # With backtracking, one of these lines would take longer than anybody waits.
    assert search((b"a" * 60_000 + b"!\n") * 5, pattern) == []
    assert search(b"a" * 1_000_000 + b"!", pattern, chunk=65_536) == []


@needs_re2
@pytest.mark.parametrize("chunk", [1000, 65_536, 1 << 30])
def test_a_long_line_is_searched_in_windows_that_know_where_they_are(chunk: int) -> None:
    data = b"{" + b"x" * 200_000 + b"needle" + b"y" * 300_000
    assert [match.offset for match in search(data, "^.|n.edle|y$", chunk=chunk)] == [0, 200_001, 500_006]
    for at in range(65_530, 65_540):
        around = b"x" * at + b"needle" + b"x" * 80_000 + b"\nneedle"
        found = [(match.line, match.offset) for match in search(around, r"\Bneedle\B|^needle$", chunk=chunk)]
        assert found == [(1, at), (2, at + 80_007)]


def test_a_long_line_counts_once_for_each_64_kilobytes() -> None:
    found = search(b"ab" * 100_000 + b"\nab\n", "ab", chunk=10_000)
    assert [(match.line, match.offset) for match in found] == [
        (1, 0),
        (1, 65_536),
        (1, 131_072),
        (1, 196_608),
        (2, 200_001),
    ]


def test_a_line_of_16_megabytes_needs_little_memory() -> None:
    block = b"x" * 65_536
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        lines = LineSearch(compile_pattern("needle"))
        found = [match for _ in range(256) for match in lines.feed(block)]
        found += lines.feed(b"needle")
        found += lines.finish()
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert [(match.line, match.offset) for match in found] == [(1, 16_777_216)]
    assert len(found[0].text) <= 242
    assert peak < 1_000_000


def test_an_excerpt_shows_what_is_around_the_match() -> None:
    (match,) = search(b"a" * 500 + b" needle " + b"b" * 500, "needle")
    assert match.text.startswith("…aaaa")
    assert " needle bbb" in match.text
    assert match.text.endswith("bbb…")


def test_what_is_shown_has_no_control_characters() -> None:
    (match,) = search(b"10%\r50%\x07\x1b]0;title\x07 needle\x1b[K\x00\n", "needle")
    assert match.text == "10%50% needle"


def test_limits_end_the_search_and_tell_where_to_go_on() -> None:
    data = b"".join(b"hit %d\n" % number for number in range(100))
    lines = LineSearch(compile_pattern("hit"), max_matches=3)
    assert [match.line for match in lines.feed(data)] == [1, 2, 3]
    assert (lines.full, lines.next) == ("matches", 18)
    assert lines.feed(data) == []
    lines = LineSearch(compile_pattern("hit"), max_chars=20)
    assert [match.line for match in lines.feed(data)] == [1, 2, 3, 4]
    assert (lines.full, lines.next) == ("characters", 24)


def test_the_first_match_is_cut_rather_than_refused() -> None:
    lines = LineSearch(compile_pattern("hit"), max_chars=3)
    assert lines.feed(b"a hit\n") == [Match(1, 2, "a h")]


@needs_re2
def test_a_search_that_goes_on_inside_a_line_does_not_take_it_for_a_beginning() -> None:
    lines = LineSearch(compile_pattern("^b"), offset=1, line=1, before=b"a")
    assert lines.feed(b"b\nb\n") == [Match(2, 3, "b")]
    lines = LineSearch(compile_pattern("^b"), offset=2, line=2, before=b"\n")
    assert lines.feed(b"b\n") == [Match(2, 2, "b")]


PIECES = st.lists(
    st.sampled_from([b"ab", b"B", b"\n", b"\r\n", b"\r\r\n", b"\r", b"\x1b[1m", b"\x1b[", b"\xff", "é".encode()])
)


@given(PIECES.map(b"".join), st.sampled_from(["ab", "b", "é", "ab$", "^a", "[^a]b", "x*"]), st.integers(1, 9))
def test_any_cut_gives_the_matches_of_each_line(data: bytes, pattern: str, chunk: int) -> None:
    found = search(data, pattern, chunk=chunk)
    assert found == search(data, pattern)
    assert len({match.line for match in found}) == len(found)
    for match in found:
        assert match.line == data.count(b"\n", 0, match.offset) + 1


@given(PIECES.map(b"".join), st.integers(1, 3))
def test_searching_on_finds_what_one_search_finds(data: bytes, at_once: int) -> None:
    found: list[Match] = []
    offset, more = 0, True
    while more:
        before = data[offset - 1 : offset] if offset else b""
        line = data.count(b"\n", 0, offset) + 1
        lines = LineSearch(compile_pattern("b"), max_matches=at_once, offset=offset, line=line, before=before)
        found += lines.feed(data[offset:]) + lines.finish()
        offset, more = lines.next, lines.full is not None
    assert found == search(data, "b")


@given(st.lists(st.text("abAB ", max_size=6)))
def test_a_literal_is_found_in_exactly_the_lines_that_have_it(texts: list[str]) -> None:
    wanted = [number for number, text in enumerate(texts, start=1) if re.search("ab", text, re.IGNORECASE)]
    assert numbers("\n".join(texts).encode(), "ab") == wanted
