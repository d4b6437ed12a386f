"""The runtime without `async`: the same calls, from any thread, whatever else that thread does."""

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import hermitty.sync
from hermitty import errors, events
from hermitty.config import ReuseSettings, RunSettings, Settings, TerminalSettings
from hermitty.model import Size, State
from hermitty.runtime.api import Command, Runtime, Terminal
from hermitty.sync import SyncCommand, SyncRuntime, SyncTerminal
from tests.conftest import open_descriptors
from tests.support.shells import PATIENCE_S


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        terminal=TerminalSettings(shell="bash", env={"HOME": str(tmp_path)}, shell_integration_timeout_s=PATIENCE_S),
        run=RunSettings(wait_s=PATIENCE_S),
        reuse=ReuseSettings(spares=0),
    )


@pytest.fixture
def rt(settings: Settings) -> Iterator[SyncRuntime]:
    with hermitty.sync.open(settings) as runtime:
        yield runtime


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "hermitty"]


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return [each.replace(annotation=None) for each in inspect.signature(function).parameters.values()]


FOR_SERVERS = ("artifacts", "recordings", "adopt_terminals", "look_after")


@pytest.mark.parametrize(
    ("mirror", "original", "names"),
    [
        (
            SyncRuntime,
            Runtime,
            [name for name in dir(Runtime) if not name.startswith("_") and name not in FOR_SERVERS],
        ),
        (
            SyncTerminal,
            Terminal,
            ["start", "run", "write", "send_key", "resize", "environment", "size", "is_open", "is_busy"],
        ),
        (
            SyncCommand,
            Command,
            ["wait", "wait_for", "events", "output", "write", "send_key", "interrupt", "kill", "is_running"],
        ),
    ],
)
def test_everything_is_there_with_the_same_parameters(mirror: type, original: type, names: list[str]) -> None:
    missing = [name for name in names if not hasattr(mirror, name)]
    assert missing == []
    for name in names:
        ours, theirs = getattr(mirror, name), getattr(original, name)
        assert not inspect.iscoroutinefunction(ours)
        if callable(theirs):
            assert parameters_of(ours) == parameters_of(theirs), name


def test_commands_terminals_and_results(rt: SyncRuntime, tmp_path: Path) -> None:
    assert rt.run("echo hi; sh -c 'exit 3'", cwd=tmp_path).exit_code == 3
    assert rt.run(["printf", "%s", "a b"], cwd=tmp_path).stdout == "a b"
    terminal = rt.open_terminal(cwd=tmp_path, cols=90, rows=20, env={"A": "1"})

    assert (terminal.shell, terminal.cwd, terminal.size) == ("bash", str(tmp_path), Size(90, 20))
    assert terminal.run("echo $A; cd /").text == "1\n"
    assert (terminal.cwd, terminal.environment()["A"]) == ("/", "1")
    terminal.resize(70, 10)
    assert terminal.run("stty size").text == "10 70\n"
    assert "10 70" in terminal.screen_text()
    assert rt.terminal(terminal.id).id == terminal.id
    [first, second] = [each.id for each in rt.terminals()]
    assert second == terminal.id

    rt.close_terminal(first)
    assert [each.id for each in rt.terminals()] == [second]
    assert terminal.is_open
    terminal.close()
    assert rt.terminals() == []
    with pytest.raises(errors.TerminalClosed):
        terminal.run("true")
    with pytest.raises(errors.TerminalClosed):
        terminal.close()


def test_a_command_is_followed_and_answered(rt: SyncRuntime, tmp_path: Path) -> None:
    terminal = rt.open_terminal(cwd=tmp_path)
    command = terminal.start("echo begun; printf 'Name? '; read x; echo \"<$x>\"; sh -c 'exit 4'")
    assert command.wait_for("beg(.*)", PATIENCE_S)
    asked = command.wait(PATIENCE_S)
    assert asked.state is State.NEEDS_INPUT
    assert command.is_running
    assert terminal.current is not None
    assert terminal.current.id == command.id

    command.write("Ann")
    command.send_key("enter")

    result = command.wait(PATIENCE_S)
    assert (result.exit_code, result.text.splitlines()[-1]) == (4, "<Ann>")
    assert command.output().text == result.text
    assert command.result() == result
    assert not terminal.is_busy
    assert rt.terminal(terminal.id).current is None


def test_a_command_is_interrupted_and_killed(rt: SyncRuntime, tmp_path: Path) -> None:
    terminal = rt.open_terminal(cwd=tmp_path)
    first = terminal.start("sleep 1000")
    assert first.wait(0).state is State.RUNNING
    first.interrupt()
    assert first.wait(PATIENCE_S).state is State.INTERRUPTED

    assert terminal.start("sleep 1000").kill().state is State.KILLED
    with pytest.raises(errors.CommandEnded):
        first.interrupt()


def test_events_come_as_they_happen_and_can_be_left(rt: SyncRuntime, tmp_path: Path) -> None:
    terminal = rt.open_terminal(cwd=tmp_path)
    seen = list(terminal.start("echo one; echo two").events(0))
    assert "".join(event.text for event in seen if isinstance(event, events.OutputArrived)) == "one\ntwo\n"
    assert isinstance(seen[-1], events.Completed)

    endless = terminal.start("while :; do echo again; done")
    for event in endless.events(0):
        assert isinstance(event, events.OutputArrived)
        break
    endless.kill()
    assert terminal.run("echo fine").text == "fine\n"


def test_events_of_the_runtime(rt: SyncRuntime, tmp_path: Path) -> None:
    told: list[events.Event] = []
    stop = rt.subscribe(told.append)
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(lambda: next(rt.events()))
        while not following.done():
            rt.run("true", cwd=tmp_path)
        stop()
        count = len(told)
        rt.run("true", cwd=tmp_path)

        assert following.result() in told
        assert len(told) == count
        rest = pool.submit(lambda: list(rt.events()))
        rt.run("true", cwd=tmp_path)
        rt.close()
        assert all(isinstance(event, events.Event) for event in rest.result(PATIENCE_S))


def test_a_callback_cannot_wait_for_its_own_runtime(rt: SyncRuntime, tmp_path: Path) -> None:
    refused: list[str] = []

    def callback(event: events.Event) -> None:
        try:
            rt.run("true", cwd=tmp_path)
        except errors.InvalidRequest as error:
            refused.append(str(error))

    stop = rt.subscribe(callback)
    rt.run("true", cwd=tmp_path)
    stop()

    assert "a callback cannot wait for the runtime that calls it" in refused[0]


def test_many_threads_share_one_runtime(rt: SyncRuntime, tmp_path: Path) -> None:
    def work(number: int) -> tuple[str, int | None]:
        result = rt.run(f"echo {number}; sh -c 'exit {number}'", cwd=tmp_path, session=str(number % 4))
        return result.text, result.exit_code

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(24)))

    assert results == [(f"{number}\n", number) for number in range(24)]


def test_it_works_inside_a_running_event_loop(settings: Settings, tmp_path: Path) -> None:
    async def in_a_loop() -> str:
        with hermitty.sync.open(settings) as rt:
            here = rt.run("echo blocking", cwd=tmp_path).text
            return here + (await asyncio.to_thread(rt.run, "echo threaded", cwd=tmp_path)).text

    assert asyncio.run(in_a_loop()) == "blocking\nthreaded\n"


def test_errors_come_through_with_their_type(rt: SyncRuntime, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidDirectory, match="'/no/such/place' does not exist"):
        rt.run("true", cwd="/no/such/place")
    with pytest.raises(errors.UnknownShell):
        rt.open_terminal(shell="tcsh")
    with pytest.raises(errors.TerminalNotFound):
        rt.terminal("t_9")
    assert rt.run("echo fine", cwd=tmp_path).text == "fine\n"


def test_closing_twice_is_an_error_and_leaving_the_block_is_not(settings: Settings, tmp_path: Path) -> None:
    before = open_descriptors()
    with hermitty.sync.open(settings) as rt:
        terminal = rt.open_terminal(cwd=tmp_path)
        command = terminal.start("sleep 1000")
        rt.close()

        with pytest.raises(errors.InvalidRequest, match="the runtime is closed already"):
            rt.close()
        attempts: list[Callable[[], object]] = [
            lambda: rt.run("true"),
            rt.open_terminal,
            rt.terminals,
            rt.events,
            lambda: terminal.run("true"),
            terminal.close,
            command.wait,
            lambda: next(command.events()),
        ]
        for attempt in attempts:
            with pytest.raises(errors.InvalidRequest, match="the runtime is closed; open another one"):
                attempt()
        assert not command.is_running
    assert threads() == []
    assert open_descriptors() == before


def test_closing_releases_threads_that_wait(settings: Settings, tmp_path: Path) -> None:
    rt = hermitty.sync.open(settings)
    (tmp_path / ".bashrc").write_text("[ -e slow ] && { touch started; sleep 1000; }\n")
    terminal = rt.open_terminal(cwd=tmp_path)
    command = terminal.start("sleep 1000")
    (tmp_path / "slow").touch()
    with ThreadPoolExecutor(4) as pool:
        ends = pool.submit(command.wait)
        never = pool.submit(command.wait_for, "never printed")
        piped = pool.submit(rt.run, "sleep 1001", provider="pipe", cwd=tmp_path)
        opening = pool.submit(rt.open_terminal, cwd=tmp_path)
        while not (tmp_path / "started").exists():
            assert not opening.done()
        rt.close()

        assert ends.result(PATIENCE_S).state is State.KILLED
        assert never.result(PATIENCE_S) is None
        with pytest.raises((errors.TerminalClosed, errors.InvalidRequest)):
            opening.result(PATIENCE_S)
        assert piped.result(PATIENCE_S).state is State.KILLED
    assert threads() == []


def test_an_exception_in_the_block_closes_everything(settings: Settings, tmp_path: Path) -> None:
    before = open_descriptors()
    with contextlib.suppress(KeyError), hermitty.sync.open(settings) as rt:
        rt.open_terminal(cwd=tmp_path).start("sleep 1000")
        raise KeyError

    assert threads() == []
    assert open_descriptors() == before


def test_two_runtimes_do_not_know_each_other(settings: Settings, tmp_path: Path) -> None:
    with hermitty.sync.open(settings) as one, hermitty.sync.open(settings) as two:
        one.open_terminal(cwd=tmp_path)
        two.open_terminal(cwd=tmp_path)
        one.close()

        assert two.terminals()[0].run("echo still here").text == "still here\n"
