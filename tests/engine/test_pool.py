"""Spares are there when they are needed, and nowhere else."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermitty.config import ReuseSettings
from hermitty.engine.pool import Plan, Pool, Voice
from hermitty.engine.terminal import Terminal
from hermitty.errors import HermittyError
from hermitty.events import CommandFinished, CwdChanged, TerminalEnded, TerminalOpened
from hermitty.host.local import LocalHost
from hermitty.model import Quality, TerminalId
from tests.support.registries import CountingOpener, Stage, staged
from tests.support.shells import PATIENCE_S


class Shells:
    """Opens real shells for a pool, or refuses to."""

    def __init__(self, opener: CountingOpener) -> None:
        self._opener = opener
        self.opened: list[tuple[str | None, str]] = []
        self.refuses = False
        self.pool = Pool(self.open, limit=2)
        self.most = 0

    async def open(self, plan: Plan, cwd: str, voice: Voice) -> Terminal:
        self.opened.append((plan.workspace, cwd))
        self.most = max(self.most, len(self.pool) + 1)
        if self.refuses:
            raise HermittyError("no more shells today")
        number = TerminalId(f"t_{len(self.opened)}")
        return await self._opener.open(number, cwd=cwd, shell=plan.shell, env={}, size=None, emit=voice)


@pytest.fixture
async def shells(home: Path) -> AsyncIterator[Shells]:
    """A pool of at most two spares."""
    host = LocalHost()
    shells = Shells(CountingOpener(host, home))
    yield shells
    await shells.pool.close()
    await host.aclose()


def plan(workspace: str | None = None) -> Plan:
    return Plan("bash", workspace)


async def close(terminal: Terminal) -> None:
    await terminal.close()


async def test_nothing_is_opened_before_a_real_terminal_was(shells: Shells, work: Path) -> None:
    assert shells.pool.take(plan()) is None
    shells.pool.asked(plan(), str(work))
    shells.pool.refill()
    await shells.pool.settled()
    assert shells.opened == []


async def test_one_spare_is_kept_where_somebody_asked_last(shells: Shells, work: Path) -> None:
    (work / "sub").mkdir()
    shells.pool.opened(plan(), str(work))
    shells.pool.asked(plan(), str(work / "sub"))
    for _ in range(3):
        shells.pool.refill()
    await shells.pool.settled()
    assert shells.opened == [(None, str(work / "sub"))]
    spare = shells.pool.take(plan())
    assert spare is not None
    assert spare.terminal.cwd == str(work / "sub")
    assert shells.pool.take(plan()) is None
    shells.pool.refill()
    await shells.pool.settled()
    assert len(shells.pool) == 1
    await close(spare.terminal)


async def test_the_most_recent_plans_have_spares_and_never_too_many(shells: Shells, work: Path) -> None:
    for workspace in ("one", "two", "three", "two"):
        shells.pool.opened(plan(workspace), str(work))
        shells.pool.refill()
        await shells.pool.settled()
    assert [workspace for workspace, _ in shells.opened] == ["one", "two", "three"]
    assert shells.pool.take(plan("one")) is None
    assert shells.most == 2
    assert len(shells.pool) == 2
    shells.pool.opened(plan("four"), str(work))
    shells.pool.refill()
    await shells.pool.settled()
    assert shells.pool.take(plan("three")) is None
    assert shells.most == 2


async def test_a_failure_is_silent_and_the_pool_rests_until_a_success(shells: Shells, work: Path) -> None:
    shells.refuses = True
    shells.pool.opened(plan(), str(work))
    for _ in range(3):
        shells.pool.refill()
        await shells.pool.settled()
    assert len(shells.opened) == 1
    shells.refuses = False
    shells.pool.refill()
    await shells.pool.settled()
    assert len(shells.opened) == 1
    shells.pool.opened(plan(), str(work))
    shells.pool.refill()
    await shells.pool.settled()
    assert len(shells.pool) == 1


async def test_a_dead_spare_is_not_given(shells: Shells, work: Path) -> None:
    shells.pool.opened(plan(), str(work))
    shells.pool.refill()
    await shells.pool.settled()
    spare = shells.pool.take(plan())
    assert spare is not None
    shells.pool.refill()
    await shells.pool.settled()
    await close(spare.terminal)
    dying = shells.pool.take(plan())
    assert dying is not None
    await dying.terminal.run("exit", wait_s=PATIENCE_S)
    assert not dying.terminal.is_open
    await dying.terminal.finished()


async def test_clearing_replaces_spares_and_those_on_their_way(shells: Shells, work: Path) -> None:
    shells.pool.opened(plan(), str(work))
    shells.pool.refill()
    while not shells.opened:
        await asyncio.sleep(0)
    shells.pool.clear()
    await shells.pool.settled()
    assert len(shells.opened) == 2
    shells.pool.clear()
    await shells.pool.settled()
    assert len(shells.opened) == 3
    assert len(shells.pool) == 1
    assert shells.most <= 2


@pytest.mark.parametrize("turns", [0, 1, 5])
async def test_closing_in_the_middle_of_opening_leaves_nothing(shells: Shells, work: Path, turns: int) -> None:
    shells.pool.opened(plan(), str(work))
    shells.pool.refill()
    for _ in range(turns):
        await asyncio.sleep(0)
    await shells.pool.close()
    assert len(shells.pool) == 0
    shells.pool.refill()
    await shells.pool.settled()
    assert len(shells.opened) <= 1


async def test_a_limit_of_zero_means_none(shells: Shells, work: Path) -> None:
    pool = Pool(shells.open, limit=0)
    pool.opened(plan(), str(work))
    pool.refill()
    await pool.settled()
    assert shells.opened == []


def test_a_voice_tells_late_what_it_held_and_then_at_once() -> None:
    voice, told = Voice(), list[object]()
    terminal = TerminalId("t_1")
    voice(TerminalOpened(terminal, "bash", "/first", Quality.RICH))
    voice(CwdChanged(terminal, "/now"))
    voice.speak_to(told.append, "/now")
    voice(TerminalEnded(terminal, "it was closed"))
    assert told == [
        TerminalOpened(terminal, "bash", "/now", Quality.RICH),
        TerminalEnded(terminal, "it was closed"),
    ]


# Spares behind a registry.


@pytest.fixture
async def stage(home: Path) -> AsyncIterator[Stage]:
    async with staged(home, ReuseSettings(spare_delay_s=0)) as stage:
        yield stage


async def test_a_spare_becomes_the_next_terminal(stage: Stage, work: Path) -> None:
    (work / "a").mkdir()
    (work / "b").mkdir()
    registry = stage.registry
    first = await registry.acquire(work / "a")
    await registry.settled()
    assert stage.opener.opened_in == [str(work / "a")]  # not while the first is still used
    first.release()
    await registry.settled()
    assert stage.opener.opened_in == [str(work / "a")] * 2
    assert registry.terminals() == [first.terminal]
    assert [event.terminal for event in stage.events] == [first.terminal.id]
    second = await registry.acquire(work / "b")
    assert (second.created, second.switched) == (True, False)
    assert len(stage.opener.opened_in) == 2
    info = registry.info(second.terminal.id)
    assert (info.number, info.switches) == (2, 0)
    result = await second.terminal.run("pwd", wait_s=PATIENCE_S)
    assert result.text == f"{work / 'b'}\n"
    told = [event for event in stage.events if event.terminal == second.terminal.id]
    assert told[0] == TerminalOpened(second.terminal.id, "bash", str(work / "b"), Quality.RICH)
    assert [event.command for event in told if isinstance(event, CommandFinished)] == ["pwd"]


async def test_what_a_spare_cannot_have_is_opened_anew(stage: Stage, work: Path) -> None:
    (await stage.registry.acquire(work, session="A")).release()
    await stage.registry.settled()
    special = await stage.registry.acquire(work, session="A", env={"X": "1"})
    assert special.created
    assert (await special.terminal.run("echo $X", wait_s=PATIENCE_S)).text == "1\n"
    assert len(stage.opener.opened_in) == 3


async def test_a_spare_that_cannot_go_there_is_replaced(stage: Stage, work: Path) -> None:
    (work / "a").mkdir()
    (work / "b").mkdir()
    # Every shell of this home forgets how to change directory.
    home = Path(stage.opener.environment()["HOME"])
    (home / ".bashrc").write_text("enable -n cd\n")
    (await stage.registry.acquire(work / "a")).release()
    await stage.registry.settled()
    lease = await stage.registry.acquire(work / "b")
    assert lease.created
    assert lease.terminal.cwd == str(work / "b")
    assert stage.opener.opened_in == [str(work / "a"), str(work / "a"), str(work / "b")]


async def test_spares_follow_the_contributors_of_path(stage: Stage, work: Path) -> None:
    (await stage.registry.acquire(work, session="A")).release()
    await stage.registry.settled()
    stage.registry.contribute_path("tool", "/tool/bin")
    await stage.registry.settled()
    lease = await stage.registry.acquire(work, session="B")
    assert len(stage.opener.opened_in) == 3
    result = await lease.terminal.run("echo $PATH", wait_s=PATIENCE_S)
    assert result.text.endswith(":/tool/bin\n")


async def test_a_taken_spare_whose_caller_is_cancelled_is_closed(stage: Stage, work: Path) -> None:
    (work / "a").mkdir()
    (work / "b").mkdir()
    (await stage.registry.acquire(work / "a")).release()
    await stage.registry.settled()
    taking = asyncio.ensure_future(stage.registry.acquire(work / "b"))
    _, spare = stage.opener.opened
    while not spare.is_busy:
        await asyncio.sleep(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    await stage.registry.settled()
    assert not spare.is_open
    assert len(stage.registry.terminals()) == 1
    assert len(stage.opener.opened_in) == 2
