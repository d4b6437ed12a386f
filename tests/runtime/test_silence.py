"""Silence is told as a fact, once for each, and ends nothing."""

import re
from pathlib import Path
from typing import Any

import pytest

from hermitty.events import CommandFinished, CommandSilent
from hermitty.model import State
from hermitty.runtime.api import Runtime
from hermitty.runtime.silence import Silence
from tests.support.runtimes import Dial, Gate, Listener, over
from tests.support.shells import PATIENCE_S

LIMIT_S = 8.0


def told_at(activities: list[float], until: float) -> list[float]:
    """When silences are told if a command is active at these times and is looked at when it must be."""
    silence, found, now = Silence(), [], activities[0]
    while now <= until:
        last = max(each for each in activities if each <= now)
        if silence.is_new(last, now, LIMIT_S):
            found.append(now)
        # Whoever looks more often than needed learns nothing else.
        assert not silence.is_new(last, now, LIMIT_S)
        assert silence.next_look(last, now, LIMIT_S) > now
        now = silence.next_look(last, now, LIMIT_S)
    return found


@pytest.mark.parametrize(
    ("activities", "found"),
    [
        ([float(second) for second in range(21)], [28.0]),
        ([0.0], [8.0]),
        ([0.0, 7.9], [15.9]),
        ([0.0, 9.0], [8.0, 17.0]),
        ([0.0, 100.0, 101.0], [8.0, 109.0]),
    ],
)
def test_each_silence_is_told_once(activities: list[float], found: list[float]) -> None:
    assert told_at(activities, 1000.0) == found


def silences(heard: Listener) -> list[CommandSilent]:
    return [event for event in heard.events if isinstance(event, CommandSilent)]


async def test_a_silent_command_is_told_and_goes_on(
    rt: Runtime, work: Path, gate: Gate, dial: Dial, heard: Listener
) -> None:
    dial.turn(tools__silence_note_s=0.2)
    terminal = await rt.open_terminal(cwd=work, session="A")
    command = await terminal.start("echo one; cat gate; echo two; cat gate")
    await heard.until(lambda: len(silences(heard)) == 1)
    [first] = silences(heard)
    assert first == CommandSilent(terminal.id, command.id, command.line, "agent", first.silent_s)
    assert first.silent_s >= 0.2
    assert command.is_running
    assert "\nNo output for 0." in await rt.report("A")

    gate.let()
    await heard.until(lambda: len(silences(heard)) == 2)
    assert command.output().text == "one\ntwo\n"
    gate.let()
    await over(command)

    assert (command.state, command.exit_code, command.result().warnings) == (State.DONE, 0, [])
    assert len(silences(heard)) == 2
    assert isinstance(heard.events[-1], CommandFinished)
    assert "No output" not in await rt.report("A")


async def test_a_command_that_prints_is_not_silent(
    rt: Runtime, work: Path, gate: Gate, dial: Dial, heard: Listener
) -> None:
    dial.turn(tools__silence_note_s=PATIENCE_S)
    terminal = await rt.open_terminal(cwd=work, session="A")
    command = await terminal.start("echo one; cat gate")
    assert await command.wait_for("one", PATIENCE_S)
    # A shorter time counts from the next command on, whatever runs already.
    dial.turn(tools__silence_note_s=0.1)
    other = await rt.open_terminal(cwd=work)
    second = await other.start("read -r x")
    await heard.until(lambda: any(event.command_id == second.id for event in silences(heard)))
    second.write("x\r")
    await over(second)
    gate.let()
    await over(command)


@pytest.mark.parametrize("provider", ["pty", "pipe"])
async def test_a_run_that_ends_its_wait_says_that_there_was_silence(
    rt: Runtime, work: Path, gate: Gate, dial: Dial, provider: Any
) -> None:
    dial.turn(tools__silence_note_s=0.3)
    silent = await rt.run("echo begun; cat gate", cwd=work, provider=provider, wait_s=1.0)
    assert (silent.state, silent.text) == (State.RUNNING, "begun\n")
    [warning] = silent.warnings
    assert re.fullmatch(r"no output for \d+ s; the command goes on", warning)
    gate.let()

    dial.turn(tools__silence_note_s=PATIENCE_S)
    calm = await rt.run("echo begun; cat gate", cwd=work, provider=provider, wait_s=0.4)
    assert (calm.state, calm.warnings) == (State.RUNNING, [])
    gate.let()


async def test_a_silence_that_is_over_leaves_no_warning(rt: Runtime, work: Path, dial: Dial) -> None:
    dial.turn(tools__silence_note_s=0.0)
    result = await rt.run("sleep 0.1; echo done", cwd=work)
    assert (result.state, result.warnings) == (State.DONE, [])
