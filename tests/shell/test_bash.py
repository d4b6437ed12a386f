"""A real bash with our integration."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.shell.bash import Bash
from tests.support.raw_shell import NONCE, OpenShell, Ran, RawShell, ShellContract, installed


@pytest.fixture
def open_shell(tmp_path: Path) -> Iterator[OpenShell]:
    with contextlib.ExitStack() as stack:
        yield OpenShell(stack, Bash(), installed("bash"), tmp_path)


class TestBash(ShellContract):
    history = "history"

    @pytest.mark.parametrize("line", ["echo 'x", 'echo "x', "echo a |"])
    def test_an_open_line_can_be_given_up(self, shell: RawShell, line: str) -> None:
        assert shell.run(line) == Ran(b"", None, ran=False)
        assert shell.run("echo on").lines == ["on"]

    @pytest.mark.parametrize("line", ["echo )", "for", "echo a\necho 'b", "echo a\n)"])
    def test_a_broken_line_ends_with_an_error(self, shell: RawShell, line: str) -> None:
        super().test_a_broken_line_ends_with_an_error(shell, line)


def test_a_here_document_with_quotes_runs_once(open_shell: OpenShell) -> None:
    shell = open_shell()
    assert shell.run("cat <<'end'\nit's \"$HOME\"\t!x\nend\necho done").lines == ['it\'s "$HOME"\t!x', "done"]


def test_the_startup_file_is_respected(open_shell: OpenShell) -> None:
    rc = r"""
    greet() { echo "hello $1"; }
    alias hi='greet you'
    export PATH=$PATH:/mine
    PS1='\[\e[31m\]first\[\e[0m\]\n\[\e[32m\]second\[\e[0m\] \$ '
    """
    shell = open_shell(files={".bashrc": rc})
    assert shell.run("hi") == Ran(b"hello you\r\n", 0)
    assert shell.environment()["PATH"].endswith(":/mine")
    assert b"first" in shell.stream
    assert shell.run("printf x") == Ran(b"x", 0)


@pytest.mark.parametrize(
    "rc",
    [
        "PROMPT_COMMAND='echo mine; false'",
        "PROMPT_COMMAND=('echo mine' 'PS1=\"new> \"')",
        'starship() { local s=$?; PS1="[$s]> "; }; PROMPT_COMMAND=starship',
        "trap 'echo debug >/dev/null' DEBUG",
        "set -u",
        "set -o vi",
        "shopt -s failglob nullglob; set -f",
        "IFS=abc",
        "set -o noclobber",
        "printf() { echo mine; }; cd() { echo mine; }; local() { :; }",
        "alias printf='echo mine' cd='echo mine' [='echo mine'",
        "PS0='mine\\n'",
    ],
)
def test_settings_of_the_user_change_nothing(open_shell: OpenShell, rc: str) -> None:
    shell = open_shell(files={".bashrc": rc})
    (shell.home / "sub dir").mkdir()
    assert shell.run(shell.dialect.change_directory("sub dir")).exit_code == 0
    assert shell.cwd.endswith(b"/sub dir")
    assert shell.run("echo a; (exit 4)") == Ran(b"a\r\n", 4)
    assert shell.run("echo b").lines == ["b"]


@pytest.mark.parametrize(
    "change",
    [
        "PS1='$ '",
        "PS1=",
        "unset PS1 PS2 PS0",
        "PROMPT_COMMAND=",
        "PROMPT_COMMAND='echo mine'",
        "unset PROMPT_COMMAND",
        "PROMPT_COMMAND=(true)",
        "HISTCONTROL=",
        "trap 'true' DEBUG",
        "exec >/dev/null; exec >/dev/tty",
        "set -u",
        "set -o vi",
        "unset PATH",
    ],
)
def test_the_command_after_a_change_is_exact(open_shell: OpenShell, change: str) -> None:
    shell = open_shell()
    changed = shell.run(change)
    assert changed.exit_code == 0
    if changed.hooks_lost:
        recovery = shell.dialect.recover(str(shell.directory), shell.options)
        assert recovery is not None
        shell.carry_out(recovery)
    assert shell.run("echo a; (exit 3)") == Ran(b"a\r\n", 3)
    assert shell.run("export V=1; echo b") == Ran(b"b\r\n", 0)
    assert shell.environment()["V"] == "1"


@pytest.mark.parametrize("at_start", [True, False])
@pytest.mark.parametrize(
    "change",
    ["export PS1='$ '", "set -a; PS1='$ '", "set -a; cd /", "set -a; PS0= PS2=", "set -a; PROMPT_COMMAND=(true)"],
)
def test_what_the_user_exports_does_not_show_the_nonce(open_shell: OpenShell, change: str, at_start: bool) -> None:
    shell = open_shell(files={".bashrc": change} if at_start else {})
    changed = shell.run("true" if at_start else change)
    if changed.hooks_lost:
        recovery = shell.dialect.recover(str(shell.directory), shell.options)
        assert recovery is not None
        shell.carry_out(recovery)
    assert NONCE.encode() not in shell.run("env").output
    assert shell.run("echo a; (exit 3)") == Ran(b"a\r\n", 3)


def test_tracing_shows_only_the_command(open_shell: OpenShell) -> None:
    shell = open_shell()
    assert shell.run("set -x") == Ran(b"", 0)
    assert shell.run("echo a").lines == ["+ echo a", "a"]
    assert shell.run("false") == Ran(b"+ false\r\n", 1)


def test_redirected_output_does_not_lose_the_end(open_shell: OpenShell) -> None:
    shell = open_shell()
    assert shell.run("exec >out").exit_code == 0
    assert shell.run("echo hidden; (exit 5)") == Ran(b"", 5)
    assert shell.run("exec >/dev/tty").exit_code == 0
    assert (shell.home / "out").read_text() == "hidden\n"


def test_errexit_ends_the_shell_with_the_code_of_the_command(open_shell: OpenShell) -> None:
    shell = open_shell()
    assert shell.run("set -e") == Ran(b"", 0)
    assert shell.run("echo a").lines == ["a"]
    shell.start(shell.dialect.submit("(exit 6)", str(shell.directory), shell.options))
    assert shell.wait_for_end() == 6


def test_a_login_shell_reads_the_profile(open_shell: OpenShell) -> None:
    shell = open_shell(files={".bash_profile": "FROM=profile", ".bashrc": "FROM=rc"}, login=True)
    assert shell.run("echo $FROM").lines == ["profile"]
