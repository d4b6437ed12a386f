"""Killing commands: once, to the end whoever waits for it, and nobody but them."""

import asyncio
import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

import hermitty
from hermitty.config import RunSettings
from hermitty.model import State
from hermitty.runtime.api import Runtime, Terminal
from tests.engine.conftest import settings_for
from tests.support.shells import PATIENCE_S

# The shell itself runs, and hears nothing.
DEAF = "trap '' INT TERM HUP; echo begun; while :; do :; done"
STUBBORN = "sh -c 'trap \"\" INT TERM; echo begun; while :; do sleep 1000; done'"


async def test_the_next_command_is_not_killed_with_the_one_before(bash: Terminal) -> None:
    for _ in range(6):
        first = asyncio.create_task(bash.run("echo begun; (setsid sleep 1000 &); sleep 1000"))
        while bash.current is None:
            await asyncio.sleep(0)
        command = bash.current
        assert await command.wait_for("begun", PATIENCE_S)
        first.cancel()
        while bash.is_busy:
            await asyncio.sleep(0)
        # Its shell is back, and what it left behind is still being killed.
        result = await bash.run("sleep 0.01; echo fine", wait_s=PATIENCE_S)
        assert (result.state, result.exit_code, result.text) == (State.DONE, 0, "fine\n")
        assert command.result().state is State.KILLED


async def test_a_kill_that_nobody_waits_for_goes_on(bash: Terminal) -> None:
    command = await bash.start(STUBBORN)
    assert await command.wait_for("begun", PATIENCE_S)
    for _ in range(3):
        killing = asyncio.create_task(command.kill())
        await asyncio.sleep(0)
        killing.cancel()
        await asyncio.wait([killing])
        assert killing.cancelled()

    result = await command.wait(PATIENCE_S)
    assert (result.state, bash.is_open) == (State.KILLED, True)
    assert (await bash.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


async def test_a_shell_that_two_want_to_stop_is_closed_once(home: Path, work: Path) -> None:
    settings = replace(settings_for(home), run=RunSettings(interrupt_grace_s=0.1, terminate_grace_s=0.1))
    async with hermitty.open(settings) as runtime:
        terminal = await runtime.open_terminal(shell="bash", cwd=work)
        running = asyncio.create_task(terminal.run(DEAF))
        while terminal.current is None:
            await asyncio.sleep(0)
        command = terminal.current
        assert await command.wait_for("begun", PATIENCE_S)
        killing = asyncio.create_task(command.kill())
        await asyncio.sleep(0)
        running.cancel()
        async with asyncio.timeout(PATIENCE_S):
            result = await killing
        assert (result.state, result.exit_code) == (State.KILLED, None)
        assert any("could not be stopped without its shell" in warning for warning in result.warnings)


@pytest.mark.parametrize("fails", [1, 2])
async def test_a_line_without_room_is_refused_and_the_terminal_goes_on(
    runtime: Runtime, work: Path, monkeypatch: pytest.MonkeyPatch, fails: int
) -> None:
    """The line is put into a file in the moment in which the prompt is drawn, and tried once more then."""
    terminal = await runtime.open_terminal(shell="sh", cwd=work)
    put, left = terminal.pty.put_file, [None] * fails

    def no_room(name: str, data: bytes) -> None:
        if b"second" in data and left:
            left.pop()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(name, data)

    monkeypatch.setattr(terminal.pty, "put_file", no_room)
    terminal.prompt.is_there.clear()
    asking = asyncio.create_task(terminal.run("echo second", wait_s=PATIENCE_S))
    while terminal.current is None:
        await asyncio.sleep(0)
    terminal.prompt.drawn()

    if fails == 1:
        assert (await asking).text == "second\n"
    else:
        with pytest.raises(OSError, match="No space left"):
            await asking
    assert (left, terminal.is_busy) == ([], False)
    assert (await terminal.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"
