"""ByteLog: the newest bytes by absolute offset, against a model that keeps everything."""

import sys
import tracemalloc
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import InvalidRequest
from hermitty.vt.byte_log import ByteLog, LogSlice

# Sizes around every threshold of the implementation, and around small limits.
SIZES = st.one_of(
    st.integers(0, 40),
    st.sampled_from([2047, 2048, 4096, 16383, 16384, 65535, 65536, 65537, 140_000]),
)
LIMITS = st.one_of(st.integers(0, 50), st.sampled_from([2047, 2048, 2049, 16384, 65536, 100_000]))


# Neighbouring bytes differ and the period is odd, so that a shifted slice shows.
PATTERN = bytes((i * 7 + (i >> 8)) % 251 for i in range(251 * 256)) * 30


def stream(sizes: list[int]) -> list[bytes]:
    """Chunks of these sizes, cut one after the other from the pattern."""
    ends = list(accumulate(sizes))
    return [PATTERN[end - size : end] for size, end in zip(sizes, ends, strict=True)]


@given(LIMITS, st.lists(SIZES, max_size=12), st.data())
def test_any_read_equals_a_slice_of_everything(limit: int, sizes: list[int], data: st.DataObject) -> None:
    log, everything = ByteLog(limit), b""
    for chunk in stream(sizes):
        everything += chunk
        assert log.append(chunk) == len(everything)
        start = max(0, len(everything) - limit)
        assert (log.start, log.end) == (start, len(everything))
        since = data.draw(st.integers(0, len(everything)))
        until = data.draw(st.one_of(st.none(), st.integers(since, len(everything))))
        stop = len(everything) if until is None else until
        first = min(max(since, start), stop)
        assert log.read(since, until) == LogSlice(first, everything[first:stop], first - since)
        assert log.read(log.start).data == everything[start:]


@pytest.mark.parametrize(("since", "until"), [(-1, None), (4, None), (0, 4), (2, 1), (-2, -1)])
def test_an_impossible_range_is_refused(since: int, until: int | None) -> None:
    log = ByteLog(10)
    log.append(b"abc")
    with pytest.raises(InvalidRequest, match="ends at 3"):
        log.read(since, until)


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        ByteLog(-1)


def test_a_read_of_what_is_gone_says_how_much_was_missed() -> None:
    log = ByteLog(4)
    log.append(b"0123456789")
    assert log.read(0) == LogSlice(offset=6, data=b"6789", missed=6)
    assert log.read(2, 5) == LogSlice(offset=5, data=b"", missed=3)
    assert log.read(10) == LogSlice(offset=10, data=b"", missed=0)
    assert log.read(7, 9).end == 9


def test_a_chunk_that_the_caller_changes_later_stays_as_it_was() -> None:
    log, chunk = ByteLog(10_000), bytearray(b"x" * 5000)
    log.append(chunk)
    chunk[:] = b"y" * 5000
    assert log.read(0).data == b"x" * 5000


def test_an_empty_log_is_tiny() -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        log = ByteLog(8 * 1024 * 1024)
        assert tracemalloc.get_traced_memory()[0] - before < 1024
    finally:
        tracemalloc.stop()
    assert sys.getsizeof(log) < 200


@pytest.mark.parametrize(
    ("chunk_bytes", "count"), [(1, 120_000), (100, 20_000), (2048, 2000), (65536, 60), (8_000_000, 2)]
)
def test_memory_stays_near_the_limit(chunk_bytes: int, count: int) -> None:
    limit = 100_000
    log = ByteLog(limit)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(count):
            log.append(bytes([number % 256]) * chunk_bytes)
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert held < limit + 64 * 1024 + 16 * 1024 + 8192
    assert len(log.read(log.start).data) == limit
