"""Commands that went on in the background are stopped like any other; themes that redraw the prompt change nothing."""

import shutil
from pathlib import Path

import pytest

from hermitty.model import State
from hermitty.runtime.api import Runtime
from tests.support.kernel import is_alive
from tests.support.runtimes import Dial, begun, over
from tests.support.shells import PATIENCE_S

NESTED = "sh -c 'sh -c \"echo \\$\\$; exec sleep 1000\"; :'"

# A prompt that is drawn again, shorter, when the line is accepted; and one on the right that is taken away.
TRANSIENT_ZSH = """
setopt prompt_subst transient_rprompt
PROMPT='long %F{green}theme%f
>> ' RPROMPT='%F{blue}right%f'
zle-line-finish() { local PROMPT='> ' RPROMPT=''; zle reset-prompt }
zle -N zle-line-finish
"""


@pytest.mark.parametrize("how", ["interrupt", "kill"])
async def test_a_command_in_the_background_is_stopped_with_all_it_started(rt: Runtime, work: Path, how: str) -> None:
    command = await begun(rt, NESTED, work, prints=r"\d+\n", session="A")
    pid = int(command.output().text)
    assert is_alive(pid)

    if how == "kill":
        await command.kill()
    else:
        command.interrupt()
        await over(command)

    assert not is_alive(pid)
    result = command.result()
    assert result.state is (State.KILLED if how == "kill" else State.INTERRUPTED)
    assert result.exit_code not in (0, None)
    assert (await rt.run("echo fine", cwd=work, session="A")).terminal == result.terminal


async def test_a_line_with_an_exempt_beginning_outlives_the_kill_limit(rt: Runtime, work: Path, dial: Dial) -> None:
    dial.turn(run__kill_after_s=0.2, run__kill_exempt=("sleep", "npm run"))

    spared = await rt.run("  sleep 0.6; echo through", cwd=work)
    killed = await rt.run("exec 3>&1; sleep 1000", cwd=work)

    assert (spared.state, spared.text, spared.warnings) == (State.DONE, "through\n", [])
    assert (killed.state, killed.warnings[0]) == (State.KILLED, "killed: it ran longer than 0.2 s")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
async def test_a_prompt_that_is_drawn_again_is_not_output(rt: Runtime, work: Path, home: Path) -> None:
    (home / ".zshrc").write_text(TRANSIENT_ZSH)
    terminal = await rt.open_terminal(cwd=work, shell="zsh")

    results = [
        await terminal.run(line, wait_s=PATIENCE_S)
        for line in ("print one", "printf two", "cd src; false", "print -l a b\nprint c")
    ]

    assert [(each.text, each.exit_code) for each in results] == [
        ("one\n", 0),
        ("two", 0),
        ("", 1),
        ("a\nb\nc\n", 0),
    ]
    assert "theme" in terminal.log.read(0, terminal.log.end).data.decode("utf-8", "replace")
