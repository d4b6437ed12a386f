"""Commands that take their time, wait for somebody, or are stopped."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from hermitty.errors import CommandEnded, InvalidTime, TerminalBusy
from hermitty.model import State
from hermitty.pty.processes import process_table
from hermitty.runtime.api import Runtime, Terminal
from tests.support.kernel import gone, is_alive, so
from tests.support.shells import PATIENCE_S


async def test_a_wait_that_ends_first_leaves_the_command_running(terminal: Terminal) -> None:
    result = await terminal.run("echo first; cat; echo last", wait_s=0)
    assert result.state is State.RUNNING
    command = terminal.current
    assert command is not None
    with pytest.raises(TerminalBusy):
        await terminal.start("echo no")
    assert await command.wait_for("first", PATIENCE_S)
    terminal.send_key("ctrl-d")
    done = await command.wait(PATIENCE_S, until_input=False)
    assert (done.state, done.exit_code, done.text) == (State.DONE, 0, "first\nlast\n")
    assert not terminal.is_busy


async def test_an_interrupt_ends_the_program_and_keeps_the_terminal(terminal: Terminal) -> None:
    command = await terminal.start("sh -c 'echo begun; exec sleep 1000'")
    assert await command.wait_for("begun", PATIENCE_S)
    command.interrupt()
    result = await command.wait(PATIENCE_S)
    assert (result.state, result.exit_code, result.signal) == (State.INTERRUPTED, 130, "SIGINT")
    assert "begun\n" in result.text
    assert (await terminal.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


async def test_interrupting_a_loop_of_the_shell_itself(bash: Terminal) -> None:
    command = await bash.start("echo begun; while :; do :; done")
    assert await command.wait_for("begun", PATIENCE_S)
    command.interrupt()
    assert (await command.wait(PATIENCE_S)).exit_code == 130
    assert bash.is_open


async def test_the_kill_limit_kills_the_whole_tree(bash: Terminal, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    line = (
        f"(setsid sleep 1000 & echo $! >>{pids}); (trap '' INT TERM HUP; sleep 1000 & echo $! >>{pids}); "
        f"sh -c 'sleep 1000 & echo $! >>{pids}; echo ready; wait'"
    )
    result = await bash.run(line, wait_s=PATIENCE_S, kill_after_s=0.5)
    assert result.state is State.KILLED
    assert any("longer than 0.5 s" in warning for warning in result.warnings)
    started = [int(word) for word in pids.read_text().split()]
    assert len(started) == 3
    await gone(*started)
    assert (await bash.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


async def test_the_kill_limit_holds_after_the_wait_is_over(bash: Terminal) -> None:
    assert (await bash.run("sleep 1000", wait_s=0, kill_after_s=0.3)).state is State.RUNNING
    assert bash.current is not None
    result = await bash.current.wait(PATIENCE_S)
    assert result.state is State.KILLED
    assert result.exit_code != 0


async def test_kill_leaves_older_background_jobs_alone(bash: Terminal) -> None:
    old = int((await bash.run("sleep 1000 & echo $!", wait_s=PATIENCE_S)).text.split()[-1])
    # The kernel counts start times in hundredths of a second.
    await bash.run("sleep 0.05", wait_s=PATIENCE_S)
    command = await bash.start("sh -c 'sh -c \"echo begun; sleep 1000\"'")
    assert await command.wait_for("begun", PATIENCE_S)
    result = await command.kill()
    assert result.state is State.KILLED
    assert result.exit_code not in (0, None)
    assert is_alive(old)
    with pytest.raises(CommandEnded):
        await command.kill()


async def test_a_shell_that_cannot_be_stopped_is_closed(bash: Terminal) -> None:
    command = await bash.start("trap '' INT; echo begun; while :; do :; done")
    assert await command.wait_for("begun", PATIENCE_S)
    result = await command.kill()
    assert result.state is State.KILLED
    assert not bash.is_open


async def test_a_question_is_noticed_and_can_be_answered(bash: Terminal) -> None:
    result = await bash.run("read -p 'Go on? [y/N] ' answer; echo got $answer", wait_s=PATIENCE_S)
    assert result.state is State.NEEDS_INPUT
    assert result.needs_input is not None
    assert (result.needs_input.prompt, result.needs_input.secret, result.needs_input.how) == (
        "Go on? [y/N] ",
        False,
        "kernel",
    )
    assert bash.current is not None
    bash.current.write("y\r")
    done = await bash.current.wait(PATIENCE_S)
    assert (done.state, done.exit_code) == (State.DONE, 0)
    assert done.text == "Go on? [y/N] y\ngot y\n"


async def test_a_password_is_recognised(bash: Terminal) -> None:
    ask = "python3 -c 'import getpass; print(len(getpass.getpass(\"Password: \")))'"
    result = await bash.run(ask, wait_s=PATIENCE_S)
    assert result.needs_input is not None
    assert (result.needs_input.prompt, result.needs_input.secret) == ("Password: ", True)
    assert bash.current is not None
    bash.current.write("geheim\r")
    done = await bash.current.wait(PATIENCE_S)
    assert (done.exit_code, "geheim" in done.text) == (0, False)
    assert done.text.splitlines()[-1] == "6"


async def test_a_program_that_reads_without_a_prompt_needs_input(terminal: Terminal) -> None:
    result = await terminal.run("cat", wait_s=PATIENCE_S)
    assert result.state is State.NEEDS_INPUT
    assert terminal.current is not None
    terminal.current.write("hello\r")
    assert await terminal.current.wait_for("hello\r?\nhello", PATIENCE_S)
    terminal.current.send_key("ctrl-d")
    assert (await terminal.current.wait(PATIENCE_S, until_input=False)).exit_code == 0


async def test_lines_that_look_like_prompts_are_no_questions(bash: Terminal) -> None:
    result = await bash.run("printf 'Password: '; printf 'Really? '; sleep 0.7; echo", wait_s=PATIENCE_S)
    assert (result.state, result.needs_input) == (State.DONE, None)


async def test_silence_is_not_an_end(bash: Terminal) -> None:
    result = await bash.run("sleep 1.5; echo late", wait_s=PATIENCE_S)
    assert (result.state, result.text) == (State.DONE, "late\n")


async def test_a_full_screen_program_is_shown_as_its_screen(bash: Terminal) -> None:
    draw = r"printf '\033[?1049h\033[2J\033[3;5Hfull screen here'; read -rsn1 key; printf '\033[?1049l'; echo left"
    result = await bash.run(draw, wait_s=PATIENCE_S)
    assert result.state is State.NEEDS_INPUT
    assert "full screen here" in result.text
    assert "\x1b" not in result.text
    assert any("full-screen" in warning for warning in result.warnings)
    assert bash.current is not None
    bash.current.write("q")
    assert (await bash.current.wait(PATIENCE_S)).text == "left\n"


async def test_job_control_works_as_at_a_desk(bash: Terminal) -> None:
    command = await bash.start("sh -c 'echo begun; read line; echo never'")
    assert (await command.wait(PATIENCE_S)).state is State.NEEDS_INPUT
    command.send_key("ctrl-z")
    stopped = await command.wait(PATIENCE_S)
    assert (stopped.state, stopped.exit_code) == (State.DONE, 148)
    again = await bash.start("fg")
    assert (await again.wait(PATIENCE_S)).state is State.NEEDS_INPUT
    again.send_key("ctrl-c")
    assert (await again.wait(PATIENCE_S)).exit_code == 130
    assert (await bash.run("jobs", wait_s=PATIENCE_S)).text == ""


async def test_a_resize_reaches_the_program(bash: Terminal) -> None:
    assert (await bash.run("stty size", wait_s=PATIENCE_S)).text == "30 120\n"
    bash.resize(100, 40)
    assert (await bash.run("stty size", wait_s=PATIENCE_S)).text == "40 100\n"


async def test_cancelling_a_run_frees_the_terminal(bash: Terminal, tmp_path: Path) -> None:
    task = asyncio.create_task(bash.run(f"echo $$ >{tmp_path}/shell; sh -c 'echo begun; sleep 1000'"))
    while bash.current is None:
        await asyncio.sleep(0)
    command = bash.current
    assert await command.wait_for("begun", PATIENCE_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await command.wait(PATIENCE_S)).state is State.KILLED
    assert (await bash.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


async def test_cancelling_an_open_leaves_nothing(runtime: Runtime, home: Path) -> None:
    (home / ".bashrc").write_text("read -t 1000 x\n")
    opening = asyncio.create_task(runtime.open_terminal(shell="bash"))
    await so(lambda: any(process.parent == os.getpid() for process in process_table().values()))
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert runtime.terminals() == []


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
async def test_impossible_times_are_refused(bash: Terminal, seconds: float) -> None:
    with pytest.raises(InvalidTime):
        await bash.run("true", wait_s=seconds)
    with pytest.raises(InvalidTime):
        await bash.run("true", kill_after_s=seconds)
    assert not bash.is_busy


async def test_a_killed_shell_releases_everybody(bash: Terminal) -> None:
    command = await bash.start("echo begun; sleep 1000")
    assert await command.wait_for("begun", PATIENCE_S)
    waiting = [asyncio.create_task(command.wait(PATIENCE_S)) for _ in range(3)]
    os.kill(bash.pty.pid, signal.SIGKILL)
    results = await asyncio.gather(*waiting)
    assert {result.state for result in results} == {State.LOST}
    assert {result.exit_code for result in results} == {None}
    assert "SIGKILL" in results[0].warnings[0]
    assert not bash.is_open
