"""A real fish with our integration."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.shell.fish import Fish
from tests.support.raw_shell import OpenShell, Ran, ShellContract, installed


@pytest.fixture
def open_shell(tmp_path: Path) -> Iterator[OpenShell]:
    with contextlib.ExitStack() as stack:
        yield OpenShell(stack, Fish(), installed("fish"), tmp_path)


class TestFish(ShellContract):
    syntax_error_code = 123
    export = "set -x {name} {value}"
    last_status = "echo $status"
    history = "builtin history search"


def test_the_startup_file_is_respected(open_shell: OpenShell) -> None:
    config = r"""
    function greet; echo hello $argv; end
    alias hi='greet you'
    set -gx PATH $PATH /mine
    set -g fish_greeting custom greeting
    function fish_prompt; set_color red; echo first; set_color green; echo -n 'second> '; end
    function fish_right_prompt; echo -n right; end
    """
    shell = open_shell(files={".config/fish/config.fish": config})
    assert b"custom greeting" in shell.stream
    assert b"first" in shell.stream
    assert shell.run("hi") == Ran(b"hello you\r\n", 0)
    assert shell.environment()["PATH"].endswith(":/mine")
    assert shell.run("printf x") == Ran(b"x", 0)


@pytest.mark.parametrize(
    "config",
    [
        "fish_vi_key_bindings",
        "function fish_prompt; end",
        "function fish_title; end",
        "function fish_title; echo mine; end",
        "function mine --on-event fish_prompt; echo mine; end",
        "function mine --on-event fish_preexec; echo mine; end",
        "abbr -a echo printf; abbr -a b c",
        "function cd; echo mine; end",
        "set -g fish_trace",
        "set -x TERM dumb",
    ],
)
def test_settings_of_the_user_change_nothing(open_shell: OpenShell, config: str) -> None:
    shell = open_shell(files={".config/fish/config.fish": config})
    (shell.home / "sub dir").mkdir()
    assert shell.run(shell.dialect.change_directory("sub dir")) == Ran(b"", 0)
    assert shell.cwd.endswith(b"/sub dir")
    assert shell.run("echo a; sh -c 'exit 4'") == Ran(b"a\r\n", 4)
    assert shell.run("echo b").lines == ["b"]


@pytest.mark.parametrize(
    "change",
    [
        "function fish_prompt; echo -n 'new> '; end",
        "functions -e fish_prompt",
        "fish_vi_key_bindings",
        "bind -e --all",
        "set -e PATH",
        "function fish_mode_prompt; echo -n '[mode]'; end",
        "source ~/.config/fish/config.fish",
    ],
)
def test_the_command_after_a_change_is_exact(open_shell: OpenShell, change: str) -> None:
    shell = open_shell(files={".config/fish/config.fish": "function fish_prompt; echo -n 'mine> '; end"})
    assert shell.run(change) == Ran(b"", 0)
    assert shell.run("echo a; false") == Ran(b"a\r\n", 1)
    assert shell.run("set -x V 1; echo b") == Ran(b"b\r\n", 0)
    assert shell.environment()["V"] == "1"


def test_a_prompt_that_others_wrap_and_unwrap_is_marked_once(open_shell: OpenShell) -> None:
    activate = """
    functions -c fish_prompt _old_prompt
    function fish_prompt; echo -n "(venv) "; _old_prompt; end
    function deactivate
        functions -e fish_prompt; functions -c _old_prompt fish_prompt; functions -e _old_prompt
    end
    """
    shell = open_shell(
        files={".config/fish/config.fish": "function fish_prompt; echo -n '[$status]> '; end", "activate": activate}
    )
    for line in ("source activate", "false", "deactivate", "true", "source activate", "deactivate"):
        before = len(shell.stream)
        shell.run(line)
        assert shell.stream.count(b"]633;B;", before + 1) in (1, 2), (
            "once for the new prompt, once if the old is redrawn"
        )
        assert (b"(venv)" in shell.stream.rpartition(b"]633;A;")[2]) == (line in ("source activate", "false"))


def test_the_user_s_prompt_sees_the_status(open_shell: OpenShell) -> None:
    shell = open_shell(files={".config/fish/config.fish": 'function fish_prompt; echo -n "<$status|$pipestatus>"; end'})
    shell.run("false | true | false")
    assert b"<1|1 0 1>" in shell.stream


def test_abbreviations_are_not_expanded(open_shell: OpenShell) -> None:
    shell = open_shell()
    shell.run("abbr -a xyz echo expanded")
    assert shell.run("xyz").exit_code == 127


@pytest.mark.parametrize("term", ["xterm-256color", "screen", "linux", "vt100"])
def test_nothing_of_the_shell_is_in_the_output(open_shell: OpenShell, term: str) -> None:
    shell = open_shell(env={"TERM": term})
    assert shell.run("printf x") == Ran(b"x", 0)


# What fish prints after the start marker: with a title, without one, on terminals of several families.
PRELUDES = [
    b"\x1b[?2004l\x1b]0;echo hi /w\x07\x1b[30m\x1b(B\x1b[m\r",
    b"\x1b[?2004l\x1b]0;\xc3\xa9\x07\x1b[30m\x1b[m\x0f\r",
    b"\x1b[?2004l\x1b]0;x\x07\x1b[30m\x1b[m\r",
    b"\x1b[?2004l\x1b[30m\x1b(B\x1b[m",
    b"\x1b[?2004l\x1b[30m\x1b[m\x0f",
    b"\x1b[?2004l",
    b"",
]
OUTPUTS = [b"hi\r\n", b"\x1b[31mred", b"\r\nx", b"\x1b]0;mine\x07text", b"\x1b[?2004h>>> ", b"\x1b[mx"]


@pytest.mark.parametrize("prelude", PRELUDES)
@pytest.mark.parametrize("output", OUTPUTS)
def test_the_prelude_ends_at_the_same_place_however_it_is_cut(prelude: bytes, output: bytes) -> None:
    data = prelude + output
    matches = [Fish.prelude.match(data[:size]) for size in range(1, len(data) + 1)]
    assert {match.end() for match in matches if match} == {len(prelude)}


def test_a_login_shell_knows_it(open_shell: OpenShell) -> None:
    assert open_shell(login=True).run("status is-login").exit_code == 0
