"""Looks after a while, on the real clock of an event loop."""

import asyncio
from functools import partial
from typing import Any

from hermitty.runtime.delayed import Delayed
from tests.support.shells import PATIENCE_S


async def test_each_is_called_once_in_order_and_not_before_its_time() -> None:
    loop = asyncio.get_running_loop()
    called: list[tuple[int, float]] = []
    over = asyncio.Event()
    delayed = Delayed(0.05)

    def call(number: int) -> None:
        called.append((number, loop.time()))
        if number == 3:
            over.set()

    began = loop.time()
    delayed.add(partial(call, 1))
    delayed.add(partial(call, 2))
    await asyncio.sleep(0.02)
    third = loop.time()
    delayed.add(partial(call, 3))
    await asyncio.wait_for(over.wait(), PATIENCE_S)
    assert [number for number, _ in called] == [1, 2, 3]
    assert all(at >= began + 0.05 for _, at in called)
    assert called[2][1] >= third + 0.05


async def test_one_that_fails_is_told_and_the_others_are_called() -> None:
    problems: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context["exception"]))
    over = asyncio.Event()
    delayed = Delayed(0)

    def fail() -> None:
        delayed.add(over.set)  # one more, meanwhile
        raise ValueError("no")

    delayed.add(fail)
    await asyncio.wait_for(over.wait(), PATIENCE_S)
    assert [str(problem) for problem in problems] == ["no"]
