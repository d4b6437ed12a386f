"""`hermitty run` asks, or says why it does not run something."""

import os
import pty
import select
import time
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Run
from tests.support.shells import PATIENCE_S


@pytest.mark.parametrize("provider", ["pty", "pipe"])
def test_what_only_reads_runs_without_a_question(hermitty: Run, provider: str) -> None:
    done = hermitty("run", "--provider", provider, "--", "echo hi; ls -a / | head -1")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, b"hi")


@pytest.mark.parametrize("provider", ["pty", "pipe"])
def test_without_a_terminal_nobody_can_be_asked(hermitty: Run, tmp_path: Path, provider: str) -> None:
    done = hermitty("run", "--provider", provider, "--", "touch made")
    assert done.returncode == 126
    assert b"--yes" in done.stderr
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("provider", ["pty", "pipe"])
def test_yes_answers_the_question(hermitty: Run, tmp_path: Path, provider: str) -> None:
    assert hermitty("run", "--yes", "--provider", provider, "--", "touch made").returncode == 0
    assert (tmp_path / "made").exists()


def test_yes_lifts_no_block(hermitty: Run) -> None:
    done = hermitty("run", "--yes", "--", "mkfs.ext4 /dev/no-such-disk")
    assert done.returncode == 126
    assert b"not allowed" in done.stderr


def test_a_person_at_the_terminal_is_asked(environment: dict[str, str], tmp_path: Path) -> None:
    for answer, made in (("n", False), ("y", True)):
        assert _answered(environment, tmp_path, answer) == (0 if made else 126)
        assert (tmp_path / "made").exists() is made


def _answered(environment: dict[str, str], cwd: Path, answer: str) -> int:
    """Run a command that is asked about on a terminal, answer, and return the exit code."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execve(COMMAND[0], [*COMMAND, "run", "--", "touch made"], {**environment, "TERM": "xterm-256color"})
    seen = b""
    is_answered = False
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and select.select([master], [], [], PATIENCE_S)[0]:
        try:
            data = os.read(master, 65536)
        except OSError:  # nobody has the other side open any more
            break
        if not data:
            break
        seen += data
        if not is_answered and b"may this command run" in seen and b"[y]" in seen:
            os.write(master, f"{answer}\r".encode())
            is_answered = True
    os.close(master)
    _, status = os.waitpid(pid, 0)
    assert is_answered, seen
    return os.waitstatus_to_exitcode(status)
