"""A setting that changes while a runtime runs counts for the next terminal, without a restart."""

import asyncio
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from hermitty import errors
from hermitty.config import Settings
from hermitty.events import NoShellIntegration
from hermitty.model import CommandResult, Quality, State
from hermitty.runtime.api import Answer, Runtime, SettingsSource, build_runtime
from tests.support.runtimes import Dial, Gate, Listener, over, settings_in
from tests.support.shells import PATIENCE_S

with_zsh = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
with_pwsh = pytest.mark.skipif(shutil.which("pwsh") is None, reason="pwsh is not installed")


async def fresh(rt: Runtime, work: Path, line: str, shell: str | None = None) -> CommandResult:
    """Run a line in a new terminal."""
    terminal = await rt.open_terminal(cwd=work, shell=shell)
    return await terminal.run(line)


def toml(value: object) -> str:
    """A value as TOML writes it; the texts of these tests need no escapes."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case dict():
            return "{" + ", ".join(f"{name} = {toml(each)}" for name, each in value.items()) + "}"
        case _:
            return repr(value)


def write(path: Path, settings: Settings, names: Iterable[str], **changes: object) -> None:
    """Write settings as the user's file has them; `group__field` changes one."""
    values = {name: settings.value(name) for name in names}
    values |= {name.replace("__", "."): value for name, value in changes.items()}
    path.write_text("".join(f"{name} = {toml(value)}\n" for name, value in values.items()))


# Every setting of the specification, changed under a runtime.


async def test_shell_integration_disabled(rt: Runtime, work: Path, dial: Dial) -> None:
    assert (await rt.run("true", cwd=work)).provider == "pty"
    dial.turn(terminal__shell_integration_disabled=True)

    result = await rt.run("echo $-", cwd=work)
    assert (result.provider, result.terminal) == ("pipe", None)
    assert result.warnings == ["the shell integration is switched off; run without a terminal"]
    assert (await fresh(rt, work, "echo fine")).quality is Quality.NONE
    dial.turn(terminal__shell_integration_disabled=False)
    assert (await rt.run("true", cwd=work)).quality is Quality.RICH


async def test_shell_integration_timeout(rt: Runtime, work: Path, home: Path, dial: Dial, heard: Listener) -> None:
    (home / ".bashrc").write_text("exec sleep 1000\n")
    dial.turn(terminal__shell_integration_timeout_s=0.3)

    result = await rt.run("echo once >>ran; echo fine", cwd=work)

    assert (result.provider, result.text, (work / "ran").read_text()) == ("pipe", "fine\n", "once\n")
    assert result.warnings == ["no sign of the shell integration within 0.3 s; run without a terminal instead"]
    [event] = [event for event in heard.events if isinstance(event, NoShellIntegration)]
    assert (event.shell, event.reason, event.fallback) == (
        "bash",
        "no sign of the shell integration within 0.3 s",
        "pipe",
    )
    assert rt.terminals() == []


async def test_command_delay(rt: Runtime, work: Path, dial: Dial) -> None:
    def is_delayed(printed: str) -> bool:
        return "sleep 0.03" in printed

    assert not is_delayed((await fresh(rt, work, 'printf "%s\\n" "${PROMPT_COMMAND[@]}"')).text)
    dial.turn(terminal__command_delay_s=0.03)
    assert is_delayed((await fresh(rt, work, 'printf "%s\\n" "${PROMPT_COMMAND[@]}"')).text)


async def test_output_limits(rt: Runtime, work: Path, dial: Dial) -> None:
    before = await fresh(rt, work, "seq 100")
    dial.turn(terminal__output_line_limit=10)
    lines = await fresh(rt, work, "seq 100")
    dial.turn(terminal__output_line_limit=0, terminal__output_character_limit=50)
    characters = await fresh(rt, work, "seq 100")

    assert not before.truncated
    assert lines.text == "1\n2\n[... 90 lines omitted ...]\n93\n94\n95\n96\n97\n98\n99\n100\n"
    assert characters.truncated
    assert len(characters.text) < 100
    piped = await rt.run("seq 100", cwd=work, provider="pipe")
    assert piped.text == characters.text


async def test_compress_progress_bar(rt: Runtime, work: Path, dial: Dial) -> None:
    line = "printf '30%%\\r60%%\\r100%%\\n'"
    assert (await fresh(rt, work, line)).text == "100%\n"
    dial.turn(terminal__compress_progress_bar=False)
    assert (await fresh(rt, work, line)).text == "30%\n60%\n100%\n"


@with_zsh
async def test_settings_of_zsh(rt: Runtime, work: Path, dial: Dial) -> None:
    line = (
        'print -r -- "${PROMPT_EOL_MARK-unset}|$ITERM_SHELL_INTEGRATION_INSTALLED|$POWERLEVEL9K_TERM_SHELL_INTEGRATION"'
    )
    assert (await fresh(rt, work, line, "zsh")).text == "||\n"
    dial.turn(terminal__zsh_clear_eol_mark=False, terminal__zsh_oh_my=True, terminal__zsh_p10k=True)
    assert (await fresh(rt, work, line, "zsh")).text == "unset|Yes|true\n"
    dial.turn(terminal__zdotdir=False)
    result = await fresh(rt, work, "print fine", "zsh")
    assert (result.text, result.quality) == ("fine\n", Quality.NONE)


@with_pwsh
async def test_powershell_counter(rt: Runtime, work: Path, dial: Dial) -> None:
    dial.turn(terminal__powershell_counter=True)
    assert (await fresh(rt, work, "1 + 1", "pwsh")).text.strip() == "2"


async def test_shell_size_and_variables(rt: Runtime, work: Path, dial: Dial) -> None:
    env = dial.settings.terminal.env
    dial.turn(terminal__shell="sh", terminal__cols=77, terminal__rows=11, terminal__env={**env, "ADDED": "yes"})
    result = await fresh(rt, work, "stty size; echo $ADDED")
    assert (result.shell, result.text) == ("sh", "11 77\nyes\n")
    assert (await rt.run("echo $ADDED", cwd=work, provider="pipe")).text == "yes\n"


async def test_waits_and_kills(rt: Runtime, work: Path, dial: Dial) -> None:
    dial.turn(run__wait_s=0.1)
    running = await rt.run("exec sleep 1000", cwd=work)
    assert running.state is State.RUNNING
    dial.turn(run__wait_s=PATIENCE_S, run__kill_after_s=0.3)
    killed = await rt.run("sh -c 'exec sleep 1000'", cwd=work)
    assert (killed.state, killed.warnings) == (State.KILLED, ["killed: it ran longer than 0.3 s"])
    dial.turn(run__kill_exempt=("sleep",))
    assert (await rt.run("sleep 0.6", cwd=work, provider="pipe")).state is State.DONE
    # Whoever waited as long as without answers would see it killed.
    dial.turn(run__kill_after_s=5.0, tools__wait_interactive_s=0.2)
    unanswered = await rt.run("exec sleep 1000", cwd=work, answers=[Answer("never", "x")])
    assert unanswered.state is State.RUNNING


async def test_numbers_of_switches_and_terminals(rt: Runtime, work: Path, dial: Dial, gate: Gate) -> None:
    first = await rt.run("cd src", cwd=work, session="A")
    dial.turn(reuse__max_switches=0)
    second = await rt.run("true", cwd=work, session="A")
    assert second.terminal != first.terminal

    dial.turn(reuse__terminals_per_workspace=3)
    third = await rt.run("cat gate", cwd=work, session="B", wait_s=0)
    waiting = asyncio.create_task(rt.run("echo served", cwd=work, session="C"))
    while not rt._registry._ledger._queues:
        await asyncio.sleep(0)  # nobody is told that somebody waits
    assert len(rt.terminals()) == 3
    dial.turn(reuse__steal=True)
    # Whoever asks next brings the change along, and those who wait are served by it.
    assert (await rt.run("echo too", cwd=work, session="D")).text == "too\n"
    async with asyncio.timeout(PATIENCE_S):
        assert (await waiting).text == "served\n"
    assert len(rt.terminals()) <= 3
    command = rt.last_command(third.terminal or "")
    assert command is not None
    gate.let()
    await over(command)


async def test_spares_follow_the_settings(home: Path, work: Path, state: Path) -> None:
    dial = Dial(settings_in(home, reuse__spares=1, reuse__spare_delay_s=0.0))
    env = dial.settings.terminal.env
    async with build_runtime(dial) as rt:
        await rt.run("true", cwd=work, session="A")
        await rt._registry.settled()
        [spare] = rt._registry._supply.pool._spares.values()

        dial.turn(terminal__env={**env, "ADDED": "yes"}, terminal__output_line_limit=3)
        result = await rt.run("echo $ADDED; seq 10", cwd=work, session="B")

        assert result.text.startswith("yes\n")
        assert result.truncated
        assert result.terminal != spare.terminal.id
        await rt._registry.settled()
        dial.turn(reuse__spares=0)
        await rt.run("true", cwd=work, session="C")
        await rt._registry.settled()
        assert len(rt._registry._supply.pool) == 0


# The same through the user's file.


async def test_a_file_that_is_edited_counts_from_the_next_terminal_on(home: Path, work: Path, state: Path) -> None:
    settings = settings_in(home)
    usual = ("terminal.shell", "terminal.env", "terminal.shell_integration_timeout_s", "reuse.spares")
    path = home / "config.toml"
    told: list[str] = []
    write(path, settings, usual)
    source = SettingsSource(config_file=path, environ={}, tell=told.append)
    async with build_runtime(source.current) as rt:
        assert not (await fresh(rt, work, "seq 100")).truncated
        first = await rt.open_terminal(cwd=work)

        write(path, settings, usual, terminal__output_line_limit=10, terminal__cols=91, run__wait_s=0.1)
        assert (await fresh(rt, work, "seq 100")).truncated
        assert (await fresh(rt, work, "stty size")).text.split() == ["30", "91"]
        assert not (await first.run("seq 100")).truncated
        assert (await rt.run("exec sleep 1000", cwd=work)).state is State.RUNNING

        path.write_text("terminal.output_line_limit = 'many'\n")
        assert (await fresh(rt, work, "seq 100")).truncated
        assert len(told) == 1
        assert "the settings from before stay in use" in told[0]
        write(path, settings, usual)
        assert not (await fresh(rt, work, "seq 100")).truncated


async def test_settings_that_break_never_break_a_runtime(home: Path, work: Path, state: Path) -> None:
    path = home / "config.toml"
    write(path, settings_in(home), ("terminal.shell", "terminal.env", "reuse.spares"))
    source = SettingsSource(config_file=path, environ={}, tell=lambda text: None)
    async with build_runtime(source.current) as rt:
        os.unlink(path)
        path.mkdir()
        assert (await rt.run("echo fine", cwd=work)).text == "fine\n"
        path.rmdir()
        with pytest.raises(errors.InvalidSettings):
            SettingsSource(config_file=home, environ={})
