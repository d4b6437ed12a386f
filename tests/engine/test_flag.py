"""Whoever waits for a flag is told that it came, or after its own time that it did not, with one timer for all."""

import asyncio
import subprocess
import sys

import pytest

from hermitty.engine.flag import Alarm, Flag
from tests.support.shells import PATIENCE_S


async def test_who_waits_is_told_that_it_came() -> None:
    flag = Flag()
    waiting = [asyncio.ensure_future(flag.wait(within_s)) for within_s in (None, PATIENCE_S, PATIENCE_S)]
    await asyncio.sleep(0)
    flag.set()
    assert await asyncio.gather(*waiting) == [True, True, True]
    assert await flag.wait(0)


async def test_a_short_wait_is_not_as_long_as_the_one_before_it() -> None:
    alarm = Alarm()
    flag = Flag(alarm)
    long = asyncio.ensure_future(flag.wait(PATIENCE_S))
    await asyncio.sleep(0)
    assert [await Flag(alarm).wait(within_s) for within_s in (0.001, 0, 0.001)] == [False, False, False]
    assert not long.done()
    flag.set()
    assert await long


async def test_several_waits_end_with_one_timer() -> None:
    alarm = Alarm()
    flags = [Flag(alarm), Flag(alarm)]
    waits = (flags[number % 2].wait(within_s) for number, within_s in enumerate((0.003, 0, 0.001, 0.002, 0.001)))
    assert not any(await asyncio.wait_for(asyncio.gather(*waits), PATIENCE_S))


async def test_a_timer_left_over_ends_nobodys_wait_early() -> None:
    alarm = Alarm()
    loop = asyncio.get_running_loop()
    over = Flag(alarm)
    brief = asyncio.ensure_future(over.wait(0.005))
    await asyncio.sleep(0)
    over.set()
    assert await brief
    began = loop.time()
    assert not await Flag(alarm).wait(0.02)
    assert loop.time() - began >= 0.019


async def test_a_wait_that_is_cancelled_leaves_the_others_alone() -> None:
    alarm = Alarm()
    cancelled = asyncio.ensure_future(Flag(alarm).wait(PATIENCE_S))
    other = asyncio.ensure_future(Flag(alarm).wait(0.001))
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert not await asyncio.wait_for(other, PATIENCE_S)


_NEARLY_OVER = """
import asyncio, sys
from hermitty.engine.flag import Alarm, Flag

async def main():
    alarm = Alarm()
    for within_s in (0, 0.0001, 0.0004, 0.0006):
        waits = [Flag(alarm).wait(each) for each in (within_s, 0.001, within_s, 0)]
        assert await asyncio.gather(*waits) == [False] * 4

with asyncio.Runner(loop_factory=__import__(sys.argv[1]).new_event_loop) as runner:
    runner.run(main())
"""


@pytest.mark.parametrize("make", ["asyncio", "uvloop"])
def test_waits_that_are_nearly_over_are_joined_by_others(make: str) -> None:
    """Servers run on uvloop, whose handles of such timers are others. It leaves descriptors in its process."""
    pytest.importorskip(make)
    subprocess.run([sys.executable, "-c", _NEARLY_OVER, make], check=True, timeout=PATIENCE_S)
