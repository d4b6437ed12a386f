"""What is written arrives, complete and in order, whenever the reader gets to it."""

import asyncio
import itertools
import os
import random
from collections.abc import Iterator

import pytest

from hermitty.pty.write_queue import WriteQueue


class Pipe:
    """A pipe whose writing end belongs to a queue."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)

    def close_reader(self) -> None:
        if self.reader >= 0:
            os.close(self.reader)
            self.reader = -1

    async def read(self, wanted: int | None = None) -> bytes:
        """Read so many bytes, or to the end, a little at a time; the loop goes on in between."""
        found = b""
        while wanted is None or len(found) < wanted:
            await asyncio.sleep(0)
            os.set_blocking(self.reader, False)
            try:
                piece = os.read(self.reader, random.Random(len(found)).randint(1, 30_000))
            except BlockingIOError:
                continue
            if not piece:
                break
            found += piece
        return found


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close_reader()


async def test_a_megabyte_in_odd_pieces_arrives_in_order(pipe: Pipe) -> None:
    queue = WriteQueue(pipe.writer)
    data = random.Random(1).randbytes(1_000_003)
    cuts = [0, *sorted(random.Random(2).sample(range(len(data)), 200)), len(data)]
    for start, end in itertools.pairwise(cuts):
        queue.write(data[start:end])
    assert queue.waiting > 0
    queue.finish()

    async with asyncio.timeout(60):
        assert await pipe.read() == data
    assert queue.waiting == 0


async def test_what_waits_is_counted_exactly(pipe: Pipe) -> None:
    queue = WriteQueue(pipe.writer)
    queue.write(b"")
    queue.write(b"x" * 300_000)
    held = 300_000 - queue.waiting
    assert 0 < held < 300_000

    queue.write(b"y" * 7)
    assert queue.waiting == 300_007 - held

    queue.discard()
    assert queue.waiting == 0
    assert await pipe.read(held) == b"x" * held

    queue.write(b"next")
    queue.finish()
    assert await pipe.read() == b"next"


async def test_finishing_an_empty_queue_closes_at_once(pipe: Pipe) -> None:
    queue = WriteQueue(pipe.writer)
    queue.finish()
    queue.finish()
    queue.write(b"too late")

    assert os.read(pipe.reader, 10) == b""
    assert queue.waiting == 0


async def test_discarding_after_finishing_still_ends_the_input(pipe: Pipe) -> None:
    queue = WriteQueue(pipe.writer)
    queue.write(b"x" * 300_000)
    held = 300_000 - queue.waiting
    queue.finish()
    queue.discard()

    async with asyncio.timeout(60):
        assert await pipe.read() == b"x" * held


async def test_a_reader_that_left_costs_nothing(pipe: Pipe) -> None:
    queue = WriteQueue(pipe.writer)
    queue.write(b"x" * 300_000)
    pipe.close_reader()

    async with asyncio.timeout(60):
        while queue.waiting:
            await asyncio.sleep(0)
    queue.write(b"more")
    assert queue.waiting == 0
    queue.close()
    queue.close()


async def test_a_queue_that_does_not_own_its_descriptor_leaves_it_open(pipe: Pipe) -> None:
    queue = WriteQueue(pipe.writer)
    queue.write(b"x" * 300_000)
    held = 300_000 - queue.waiting
    queue.close(owns_descriptor=False)

    assert await pipe.read(held) == b"x" * held
    os.write(pipe.writer, b"still there")
    os.close(pipe.writer)
    assert await pipe.read() == b"still there"
