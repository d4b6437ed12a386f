"""Several commands in one terminal: a result for each one that ran."""

import os
from pathlib import Path

import pytest

from hermitty import errors
from hermitty.model import State
from hermitty.runtime.api import Runtime
from tests.support.runtimes import Dial, Gate, found, over


async def test_each_command_has_its_own_output_and_code(rt: Runtime, work: Path) -> None:
    before = os.listdir(work)

    results = await rt.run_batch(["echo one", "echo two >&2; sh -c 'exit 3'", "echo three"], cwd=work, session="A")

    assert [(each.command, each.text, each.exit_code, each.state, each.session) for each in results] == [
        ("echo one", "one\n", 0, State.DONE, "A"),
        ("echo two >&2; sh -c 'exit 3'", "two\n", 3, State.DONE, "A"),
        ("echo three", "three\n", 0, State.DONE, "A"),
    ]
    assert len({each.id for each in results}) == 3
    [terminal] = rt.terminals(session="A")
    assert {each.terminal for each in results} == {terminal.id}
    # No script is left, and the terminal is free.
    assert os.listdir(work) == before
    assert (await rt.run("echo free", cwd=work, session="A")).terminal == terminal.id


async def test_commands_of_a_batch_share_their_shell(rt: Runtime, work: Path) -> None:
    results = await rt.run_batch(["x=kept; cd src", "echo $x; pwd", "f() { echo called; }", "f"], cwd=work)

    assert [each.text for each in results] == ["", f"kept\n{work}/src\n", "", "called\n"]


async def test_a_failure_ends_the_batch_if_that_is_wanted(rt: Runtime, work: Path) -> None:
    commands = ["true", "false", "touch ran"]

    stopped = await rt.run_batch(commands, cwd=work, stop_on_error=True)
    assert [each.exit_code for each in stopped] == [0, 1]
    assert not (work / "ran").exists()
    assert [each.exit_code for each in await rt.run_batch(commands, cwd=work)] == [0, 1, 0]
    assert (work / "ran").exists()


@pytest.mark.parametrize(("line", "code", "state"), [("exit 5", 5, State.DONE), ("kill -9 $$", None, State.LOST)])
async def test_a_command_that_ends_the_shell_ends_the_batch(
    rt: Runtime, work: Path, line: str, code: int | None, state: State
) -> None:
    results = await rt.run_batch(["echo one", f"echo two; {line}", "touch ran"], cwd=work, session="A")

    assert [(each.text, each.exit_code, each.state) for each in results] == [
        ("one\n", 0, State.DONE),
        ("two\n", code, state),
    ]
    assert not (work / "ran").exists()
    assert rt.terminals() == []


async def test_a_command_that_does_not_end_ends_the_batch(rt: Runtime, work: Path, gate: Gate) -> None:
    results = await rt.run_batch(["echo one", "echo two; cat gate", "touch ran"], cwd=work, session="A", wait_s=0.5)

    assert [(each.text, each.state) for each in results] == [("one\n", State.DONE), ("two\n", State.RUNNING)]
    [terminal] = rt.terminals(busy=True, session="A")
    command = terminal.current
    assert command is not None
    gate.let("rest\n")
    await over(command)
    assert command.result().text == "two\nrest\n"
    assert not (work / "ran").exists()


async def test_a_command_that_asks_ends_the_batch(rt: Runtime, work: Path) -> None:
    results = await rt.run_batch(["printf 'Name? '; read -r x", "touch ran"], cwd=work)

    assert [each.state for each in results] == [State.NEEDS_INPUT]
    assert not (work / "ran").exists()


async def test_a_batch_that_makes_no_sense_runs_nothing(rt: Runtime, work: Path) -> None:
    with pytest.raises(errors.InvalidRequest, match="a batch needs at least one command"):
        await rt.run_batch([], cwd=work)
    with pytest.raises(errors.InvalidRequest, match="a list of commands, not one text"):
        await rt.run_batch("touch ran", cwd=work)
    with pytest.raises(errors.InvalidCommand):
        await rt.run_batch(["touch ran", " "], cwd=work)
    with pytest.raises(errors.InvalidTime):
        await rt.run_batch(["touch ran"], cwd=work, wait_s=-1)
    with pytest.raises(errors.InvalidDirectory):
        await rt.run_batch(["touch ran"], cwd=work / "nowhere")

    assert (rt.terminals(), found(work, "ran")) == ([], [])


async def test_without_integration_a_batch_still_runs_each_command_once(
    rt: Runtime, work: Path, home: Path, dial: Dial
) -> None:
    (home / ".bashrc").write_text("exec sleep 1000\n")
    dial.turn(terminal__shell_integration_timeout_s=0.2)

    results = await rt.run_batch(["echo one | tee -a ran", "sh -c 'exit 3'", "echo three | tee -a ran"], cwd=work)

    assert [(each.text, each.exit_code, each.provider) for each in results] == [
        ("one\n", 0, "pipe"),
        ("", 3, "pipe"),
        ("three\n", 0, "pipe"),
    ]
    assert (work / "ran").read_text() == "one\nthree\n"
    assert results[0].warnings == ["no sign of the shell integration within 0.2 s; run without a terminal instead"]
    assert rt.terminals() == []
