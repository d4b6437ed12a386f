"""Opening terminals: what their programs find, and what happens when the integration does not come up."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import hermitty
from hermitty.config import Settings
from hermitty.errors import InvalidDirectory, InvalidSize, NotSupported, UnknownShell
from hermitty.events import CommandFinished, CommandStarted, Event, NoShellIntegration, TerminalOpened
from hermitty.model import Quality, Size, State
from hermitty.pty.processes import process_table
from hermitty.runtime.api import Runtime, Terminal
from tests.engine.conftest import settings_for
from tests.support.runtimes import until
from tests.support.shells import PATIENCE_S, POSIX_SHELLS, SHELLS

zsh_only = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
fish_only = pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")

# For shells that never come up: a shorter time changes nothing.
SHORT_S = 0.3
# For shells that come up without integration: a loaded machine must get there.
ENOUGH_S = 1.0


@asynccontextmanager
async def opened(home: Path, work: Path, shell: str, **changes: object) -> AsyncIterator[Terminal]:
    """A terminal with some settings changed."""
    async with hermitty.open(settings_for(home, **changes)) as runtime:
        yield await runtime.open_terminal(shell=shell, cwd=work)


async def text(terminal: Terminal, line: str) -> str:
    result = await terminal.run(line, wait_s=PATIENCE_S)
    assert result.state is State.DONE
    return result.text


def children() -> set[int]:
    return {process.pid for process in process_table().values() if process.parent == os.getpid()}


def files_of(terminal: Terminal) -> dict[str, bytes] | None:
    """What is in a terminal's private directory, or None when it is gone."""
    directory = Path(terminal.directory)
    if not directory.exists():
        return None
    assert directory.stat().st_mode & 0o777 == 0o700
    return {each.name: each.read_bytes() for each in directory.iterdir()}


# The environment.


async def test_programs_find_a_terminal_without_pagers(terminal: Terminal) -> None:
    shown = await text(terminal, "printenv TERM COLORTERM TERM_PROGRAM PAGER GIT_PAGER VTE_VERSION")
    assert shown.splitlines() == ["xterm-256color", "truecolor", "hermitty", "cat", "cat", "0"]


async def test_what_describes_the_outer_terminal_does_not_get_in(
    runtime: Runtime, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = ("TMUX", "STY", "VSCODE_INJECTION", "WINDOWID", "COLUMNS", "LINES", "TERMCAP")
    for name in outer:
        monkeypatch.setenv(name, "outer")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("PAGER", "less")
    monkeypatch.setenv("KEPT", "yes")
    terminal = await runtime.open_terminal(shell="sh", cwd=work)
    found = dict(line.split("=", 1) for line in (await text(terminal, "env")).splitlines())
    assert not found.keys() & set(outer)
    assert (found["TERM"], found["PAGER"], found["KEPT"]) == ("xterm-256color", "cat", "yes")


@zsh_only
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"PROMPT_EOL_MARK": ""}),
        ({"zsh_clear_eol_mark": False}, {}),
        ({"zsh_oh_my": True}, {"PROMPT_EOL_MARK": "", "ITERM_SHELL_INTEGRATION_INSTALLED": "Yes"}),
        ({"zsh_p10k": True}, {"PROMPT_EOL_MARK": "", "POWERLEVEL9K_TERM_SHELL_INTEGRATION": "true"}),
    ],
)
async def test_settings_of_zsh_are_variables(
    home: Path, work: Path, changes: dict[str, object], expected: dict[str, str]
) -> None:
    names = ("PROMPT_EOL_MARK", "ITERM_SHELL_INTEGRATION_INSTALLED", "POWERLEVEL9K_TERM_SHELL_INTEGRATION")
    async with opened(home, work, "zsh", **changes) as terminal:
        env = await terminal.environment()
        assert {name: env[name] for name in names if name in env} == expected
        assert "ZDOTDIR" not in env


@pytest.mark.parametrize("shell", [param for param in SHELLS if param.values[0] != "zsh"])
async def test_other_shells_do_not_get_the_variables_of_zsh(home: Path, work: Path, shell: str) -> None:
    async with opened(home, work, shell, zsh_oh_my=True, zsh_p10k=True) as terminal:
        env = await terminal.environment()
        assert not [name for name in env if name.startswith(("ZDOTDIR", "ITERM_", "POWERLEVEL9K", "PROMPT_EOL"))]


async def test_the_command_delay_is_a_prompt_command(home: Path, work: Path) -> None:
    (home / ".bashrc").write_text("seen=$PROMPT_COMMAND\n")
    async with opened(home, work, "bash", command_delay_s=0.05) as terminal:
        assert await text(terminal, 'echo "$seen"') == "sleep 0.05\n"
        assert "sleep 0.05\n" in await text(terminal, "printf '%s\\n' \"${PROMPT_COMMAND[@]}\"")
        assert await text(terminal, "echo fine; (exit 3)") == "fine\n"
        assert (await terminal.run("(exit 3)", wait_s=PATIENCE_S)).exit_code == 3
    async with opened(home, work, "bash") as terminal:
        assert await text(terminal, 'echo "$seen"') == "\n"


@pytest.mark.parametrize(
    ("outer", "expected"),
    [
        ({}, ("C.UTF-8", "C.UTF-8", None)),
        ({"LC_ALL": "C", "LANG": "POSIX"}, ("C.UTF-8", "C.UTF-8", None)),
        ({"LANG": "C.UTF-8"}, ("C.UTF-8", None, None)),
        ({"LC_ALL": "C.utf8", "LANG": "C"}, ("C", None, "C.utf8")),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, ("C", "C.UTF-8", None)),
    ],
)
async def test_the_locale_is_utf8_whatever_is_around(
    runtime: Runtime,
    work: Path,
    monkeypatch: pytest.MonkeyPatch,
    outer: dict[str, str],
    expected: tuple[str | None, str | None, str | None],
) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in outer.items():
        monkeypatch.setenv(name, value)
    terminal = await runtime.open_terminal(shell="bash", cwd=work)
    env = await terminal.environment()
    assert (env.get("LANG"), env.get("LC_CTYPE"), env.get("LC_ALL")) == expected
    assert await text(terminal, "locale charmap; x=漢字; echo ${#x}") == "UTF-8\n2\n"


async def test_a_terminal_has_variables_of_its_own(runtime: Runtime, work: Path) -> None:
    env = {"MINE": "a b;'\"$c\nd", "PAGER": "more", "TERM": "vt100"}
    terminal = await runtime.open_terminal(shell="bash", cwd=work, env=env)
    found = await terminal.environment()
    assert {name: found[name] for name in env} == env
    other = await runtime.open_terminal(shell="bash", cwd=work)
    assert "MINE" not in await other.environment()


async def test_variables_of_the_terminal_win_over_those_of_the_settings(home: Path, work: Path) -> None:
    settings = settings_for(home)
    chosen = replace(settings.terminal, env={**settings.terminal.env, "A": "settings", "B": "settings"})
    async with hermitty.open(Settings(terminal=chosen)) as runtime:
        terminal = await runtime.open_terminal(shell="bash", cwd=work, env={"B": "mine"})
        assert await text(terminal, "echo $A $B") == "settings mine\n"


@pytest.mark.parametrize("bad", [{"": "x"}, {"A=B": "x"}, {"A\0": "x"}, {"A": "\0"}])
async def test_variables_that_cannot_be_are_refused(runtime: Runtime, bad: dict[str, str]) -> None:
    with pytest.raises(hermitty.HermittyError) as caught:
        await runtime.open_terminal(shell="sh", env=bad)
    assert (caught.value.code, runtime.terminals()) == ("invalid_request", [])


# Startup files.


@zsh_only
@pytest.mark.parametrize("how", ["process", "terminal"])
async def test_zdotdir_is_given_back(
    runtime: Runtime, home: Path, work: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    own = home / "zsh files"
    own.mkdir()
    (own / ".zshrc").write_text("mine=read\n")
    env = {"ZDOTDIR": str(own)}
    if how == "process":
        monkeypatch.setenv("ZDOTDIR", str(own))
        env = {}
    terminal = await runtime.open_terminal(shell="zsh", cwd=work, env=env)
    assert (terminal.integration_failed, terminal.quality) == (None, Quality.RICH)
    assert await text(terminal, "echo $ZDOTDIR $mine; printenv ZDOTDIR") == f"{own} read\n{own}\n"


@pytest.mark.parametrize("how", ["process", "terminal"])
async def test_env_of_a_posix_shell_is_given_back(
    runtime: Runtime, home: Path, work: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    (home / "env file").write_text("mine=read\n")
    env = {"ENV": str(home / "env file")}
    if how == "process":
        monkeypatch.setenv("ENV", env["ENV"])
        env = {}
    terminal = await runtime.open_terminal(shell="sh", cwd=work, env=env)
    assert (terminal.integration_failed, terminal.quality) == (None, Quality.BASIC)
    assert await text(terminal, 'echo "$ENV" $mine') == f"{home / 'env file'} read\n"


@pytest.mark.parametrize("shell", SHELLS)
async def test_nothing_is_left_of_a_closed_terminal(runtime: Runtime, work: Path, shell: str) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    before = files_of(terminal)
    # What holds the nonce is gone as soon as the shell has read it.
    assert before is not None
    assert not [name for name, data in before.items() if terminal.nonce.encode() in data]
    await runtime.close_terminal(terminal.id)
    assert files_of(terminal) is None


async def test_nothing_is_left_of_a_closed_runtime(home: Path, work: Path) -> None:
    before = children()
    async with hermitty.open(settings_for(home)) as runtime:
        terminals = [await runtime.open_terminal(shell="sh", cwd=work) for _ in range(3)]
        root = Path(terminals[0].directory).parent
        assert root.is_dir()
    assert not root.exists()
    assert children() == before


@pytest.mark.parametrize("login", [True, False])
async def test_a_login_shell_reads_what_a_login_reads(home: Path, work: Path, login: bool) -> None:
    (home / ".profile").write_text("from=profile\n")
    (home / ".bashrc").write_text("from=bashrc\n")
    (home / ".zprofile").write_text("from=zprofile\n")
    (home / ".zshrc").write_text("from=${from}+zshrc\n")
    found = {}
    for shell in ("bash", "zsh", "sh"):
        if shutil.which(shell):
            async with opened(home, work, shell, login_shell=login) as terminal:
                assert terminal.integration_failed is None
                found[shell] = (await text(terminal, "echo $from")).strip()
    expected = (
        {"bash": "profile", "zsh": "zprofile+zshrc", "sh": "profile"}
        if login
        else {"bash": "bashrc", "zsh": "+zshrc", "sh": ""}
    )
    assert found == {shell: expected[shell] for shell in found}


@fish_only
async def test_a_login_fish_knows_that_it_is_one(home: Path, work: Path) -> None:
    async with opened(home, work, "fish", login_shell=True) as terminal:
        assert await text(terminal, "status is-login; and echo login") == "login\n"


HISTORY = {
    "bash": "history",
    "zsh": "fc -l 1",
    "fish": "history",
}


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("shell", [param for param in SHELLS if param.values[0] in HISTORY])
async def test_lines_of_agents_are_in_the_history_only_when_asked_for(
    home: Path, work: Path, shell: str, clean: bool
) -> None:
    async with opened(home, work, shell, keep_history_clean=clean) as terminal:
        await text(terminal, "echo from-the-agent")
        await text(terminal, "echo several\necho lines-of-the-agent")
        shown = await text(terminal, HISTORY[shell])
    assert ("from-the-agent" in shown, "lines-of-the-agent" in shown) == (not clean, not clean)


@pytest.mark.parametrize("shell", [param for param in SHELLS if param.values[0] in HISTORY])
async def test_a_history_file_has_only_what_a_person_typed(home: Path, work: Path, shell: str) -> None:
    for rc in (".bashrc", ".zshrc"):
        (home / rc).write_text("HISTFILE=~/saved HISTSIZE=100 SAVEHIST=100\n")
    async with opened(home, work, shell) as terminal:
        await text(terminal, "echo from-the-agent")
        terminal.write("echo from-the-person; exit\r")
        await until(terminal, lambda: not terminal.is_open)
        await terminal.finished()
    saved = home / (".local/fish/fish_history" if shell == "fish" else "saved")
    assert "from-the-person" in saved.read_text()
    assert "from-the-agent" not in saved.read_text()


# Size.


@pytest.mark.parametrize("shell", SHELLS)
async def test_programs_see_the_size_from_the_start(runtime: Runtime, work: Path, shell: str) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work, cols=97, rows=31)
    assert terminal.size == terminal.screen.size == Size(97, 31)
    assert await text(terminal, "stty size; tput cols; tput lines") == "31 97\n97\n31\n"


async def test_the_size_of_the_settings_is_the_default(home: Path, work: Path) -> None:
    async with opened(home, work, "sh", cols=33, rows=44) as terminal:
        assert await text(terminal, "stty size") == "44 33\n"


async def test_a_running_program_is_told_about_a_resize(bash: Terminal) -> None:
    line = "bash -c 'trap \"stty size; exit 4\" WINCH; echo begun; while :; do read -t 0.01 _ </dev/zero; done'"
    command = await bash.start(line)
    assert await command.wait_for("begun", PATIENCE_S)
    bash.resize(61, 17)
    result = await command.wait(PATIENCE_S)
    assert (result.text, result.exit_code) == ("begun\n17 61\n", 4)
    assert bash.size == bash.screen.size == Size(61, 17)
    assert await text(bash, "echo $COLUMNS $LINES") == "61 17\n"


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_resize_at_the_prompt_changes_nothing_else(runtime: Runtime, work: Path, shell: str) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    for cols, rows in ((20, 5), (10, 3), (200, 60), (80, 24)):
        terminal.resize(cols, rows)
        result = await terminal.run("echo a long enough line to be wrapped; sh -c 'exit 5'", wait_s=PATIENCE_S)
        assert (result.text, result.exit_code) == ("a long enough line to be wrapped\n", 5)
    assert await text(terminal, "stty size") == "24 80\n"


@pytest.mark.parametrize(("cols", "rows"), [(0, 10), (10, 0), (-1, 10), (10, 100_000)])
async def test_impossible_sizes_are_refused(runtime: Runtime, bash: Terminal, cols: int, rows: int) -> None:
    before = children()
    with pytest.raises(InvalidSize):
        await runtime.open_terminal(shell="sh", cols=cols, rows=rows)
    with pytest.raises(InvalidSize):
        bash.resize(cols, rows)
    assert (runtime.terminals(), children()) == ([bash], before)
    assert await text(bash, "stty size") == "30 120\n"


# What cannot be opened.


@pytest.mark.parametrize("name", ["no-such-shell", "/nowhere/bash", "python3", "/bin/ls", ""])
async def test_an_unknown_shell_names_what_is_there(runtime: Runtime, name: str) -> None:
    before = children()
    with pytest.raises(UnknownShell) as caught:
        await runtime.open_terminal(shell=name)
    assert caught.value.name == name
    assert {"bash", "sh"} <= set(caught.value.found)
    assert "no-such-shell" not in caught.value.found
    for found in caught.value.found:
        assert found in str(caught.value)
    assert (runtime.terminals(), children()) == ([], before)


async def test_a_shell_can_be_given_by_its_path(runtime: Runtime, work: Path) -> None:
    path = shutil.which("bash")
    assert path is not None
    terminal = await runtime.open_terminal(shell=path, cwd=work)
    assert (terminal.shell, terminal.quality) == ("bash", Quality.RICH)


@pytest.mark.parametrize(("preferred", "expected"), [("/bin/sh", "sh"), ("/bin/no-such-shell", "bash"), ("", "bash")])
async def test_without_a_wish_it_is_the_shell_of_the_user(
    runtime: Runtime, work: Path, monkeypatch: pytest.MonkeyPatch, preferred: str, expected: str
) -> None:
    monkeypatch.setenv("SHELL", preferred)
    assert (await runtime.open_terminal(cwd=work)).shell == expected


async def test_a_missing_directory_is_an_error_that_names_it(runtime: Runtime, work: Path) -> None:
    before = children()
    events: list[Event] = []
    runtime.subscribe(events.append)
    (work / "file").touch()
    for path, problem in ((work / "missing", "does not exist"), (work / "file", "is not a directory")):
        with pytest.raises(InvalidDirectory, match=problem) as caught:
            await runtime.open_terminal(shell="sh", cwd=path)
        assert caught.value.path == str(path)
        with pytest.raises(InvalidDirectory, match=problem):
            await runtime.run("touch /never", cwd=path)
    assert (runtime.terminals(), children(), events) == ([], before, [])


# Without integration.


async def run_once(
    home: Path, work: Path, shell: str, **changes: object
) -> tuple[hermitty.CommandResult, list[Event], int]:
    """Run a line; return its result, what was told, and how often it ran."""
    events: list[Event] = []
    async with hermitty.open(settings_for(home, **changes)) as runtime:
        runtime.subscribe(events.append)
        line = "echo ran >>ran; echo out; sh -c 'exit 3'"
        result = await runtime.run(line, cwd=work, shell=shell, wait_s=PATIENCE_S)
    return result, events, len((work / "ran").read_text().split())


# Startup files after which nobody reads lines, or somebody else does.
NOT_A_SHELL = {
    "another program": "exec cat",
    "another program in front": "cat",
    "a silent program": "stty -echo; exec cat >/dev/null",
    "a question": "read -r answer",
    "a pause": "sleep 1000",
    "a loop": "while :; do :; done",
    "a loop that prints": "while :; do echo noise; sleep 0.01; done",
}


@pytest.mark.parametrize("content", NOT_A_SHELL.values(), ids=NOT_A_SHELL.keys())
async def test_a_shell_that_never_comes_up_is_told_and_the_command_runs_once(
    home: Path, work: Path, content: str
) -> None:
    (home / ".bashrc").write_text(f"{content}\n")
    result, events, times = await run_once(home, work, "bash", shell_integration_timeout_s=SHORT_S)
    assert (result.state, result.exit_code, result.text, times) == (State.DONE, 3, "out\n", 1)
    assert (result.provider, result.quality) == ("pipe", Quality.BASIC)
    reason = f"no sign of the shell integration within {SHORT_S:g} s"
    assert result.warnings == [f"{reason}; run without a terminal instead"]
    told = [event for event in events if isinstance(event, NoShellIntegration)]
    assert [(event.shell, event.reason, event.fallback) for event in told] == [("bash", reason, "pipe")]


# Startup files that end in a shell which knows nothing of us.
ANOTHER_SHELL = {
    "sh": "exec sh",
    "bash": "exec bash --norc",
    "zsh": "exec zsh -f",
    "no line editor": "exec bash --norc --noediting",
    "noise": "echo welcome; printf 'no newline'; exec sh",
    "a shell inside": "sh",
}


@pytest.mark.parametrize("content", ANOTHER_SHELL.values(), ids=ANOTHER_SHELL.keys())
async def test_a_shell_without_integration_is_wrapped_and_the_command_runs_once(
    home: Path, work: Path, content: str
) -> None:
    if "zsh" in content and not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    (home / ".bashrc").write_text(f"{content}\n")
    result, events, times = await run_once(home, work, "bash", shell_integration_timeout_s=ENOUGH_S)
    assert (result.state, result.exit_code, result.text, times) == (State.DONE, 3, "out\n", 1)
    told = [event for event in events if isinstance(event, NoShellIntegration)]
    assert len(told) == 1
    if content == "sh":
        # Not the shell that was started reads the lines: what it is cannot be known.
        assert told[0].fallback in ("pipe", "sentinel")
    else:
        assert (told[0].fallback, result.provider, result.quality) == ("sentinel", "pty", Quality.NONE)
        kinds = [type(event) for event in events]
        assert kinds[:4] == [NoShellIntegration, TerminalOpened, CommandStarted, CommandFinished]


@fish_only
async def test_a_fish_that_never_comes_up_is_replaced_by_a_pipe(home: Path, work: Path) -> None:
    (home / ".config/fish").mkdir(parents=True)
    # fish reads this file for one-shot lines too.
    (home / ".config/fish/config.fish").write_text("status is-interactive; and exec cat\n")
    result, events, times = await run_once(home, work, "fish", shell_integration_timeout_s=SHORT_S)
    assert (result.state, result.exit_code, result.text, times) == (State.DONE, 3, "out\n", 1)
    told = [event.fallback for event in events if isinstance(event, NoShellIntegration)]
    assert (told, result.provider) == (["pipe"], "pipe")


async def test_a_terminal_that_takes_no_commands_says_so_and_can_be_typed_into(home: Path, work: Path) -> None:
    (home / ".bashrc").write_text("exec cat\n")
    async with opened(home, work, "bash", shell_integration_timeout_s=SHORT_S) as terminal:
        assert (terminal.takes_commands, terminal.quality, terminal.is_busy) == (False, Quality.NONE, False)
        with pytest.raises(NotSupported, match="no sign of the shell integration"):
            await terminal.start("touch never")
        terminal.write("hello\r")
        await until(terminal, lambda: terminal.log.read(0).data.count(b"hello") == 2)
    assert not (work / "never").exists()


@pytest.mark.parametrize("shell", POSIX_SHELLS)
async def test_with_the_integration_disabled_terminals_are_wrapped(home: Path, work: Path, shell: str) -> None:
    events: list[Event] = []
    async with hermitty.open(settings_for(home, shell_integration_disabled=True)) as runtime:
        runtime.subscribe(events.append)
        terminal = await runtime.open_terminal(shell=shell, cwd=work)
        assert events == [
            NoShellIntegration(terminal.id, shell, "the shell integration is switched off", "sentinel"),
            TerminalOpened(terminal.id, shell, str(work), Quality.NONE),
        ]
        (work / "sub").mkdir()
        result = await terminal.run("cd sub && printf 'a\\nb'; sh -c 'exit 6'", wait_s=PATIENCE_S)
        assert (result.state, result.exit_code, result.text, result.cwd) == (State.DONE, 6, "a\nb", f"{work}/sub")
        assert (await terminal.run("A=1; pwd", wait_s=PATIENCE_S)).text == f"{work}/sub\n"
        assert (await terminal.run("echo $A", wait_s=PATIENCE_S)).text == "1\n"


async def test_with_the_integration_disabled_runs_are_piped(home: Path, work: Path) -> None:
    result, events, times = await run_once(home, work, "bash", shell_integration_disabled=True)
    assert (result.exit_code, result.provider, result.stdout, times, events) == (3, "pipe", "out\n", 1, [])


async def test_a_wrapped_shell_can_be_interrupted_and_goes_on(home: Path, work: Path) -> None:
    async with opened(home, work, "bash", shell_integration_disabled=True) as terminal:
        command = await terminal.start("sh -c 'echo begun; exec sleep 1000'")
        assert await command.wait_for("begun", PATIENCE_S)
        command.interrupt()
        result = await command.wait(PATIENCE_S)
        # The shell gave up the script around the command, and the code with it.
        assert (result.state, result.exit_code) in ((State.INTERRUPTED, None), (State.INTERRUPTED, 130))
        assert await text(terminal, "echo fine") == "fine\n"


@zsh_only
async def test_zsh_without_zdotdir_is_wrapped(home: Path, work: Path) -> None:
    async with opened(home, work, "zsh", zdotdir=False) as terminal:
        assert terminal.quality is Quality.NONE
        result = await terminal.run("echo fine; printenv ZDOTDIR", wait_s=PATIENCE_S)
        assert (result.text, result.exit_code) == ("fine\n", 1)
