"""A real POSIX shell (dash) with our integration."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.shell.posix import Posix
from hermitty.shell.tracker import CommandBegan, PromptReady
from tests.support.raw_shell import OpenShell, Ran, RawShell, ShellContract, installed


@pytest.fixture
def open_shell(tmp_path: Path) -> Iterator[OpenShell]:
    with contextlib.ExitStack() as stack:
        yield OpenShell(stack, Posix(), installed("dash"), tmp_path)


class TestPosix(ShellContract):
    def test_a_line_that_a_person_types_is_a_command(self, shell: RawShell) -> None:
        """There is no hook before a command that is typed: only the next prompt is seen."""
        shell.events.clear()
        shell.press(b"echo typed; false\r")
        shell.until(PromptReady)
        assert [event for event in shell.events if isinstance(event, CommandBegan)] == []


def test_a_here_document_with_quotes_runs_once(open_shell: OpenShell) -> None:
    shell = open_shell()
    assert shell.run("cat <<'end'\nit's \"$HOME\"\t!x\nend\necho done").lines == ['it\'s "$HOME"\t!x', "done"]


def test_the_file_named_by_env_is_respected(open_shell: OpenShell) -> None:
    rc = "greet() { echo hello $1; }; alias hi='greet you'; export PATH=$PATH:/mine; PS1='mine> '"
    shell = open_shell(files={"my rc": rc}, env={"ENV": "$HOME/my rc"})
    assert shell.run("hi") == Ran(b"hello you\r\n", 0)
    assert b"mine> " in shell.stream
    told = shell.environment()
    assert (told["ENV"], told["PATH"].endswith(":/mine")) == ("$HOME/my rc", True)


def test_env_stays_unset_where_it_was(open_shell: OpenShell) -> None:
    shell = open_shell()
    assert shell.run("echo ${ENV-unset}; sh -c 'echo ${ENV-unset}'").lines == ["unset", "unset"]


@pytest.mark.parametrize(
    "change",
    [
        "PS1='$ '",
        "PS1=; PS2=",
        "unset PS1 PS2",
        "unalias -a",
        "set -u",
        "set -f",
        "set -C",
        "set -a",
        "IFS=abc",
        "unset PATH",
        "exec 2>/dev/null",
        "exec >/dev/null; exec >/dev/tty",
        "printf() { echo mine; }",
        "set -- a b c",
    ],
)
def test_the_command_after_a_change_is_exact(open_shell: OpenShell, change: str) -> None:
    shell = open_shell()
    assert shell.run(change) == Ran(b"", 0)
    assert shell.run("echo a; (exit 3)") == Ran(b"a\r\n", 3)
    assert shell.run("export V=1; echo b") == Ran(b"b\r\n", 0)
    assert shell.environment()["V"] == "1"


def test_tracing_shows_only_the_command(open_shell: OpenShell) -> None:
    shell = open_shell()
    assert shell.run("set -x") == Ran(b"", 0)
    assert shell.run("echo a").lines == ["+ echo a", "a"]
    assert shell.run("false") == Ran(b"+ false\r\n", 1)
    assert shell.run("echo $?").lines == ["+ echo 1", "1"]


def test_positional_parameters_and_return_are_those_of_the_shell(open_shell: OpenShell) -> None:
    shell = open_shell()
    shell.run("set -- a b")
    assert shell.run("echo $# $2; return 5") == Ran(b"2 b\r\n", 5)


def test_errexit_ends_the_shell_with_the_code_of_the_command(open_shell: OpenShell) -> None:
    shell = open_shell()
    assert shell.run("set -e") == Ran(b"", 0)
    assert shell.run("if false; then :; fi; echo a").lines == ["a"]
    shell.start(shell.dialect.submit("(exit 6)", str(shell.directory), shell.options))
    assert shell.wait_for_end() == 6


def test_a_prompt_changed_by_hand_can_be_recovered(open_shell: OpenShell) -> None:
    shell = open_shell()
    before = len(shell.stream)
    shell.press(b"PS1='lost> '\r")
    shell.until(lambda: b"\r\nlost> " in shell.stream[before:])
    recovery = shell.dialect.recover(str(shell.directory), shell.options)
    assert recovery is not None
    shell.carry_out(recovery)
    assert shell.run("echo on; (exit 3)") == Ran(b"on\r\n", 3)
