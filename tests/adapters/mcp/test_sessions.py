"""Sessions of calls: kept alive by calls, released when idle. And pure parts: progress, texts of questions."""

import asyncio
from typing import Any

from hermitty.adapters.mcp.progress import Pace
from hermitty.adapters.mcp.sessions import Sessions
from hermitty.adapters.mcp.terminals import Glimpse
from tests.support.shells import PATIENCE_S

NOBODY: Any = None


async def test_a_session_that_nobody_calls_is_released() -> None:
    released: asyncio.Queue[str] = asyncio.Queue()
    sessions = Sessions(lambda ctx, given: given or "mine", released.put_nowait, idle_s=0.01)
    assert sessions(NOBODY, None) == "mine"
    assert sessions(NOBODY, "named by the caller") == "named by the caller"
    async with asyncio.timeout(PATIENCE_S):
        assert await released.get() == "mine"
    sessions(NOBODY, None)
    sessions.close()
    assert released.empty()


def test_progress_only_grows_and_tells_what_is_new() -> None:
    pace = Pace(100.0)
    one, two = Glimpse(1, "one"), Glimpse(2, "two")
    seen = [
        pace.news(None, 100.0),  # no time has passed
        pace.news(one, 100.25),
        pace.news(one, 100.5),  # nothing new
        pace.news(two, 100.25),  # the clock does not go back
        pace.news(two, 100.75),
        pace.news(two, 105.7),
        pace.news(two, 105.75),  # for a while nothing: it is told that time passes
        pace.news(None, 111.0),
        pace.news(Glimpse(0, ""), 112.0),
    ]
    assert seen == [
        None,
        (0.25, "one"),
        None,
        None,
        (0.75, "two"),
        None,
        (5.75, "two"),
        (11.0, "waiting to start"),
        (12.0, "running"),
    ]
