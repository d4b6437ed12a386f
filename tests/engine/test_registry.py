"""Terminals are shared by real shells as the rules of reuse say."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hermitty.config import ReuseSettings
from hermitty.engine.lease import Lease, TerminalInfo
from hermitty.engine.registry import Registry
from hermitty.engine.terminal import Terminal
from hermitty.errors import HermittyError, InvalidDirectory, InvalidRequest, TerminalNotFound
from hermitty.events import CommandFinished, TerminalEnded, TerminalOpened
from hermitty.model import State
from tests.support.registries import CountingOpener, Stage, staged
from tests.support.shells import PATIENCE_S, SHELLS

NewStage = Callable[..., Awaitable[Stage]]


@pytest.fixture
async def new_stage(home: Path) -> AsyncIterator[NewStage]:
    """Make stages with settings of their own; there are no spares unless asked for."""
    async with contextlib.AsyncExitStack() as stack:

        async def make(opener: type[CountingOpener] = CountingOpener, **changes: object) -> Stage:
            settings = ReuseSettings(**{"spares": 0, **changes})  # type: ignore[arg-type]
            return await stack.enter_async_context(staged(home, settings, opener))

        yield make


@pytest.fixture
async def stage(new_stage: NewStage) -> Stage:
    """A stage with the usual settings."""
    return await new_stage()


@pytest.fixture
def registry(stage: Stage) -> Registry:
    return stage.registry


@pytest.fixture
def project(work: Path) -> Path:
    """A directory with others around it."""
    for name in ("p/src/deep", "p/docs", "other"):
        (work / name).mkdir(parents=True)
    return work / "p"


async def text(terminal: Terminal, line: str) -> str:
    result = await terminal.run(line, wait_s=PATIENCE_S)
    assert result.state is State.DONE
    return result.text.removesuffix("\n")


async def used(registry: Registry, cwd: Path, line: str = "true", session: str | None = "A") -> Terminal:
    """Run a line somewhere, as a whole: acquire, run, release."""
    with await registry.acquire(cwd, session=session) as lease:
        await text(lease.terminal, line)
    return lease.terminal


async def kept_busy(terminal: Terminal) -> None:
    """Start a command that ends with Ctrl-D, and leave it."""
    command = await terminal.start("echo before; cat")
    assert await command.wait_for("before", PATIENCE_S)


async def until_idle(terminal: Terminal) -> None:
    assert terminal.current is not None
    assert (await terminal.current.wait(PATIENCE_S, until_input=False)).state.is_final


# Reuse and directories.


async def test_the_first_request_creates_terminal_1(registry: Registry, project: Path) -> None:
    lease = await registry.acquire(project, session="A", workspace="w")
    assert (lease.created, lease.switched) == (True, False)
    assert registry.info(lease.terminal.id) == TerminalInfo(1, "A", "w", 0, True)
    assert lease.terminal.cwd == str(project)
    assert not lease.terminal.is_busy
    lease.release()
    assert registry.info(lease.terminal.id) == TerminalInfo(1, "A", "w", 0, False)


async def test_numbers_and_ids_are_never_given_twice(registry: Registry, project: Path) -> None:
    first = await used(registry, project)
    await registry.close_terminal(first.id)
    second = await used(registry, project)
    assert registry.info(second.id).number == 2
    assert second.id != first.id
    with pytest.raises(TerminalNotFound):
        registry.terminal(first.id)


async def test_an_idle_terminal_is_used_again_without_a_new_shell(stage: Stage, project: Path) -> None:
    first = await used(stage.registry, project)
    lease = await stage.registry.acquire(project, session="A")
    assert lease.terminal is first
    assert (lease.created, lease.switched) == (False, False)
    assert stage.opener.opened_in == [str(project)]


async def test_a_busy_terminal_is_left_alone_until_it_is_idle(registry: Registry, project: Path) -> None:
    with await registry.acquire(project, session="A") as lease:
        first = lease.terminal
        await kept_busy(first)
    second = await used(registry, project)
    assert second is not first
    assert registry.terminals(busy=True) == [first]
    assert registry.terminals(busy=False) == [second]
    first.send_key("ctrl-d")
    await until_idle(first)
    assert await used(registry, project) is first


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_terminal_that_went_away_comes_back(stage: Stage, project: Path, shell: str) -> None:
    registry = stage.registry
    with await registry.acquire(project, session="A", shell=shell) as lease:
        first = lease.terminal
        await text(first, "cd src")
    assert first.cwd == str(project / "src")
    with await registry.acquire(project, session="A", shell=shell) as lease:
        assert lease.terminal is first
        assert (lease.created, lease.switched) == (False, True)
        assert await text(first, "pwd") == str(project)
    assert registry.info(first.id).switches == 1
    assert len(stage.opener.opened_in) == 1
    # Nobody is told of a command that nobody ran.
    told = [event.command for event in stage.events if isinstance(event, CommandFinished)]
    assert told == ["cd src", "pwd"]


async def test_directories_of_any_name_are_reached(registry: Registry, project: Path) -> None:
    odd = project / 'it\'s a $HOME `x` \\ "q" é\n;'
    odd.mkdir()
    first = await used(registry, project)
    with await registry.acquire(odd, session="A") as lease:
        assert (lease.terminal, lease.switched) == (first, True)
        assert await text(lease.terminal, "pwd; echo end") == f"{odd}\nend"
    assert first.cwd == str(odd)


async def test_an_unrelated_directory_gets_a_new_terminal(registry: Registry, project: Path) -> None:
    first = await used(registry, project)
    second = await used(registry, project.parent / "other")
    assert second is not first
    assert second.cwd == str(project.parent / "other")
    assert first.cwd == str(project)


async def test_the_exact_terminal_is_chosen_over_its_parent_s(registry: Registry, project: Path) -> None:
    with await registry.acquire(project / "src", session="A") as lease:
        exact = lease.terminal
        parent = await used(registry, project)
    assert await used(registry, project) is parent
    assert await used(registry, project / "src") is exact
    assert registry.info(exact.id).switches == 0


async def test_one_s_own_terminal_is_chosen_over_a_free_exact_one(registry: Registry, project: Path) -> None:
    free = await used(registry, project, session=None)
    own = await used(registry, project, "cd src", session="A")
    assert own is free  # it was bound by that
    registry.bind(own.id, "A")
    other = await used(registry, project, session="B")
    registry.release_session("B")
    assert registry.info(other.id).session is None
    assert await used(registry, project, session="A") is own


async def test_five_switches_are_all_one_terminal_makes(registry: Registry, project: Path) -> None:
    first = await used(registry, project, "cd src")
    for number in range(1, 6):
        assert await used(registry, project, "cd src") is first
        assert registry.info(first.id).switches == number
    second = await used(registry, project)
    assert second is not first
    assert registry.info(second.id) == TerminalInfo(2, "A", None, 0, False)
    # Where it is already, it can still be used.
    assert await used(registry, project / "src") is first
    assert registry.info(first.id).switches == 5


async def test_the_number_of_switches_is_a_setting(new_stage: NewStage, project: Path) -> None:
    registry = (await new_stage(max_switches=0)).registry
    first = await used(registry, project, "cd src")
    assert await used(registry, project) is not first


async def test_links_do_not_hide_a_directory(registry: Registry, project: Path) -> None:
    link = project.parent / "link"
    link.symlink_to(project)
    first = await used(registry, link)
    assert first.cwd == str(link)
    assert await used(registry, project) is first
    with await registry.acquire(link / "src", session="A") as lease:
        assert (lease.terminal, lease.switched) == (first, True)
        assert first.cwd == str(link / "src")


async def test_a_directory_made_anew_is_entered_again(registry: Registry, project: Path) -> None:
    place = project / "build"
    place.mkdir()
    first = await used(registry, place)
    place.rmdir()
    place.mkdir()
    (place / "new").touch()
    with await registry.acquire(place, session="A") as lease:
        assert (lease.terminal, lease.switched) == (first, False)
        assert await text(first, "ls .") == "new"
    assert registry.info(first.id).switches == 0


# Directories that are not there.


async def test_a_missing_directory_is_named_and_nothing_is_started(stage: Stage, project: Path) -> None:
    with pytest.raises(InvalidDirectory) as caught:
        await stage.registry.acquire(project / "nowhere", session="A")
    assert caught.value.path == str(project / "nowhere")
    assert stage.opener.opened_in == []
    assert stage.registry.terminals() == []


async def test_a_relative_directory_is_meant_from_where_the_session_began(registry: Registry, project: Path) -> None:
    await used(registry, project, "cd src/deep")
    with await registry.acquire("docs", session="A") as lease:
        assert lease.terminal.cwd == str(project / "docs")
    assert registry.session_cwd("A") == str(project / "docs")
    with await registry.acquire(".", session="fresh") as lease:
        assert lease.terminal.cwd == os.getcwd()


async def test_a_file_url_names_a_directory(registry: Registry, project: Path) -> None:
    assert (await registry.acquire((project / "src").as_uri())).terminal.cwd == str(project / "src")


class Vanishing(CountingOpener):
    """The directory disappears right after it was looked at, and has gone at the second look."""

    doomed: Path | None = None

    async def check_directory(self, path: str, workspace: str | None = None) -> None:
        await super().check_directory(path, workspace)
        if self.doomed is not None:
            self.doomed.rmdir()
            self.doomed = None


async def test_a_switch_to_a_directory_that_vanished_is_an_error(new_stage: NewStage, project: Path) -> None:
    stage = await new_stage(opener=Vanishing)
    assert isinstance(stage.opener, Vanishing)
    first = await used(stage.registry, project)
    stage.opener.doomed = project / "docs"
    with pytest.raises(InvalidDirectory):
        await stage.registry.acquire(project / "docs", session="A")
    # Nobody knows where it stands: it is not used again, and its place is free.
    assert stage.registry.terminals() == []
    assert not first.is_open
    assert await used(stage.registry, project) is not first


async def test_a_terminal_that_cannot_switch_is_replaced(registry: Registry, project: Path) -> None:
    first = await used(registry, project, "cd src; enable -n cd")
    with await registry.acquire(project, session="A") as lease:
        assert (lease.created, lease.switched) == (True, False)
        assert await text(lease.terminal, "pwd") == str(project)
    assert registry.terminals() == [lease.terminal]
    assert first.closed_because == f"it did not get to {project}"
    assert registry.info(lease.terminal.id) == TerminalInfo(2, "A", None, 0, False)


# Sessions.


async def test_another_session_gets_its_own_until_the_first_is_released(registry: Registry, project: Path) -> None:
    with await registry.acquire(project, session="A") as lease:
        first = lease.terminal
        await kept_busy(first)
    second = await used(registry, project, session="B")
    assert second is not first
    registry.release_session("A")
    assert registry.background_terminals() == registry.background_terminals(busy=True) == [first]
    assert registry.terminals(session="A") == []
    assert registry.terminals(session="B") == [second]
    first.send_key("ctrl-d")
    command = first.current
    assert command is not None
    await until_idle(first)
    assert command.output().text == "before\n"
    # B's own terminal is better, though the other one is as near.
    assert await used(registry, project, session="B") is second
    with await registry.acquire(project, session="B") as held:
        assert held.terminal is second
        assert await used(registry, project, session="B") is first
    assert registry.info(first.id).session == "B"


async def test_idle_terminals_of_others_are_taken_only_if_allowed(new_stage: NewStage, project: Path) -> None:
    kind, thief = (await new_stage()).registry, (await new_stage(steal=True)).registry
    assert await used(kind, project, session="A") is not await used(kind, project, session="B")
    first = await used(thief, project, session="A")
    assert await used(thief, project, session="B") is first
    assert thief.info(first.id).session == "B"


async def test_workspaces_do_not_share(registry: Registry, project: Path) -> None:
    leases = []
    for workspace in ("one", "two", None):
        leases.append(await registry.acquire(project, workspace=workspace))
        leases[-1].release()
    assert len({lease.terminal.id for lease in leases}) == 3
    assert registry.terminals(workspace="two") == [leases[1].terminal]


async def test_shells_and_extra_variables_must_be_the_same(registry: Registry, project: Path) -> None:
    async def get(shell: str | None = None, env: dict[str, str] | None = None) -> Terminal:
        with await registry.acquire(project, shell=shell, env=env) as lease:
            return lease.terminal

    plain = await get()
    assert await get("bash") is plain
    assert await get("sh") is not plain
    special = await get(env={"X": "1", "Y": "2"})
    assert special is not plain
    assert await text(special, "echo $X$Y") == "12"
    assert await get(env={"Y": "2", "X": "1"}) is special
    assert await get(env={"X": "1"}) not in (plain, special)
    assert await get() is plain


async def test_ending_a_session_closes_its_terminals(registry: Registry, project: Path) -> None:
    mine = await used(registry, project, session="A")
    with await registry.acquire(project, session="A") as lease:
        await lease.terminal.run("sleep 1000", wait_s=0)
    theirs = await used(registry, project, session="B")
    assert registry.sessions() == ["A", "B"]
    ending = asyncio.ensure_future(registry.end_session("A"))
    await asyncio.sleep(0)
    assert registry.terminals() == [theirs]
    assert registry.sessions() == ["B"]
    # What it ran still has an owner while it ends.
    assert registry.info(lease.terminal.id).session == "A"
    await ending
    with pytest.raises(TerminalNotFound):
        registry.info(lease.terminal.id)
    assert not mine.is_open
    assert registry.session_cwd("A") is None
    await registry.end_session("B", kill=False)
    assert registry.background_terminals() == [theirs]


async def test_a_shell_that_ended_is_never_given_again(stage: Stage, project: Path) -> None:
    first = await used(stage.registry, project, "true")
    with await stage.registry.acquire(project, session="A") as lease:
        await lease.terminal.run("exit 3", wait_s=PATIENCE_S)
        assert stage.registry.terminals() == []
    second = await used(stage.registry, project)
    assert second is not first
    assert stage.registry.terminals() == [second]
    ends = [event.terminal for event in stage.events if isinstance(event, TerminalEnded)]
    assert ends == [first.id]


# Many at once.


async def test_twenty_requests_at_once_share_nothing(registry: Registry, project: Path) -> None:
    for _ in range(3):
        await used(registry, project)
    leases = await asyncio.gather(*(registry.acquire(project, session="A") for _ in range(20)))
    assert len({lease.terminal.id for lease in leases}) == 20
    assert sum(lease.created for lease in leases) == 19
    for lease in leases:
        lease.release()
        lease.release()
    again = await asyncio.gather(*(registry.acquire(project, session="A") for _ in range(20)))
    assert {lease.terminal.id for lease in again} == {lease.terminal.id for lease in leases}
    assert len({lease.terminal.id for lease in again}) == 20


async def test_a_thousand_requests_never_share_and_all_are_served(new_stage: NewStage, project: Path) -> None:
    stage = await new_stage(terminals_per_workspace=4)
    places = [project, project / "src", project / "docs", project.parent / "other"]
    held: set[str] = set()
    most = 0

    async def one(number: int) -> None:
        nonlocal most
        session = f"s{number % 7}" if number % 3 else None
        with await stage.registry.acquire(places[number % 2], session=session) as lease:
            assert lease.terminal.id not in held
            assert lease.terminal.cwd == str(places[number % 2])
            held.add(lease.terminal.id)
            most = max(most, len(held))
            await asyncio.sleep(0)
            held.discard(lease.terminal.id)
        if session is not None:
            stage.registry.release_session(session)

    await asyncio.gather(*(one(number) for number in range(1000)))
    assert most == 4
    assert len(stage.registry.terminals()) <= 4


async def test_the_sixth_of_five_waits_for_the_first_released(new_stage: NewStage, project: Path) -> None:
    stage = await new_stage(terminals_per_workspace=5)
    leases = await asyncio.gather(*(stage.registry.acquire(project, session="A") for _ in range(5)))
    await text(leases[2].terminal, "echo secret")
    sixth = asyncio.ensure_future(stage.registry.acquire(project, session="A"))
    elsewhere = await stage.registry.acquire(project, session="A", workspace="another")
    assert elsewhere.created
    assert not sixth.done()
    leases[2].release()
    leases[0].release()
    lease = await sixth
    assert lease.terminal is leases[2].terminal
    assert await text(lease.terminal, "echo new") == "new"


async def test_waiting_is_first_come_first_served(new_stage: NewStage, project: Path) -> None:
    registry: Registry = (await new_stage(terminals_per_workspace=1)).registry
    held = await registry.acquire(project)
    order: list[int] = []

    async def wait(number: int) -> None:
        with await registry.acquire(project):
            order.append(number)

    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(wait(number)) for number in range(10)]
        await asyncio.sleep(0)
        for number in (0, 4, 9):
            waiting[number].cancel()
        held.release()
    assert order == [1, 2, 3, 5, 6, 7, 8]
    with await registry.acquire(project) as lease:
        assert lease.terminal is held.terminal


async def test_a_grant_that_comes_with_the_cancellation_is_passed_on(new_stage: NewStage, project: Path) -> None:
    registry: Registry = (await new_stage(terminals_per_workspace=1)).registry
    held = await registry.acquire(project)
    first = asyncio.ensure_future(registry.acquire(project))
    second = asyncio.ensure_future(registry.acquire(project))
    await asyncio.sleep(0)
    held.release()
    first.cancel()
    assert (await second).terminal is held.terminal
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_who_could_not_be_served_keeps_the_place_in_the_queue(new_stage: NewStage, project: Path) -> None:
    registry: Registry = (await new_stage(terminals_per_workspace=1)).registry
    held = await registry.acquire(project, session="A")
    order: list[str] = []

    async def wait(session: str) -> None:
        with await registry.acquire(project, session=session):
            order.append(session)
        registry.release_session(session)

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for session in ("C", "A", "D"):
            group.create_task(wait(session))
        await asyncio.sleep(0)
        held.release()  # it is A's, so C has to wait on
    assert order == ["A", "C", "D"]


async def test_a_terminal_that_is_ready_too_late_for_its_caller_is_free(new_stage: NewStage, project: Path) -> None:
    stage = await new_stage()
    asking = asyncio.ensure_future(stage.registry.acquire(project, session="A"))
    stage.on_event = lambda event: asking.cancel() if isinstance(event, TerminalOpened) else None
    with pytest.raises(asyncio.CancelledError):
        await asking
    lease = await stage.registry.acquire(project, session="A")
    assert (lease.terminal, lease.created) == (stage.opener.opened[0], False)


async def test_a_link_that_leads_elsewhere_now_is_followed(registry: Registry, project: Path) -> None:
    link = project / "current"
    link.symlink_to("src")
    first = await used(registry, link)
    link.unlink()
    link.symlink_to("docs")
    with await registry.acquire(link, session="A") as lease:
        assert lease.terminal is not first
        assert await text(lease.terminal, "pwd -P") == str(project / "docs")


async def test_a_command_that_ends_in_the_background_frees_its_terminal(new_stage: NewStage, project: Path) -> None:
    registry: Registry = (await new_stage(terminals_per_workspace=1)).registry
    with await registry.acquire(project, session="A") as lease:
        await kept_busy(lease.terminal)
    waiting = asyncio.ensure_future(registry.acquire(project, session="A"))
    await asyncio.sleep(0)
    assert not waiting.done()
    lease.terminal.send_key("ctrl-d")
    assert (await waiting).terminal is lease.terminal


async def test_a_shell_that_dies_makes_room(new_stage: NewStage, project: Path) -> None:
    registry: Registry = (await new_stage(terminals_per_workspace=1)).registry
    lease = await registry.acquire(project, session="A")
    waiting = asyncio.ensure_future(registry.acquire(project, session="B"))
    await asyncio.sleep(0)
    await lease.terminal.run("exit", wait_s=PATIENCE_S)
    assert (await waiting).created
    lease.release()
    assert registry.terminals() == [waiting.result().terminal]


async def test_the_oldest_free_terminal_makes_room(new_stage: NewStage, project: Path) -> None:
    registry: Registry = (await new_stage(terminals_per_workspace=3)).registry
    other = project.parent / "other"
    old, young = [await registry.acquire(project) for _ in range(2)]
    bound = await used(registry, other, session="B")
    old.release()
    young.release()
    new = await used(registry, other, session="A")
    assert not old.terminal.is_open
    assert registry.terminals() == [young.terminal, bound, new]


async def test_a_session_does_not_wait_for_itself(new_stage: NewStage, project: Path) -> None:
    registry: Registry = (await new_stage(terminals_per_workspace=2)).registry
    first = await used(registry, project / "src")
    second = await used(registry, project / "docs")
    third = await used(registry, project.parent / "other")
    assert registry.terminals() == [second, third]
    assert not first.is_open


async def test_a_terminal_to_keep_is_nobody_else_s(new_stage: NewStage, project: Path) -> None:
    registry: Registry = (await new_stage(terminals_per_workspace=2, idle_close_s=1000)).registry
    kept = await registry.open(project, session="A", keep=True)
    kept.release()
    other = await registry.acquire(project, session="A")
    assert other.terminal is not kept.terminal
    other.release()
    registry.release_session("A")
    assert registry.overdue(float("inf")) == [other.terminal]
    assert (await registry.open(project, session="A")).created
    assert kept.terminal.is_open
    assert not other.terminal.is_open
    registry.discard(kept.terminal.id, "its command has ended")
    assert registry.discard(kept.terminal.id, "once more") is None
    await registry.settled()
    assert kept.terminal.closed_because == "its command has ended"


# Cancelling and closing.


async def test_a_cancelled_open_leaves_nothing_and_frees_its_room(new_stage: NewStage, project: Path) -> None:
    stage = await new_stage(terminals_per_workspace=1)
    opening = asyncio.ensure_future(stage.registry.acquire(project))
    while not stage.opener.opened_in:
        await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert (await stage.registry.acquire(project)).created
    assert [type(event) for event in stage.events] == [TerminalOpened]


async def test_a_cancelled_switch_closes_the_terminal(registry: Registry, project: Path) -> None:
    first = await used(registry, project)
    switching = asyncio.ensure_future(registry.acquire(project / "src", session="A"))
    while not first.is_busy:
        await asyncio.sleep(0)
    assert registry.info(first.id).is_leased
    switching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await switching
    assert await used(registry, project) is not first
    assert first.closed_because == "it was on its way to another directory"


async def test_closing_refuses_those_who_wait_and_those_who_open(new_stage: NewStage, project: Path) -> None:
    stage = await new_stage(terminals_per_workspace=2)
    held = await stage.registry.acquire(project)
    tasks = [asyncio.ensure_future(stage.registry.acquire(project)) for _ in range(3)]
    while len(stage.opener.opened_in) < 2:
        await asyncio.sleep(0)
    await stage.registry.close()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in found] == [InvalidRequest] * 3
    assert not held.terminal.is_open
    held.release()
    with pytest.raises(InvalidRequest):
        await stage.registry.acquire(project)
    await stage.registry.close()


async def test_an_open_that_fails_frees_its_room(new_stage: NewStage, project: Path) -> None:
    registry: Registry = (await new_stage(terminals_per_workspace=1)).registry
    with pytest.raises(HermittyError):
        await registry.acquire(project, shell="no-such-shell")
    with pytest.raises(HermittyError):  # the home is where bash reads its files; this one ends it
        await registry.acquire(project, env={"HOME": str(ending_home(project))})
    assert (await registry.acquire(project)).created


def ending_home(project: Path) -> Path:
    (project / ".bashrc").write_text("exit 7\n")
    return project


# Idling.


async def test_idle_terminals_are_closed_after_their_time(new_stage: NewStage, project: Path) -> None:
    stage = await new_stage(idle_close_s=0.05)
    with await stage.registry.acquire(project) as lease:
        busy = lease.terminal
        await kept_busy(busy)
    bound = await used(stage.registry, project, session="A")
    idle = await used(stage.registry, project, session=None)
    await stage.until(lambda: not idle.is_open)
    assert idle.closed_because == "nobody used it for a long time"
    assert stage.registry.terminals() == [busy, bound]
    busy.send_key("ctrl-d")
    await stage.until(lambda: not busy.is_open)
    assert stage.registry.terminals() == [bound]
    stage.registry.release_session("A")
    await stage.until(lambda: not bound.is_open)


async def test_overdue_is_decided_by_the_time_given(new_stage: NewStage, project: Path) -> None:
    registry: Registry = (await new_stage(idle_close_s=1000)).registry
    lease = await registry.acquire(project)
    now = asyncio.get_running_loop().time()
    assert registry.overdue(now + 2000) == []
    lease.release()
    assert registry.overdue(now + 999) == []
    assert registry.overdue(now + 2000) == [lease.terminal]


async def test_settings_can_change_while_it_runs(new_stage: NewStage, project: Path) -> None:
    registry: Registry = (await new_stage(terminals_per_workspace=1)).registry
    held = await registry.acquire(project, session="A")
    waiting = asyncio.ensure_future(registry.acquire(project, session="B"))
    await asyncio.sleep(0)
    assert not waiting.done()
    registry.configure(replace(registry.settings, terminals_per_workspace=2, max_switches=0))
    assert (await waiting).created
    held.release()
    waiting.result().release()
    # No more switches: the place of the session's own terminal is taken by a new one.
    assert await used(registry, project / "src", session="A") is not held.terminal


# Variables.


async def test_variables_are_those_of_each_terminal(registry: Registry, project: Path) -> None:
    with await registry.acquire(project) as one, await registry.acquire(project) as two:
        await text(one.terminal, "export A=1")
        assert "A=1" in await text(one.terminal, "env | grep ^A=")
        assert (await one.terminal.environment())["A"] == "1"
        assert "A" not in await two.terminal.environment()


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_switch_resets_the_variables_if_asked(new_stage: NewStage, project: Path, shell: str) -> None:
    registry: Registry = (await new_stage(reset_env=True)).registry

    async def lease(cwd: Path, session: str) -> Lease:
        return await registry.acquire(cwd, session=session, shell=shell)

    export = {"fish": "set -gx {} {}", "pwsh": "$env:{} = '{}'"}.get(shell, "export {}={}")
    with await lease(project, "A") as first:
        before = await first.terminal.environment()
        await text(first.terminal, export.format("POLLUTED", "yes"))
        await text(first.terminal, export.format("HOME", "/nowhere"))
    with await lease(project, "A") as same:
        assert (same.terminal, same.switched) == (first.terminal, False)
        assert (await same.terminal.environment())["POLLUTED"] == "yes"
    with await lease(project / "src", "A") as switched:
        assert (switched.terminal, switched.switched) == (first.terminal, True)
        after = await switched.terminal.environment()
        assert ("POLLUTED" in after, after["HOME"]) == (False, before["HOME"])
        await text(first.terminal, export.format("POLLUTED", "again"))
    registry.release_session("A")
    with await lease(project / "src", "B") as other:
        assert (other.terminal, other.switched) == (first.terminal, False)
        assert "POLLUTED" not in await other.terminal.environment()


async def test_without_that_setting_variables_stay(registry: Registry, project: Path) -> None:
    await used(registry, project, "export KEPT=yes")
    with await registry.acquire(project / "src", session="A") as lease:
        assert await text(lease.terminal, "echo $KEPT") == "yes"


async def test_contributors_add_to_the_path_of_new_terminals(registry: Registry, project: Path) -> None:
    async def path() -> str:
        with await registry.open(project) as lease:
            return await text(lease.terminal, "echo $PATH")

    before = await path()
    registry.contribute_path("git", "/first")
    registry.contribute_path("git", "/second")
    assert await path() == f"{before}:/second"
    registry.contribute_path("node", "/node", prepend=True)
    assert await path() == f"/node:{before}:/second"
    registry.contribute_path("git", None)
    registry.contribute_path("node", None)
    assert await path() == before
