"""A terminal that prints nothing lets its screen rest, and shows everything when asked."""

import asyncio

import pytest

from hermitty.engine import resting
from hermitty.engine.terminal import Terminal
from hermitty.vt.lazy_screen import LazyScreen
from tests.support.shells import PATIENCE_S


class Watched:
    """Counts how often a screen was told to rest."""

    def __init__(self, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rested = asyncio.Event()
        rest = terminal.screen.rest

        def noted() -> None:
            rest()
            self.rested.set()

        monkeypatch.setattr(terminal.screen, "rest", noted)


async def test_the_screen_of_a_quiet_terminal_rests_and_still_shows_everything(
    bash: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resting, "REST_AFTER_S", 0.01)
    assert isinstance(bash.screen, LazyScreen)
    watched = Watched(bash, monkeypatch)
    async with asyncio.timeout(PATIENCE_S):
        await bash.run("seq 3000")
        await watched.rested.wait()
        assert "3000" in bash.screen.text()
        assert "2900" in bash.screen.history_text()
        watched.rested.clear()
        result = await bash.run("echo awake again")
        await watched.rested.wait()
    assert result.text.strip() == "awake again"
    assert "awake again" in bash.screen.text()


async def test_a_terminal_that_is_closed_is_not_looked_at_any_more(
    bash: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resting, "REST_AFTER_S", 0.0)
    await bash.run("true")
    await bash.close("the test is over")
    await bash.finished()
    problems: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
    for _ in range(3):
        await asyncio.sleep(0)
    assert problems == []
