"""ContextBuffer: the last pieces of a terminal's output."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import InvalidRequest
from hermitty.output.context import ContextBuffer, Record


def test_of_41_records_the_last_40_are_kept() -> None:
    context = ContextBuffer()
    for number in range(41):
        context.append(b"%d\n" % number)
    assert context.tail(100) == tuple(Record(b"%d\n" % number) for number in range(1, 41))
    assert (len(context), context.total) == (40, 41)


def test_the_tail_is_short_unless_asked_for_more() -> None:
    context = ContextBuffer()
    for number in range(30):
        context.append(b"%d\n" % number)
    assert context.tail() == tuple(Record(b"%d\n" % number) for number in range(20, 30))
    assert context.tail(2) == (Record(b"28\n"), Record(b"29\n"))
    assert context.tail(0) == ()


def test_of_a_long_record_the_end_is_kept_and_the_rest_counted() -> None:
    context = ContextBuffer(record_bytes=4)
    context.append(b"0123456789")
    context.append(memoryview(b"abcd"))
    context.append(b"")
    assert context.tail() == (Record(b"6789", omitted=6), Record(b"abcd"))
    assert context.text() == "\n[... 6 bytes omitted ...]\n6789abcd"


def test_a_character_cut_between_records_is_whole_in_the_text() -> None:
    context = ContextBuffer()
    for byte in "é日".encode():
        context.append(bytes([byte]))
    assert context.text() == "é日"


def test_records_do_not_hold_on_to_what_was_cut_off() -> None:
    context = ContextBuffer()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            context.append(b"x" * 1_000_000)
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert kept < 300_000


def test_cleared_is_empty() -> None:
    context = ContextBuffer()
    context.append(b"a")
    context.clear()
    assert (context.tail(), context.text(), len(context)) == ((), "", 0)


@pytest.mark.parametrize(("records", "size"), [(-1, 10), (1, 0)])
def test_a_context_of_no_possible_size_is_refused(records: int, size: int) -> None:
    with pytest.raises(InvalidRequest):
        ContextBuffer(records, record_bytes=size)


def test_a_negative_tail_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        ContextBuffer().tail(-1)


@given(st.lists(st.binary(max_size=20)), st.integers(0, 5), st.integers(1, 10), st.integers(0, 8))
def test_any_records_are_the_last_ones_and_counted(pieces: list[bytes], records: int, size: int, count: int) -> None:
    context = ContextBuffer(records, record_bytes=size)
    for piece in pieces:
        context.append(piece)
    wanted = [piece for piece in pieces if piece]
    wanted = wanted[max(0, len(wanted) - min(records, count)) :]
    assert context.tail(count) == tuple(Record(piece[-size:], max(0, len(piece) - size)) for piece in wanted)
