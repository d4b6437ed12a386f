"""Keys that are signals, typed at a confined shell and at one that is not: both must do the same."""

import signal
import sys
from pathlib import Path

import pytest

from hermitty.model import ExitStatus
from hermitty.runtime.api import Runtime, Terminal
from hermitty.sandbox.probe import Abilities
from tests.sandbox.conftest import OpenConfined
from tests.sandbox.test_terminal import said, sleeps
from tests.support.kernel import so
from tests.support.shells import PATIENCE_S, SHELLS

_INTERRUPT, _QUIT, _STOP = b"\x03", b"\x1c", b"\x1a"


async def typed(terminal: Terminal, line: str, key: bytes) -> int | None:
    """Type a key once `sleep` is in front of a command, and return how the command ended."""
    command = await terminal.start(line)
    await sleeps(terminal)
    command.write(key)
    assert await command.ended(PATIENCE_S)
    return command.exit_code


async def keys(terminal: Terminal, work: Path) -> dict[str, object]:
    """What becomes of programs in front, stopped ones, and ones in the background."""
    found: dict[str, object] = {
        "interrupted": await typed(terminal, "sleep 1000", _INTERRUPT),
        "quit": await typed(terminal, "(ulimit -c 0; exec sleep 1000)", _QUIT),
        "stopped": await typed(terminal, "sleep 1000", _STOP),
        "jobs": (await said(terminal, "jobs -s | grep -c sleep")),
        "in front again": await typed(terminal, "fg", _STOP),
        "in the background": (await said(terminal, "bg >/dev/null 2>&1; jobs -r | grep -c sleep")),
        "another one beside it": await typed(terminal, "sleep 1001", _INTERRUPT),
        "still in the background": (await said(terminal, "jobs -r | grep -c sleep")),
        "taken from there": await typed(terminal, "fg", _INTERRUPT),
        "no jobs": (await said(terminal, "jobs | grep -c sleep")),
    }
    # A script that catches it decides for itself.
    ready = work / "ready"
    command = await terminal.start(f"sh -c 'trap \"exit 7\" INT; touch {ready}; while :; do sleep 0.05; done'")
    await so(ready.exists)
    command.write(_INTERRUPT)
    assert await command.ended(PATIENCE_S)
    found["caught"] = command.exit_code
    ready.unlink()
    # At the prompt nobody ends.
    found["the shell"] = await said(terminal, "echo lives")
    return found


async def test_keys_do_what_they_do_without_a_sandbox(confined: OpenConfined, runtime: Runtime, work: Path) -> None:
    plain = await keys(await runtime.open_terminal(cwd=work, shell="bash"), work)
    assert plain["interrupted"] == 130
    assert plain["stopped"] == 148
    assert plain["still in the background"] == "1"
    assert await keys(await confined(), work) == plain


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_typed_interrupt_ends_the_program_and_leaves_every_shell(
    abilities: Abilities, runtime: Runtime, work: Path, shell: str
) -> None:
    if not abilities.bubblewrap.works:
        pytest.skip(f"bubblewrap does not work here: {abilities.bubblewrap.problem}")
    terminal = await runtime.open_terminal(cwd=work, shell=shell, sandbox="workspace")
    assert await typed(terminal, "sleep 1000", _INTERRUPT) == 130
    assert await said(terminal, "echo lives") == "lives"


# Says that it runs, and on an interrupt that it was there.
_CATCHES = """
import sys, time
try:
    open("runs", "w").close()
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    open("caught", "w").close()
    sys.exit(7)
"""


@pytest.mark.parametrize(("key", "catches"), [(_INTERRUPT, True), (_QUIT, False)])
async def test_a_program_without_a_group_of_its_own_gets_the_key_and_what_is_around_it_does_not(
    confined: OpenConfined, runtime: Runtime, work: Path, key: bytes, catches: bool
) -> None:
    (work / "catches.py").write_text(_CATCHES)
    ended = []
    for terminal in (await runtime.open_terminal(cwd=work, shell="bash"), await confined()):
        # `exec` puts the program into the group in which the shell was started.
        command = await terminal.start(f"ulimit -c 0; exec {sys.executable} -I catches.py")
        await so((work / "runs").exists)
        command.write(b"forgotten" + key)
        assert await command.ended(PATIENCE_S)
        await terminal.finished()
        ended.append((terminal.exit_status, (work / "caught").exists()))
        for name in ("runs", "caught"):
            (work / name).unlink(missing_ok=True)
    assert ended[0] == ((ExitStatus(code=7), True) if catches else (ExitStatus(signal=signal.SIGQUIT), False))
    assert ended[1] == ended[0] or (ended[1], catches) == ((ExitStatus(code=131), False), False)
