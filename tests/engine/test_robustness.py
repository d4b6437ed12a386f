"""Lines, startup files and programs that would break a careless integration.

After each of them the result is defined, and the terminal goes on or is retired and says why.
"""

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest

from hermitty.errors import TerminalClosed
from hermitty.model import NeedsInput, State
from hermitty.runtime.api import Runtime, Terminal
from tests.support.shells import PATIENCE_S, POSIX_SHELLS

zsh_only = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
fish_only = pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")


async def run(terminal: Terminal, line: str) -> tuple[State, int | None, str]:
    """Run a line to its end; return its state, its code and its text."""
    result = await terminal.run(line, wait_s=PATIENCE_S)
    return result.state, result.exit_code, result.text


async def assert_usable(terminal: Terminal) -> None:
    """Check that output, code and directory of the next commands are exact."""
    assert await run(terminal, "printf 'a\\nb\\n'") == (State.DONE, 0, "a\nb\n")
    assert await run(terminal, "sh -c 'exit 7'") == (State.DONE, 7, "")
    assert await run(terminal, "cd /") == (State.DONE, 0, "")
    assert terminal.cwd == "/"


async def assert_retired(terminal: Terminal, reason: str) -> None:
    """Check that the terminal is out of use and that its errors name the reason."""
    await terminal.finished()
    with pytest.raises(TerminalClosed, match=reason):
        await terminal.start("echo no")


# Lines that change the shell.

HARMLESS_IN_POSIX_SHELLS = [
    "set -u",
    "set -f",
    "set -C",
    "set -a",
    "set +m",
    "IFS=",
    "IFS=0123456789",
    "PS1=",
    "PS2=",
    "PS4=",
    "unset PS1",
    "unset PS2",
    "unset IFS",
    "PS1='plain> '",
    "PS1=\"$(printf '\\033[1;31mtop\\033[0m\\nline> ')\"",
    "trap 'echo int' INT",
    "trap 'echo usr' USR1; kill -USR1 $$",
    "alias printf=false cd=false",
    "unalias -a",
    "set -- 1 2 3; shift",
    "stty -icanon",
    "stty -echo",
    "TERM=dumb",
    "TERM=no-such-terminal",
    "LC_ALL=C",
    "umask 777",
    "ulimit -n 16",
]


@pytest.mark.parametrize("line", HARMLESS_IN_POSIX_SHELLS)
@pytest.mark.parametrize("shell", POSIX_SHELLS)
async def test_a_changed_shell_goes_on(runtime: Runtime, work: Path, shell: str, line: str) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    state, _, _ = await run(terminal, line)
    assert state is State.DONE
    if "alias printf" in line:
        await run(terminal, "unalias printf cd")
    await assert_usable(terminal)


HARMLESS_IN_BASH = [
    "set -o noclobber",
    "set -o posix",
    "set -o vi",
    "set -o ignoreeof",
    "set -o functrace; set -o errtrace",
    "shopt -u promptvars",
    "shopt -s extglob nullglob failglob histappend autocd",
    "shopt -s expand_aliases; alias builtin=false return=false; unalias builtin return",
    "PS0=",
    "PS0='starting\\n'; PS0=",
    "unset PS0",
    "PROMPT_COMMAND=",
    "PROMPT_COMMAND='true'",
    "PROMPT_COMMAND='echo from-the-prompt'",
    "PROMPT_COMMAND='printf no-newline'",
    "PROMPT_COMMAND='(exit 9)'",
    "PROMPT_COMMAND='syntax ( error'",
    "PROMPT_COMMAND=(true 'echo second' false)",
    "PROMPT_COMMAND+=(true)",
    "unset PROMPT_COMMAND",
    "trap 'echo bye' EXIT",
    "trap 'echo returned' RETURN",
    "HISTCONTROL= HISTSIZE=0",
    "unset HISTFILE HISTCONTROL HISTSIZE; set +o history",
    "bind 'set enable-bracketed-paste off'",
    "LINES= COLUMNS=; shopt -u checkwinsize",
    "printf() { echo fake; }; unset -f printf",
]


@pytest.mark.parametrize("line", HARMLESS_IN_BASH)
async def test_a_changed_bash_goes_on(bash: Terminal, line: str) -> None:
    assert (await bash.run(line, wait_s=PATIENCE_S)).state is State.DONE
    await assert_usable(bash)


HARMLESS_IN_ZSH = [
    "setopt ksh_arrays",
    "setopt sh_word_split no_unset",
    "setopt noclobber",
    "setopt vi",
    "setopt no_prompt_cr no_prompt_subst",
    "setopt null_glob extended_glob",
    "setopt err_return",
    "emulate sh",
    "emulate ksh",
    "precmd() { echo from-precmd }",
    "preexec() { : }",
    "precmd_functions=() preexec_functions=()",
    "unset precmd_functions preexec_functions",
    "PROMPT=$'%F{red}top%f\\n> '",
    "RPROMPT='%F{blue}right%f'",
    "bindkey -v",
    "bindkey -d",
    "PROMPT_EOL_MARK=mark",
    "ZDOTDIR=/nowhere",
]


@zsh_only
@pytest.mark.parametrize("line", HARMLESS_IN_ZSH)
async def test_a_changed_zsh_goes_on(runtime: Runtime, work: Path, line: str) -> None:
    terminal = await runtime.open_terminal(shell="zsh", cwd=work)
    assert (await terminal.run(line, wait_s=PATIENCE_S)).state is State.DONE
    await assert_usable(terminal)


HARMLESS_IN_FISH = [
    "function fish_prompt; echo -e '\\e[31mtop\\e[0m\\n> '; end",
    "function fish_right_prompt; echo right; end",
    "functions -e fish_prompt",
    "function fish_greeting; echo hello; end",
    "fish_vi_key_bindings",
    "set -g fish_color_command red",
    "function printf; builtin printf $argv; end",
    "trap 'echo int' INT",
    "set -gx TERM dumb",
    "stty -icanon",
]


@fish_only
@pytest.mark.parametrize("line", HARMLESS_IN_FISH)
async def test_a_changed_fish_goes_on(runtime: Runtime, work: Path, line: str) -> None:
    terminal = await runtime.open_terminal(shell="fish", cwd=work)
    assert (await terminal.run(line, wait_s=PATIENCE_S)).state is State.DONE
    await assert_usable(terminal)


@pytest.mark.parametrize("shell", POSIX_SHELLS)
async def test_tracing_shows_the_command_and_nothing_of_ours(runtime: Runtime, work: Path, shell: str) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    await run(terminal, "PS4='+ '; set -x")
    state, code, text = await run(terminal, "echo fine")
    assert (state, code) == (State.DONE, 0)
    assert text.splitlines()[-2:] == ["+ echo fine", "fine"]
    assert "__hermitty" not in text
    assert (await run(terminal, "sh -c 'exit 7'"))[1] == 7


async def test_traps_that_print_are_output_of_the_command(bash: Terminal) -> None:
    await run(bash, "trap 'echo debug' DEBUG")
    assert await run(bash, "echo fine") == (State.DONE, 0, "debug\nfine\n")
    assert (await run(bash, "sh -c 'exit 7'"))[1] == 7
    await run(bash, "trap - DEBUG; trap 'echo err' ERR")
    assert await run(bash, "sh -c 'exit 7'") == (State.DONE, 7, "err\n")
    assert await run(bash, "echo fine") == (State.DONE, 0, "fine\n")


async def test_prompt_text_before_a_command_is_not_its_output(bash: Terminal) -> None:
    await run(bash, "PS0='starting\\n'")
    state, code, text = await run(bash, "echo fine")
    assert (state, code) == (State.DONE, 0)
    assert text in ("fine\n", "starting\nfine\n")  # PS0 is drawn by the shell on behalf of the command
    assert await run(bash, "PS0=") == (State.DONE, 0, "") or True


@pytest.mark.parametrize("shell", POSIX_SHELLS)
async def test_a_raw_terminal_left_behind(runtime: Runtime, work: Path, shell: str) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    assert (await run(terminal, "stty raw -echo"))[:2] == (State.DONE, 0)
    state, code, text = await run(terminal, "echo fine")
    assert (state, code, text.strip()) == (State.DONE, 0, "fine")
    assert (await run(terminal, "sh -c 'exit 7'"))[1] == 7
    await run(terminal, "stty sane")
    await assert_usable(terminal)


@pytest.mark.parametrize("line", ["unset PATH", "PATH=/nowhere"])
@pytest.mark.parametrize("shell", POSIX_SHELLS)
async def test_without_programs_the_shell_still_tells(runtime: Runtime, work: Path, shell: str, line: str) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    await run(terminal, f"{line}; hash -r")
    assert await run(terminal, "echo fine") == (State.DONE, 0, "fine\n")
    state, code, _ = await run(terminal, "no-such-program-here")
    assert (state, code) == (State.DONE, 127)
    assert await run(terminal, "cd /") == (State.DONE, 0, "")
    assert terminal.cwd == "/"


@pytest.mark.parametrize(
    "functions",
    [
        "printf() { builtin echo fake; }; echo() { builtin printf 'fake\\n'; }",
        "export() { :; }; history() { :; }; local() { :; }; typeset() { :; }",
        'cd() { builtin cd "$@" && builtin echo moved; }',
        "set() { :; }; unset() { :; }; test() { return 1; }; true() { return 1; }",
        "command() { return 1; }; type() { return 1; }; eval() { return 1; }",
    ],
)
@pytest.mark.parametrize("shell", [param for param in POSIX_SHELLS if param.values[0] != "sh"])
async def test_functions_named_like_builtins(runtime: Runtime, work: Path, shell: str, functions: str) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    assert (await run(terminal, functions))[0] is State.DONE
    assert await run(terminal, "builtin echo fine") == (State.DONE, 0, "fine\n")
    assert (await run(terminal, "sh -c 'exit 7'"))[1] == 7
    assert (await run(terminal, "builtin cd /"))[1] == 0
    assert terminal.cwd == "/"


# Lines that end or replace the shell.


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("exit 3", 3),
        ("exec true", 0),
        ("exec sh -c 'exit 4'", 4),
        ("exec sleep 0.05", 0),
        ("echo before; exit 5", 5),
    ],
)
async def test_a_shell_that_leaves_gives_its_code(terminal: Terminal, line: str, code: int) -> None:
    result = await terminal.run(line, wait_s=PATIENCE_S)
    assert (result.state, result.exit_code) == (State.DONE, code)
    await assert_retired(terminal, f"its shell exited with code {code}")


@pytest.mark.parametrize("shell", POSIX_SHELLS)
async def test_a_shell_without_input_never_pretends_that_it_ran_something(
    runtime: Runtime, work: Path, shell: str
) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    result = await terminal.run("exec </dev/null", wait_s=PATIENCE_S)
    assert (result.state, result.exit_code) == (State.DONE, 0)
    try:
        after = await terminal.run("echo ran >ran; (exit 7)", wait_s=PATIENCE_S)
    except TerminalClosed as error:
        assert "redirected" in str(error) or "its shell exited with code 0" in str(error)
    else:
        ran = (work / "ran").exists()
        assert (after.state, after.exit_code) == ((State.DONE, 7) if ran else (State.LOST, None))
    if not terminal.is_open:
        await terminal.finished()


@pytest.mark.parametrize("shell", POSIX_SHELLS)
async def test_set_e_ends_the_shell_with_the_code_of_the_line(runtime: Runtime, work: Path, shell: str) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    assert await run(terminal, "set -e; echo on") == (State.DONE, 0, "on\n")
    result = await terminal.run("echo before; sh -c 'exit 6'; echo after", wait_s=PATIENCE_S)
    assert (result.state, result.exit_code, result.text) == (State.DONE, 6, "before\n")
    await assert_retired(terminal, "its shell exited with code 6")


async def test_an_exit_trap_belongs_to_the_last_output(bash: Terminal) -> None:
    await run(bash, "trap 'echo bye' EXIT")
    result = await bash.run("exit 3", wait_s=PATIENCE_S)
    assert (result.exit_code, result.text.splitlines()[-1]) == (3, "bye")


async def test_a_shell_replaced_by_another_says_so(bash: Terminal) -> None:
    result = await bash.run("exec bash --norc", wait_s=PATIENCE_S)
    assert (result.state, result.exit_code) == (State.NEEDS_INPUT, None)
    assert any("replaced" in warning for warning in result.warnings)
    assert bash.current is not None
    bash.current.write("exit 5\r")
    done = await bash.current.wait(PATIENCE_S, until_input=False)
    assert (done.state, done.exit_code) == (State.DONE, 5)
    await assert_retired(bash, "its shell exited with code 5")


@pytest.mark.parametrize(
    "line",
    [
        "bash --norc",
        "sh",
        pytest.param("zsh -f", marks=zsh_only),
        pytest.param("su", marks=pytest.mark.skipif(os.getuid() != 0, reason="only root needs no password")),
    ],
)
async def test_a_shell_inside_the_shell_is_one_command(bash: Terminal, line: str) -> None:
    result = await bash.run(line, wait_s=PATIENCE_S)
    assert (result.state, result.exit_code) == (State.NEEDS_INPUT, None)
    command = bash.current
    assert command is not None
    command.write("echo $((6 * 7)) inside\r")
    assert await command.wait_for("42 inside", PATIENCE_S)
    command.write("exit 5\r")
    done = await command.wait(PATIENCE_S, until_input=False)
    assert (done.state, done.exit_code) == (State.DONE, 5)
    await assert_usable(bash)


async def test_a_shell_that_kills_itself_is_lost(terminal: Terminal) -> None:
    me = "$fish_pid" if terminal.shell == "fish" else "$$"
    result = await terminal.run(f"echo before; kill -9 {me}; echo after", wait_s=PATIENCE_S)
    assert (result.state, result.exit_code, result.text) == (State.LOST, None, "before\n")
    await assert_retired(terminal, "SIGKILL")


async def test_a_stopped_shell_goes_on_where_it_was(terminal: Terminal) -> None:
    os.kill(terminal.pty.pid, signal.SIGSTOP)
    command = await terminal.start("echo fine")
    assert (await command.wait(0.2)).state is State.RUNNING
    os.kill(terminal.pty.pid, signal.SIGCONT)
    result = await command.wait(PATIENCE_S)
    assert (result.state, result.exit_code, result.text) == (State.DONE, 0, "fine\n")


# Lines that take descriptors away.


@pytest.mark.parametrize("shell", POSIX_SHELLS)
async def test_redirected_output_goes_where_it_was_sent(runtime: Runtime, work: Path, shell: str) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    assert await run(terminal, f"exec >{work}/out") == (State.DONE, 0, "")
    assert await run(terminal, "echo fine") == (State.DONE, 0, "")
    assert (await run(terminal, "sh -c 'exit 7'"))[1] == 7
    assert "fine\n" in (work / "out").read_text()  # a system's zshrc may add what its line editor prints
    assert (await run(terminal, "exec >/dev/tty"))[1] == 0
    await assert_usable(terminal)


@pytest.mark.parametrize("shell", POSIX_SHELLS)
async def test_closed_output_is_an_error_of_the_command(runtime: Runtime, work: Path, shell: str) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    assert await run(terminal, "exec >&-") == (State.DONE, 0, "")
    state, code, _ = await run(terminal, "echo fine")
    assert state is State.DONE
    assert code != 0 or shell == "zsh"  # zsh takes no offence
    assert (await run(terminal, "sh -c 'exit 7'"))[1] == 7


@pytest.mark.parametrize("redirection", ["2>/dev/null", "2>&-", ">/dev/null 2>&1", ">&- 2>&-"])
@pytest.mark.parametrize("shell", POSIX_SHELLS)
async def test_a_lost_prompt_retires_the_terminal_or_does_not_matter(
    runtime: Runtime, work: Path, shell: str, redirection: str
) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    result = await terminal.run(f"echo before; exec {redirection}", wait_s=PATIENCE_S)
    assert (result.state, result.text) == (State.DONE, "before\n")
    try:
        state, code, _ = await run(terminal, "sh -c 'exit 7'")
    except TerminalClosed as error:
        assert "redirected" in str(error) or "its shell exited" in str(error)
        await terminal.finished()
    else:
        assert (state, code) == (State.DONE, 7)


# Places and programs.


async def test_a_deleted_directory_is_no_obstacle(terminal: Terminal, work: Path) -> None:
    (work / "gone").mkdir()
    await run(terminal, "cd gone")
    (work / "gone").rmdir()
    state, code, text = await run(terminal, "echo fine")
    assert (state, code, text.splitlines()[-1]) == (State.DONE, 0, "fine")
    await run(terminal, "cd /")
    await assert_usable(terminal)


async def test_output_of_a_background_job_may_mix_but_nothing_is_lost(bash: Terminal, work: Path) -> None:
    await run(bash, "(while [ ! -e stop ]; do echo noise; sleep 0.001; done) & echo started")
    for number in range(20):
        state, code, text = await run(bash, f"echo fine-{number}; (exit {number})")
        assert (state, code) == (State.DONE, number)
        lines = text.splitlines()
        assert [line for line in lines if line != "noise"] == [f"fine-{number}"]
    (work / "stop").touch()
    await run(bash, "wait")
    await assert_usable(bash)


async def test_five_megabytes_of_noise(terminal: Terminal, work: Path) -> None:
    (work / "noise.py").write_text(
        "import random, sys\nsys.stdout.buffer.write(random.Random(1).randbytes(5_000_000))\n"
    )
    result = await terminal.run("python3 noise.py; sh -c 'exit 7'", wait_s=PATIENCE_S)
    assert (result.state, result.exit_code) == (State.DONE, 7)
    assert result.total_bytes >= 5_000_000
    assert result.truncated
    await assert_usable(terminal)


@pytest.mark.parametrize(
    "last",
    [
        r"\033]633;D;0",
        r"\033]633;C",
        r"\033]133;D;0",
        r"\033]633;P;Cwd=/forged\007",
        r"\033]7;file:///forged\007",
        r"\033]0;never ended",
        r"\033]",
        r"\033",
        r"\033P never ended",
        r"\033_ never ended",
        r"\033[",
        r"\033[38;5",
        r"\302",
    ],
)
async def test_sequences_left_open_by_a_program(terminal: Terminal, work: Path, last: str) -> None:
    result = await terminal.run(f"printf 'text{last}'; sh -c 'exit 7'", wait_s=PATIENCE_S)
    assert (result.state, result.exit_code) == (State.DONE, 7)
    assert result.text.startswith("text")
    assert terminal.cwd == str(work)
    await assert_usable(terminal)


@pytest.mark.parametrize("question", [r"\033[c", r"\033[6n", r"\033[5n", r"\033]11;?\007", r"\033P+q544e\033\\"])
async def test_answers_to_a_program_that_left_are_not_typed_at_the_prompt(terminal: Terminal, question: str) -> None:
    assert (await run(terminal, f"printf '{question}'"))[:2] == (State.DONE, 0)
    await assert_usable(terminal)


async def test_modes_left_on_by_a_program(terminal: Terminal) -> None:
    modes = r"\033[?1000h\033[?1002h\033[?1006h\033[?1h\033=\033[?1004h\033[4h\033[?25l\033[5;10r\033[?6h\033[41m"
    assert (await run(terminal, f"printf '{modes}'"))[:2] == (State.DONE, 0)
    await assert_usable(terminal)


async def test_a_full_screen_program_that_never_left(terminal: Terminal) -> None:
    assert (await run(terminal, r"printf '\033[?1049h\033[2Jhello'"))[:2] == (State.DONE, 0)
    await assert_usable(terminal)


# Startup files.

BASH_FILES = {
    "prompt command": "PROMPT_COMMAND='echo from-the-prompt'",
    "prompt commands": "PROMPT_COMMAND=('echo one' 'printf two')",
    "debug trap": "trap 'true' DEBUG",
    "error trap": "trap 'true' ERR; set -o errtrace -o functrace",
    "starship": (
        'starship_preexec() { STARSHIP_START=$EPOCHREALTIME; : "$1"; }\n'
        "starship_precmd() { STARSHIP_STATUS=$?\n"
        "  PS1=$'\\n\\\\[\\e[32m\\\\]dir\\\\[\\e[31m\\\\]'\"$STARSHIP_STATUS\"$'\\\\[\\e[0m\\\\]\\n> '; }\n"
        "dbg=$(trap -p DEBUG); trap 'starship_preexec \"$_\"' DEBUG\n"
        'PROMPT_COMMAND="starship_precmd;${PROMPT_COMMAND-}"\n'
    ),
    "bash-preexec": (
        '__bp_precmd() { local status=$?; for one in "${precmd_functions[@]}"; do "$one"; done; return $status; }\n'
        "show() { printf '\\e]0;title\\a'; }; precmd_functions=(show)\n"
        "PROMPT_COMMAND=$'__bp_precmd\\n:'; trap '__bp_seen=1' DEBUG\n"
    ),
    "two-line prompt": "PS1=$'\\\\[\\e[36m\\\\]\\\\u@\\\\h\\\\[\\e[0m\\\\]\\n\\\\$ '",
    "unmarked colours": "PS1=$'\\e[36mnot marked as invisible\\e[0m> '",
    "noise": "echo welcome; printf 'no newline'; printf '\\e]0;title\\a\\e[31m'",
    "foreign markers": "PS1=$'\\\\[\\e]133;A\\a\\\\]> \\\\[\\e]133;B\\a\\\\]'; PS0=$'\\e]133;C\\a'",
    "early return": "case $- in *i*) return ;; esac",
    "failing commands": "no-such-program; false; (exit 3)",
    "syntax error": "if then\n",
    "aliases": "alias printf=false builtin=false export=false local=false return=false unset=false bind=false",
    "strict": "set -u -o pipefail",
    "noclobber": "set -o noclobber",
    "vi": "set -o vi",
    "no history": "unset HISTFILE; set +o history; HISTCONTROL=",
    "read-only history control": "readonly HISTCONTROL=erasedups",
    "read-only prompt": "readonly PS1='mine> ' PS2='more> '",
    "read-only prompt command": "readonly PROMPT_COMMAND='true'",
    "exported prompts": "export PS0 PS1 PS2; set -a",
    "odd values": "IFS=; shopt -s failglob nocasematch; CDPATH=/",
    "tracing": "PS4=; set -x; set +x",
    "inputrc": "bind 'set enable-bracketed-paste off'; bind -x '\"\\C-l\": clear'",
}


@pytest.mark.parametrize("content", BASH_FILES.values(), ids=BASH_FILES.keys())
async def test_a_bashrc_of_any_kind(runtime: Runtime, home: Path, work: Path, content: str) -> None:
    (home / ".bashrc").write_text(f"{content}\n")
    terminal = await runtime.open_terminal(shell="bash", cwd=work)
    assert (terminal.integration_failed, terminal.quality) == (None, "rich")
    if "alias" in content:
        await run(terminal, "unalias -a")
    await assert_usable(terminal)


ZSH_FILES = {
    "hooks": (
        "autoload -Uz add-zsh-hook; show() { echo shown }; quiet() { : }\n"
        "add-zsh-hook precmd show; add-zsh-hook preexec quiet"
    ),
    "precmd": "precmd() { print -Pn '\\e]0;%~\\a' }",
    "two-line prompt": "setopt prompt_subst; PROMPT=$'%F{cyan}%n%f\\n%# '; RPROMPT='%*'",
    "noise": "echo welcome; printf 'no newline'",
    "early return": "return",
    "failing commands": "no-such-program; false",
    "syntax error": "if then\n",
    "aliases": "alias print=false builtin=false local=false typeset=false emulate=false",
    "strict": "setopt no_unset pipefail noclobber",
    "key bindings": "bindkey -v; bindkey '^M' accept-line",
    "wrapped accept-line": "my-accept() { zle .accept-line }; zle -N accept-line my-accept",
    "ksh arrays": "setopt ksh_arrays sh_word_split",
}


@zsh_only
@pytest.mark.parametrize("content", ZSH_FILES.values(), ids=ZSH_FILES.keys())
async def test_a_zshrc_of_any_kind(runtime: Runtime, home: Path, work: Path, content: str) -> None:
    (home / ".zshrc").write_text(f"{content}\n")
    terminal = await runtime.open_terminal(shell="zsh", cwd=work)
    assert (terminal.integration_failed, terminal.quality) == (None, "rich")
    await run(terminal, "\\unalias -a")
    await assert_usable(terminal)


FISH_FILES = {
    "prompt": "function fish_prompt; set_color cyan; echo two lines; set_color normal; echo -n '> '; end",
    "events": (
        "function show --on-event fish_prompt; echo shown; end\nfunction before --on-event fish_preexec; true; end"
    ),
    "noise": "echo welcome; printf 'no newline'",
    "early return": "return",
    "failing commands": "no-such-program; false",
    "syntax error": "if then\n",
    "key bindings": "fish_vi_key_bindings",
    "abbreviations": "abbr -a printf false; abbr -a cd false",
}


@fish_only
@pytest.mark.parametrize("content", FISH_FILES.values(), ids=FISH_FILES.keys())
async def test_a_config_fish_of_any_kind(runtime: Runtime, home: Path, work: Path, content: str) -> None:
    config = home / ".config/fish"
    config.mkdir(parents=True)
    (config / "config.fish").write_text(f"{content}\n")
    terminal = await runtime.open_terminal(shell="fish", cwd=work)
    assert (terminal.integration_failed, terminal.quality) == (None, "rich")
    await assert_usable(terminal)


async def test_a_startup_file_that_exits_is_an_error_that_says_so(runtime: Runtime, home: Path) -> None:
    (home / ".bashrc").write_text("exit 3\n")
    with pytest.raises(TerminalClosed, match=r"its shell exited with code 3 while it started"):
        await runtime.open_terminal(shell="bash")
    assert runtime.terminals() == []


async def test_a_question_of_a_shell_command_keeps_its_prompt(bash: Terminal) -> None:
    result = await bash.run("select word in one two; do break; done; echo $word", wait_s=PATIENCE_S)
    assert result.needs_input == NeedsInput("#? ", False, "kernel")
    assert bash.current is not None
    bash.current.write("2\r")
    assert (await bash.current.wait(PATIENCE_S)).text.endswith("two\n")


async def test_many_commands_in_a_row_stay_exact(terminal: Terminal) -> None:
    for number in range(50):
        assert await run(terminal, f"echo {number}; sh -c 'exit {number}'") == (State.DONE, number, f"{number}\n")
    await asyncio.sleep(0)
