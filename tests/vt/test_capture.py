"""HeadTail: the ends of a command's output, against slicing the whole."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import InvalidRequest
from hermitty.vt.capture import HeadTail


@given(
    st.integers(0, 30),
    st.integers(0, 30),
    st.lists(st.one_of(st.binary(max_size=20), st.binary(min_size=2048, max_size=2100)), max_size=10),
)
def test_head_and_tail_equal_slices_of_everything(head: int, tail: int, chunks: list[bytes]) -> None:
    capture, everything = HeadTail(head, tail), b""
    for chunk in chunks:
        capture.append(chunk)
        everything += chunk
    rest = everything[head:]
    assert (capture.head, capture.tail) == (everything[:head], rest[max(0, len(rest) - tail) :])
    assert capture.total == len(everything)
    assert capture.omitted == len(everything) - len(capture.head) - len(capture.tail)


def test_nothing_is_omitted_up_to_exactly_both_sizes() -> None:
    capture = HeadTail(3, 4)
    capture.append(b"abcdefg")
    assert (capture.head + capture.tail, capture.omitted) == (b"abcdefg", 0)
    capture.append(b"h")
    assert (capture.head, capture.omitted, capture.tail) == (b"abc", 1, b"efgh")


@pytest.mark.parametrize(("head", "tail"), [(-1, 0), (0, -1)])
def test_negative_sizes_are_refused(head: int, tail: int) -> None:
    with pytest.raises(InvalidRequest):
        HeadTail(head, tail)


def test_one_line_of_16_megabytes_is_held_within_the_limit() -> None:
    line = b"x" * 16_000_000
    capture = HeadTail(10_000, 40_000)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        capture.append(line)
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert held < 60_000
    assert (capture.total, capture.omitted) == (16_000_000, 16_000_000 - 50_000)
