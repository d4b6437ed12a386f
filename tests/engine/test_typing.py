"""A person types into a terminal that agents use too."""

import asyncio
import contextlib
from pathlib import Path
from typing import TypeVar

import pytest

from hermitty.errors import CommandEnded, TerminalBusy
from hermitty.events import CommandFinished, CommandStarted, CwdChanged, Event
from hermitty.model import State
from hermitty.runtime.api import Runtime, Terminal
from tests.support.kernel import so
from tests.support.runtimes import until
from tests.support.shells import PATIENCE_S, SHELLS

# Shells that say which line they run. A POSIX shell without hooks only says when its prompt is back.
TELLING_SHELLS = [param for param in SHELLS if param.values[0] in ("bash", "zsh", "fish")]

Kind = TypeVar("Kind", bound=Event)


class Watcher:
    """Hands out the events of a runtime, one after the other."""

    def __init__(self, runtime: Runtime) -> None:
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        runtime.subscribe(self._events.put_nowait)

    async def next(self, kind: type[Kind]) -> Kind:
        """Return the next event of a kind; those of other kinds before it are passed over."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                event = await self._events.get()
                if isinstance(event, kind):
                    return event

    def rest(self) -> list[Event]:
        """Return what is there and was not handed out."""
        return [self._events.get_nowait() for _ in range(self._events.qsize())]


@pytest.fixture
def watcher(runtime: Runtime) -> Watcher:
    return Watcher(runtime)


@pytest.fixture(params=TELLING_SHELLS)
async def telling(request: pytest.FixtureRequest, runtime: Runtime, work: Path) -> Terminal:
    """A terminal of every shell that reports the lines it runs."""
    return await runtime.open_terminal(shell=request.param, cwd=work)


async def seen(terminal: Terminal, text: str) -> None:
    """Wait until this is on the screen: the line editor has read what was typed."""
    await until(terminal, lambda: text in terminal.screen.text())


def prompts(terminal: Terminal) -> int:
    """Count the prompts that were drawn."""
    return terminal.log.read(0).data.count(b"\x1b]633;B;")


async def prompted(terminal: Terminal, before: int) -> None:
    """Wait until more prompts were drawn than before."""
    await until(terminal, lambda: prompts(terminal) > before)


async def broken_off(terminal: Terminal, before: int) -> None:
    """Press Ctrl-C until there is a new prompt: a line editor that does not wait yet, above all fish's, may miss it."""
    async with asyncio.timeout(PATIENCE_S):
        while prompts(terminal) == before:
            terminal.send_key("ctrl-c")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await prompted(terminal, before)


async def assert_exact(terminal: Terminal) -> None:
    """Check that an agent's line runs as it is, and the next one too."""
    for number in (4, 0):
        line = f"printf '%s\\n' 'an  agent' \"line\" {number}; sh -c 'exit {number}'"
        result = await terminal.run(line, wait_s=PATIENCE_S)
        assert (result.state, result.exit_code, result.text) == (State.DONE, number, f"an  agent\nline\n{number}\n")


# A line typed by hand is a command.


async def test_a_typed_line_is_a_command_of_the_user(telling: Terminal, watcher: Watcher) -> None:
    line = "printf 'typed\\n'; sh -c 'exit 7'"
    telling.write(f"{line}\r")
    started = await watcher.next(CommandStarted)
    finished = await watcher.next(CommandFinished)
    # bash tells the line only when it is over.
    assert (started.terminal, started.source, started.command) == (
        telling.id,
        "user",
        None if telling.shell == "bash" else line,
    )
    assert finished == CommandFinished(telling.id, started.command_id, line, "user", 7)
    command = telling.last
    assert command is not None
    assert (command.id, command.origin, command.line, command.exit_code) == (started.command_id, "user", line, 7)
    assert command.output().text == "typed\n"
    result = command.result()
    assert (result.state, result.exit_code, result.text, result.command) == (State.DONE, 7, "typed\n", line)


async def test_the_terminal_is_busy_and_then_idle(telling: Terminal, watcher: Watcher) -> None:
    telling.write("cat; sh -c 'exit 3'\r")
    await watcher.next(CommandStarted)
    command = telling.current
    assert command is not None
    assert (telling.is_busy, command.origin, command.is_running) == (True, "user", True)
    with pytest.raises(TerminalBusy) as caught:
        await telling.start("echo no")
    assert caught.value.command == (None if telling.shell == "bash" else "cat; sh -c 'exit 3'")
    telling.write("person\r")
    assert await command.wait_for("person\r?\nperson", PATIENCE_S)
    telling.send_key("ctrl-d")
    result = await command.wait(PATIENCE_S, until_input=False)
    assert (result.state, result.exit_code, telling.is_busy) == (State.DONE, 3, False)
    await assert_exact(telling)


async def test_an_agent_can_wait_for_and_stop_what_a_person_started(bash: Terminal, watcher: Watcher) -> None:
    bash.write("echo begun; sleep 1000\r")
    await watcher.next(CommandStarted)
    command = bash.current
    assert command is not None
    assert await command.wait_for("begun", PATIENCE_S)
    result = await command.kill()
    assert (result.state, (await watcher.next(CommandFinished)).source) == (State.KILLED, "user")
    with pytest.raises(CommandEnded):
        command.write("late\r")
    await assert_exact(bash)


@pytest.mark.parametrize(
    "line",
    [
        "echo 'quotes' \"and\" \\; semicolons",
        "echo ünïcödé 漢字",
        "true  &&   echo   spaces",
        "echo a > /dev/null",
    ],
)
async def test_the_line_is_told_as_it_was_typed(telling: Terminal, watcher: Watcher, line: str) -> None:
    telling.write(f"{line}\r")
    assert (await watcher.next(CommandFinished)).command == line


async def test_the_line_after_corrections_is_what_counts(telling: Terminal, watcher: Watcher) -> None:
    telling.write("echo wrong\x7f\x7f\x7f\x7f\x7fright\r")
    assert (await watcher.next(CommandFinished)).command == "echo right"
    assert telling.last is not None
    assert telling.last.output().text == "right\n"


async def test_an_older_line_is_told_when_it_is_called_back(telling: Terminal, watcher: Watcher) -> None:
    telling.write("echo first\r")
    await watcher.next(CommandFinished)
    telling.write("echo second\r")
    await watcher.next(CommandFinished)
    await asyncio.wait_for(telling.prompt.is_there.wait(), PATIENCE_S)
    telling.send_key("up")
    await seen(telling, "echo second")
    telling.send_key("up")
    telling.send_key("enter")
    assert (await watcher.next(CommandFinished)).command == "echo first"


async def test_a_line_that_hides_from_the_history_is_not_guessed(bash: Terminal, watcher: Watcher) -> None:
    # bash knows its lines from the history; the one before must not be told again.
    bash.write("echo shown\r")
    assert (await watcher.next(CommandFinished)).command == "echo shown"
    await asyncio.wait_for(bash.prompt.is_there.wait(), PATIENCE_S)
    bash.write(" sh -c 'exit 5'\r")
    finished = await watcher.next(CommandFinished)
    assert (finished.command, finished.exit_code) in ((None, 5), (" sh -c 'exit 5'", 5))


async def test_the_directory_follows_the_person(terminal: Terminal, watcher: Watcher, work: Path) -> None:
    (work / "sub").mkdir()
    terminal.write("cd sub\r")
    assert await watcher.next(CwdChanged) == CwdChanged(terminal.id, f"{work}/sub")
    await asyncio.wait_for(terminal.prompt.is_there.wait(), PATIENCE_S)
    result = await terminal.run("pwd", wait_s=PATIENCE_S)
    assert (result.text, result.cwd) == (f"{work}/sub\n", f"{work}/sub")


async def test_lines_that_run_nothing_are_no_commands(telling: Terminal, watcher: Watcher) -> None:
    before = prompts(telling)
    telling.write("\r")
    await prompted(telling, before)
    before = prompts(telling)
    telling.write("echo half")
    # The terminal's own Ctrl-C would throw away what the line editor has not read.
    await seen(telling, "echo half")
    await broken_off(telling, before)
    assert (watcher.rest(), telling.last, telling.is_busy) == ([], None, False)
    telling.write("echo marker\r")
    assert (await watcher.next(CommandFinished)).command == "echo marker"
    assert telling.last is not None
    assert telling.last.output().text == "marker\n"


async def test_a_line_and_the_next_typed_at_once_are_two_commands(telling: Terminal, watcher: Watcher) -> None:
    telling.write("echo one; sh -c 'exit 1'\recho two; sh -c 'exit 2'\r")
    finished = [await watcher.next(CommandFinished) for _ in range(2)]
    assert [(event.command, event.exit_code) for event in finished] == [
        ("echo one; sh -c 'exit 1'", 1),
        ("echo two; sh -c 'exit 2'", 2),
    ]


async def test_a_line_over_several_prompts_is_one_command(telling: Terminal, watcher: Watcher) -> None:
    parts = ("begin", "echo in", "end; sh -c 'exit 3'") if telling.shell == "fish" else ("{", "echo in", "}; (exit 3)")
    for part in parts:
        telling.write(f"{part}\r")
    finished = await watcher.next(CommandFinished)
    assert (finished.exit_code, finished.source) == (3, "user")
    assert telling.last is not None
    assert telling.last.output().text == "in\n"
    await assert_exact(telling)


# Persons and agents, one after the other.


async def test_agents_and_persons_take_turns(telling: Terminal, watcher: Watcher) -> None:
    for number in range(3):
        assert (await telling.run(f"echo agent {number}", wait_s=PATIENCE_S)).text == f"agent {number}\n"
        await watcher.next(CommandFinished)
        await asyncio.wait_for(telling.prompt.is_there.wait(), PATIENCE_S)
        telling.write(f"echo person {number}\r")
        finished = await watcher.next(CommandFinished)
        assert (finished.command, finished.source) == (f"echo person {number}", "user")
        await asyncio.wait_for(telling.prompt.is_there.wait(), PATIENCE_S)
    assert watcher.rest() == []


HALF_LINES = {
    "text": "echo half",
    "an open quote": "echo 'half ",
    "a cursor in the middle": "echo half\x1b[D\x1b[D\x1b[D",
    "a paste": "\x1b[200~echo pasted\x1b[201~",
    "a search": "\x12ech",
    "a completion": "ech\t\t",
}


@pytest.mark.parametrize("half", HALF_LINES.values(), ids=HALF_LINES.keys())
async def test_a_half_typed_line_is_not_part_of_the_agents(telling: Terminal, watcher: Watcher, half: str) -> None:
    await telling.run("echo for the search", wait_s=PATIENCE_S)
    await asyncio.wait_for(telling.prompt.is_there.wait(), PATIENCE_S)
    watcher.rest()
    before = telling.log.end
    telling.write(half)
    await until(telling, lambda: telling.log.end > before)  # the line editor has shown something of it
    await assert_exact(telling)
    assert [type(event) for event in watcher.rest()] == [CommandStarted, CommandFinished] * 2


async def test_a_half_typed_line_that_nobody_has_read_yet(telling: Terminal) -> None:
    for _ in range(10):
        telling.write("echo half ")
        await assert_exact(telling)


async def test_typing_while_an_agents_command_runs_goes_to_its_program(telling: Terminal, watcher: Watcher) -> None:
    command = await telling.start("cat")
    assert (await command.wait(PATIENCE_S)).state is State.NEEDS_INPUT
    telling.write("from the person\r")
    assert await command.wait_for("from the person\r?\nfrom the person", PATIENCE_S)
    with pytest.raises(TerminalBusy, match="cat"):
        await telling.start("echo no")
    telling.send_key("ctrl-d")
    result = await command.wait(PATIENCE_S, until_input=False)
    assert (result.exit_code, result.text) == (0, "from the person\nfrom the person\n")
    assert [type(event) for event in watcher.rest()] == [CommandStarted, CommandFinished]


async def test_a_person_can_interrupt_an_agents_command(telling: Terminal) -> None:
    command = await telling.start("sh -c 'echo begun; exec sleep 1000'")
    assert await command.wait_for("begun", PATIENCE_S)
    telling.send_key("ctrl-c")
    result = await command.wait(PATIENCE_S)
    # Nobody asked for an interrupt through the handle: the command ended, with this code.
    assert (result.state, result.exit_code, result.signal) == (State.DONE, 130, "SIGINT")
    await assert_exact(telling)


async def test_a_person_who_leaves_the_shell_ends_the_terminal(terminal: Terminal) -> None:
    terminal.send_key("ctrl-d")
    await until(terminal, lambda: not terminal.is_open)
    await terminal.finished()
    assert terminal.closed_because == "its shell exited with code 0"


# A person who is quicker than the shell, or who leaves the line editor in the middle of something.

UNFINISHED = {
    "an open quote": "echo 'half\r",
    "a line that goes on": "echo half\\\r",
    "an open block": "begin\r",
    "a lone escape": "\x1b",
    "a quoted key": "\x16",
}


@pytest.mark.parametrize("typed", UNFINISHED.values(), ids=UNFINISHED.keys())
async def test_an_unfinished_line_is_given_up_for_the_agents(terminal: Terminal, typed: str) -> None:
    if typed.startswith("begin") and terminal.shell != "fish":
        typed = "if true; then\r"
    terminal.write(typed)
    # The shell has read it when it waits again; a lone key shows nothing.
    for _ in range(3):
        await so(terminal.shell_waits)
        await asyncio.sleep(0.002)
    await assert_exact(terminal)


@pytest.mark.parametrize("typed", ["echo person\r", "sleep 0.2; echo person\r", "echo half"])
async def test_a_line_typed_just_before_an_agents_is_never_taken_for_it(terminal: Terminal, typed: str) -> None:
    for _ in range(3):
        terminal.write(typed)
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    await assert_exact(terminal)
                    break
                except TerminalBusy:
                    await asyncio.sleep(0.01)  # the person was first


async def test_a_posix_shell_that_runs_a_typed_line_is_busy(runtime: Runtime, work: Path) -> None:
    terminal = await runtime.open_terminal(shell="sh", cwd=work)
    terminal.write("echo begun; sleep 0.5; echo person >>ran\r")
    await until(terminal, lambda: b"\nbegun\r\n" in terminal.log.read(0).data)
    with pytest.raises(TerminalBusy):
        await terminal.start("echo agent >>ran")
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                result = await terminal.run("cat ran", wait_s=PATIENCE_S)
                break
            except TerminalBusy:
                await asyncio.sleep(0.01)  # the person was first
    assert result.text == "person\n"
