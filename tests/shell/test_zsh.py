"""A real zsh with our integration."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.shell.dialect import ShellOptions, Startup
from hermitty.shell.tracker import CommandBegan, PromptReady
from hermitty.shell.zsh import Zsh
from tests.support.raw_shell import OpenShell, Ran, ShellContract, installed


@pytest.fixture
def open_shell(tmp_path: Path) -> Iterator[OpenShell]:
    with contextlib.ExitStack() as stack:
        yield OpenShell(stack, Zsh(), installed("zsh"), tmp_path)


class TestZsh(ShellContract):
    syntax_error_code = 1
    history = "fc -l 1"


def test_a_here_document_with_quotes_runs_once(open_shell: OpenShell) -> None:
    shell = open_shell()
    assert shell.run("cat <<'end'\nit's \"$HOME\"\t!x\nend\necho done").lines == ['it\'s "$HOME"\t!x', "done"]
    assert shell.run("cat <<end").exit_code is not None


def test_the_startup_files_are_respected(open_shell: OpenShell) -> None:
    rc = r"""
    greet() { echo "hello $1"; }
    alias hi='greet you'
    export PATH=$PATH:/mine
    PROMPT=$'%F{red}first%f\n%F{green}second%f %# '
    RPROMPT='right'
    """
    shell = open_shell(files={".zshrc": rc, ".zshenv": "export FROM_ENV=1; typeset -g KIND=global"})
    assert shell.run("hi") == Ran(b"hello you\r\n", 0)
    assert shell.environment()["PATH"].endswith(":/mine")
    assert shell.run("echo $FROM_ENV $KIND").lines == ["1 global"]
    assert b"first" in shell.stream
    assert shell.run("printf x") == Ran(b"x", 0)
    assert shell.run("print -r -- $RPROMPT ${PROMPT[-2,-1]}").lines == ["right # " if _is_root() else "right % "]


def _is_root() -> bool:
    return os.geteuid() == 0


def test_a_login_shell_reads_all_files_in_order(open_shell: OpenShell) -> None:
    names = (".zshenv", ".zprofile", ".zshrc", ".zlogin")
    shell = open_shell(files={name: f"READ+=({name})" for name in names}, login=True)
    assert shell.run("echo $READ").lines == [" ".join(names)]


@pytest.mark.parametrize("how", ["unset", "env", "zshenv", "exported in zshenv"])
def test_zdotdir_is_the_user_s_own(open_shell: OpenShell, how: str) -> None:
    home = open_shell.home
    files = {
        "z/.zshrc": "WHERE=z; HISTFILE=${ZDOTDIR:-$HOME}/hist",
        ".zshrc": "WHERE=home; HISTFILE=${ZDOTDIR:-$HOME}/hist",
    }
    env = {}
    if how == "env":
        env["ZDOTDIR"] = str(home / "z")
    elif how != "unset":
        files[".zshenv"] = f"{'export ' if how.startswith('exp') else ''}ZDOTDIR=$HOME/z"
    shell = open_shell(files=files, env=env)
    own = "unset" if how == "unset" else str(home / "z")
    seen = "unset" if how in ("unset", "zshenv") else own
    told = shell.run("""print -r -- $WHERE ${ZDOTDIR-unset} $HISTFILE; sh -c 'echo "${ZDOTDIR-unset}"'""").lines
    base = home if how == "unset" else home / "z"
    assert told == [f"{'home' if how == 'unset' else 'z'} {own} {base / 'hist'}", seen]


@pytest.mark.parametrize(
    "rc",
    [
        "precmd() { print mine; false }",
        "preexec() { print mine; false }",
        "precmd_functions=(mine); mine() { print mine; return 3 }",
        'autoload -Uz add-zsh-hook; mine() { PS1="[$?]> " }; add-zsh-hook precmd mine',
        "precmd() { PS1='x> ' }; precmd_functions=(); preexec_functions=()",
        "setopt ksharrays shwordsplit noclobber nounset warncreateglobal",
        "setopt promptsubst promptbang; PS1='$(echo sub)> '",
        "setopt extendedglob interactivecomments rcquotes histignoredups sharehistory",
        "bindkey -v; KEYTIMEOUT=1",
        "IFS=abc",
        "PROMPT_EOL_MARK='mark'",
        "unsetopt promptsp promptcr",
        "print() { : }; printf() { : }; zle-line-init() { : }; zle -N zle-line-init",
        "alias print='echo mine' eval='echo mine' -g X=y",
        "emulate sh",
    ],
)
def test_settings_of_the_user_change_nothing(open_shell: OpenShell, rc: str) -> None:
    shell = open_shell(files={".zshrc": rc})
    (shell.home / "sub dir").mkdir()
    assert shell.run(shell.dialect.change_directory("sub dir")) == Ran(b"", 0)
    assert shell.cwd.endswith(b"/sub dir")
    assert shell.run("echo a; (exit 4)") == Ran(b"a\r\n", 4)
    assert shell.run("echo b").lines == ["b"]


@pytest.mark.parametrize(
    "change",
    [
        "PS1='$ '",
        "PS1=; PS2=",
        "precmd_functions=() preexec_functions=()",
        "precmd() { true }",
        "unfunction precmd",
        "bindkey -v",
        "bindkey -d",
        "setopt nounset noclobber ksharrays shwordsplit",
        "exec >/dev/null; exec >/dev/tty",
        "exec 2>/dev/null; exec 2>/dev/tty",
        "unset PATH",
        "setopt allexport",
        "emulate ksh",
        "source ~/.zshrc",
    ],
)
def test_the_command_after_a_change_is_exact(open_shell: OpenShell, change: str) -> None:
    shell = open_shell(files={".zshrc": "PS1='%# '"})
    changed = shell.run(change)
    assert changed == Ran(b"", 0, hooks_lost=changed.hooks_lost)
    assert shell.run("echo a; (exit 3)") == Ran(b"a\r\n", 3)
    assert shell.run("export V=1; echo b") == Ran(b"b\r\n", 0)
    assert shell.environment()["V"] == "1"


def test_tracing_shows_only_the_command(open_shell: OpenShell) -> None:
    shell = open_shell(files={".zshrc": "PS4='+ '"})
    assert shell.run("set -x") == Ran(b"", 0)
    assert shell.run("echo a").lines == ["+ echo a", "a"]
    assert shell.run("false") == Ran(b"+ false\r\n", 1)


def test_redirected_output_does_not_lose_the_end(open_shell: OpenShell) -> None:
    shell = open_shell()
    assert shell.run("exec >out 2>&1").exit_code == 0
    assert shell.run("echo hidden; (exit 5)") == Ran(b"", 5)
    # Startup files of the system make the line editor write to it as well.
    assert "hidden\n" in (shell.home / "out").read_text()


def test_errexit_ends_the_shell_with_the_code_of_the_command(open_shell: OpenShell) -> None:
    shell = open_shell()
    assert shell.run("setopt errexit") == Ran(b"", 0)
    assert shell.run("! true") == Ran(b"", 1)
    shell.start(shell.dialect.submit("(exit 6)", str(shell.directory), shell.options))
    assert shell.wait_for_end() == 6


def test_a_partial_last_line_stays_visible_above_the_prompt(open_shell: OpenShell) -> None:
    shell = open_shell(files={".zshrc": "PROMPT_EOL_MARK='<eol>' PS1='%# '"})
    shell.run("true")
    before = len(shell.stream)
    assert shell.run("printf partial") == Ran(b"partial", 0)
    # The mark, and spaces up to the margin of 120 columns: the prompt starts on a line of its own.
    assert b"<eol>" + b" " * 115 + b"\r" in shell.stream[before:]


def test_the_prompt_that_a_command_sees_has_no_markers(open_shell: OpenShell) -> None:
    shell = open_shell(files={".zshrc": "PS1='mine> '"})
    assert shell.run("print -r -- $PS1; set | grep -c 0f1e2d3c").lines == ["mine> ", "0"]


def test_a_reported_line_is_what_was_typed(open_shell: OpenShell) -> None:
    shell = open_shell()
    shell.events.clear()
    shell.press(b"echo 'a;b' \\\\\r")
    shell.until(PromptReady)
    assert [event.line for event in shell.events if isinstance(event, CommandBegan)] == [r"echo 'a;b' \\"]


def test_without_injection_nothing_is_left_of_us() -> None:
    plain = Zsh().startup("nonce", "/private", {}, ShellOptions(zdotdir=False))
    assert plain == Startup(args=("-i",), env={"PROMPT_EOL_MARK": ""})


def test_settings_become_variables() -> None:
    options = ShellOptions(zsh_clear_eol_mark=False, zsh_oh_my=True, zsh_p10k=True)
    assert Zsh().startup("nonce", "/private", {}, options).env == {
        "ITERM_SHELL_INTEGRATION_INSTALLED": "Yes",
        "POWERLEVEL9K_TERM_SHELL_INTEGRATION": "true",
        "ZDOTDIR": "/private",
    }
