"""What is lent, on real PTYs: whoever dies at any step leaves exact bytes and exact counts."""

import os
import sys
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.host import loan
from hermitty.host.loan import INPUT_BYTES, LOAN_FILE, Borrowed, Input, Lender, Record, output_end
from hermitty.host.ring import RING_FILE, Geometry, RingWriter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="moves bytes as only Linux does")

GEOMETRY = Geometry.keeping(0)
STEPS = ("splice", "sendfile", "lseek", "pwrite")
numbers = st.lists(st.integers(0, 2**64 - 1), min_size=3, max_size=3)


class Died(BaseException):
    """Stands for the end of a process."""


class Mortal:
    """The os module for somebody who dies at one of its steps: just before it, or just after."""

    def __init__(self, step: int, *, is_done: bool) -> None:
        self._left = step
        self._is_done = is_done

    def __getattr__(self, name: str) -> Any:
        real: Callable[..., Any] = getattr(os, name)
        if name not in STEPS:
            return real

        def step(*args: Any) -> Any:
            self._left -= 1
            if self._left < 0 and not self._is_done:
                raise Died
            result = real(*args)
            if self._left < 0:
                raise Died
            return result

        return step


class World:
    """A PTY in raw mode, its ring, and both sides of a loan."""

    def __init__(self, directory: Path, *, end: int = 0, counted: Input | None = None) -> None:
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        os.set_blocking(self.master, False)
        os.set_blocking(self.slave, False)
        self.ring = RingWriter(directory / RING_FILE, GEOMETRY)
        self.ring.end = end
        self.lender = Lender(directory, GEOMETRY, self.master)
        self.lender.start_input(counted or Input(0, 0, 0, 0))
        self.lender.lend(end)
        self.borrowed = Borrowed([os.dup(each) for each in self.lender.descriptors], GEOMETRY)
        self.borrowed.begin(end)
        self.directory = directory

    def typed(self) -> bytes:
        """What programs have been given."""
        return drained(self.slave)

    def reclaimed(self, since: int) -> bytes:
        """All output from `since` on, as the host has it after the user's end."""
        end = self.lender.end
        self.ring.end = end
        self.ring.append(self.lender.leftover())
        self.ring.append(drained(self.master))
        data = (self.directory / RING_FILE).read_bytes()
        return bytes(data[at % GEOMETRY.size] for at in range(since, self.ring.end))

    def close(self) -> None:
        self.borrowed.close()
        self.lender.close()
        self.ring.close()
        os.close(self.slave)
        os.close(self.master)


def drained(descriptor: int) -> bytes:
    found = b""
    with suppress(BlockingIOError):
        while chunk := os.read(descriptor, 65536):
            found += chunk
    return found


@pytest.fixture
def places(tmp_path: Path) -> Callable[[], Path]:
    """New empty directories."""
    count = iter(range(1_000_000))

    def place() -> Path:
        directory = tmp_path / str(next(count))
        directory.mkdir()
        return directory

    return place


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, step: int, *, is_done: bool) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(loan, "os", Mortal(step, is_done=is_done))
        yield


def every_step(monkeypatch: pytest.MonkeyPatch, live: Callable[[], Callable[[], None]]) -> Iterator[None]:
    """Run `live()()` again and again, dying at another step each time, until it survives."""
    for is_done in (False, True):
        for step in range(1_000):
            act = live()
            with dying(monkeypatch, step, is_done=is_done):
                try:
                    act()
                except Died:
                    died = True
                else:
                    died = False
            yield
            if not died:
                break


@given(numbers, numbers, st.data())
def test_numbers_change_all_at_once(before: list[int], after: list[int], data: st.DataObject) -> None:
    memory = bytearray(256)
    record = Record(memoryview(memory).cast("Q"), 8, 3)
    record.commit(*before)
    old = bytes(memory)
    record.commit(*after)
    assert record.read() == tuple(after)
    new = bytes(memory)
    # Any bytes of the new numbers may be there, but for those of the number that tells which copy counts.
    changed = [at for at in range(256) if old[at] != new[at] and at // 8 != 8]
    torn = data.draw(st.sets(st.sampled_from(changed))) if changed else set()
    for at in range(256):
        memory[at] = new[at] if at in torn else old[at]
    assert record.read() == tuple(before)


@given(st.integers(0, 2**40), st.integers(0, GEOMETRY.size - 1), st.booleans())
def test_a_position_tells_where_output_ends(known: int, added: int, at_the_edge: bool) -> None:
    size = GEOMETRY.size
    position = (known + added) % size
    if at_the_edge and position == 0:
        position = size  # written up to the end, and not gone back yet
    assert output_end(known, position, size) == known + added


@pytest.mark.parametrize("start", [0, GEOMETRY.size - 5, 7 * GEOMETRY.size - 3000, 3 * GEOMETRY.size])
def test_output_is_exact_whoever_dies_when(
    places: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, start: int
) -> None:
    parts = [bytes(range(256)) * 4, b"x", os.urandom(3000), b"\0" * 500]
    world: World | None = None

    def live() -> Callable[[], None]:
        nonlocal world
        world = World(places(), end=start)

        def act() -> None:
            assert world is not None
            for part in parts:
                assert os.write(world.slave, part) == len(part)
                world.borrowed.read()

        return act

    for _ in every_step(monkeypatch, live):
        assert world is not None
        found = world.reclaimed(start)
        assert found
        assert b"".join(parts).startswith(found)
        # What was printed is what was found: parts are printed whole, one by one.
        assert len(found) in {sum(map(len, parts[: count + 1])) for count in range(len(parts))}
        world.close()
    assert found == b"".join(parts)


def test_input_is_exact_whoever_dies_when(places: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    # Each takes a third of the file: the fourth begins again at its start.
    writes = [bytes([65 + number]) * (INPUT_BYTES // 3 - 7) for number in range(4)]
    world: World | None = None
    seen = b""

    def live() -> Callable[[], None]:
        nonlocal world, seen
        world, seen = World(places(), counted=Input(0, 10, 5, 1000)), b""

        def act() -> None:
            nonlocal seen
            assert world is not None
            total = 1000
            for number, data in enumerate(writes):
                total += len(data)
                taken = world.borrowed.write(data, 11 + number, 6 + number, total)
                assert taken is not None
                # A program reads while the host writes what the PTY had no room for.
                while taken < len(data):
                    seen += world.typed()
                    taken += os.sendfile(world.master, world.lender.descriptors[2], None, len(data) - taken)
                seen += world.typed()

        return act

    for _ in every_step(monkeypatch, live):
        assert world is not None
        counted = world.lender.input()
        left = world.lender.unwritten()
        assert world.lender.unwritten() == b""
        seen += world.typed()
        count = counted.writes - 10
        assert seen + left == b"".join(writes[:count])
        assert counted.bytes == 1000 + len(seen + left)
        assert counted.answered == 5 + count
        world.close()
    assert count == len(writes)


def test_what_is_too_long_for_the_file_is_left_to_the_host(places: Callable[[], Path]) -> None:
    world = World(places())
    assert world.borrowed.write(bytes(INPUT_BYTES + 1), 1, 0, INPUT_BYTES + 1) is None
    assert world.lender.input() == Input(loan._HEAD, 0, 0, 0)
    assert world.borrowed.write(b"ls\n", 1, 0, 3) == 3
    assert world.typed() == b"ls\n"
    world.close()


def test_the_end_of_a_pty_is_told(places: Callable[[], Path]) -> None:
    world = World(places())
    os.write(world.slave, b"bye")
    os.close(world.slave)
    turns = [world.borrowed.read(), world.borrowed.read()]
    assert [(turn.end, turn.is_stuck) for turn in turns] == [(3, False), (3, True)]
    world.slave = os.open(os.devnull, os.O_RDONLY)
    world.close()


def test_descriptors_that_did_not_arrive_are_an_error_and_leave_nothing(places: Callable[[], Path]) -> None:
    world = World(places())
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="Too many open files"):
        Borrowed([os.dup(each) for each in world.lender.descriptors[:3]], GEOMETRY)
    assert set(os.listdir("/proc/self/fd")) == before
    assert (world.directory / LOAN_FILE).stat().st_mode & 0o777 == 0o600
    world.close()
