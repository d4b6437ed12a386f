"""What one command leaves behind is not the next one's: unread input, hooks, names, an interrupt that came early."""

import shutil
from pathlib import Path

import pytest

import hermitty
from hermitty.model import State
from hermitty.runtime.api import Runtime, Terminal
from tests.engine.conftest import settings_for
from tests.support.shells import PATIENCE_S

needs_fish = pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")


async def test_input_that_a_program_did_not_read_is_the_shells(terminal: Terminal, work: Path) -> None:
    """The shell runs it as a line of its own, and the commands after it are themselves, each once."""
    for _ in range(3):
        command = await terminal.start("head -n 1 >/dev/null; echo read")
        command.write("first\nno-such-program\n")
        assert (await command.wait(PATIENCE_S, until_input=False)).state is State.DONE
        for number in range(3):
            result = await terminal.run(
                f"sh -c 'echo {number} >>log; echo out {number}; exit {number}'", wait_s=PATIENCE_S
            )
            assert (result.text, result.exit_code) == (f"out {number}\n", number)
    assert (work / "log").read_text().split() == ["0", "1", "2"] * 3


async def test_a_shell_without_integration_that_was_typed_to_goes_on(home: Path, work: Path) -> None:
    async with hermitty.open(settings_for(home, shell_integration_disabled=True)) as runtime:
        terminal = await runtime.open_terminal(shell="bash", cwd=work)
        command = await terminal.start("read -r line; echo got $line")
        command.write("it\n")
        assert (await command.wait(PATIENCE_S, until_input=False)).text.endswith("got it\n")
        assert (await terminal.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


async def test_a_command_that_is_interrupted_at_once_has_its_end(terminal: Terminal) -> None:
    for _ in range(8):
        command = await terminal.start("sleep 1000")
        command.interrupt()
        result = await command.wait(PATIENCE_S)
        assert (result.state, result.exit_code) == (State.INTERRUPTED, 130)
        assert (await terminal.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


@pytest.mark.parametrize("how", ["unset PROMPT_COMMAND", "PROMPT_COMMAND=true"])
async def test_without_our_hook_the_directory_is_asked_for(bash: Terminal, how: str) -> None:
    result = await bash.run(f"{how}; cd /usr; (exit 3)", wait_s=PATIENCE_S)
    assert (result.exit_code, result.cwd, bash.cwd) == (3, "/usr", "/usr")
    assert (await bash.run("cd /; (exit 4)", wait_s=PATIENCE_S)).cwd == "/"


@pytest.mark.parametrize("shell", ["bash", "sh"])
async def test_names_that_the_user_made_read_only_are_not_ours(runtime: Runtime, work: Path, shell: str) -> None:
    (work / "a;b\\c").mkdir()
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    names = "to from i c hex line kept one before map n cwd rest"
    await terminal.run("; ".join(f"readonly {name}=1" for name in names.split()), wait_s=PATIENCE_S)

    result = await terminal.run("cd 'a;b\\c'; PS1='new$ '; (exit 3)", wait_s=PATIENCE_S)

    assert (result.state, result.exit_code, result.cwd) == (State.DONE, 3, str(work / "a;b\\c"))
    assert (await terminal.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


@needs_fish
async def test_a_variable_called_name_has_its_value_in_fish(runtime: Runtime, work: Path) -> None:
    terminal = await runtime.open_terminal(shell="fish", cwd=work)
    await terminal.run("set -gx name hello", wait_s=PATIENCE_S)
    assert (await terminal.environment())["name"] == "hello"


async def test_arrays_are_not_part_of_the_environment(bash: Terminal) -> None:
    await bash.run("declare -ax list=(1 2); declare -Ax map=([a]=b); export after=yes", wait_s=PATIENCE_S)
    env = await bash.environment()
    assert (env.get("list"), env.get("map"), env["after"]) == (None, None, "yes")
