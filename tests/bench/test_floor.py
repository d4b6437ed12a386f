import os
import shutil
import tempfile
from pathlib import Path

import pytest

from bench.ending import OutOfTime, deadline
from bench.floor import bare_shell, end_child, spawn_on_pty

SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed"))
    for name in ("bash", "zsh", "fish", "sh")
]


@pytest.mark.parametrize("name", SHELLS)
async def test_each_command_is_waited_for(name: str) -> None:
    with deadline(30, name):
        async with bare_shell(name) as shell:
            first = shell.number
            for _ in range(5):
                await shell.run_true()
            assert shell.number == first + 5


@pytest.mark.parametrize("name", SHELLS)
async def test_a_command_that_fails_is_noticed(name: str) -> None:
    with tempfile.TemporaryDirectory() as directory, deadline(30, name):
        async with bare_shell(name) as shell:
            await shell.run_true()
            # From now on, `true` is a function of that shell, and fails.
            definition = "function true; return 3; end" if name == "fish" else "true() { return 3; }"
            await shell.run(f"{definition}; cd {directory}")
            with pytest.raises(AssertionError, match="another exit code"):
                await shell.run_true()


async def test_bash_works_without_its_line_editor() -> None:
    with deadline(30, "bash"):
        async with bare_shell(line_editing=False) as shell:
            await shell.run_true()


def test_a_program_gets_a_controlling_terminal_of_the_usual_size() -> None:
    pid, master = spawn_on_pty(["sh", "-c", "stty size </dev/tty"])
    try:
        with deadline(30, "stty"):
            assert os.read(master, 100) == b"30 120\r\n"
    finally:
        end_child(pid, master)


def test_a_program_that_is_not_there_leaves_nothing() -> None:
    with pytest.raises(FileNotFoundError):
        spawn_on_pty(["/there/is/no/such/program"])


def test_a_shell_that_says_nothing_runs_out_of_time() -> None:
    pid, master = spawn_on_pty(["cat"])
    try:
        with pytest.raises(OutOfTime, match="cat is not done"), deadline(0.01, "cat"):
            os.read(master, 1)
    finally:
        end_child(pid, master)
    assert not Path(f"/proc/{pid}").exists()
