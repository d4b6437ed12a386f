import asyncio

import pytest

from hermitty import execute_with_timeout
from hermitty.errors import InvalidTime


async def test_an_operation_in_time_gives_its_result() -> None:
    async def work() -> str:
        return "done"

    assert await execute_with_timeout(work(), 60, lambda: "late") == "done"


@pytest.mark.parametrize("is_async", [False, True])
async def test_one_that_is_late_is_ended_and_replaced(is_async: bool) -> None:
    ended = asyncio.Event()

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async def late() -> str:
        assert ended.is_set()
        return "late"

    assert await execute_with_timeout(work(), 0, late if is_async else lambda: "late") == "late"
    assert ended.is_set()


async def test_errors_pass_through() -> None:
    async def work() -> str:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await execute_with_timeout(work(), 60, lambda: "late")


async def test_cancelling_ends_the_operation() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(execute_with_timeout(work(), 60, lambda: None))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ended.wait()


async def test_a_time_that_makes_no_sense_is_refused() -> None:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    with pytest.raises(InvalidTime):
        await execute_with_timeout(done, -1, lambda: None)
