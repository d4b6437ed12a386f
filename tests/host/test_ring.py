"""The ring that two processes see: the same answers as a log of its own, and nothing read that may change."""

import errno
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermitty.errors import InvalidRequest
from hermitty.host.ring import Geometry, RingLog, RingWriter
from hermitty.pty.posix import READ_TURN
from hermitty.vt.byte_log import ByteLog, LogSlice

SMALL = Geometry(4 * READ_TURN)


class Pair:
    """A writer that keeps the rules, its reader, and a log of everything to compare with."""

    def __init__(self, directory: Path) -> None:
        path = directory / f"ring{len(list(directory.iterdir()))}"
        self.writer = RingWriter(path, SMALL)
        self.reader = RingLog(path, SMALL, start=0, end=0)
        self.everything = ByteLog(2**40)

    def write(self, length: int) -> None:
        """Print as much as the rules allow in one turn."""
        if self.writer.end - self.reader.acknowledged < SMALL.hold:
            piece = os.urandom(16) * (min(length, READ_TURN) // 16 + 1)
            piece = piece[: min(length, READ_TURN)]
            self.writer.append(piece)
            self.everything.append(piece)

    def advance(self, length: int) -> None:
        until = min(self.writer.end, self.reader.end + length)
        before = self.reader.end
        assert self.reader.advance(until) == self.everything.read(before, until).data

    def acknowledge(self, length: int) -> None:
        self.reader.acknowledged = min(self.reader.end, self.reader.acknowledged + length)

    def compare(self, since: int) -> None:
        reader = self.reader
        at = since % (reader.end + 1)
        first = max(at, min(reader.start, reader.end))
        expected = self.everything.read(first, reader.end)
        assert reader.read(at) == LogSlice(first, expected.data, first - at)

    def close(self) -> None:
        self.writer.close()
        self.reader.freeze(keep=False)


STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "advance", "acknowledge", "compare"]), st.integers(0, 2 * READ_TURN)),
    max_size=60,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(STEPS)
def test_whatever_writer_and_reader_do_the_bytes_are_the_same(tmp_path: Path, steps: list[tuple[str, int]]) -> None:
    pair = Pair(tmp_path)
    try:
        for name, length in steps:
            getattr(pair, name)(length)
            # The writer never reaches what may be read.
            assert pair.writer.end - SMALL.size <= pair.reader.start <= pair.reader.end or pair.reader.start == 0
        pair.compare(0)
    finally:
        pair.close()


def test_a_reader_behind_by_all_that_is_held_still_reads_everything(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    for _ in range(40):
        for _ in range(8):
            pair.write(READ_TURN)
        assert SMALL.hold <= pair.writer.end - pair.reader.acknowledged < SMALL.hold + READ_TURN
        pair.advance(2**40)
        pair.compare(0)
        pair.acknowledge(2**40)
    assert pair.writer.end > 5 * SMALL.size
    pair.close()


def test_offsets_that_are_not_there_are_refused(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    pair.write(100)
    pair.advance(60)

    for since, until in ((-1, None), (61, None), (0, 61), (5, 4)):
        with pytest.raises(InvalidRequest):
            pair.reader.read(since, until)
    assert pair.reader.read(60).data == b""
    pair.close()


def test_what_is_frozen_can_still_be_read_and_its_file_is_free(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    for _ in range(30):
        pair.write(READ_TURN)
        pair.advance(READ_TURN)
        pair.acknowledge(READ_TURN)
    start, end, kept = pair.reader.start, pair.reader.end, pair.reader.read(pair.reader.start)
    assert 0 < start < end

    pair.reader.freeze()
    pair.reader.freeze()

    assert (pair.reader.start, pair.reader.end) == (start, end)
    assert pair.reader.read(start) == kept
    assert pair.reader.read(0).missed == start
    pair.reader.acknowledged = end
    assert pair.reader.read(end - 10).data == kept.data[-10:]
    pair.close()


def test_a_ring_is_for_its_user_only_and_never_shared_by_two(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        writer = RingWriter(tmp_path / "ring", SMALL)
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "ring").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        RingWriter(tmp_path / "ring", SMALL)
    writer.close()


def test_without_room_bytes_wait_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(tmp_path)
    real = os.pwrite
    room = [5]

    def pwrite(descriptor: int, data: bytes, offset: int) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(descriptor, data[: room[0]], offset)
        room[0] -= written
        return written

    monkeypatch.setattr(os, "pwrite", pwrite)
    pair.writer.append(b"12345678")
    assert (pair.writer.end, pair.writer.is_stuck) == (5, True)
    pair.writer.append(b"9")
    room[0] = 100
    pair.writer.retry()

    assert (pair.writer.end, pair.writer.is_stuck) == (9, False)
    assert pair.reader.advance(9) == b"123456789"
    pair.close()


@pytest.mark.parametrize(
    ("asked", "size"), [(0, 512 * 1024), (1024 * 1024 + 1, 1028 * 1024), (2**40, 256 * 1024 * 1024)]
)
def test_rings_have_a_least_and_a_largest_size(asked: int, size: int) -> None:
    geometry = Geometry.keeping(asked)

    assert geometry.size == size
    # Room between what the writer may reach and what was acknowledged last.
    assert geometry.size - geometry.hold - READ_TURN > 0
