"""`hermitty doctor` says what works here, and is right."""

import json
import shutil
from pathlib import Path

import pytest

from hermitty.version import __version__
from tests.cli.conftest import Run

KNOWN = ("bash", "zsh", "fish", "sh", "pwsh")


def test_every_shell_that_is_there_works(hermitty: Run) -> None:
    done = hermitty("doctor", "--json")

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 1
    found = json.loads(done.stdout)
    assert found["hermitty"] == __version__
    assert {shell["shell"]: shell["works"] for shell in found["shells"]} == {
        name: shutil.which(name) is not None for name in KNOWN
    }
    assert {shell["quality"] for shell in found["shells"] if shell["works"]} <= {"rich", "basic"}
    assert {shell["problem"] for shell in found["shells"] if not shell["works"]} <= {"not installed"}
    assert set(found) >= {"python", "platform", "packages", "host", "input_detection", "sandbox"}
    assert found["packages"]["pyghostty"]
    assert found["input_detection"] in ("kernel", "pattern")


def test_a_person_can_read_it(hermitty: Run) -> None:
    done = hermitty("doctor")

    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"")
    assert lines[0].startswith(f"hermitty {__version__}, Python 3.")
    assert [line.split()[0] for line in lines[lines.index("shells") + 1 :][: len(KNOWN)]] == list(KNOWN)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_without_any_shell_it_says_what_to_do_and_fails(hermitty: Run, tmp_path: Path, form: tuple[str, ...]) -> None:
    done = hermitty("doctor", *form, PATH=str(tmp_path), SHELL="")

    assert done.returncode == 1
    if form:
        assert not any(shell["works"] for shell in json.loads(done.stdout)["shells"])
    else:
        assert done.stdout.count(b"no: not installed") == len(KNOWN)
        assert done.stderr == b"\nno shell works: install bash\n"


def test_a_shell_that_does_not_work_is_named_with_its_problem(hermitty: Run, tmp_path: Path) -> None:
    broken = tmp_path / "bash"
    broken.write_text("#!/bin/sh\nexit 42\n")
    broken.chmod(0o700)

    done = hermitty("doctor", "--json", PATH=f"{tmp_path}:/usr/bin:/bin")

    bash = next(shell for shell in json.loads(done.stdout)["shells"] if shell["shell"] == "bash")
    assert not bash["works"]
    assert "exited with code 42" in bash["problem"]
