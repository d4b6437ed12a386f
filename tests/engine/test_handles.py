"""The handle of a running command: its output as it comes, who waits for it, and what can be done to it."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

import hermitty
from hermitty.errors import (
    CommandEnded,
    InputOverflow,
    InvalidPattern,
    InvalidTime,
    TerminalBusy,
    TerminalClosed,
    UnknownKey,
)
from hermitty.events import CommandEvent, Completed, InputWanted, OutputArrived
from hermitty.model import CommandResult, NeedsInput, State
from hermitty.runtime.api import Command, Runtime, Terminal
from tests.engine.conftest import settings_for
from tests.support.shells import PATIENCE_S

LOG_BYTES = 4096


@pytest.fixture
async def forgetful(home: Path, work: Path) -> AsyncIterator[Terminal]:
    """A bash terminal whose log keeps very little."""
    async with hermitty.open(settings_for(home, log_bytes=LOG_BYTES)) as runtime:
        yield await runtime.open_terminal(shell="bash", cwd=work)


class Gate:
    """A named pipe that a command waits at until the test lets it go on."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.wait = f"read -r _ <{path}"
        # Open in both directions, neither the test nor the command blocks in open.
        self._descriptor = os.open(path, os.O_RDWR)

    def go(self) -> None:
        os.write(self._descriptor, b"go\n")

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    gate = Gate(tmp_path / "gate")
    yield gate
    gate.close()


@asynccontextmanager
async def started(terminal: Terminal, line: str, sign: str = "begun") -> AsyncIterator[Command]:
    """A command that has printed its sign of life."""
    command = await terminal.start(line)
    assert await command.wait_for(sign, PATIENCE_S)
    yield command


async def collect(command: Command, interval_s: float | None = None) -> list[CommandEvent]:
    async with asyncio.timeout(PATIENCE_S):
        return [event async for event in command.events(interval_s)]


def joined(events: list[CommandEvent]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, OutputArrived))


# The handle itself.


async def test_the_handle_is_there_before_the_command_is_done(bash: Terminal, gate: Gate) -> None:
    command = await bash.start(f"{gate.wait}; echo late")
    assert (command.is_running, command.state, command.exit_code) == (True, State.RUNNING, None)
    assert (bash.current, bash.last, command.line, command.origin) == (
        command,
        None,
        f"{gate.wait}; echo late",
        "agent",
    )
    gate.go()
    result = await command.wait(PATIENCE_S)
    assert (result.state, result.exit_code, result.text) == (State.DONE, 0, "late\n")
    assert (bash.current, bash.last, command.is_running) == (None, command, False)
    assert result.id == command.id


async def test_every_command_has_its_own_id(bash: Terminal) -> None:
    ids = [(await bash.run("true", wait_s=PATIENCE_S)).id for _ in range(3)]
    assert len(set(ids)) == 3


async def test_the_result_of_an_ended_command_stays_the_same(bash: Terminal) -> None:
    command = await bash.start("echo once; (exit 4)")
    first = await command.wait(PATIENCE_S)
    await bash.run("echo other; cd /", wait_s=PATIENCE_S)
    assert await command.wait(0) == first == command.result()


async def test_a_duration_stops_at_the_end(bash: Terminal) -> None:
    command = await bash.start("true")
    result = await command.wait(PATIENCE_S)
    assert command.duration_s == command.duration_s == result.duration_s


# Output by offset.


async def test_output_is_read_on_from_where_the_last_read_ended(bash: Terminal, gate: Gate) -> None:
    async with started(bash, f"echo begun; {gate.wait}; echo more; {gate.wait}; echo end") as command:
        first = command.output()
        assert (first.data, first.text, first.missed) == (b"begun\r\n", "begun\n", 0)
        assert first.next == first.offset + len(first.data)
        assert command.output(first.next).data == b""
        gate.go()
        assert await command.wait_for("more", PATIENCE_S)
        second = command.output(first.next)
        assert (second.offset, second.data) == (first.next, b"more\r\n")
        gate.go()
        await command.wait(PATIENCE_S)
        assert command.output(second.next).data == b"end\r\n"
        assert command.output().data == b"begun\r\nmore\r\nend\r\n"


async def test_offsets_outside_of_a_command_are_moved_into_it(bash: Terminal) -> None:
    await bash.run("echo before", wait_s=PATIENCE_S)
    command = await bash.start("echo mine")
    await command.wait(PATIENCE_S)
    await bash.run("echo after", wait_s=PATIENCE_S)
    whole = command.output()
    assert whole.data == b"mine\r\n"
    assert command.output(0) == command.output(-5) == whole
    beyond = command.output(bash.log.end + 1000)
    assert (beyond.data, beyond.offset, beyond.next, beyond.missed) == (b"", whole.next, whole.next, 0)


async def test_output_of_a_command_that_has_not_begun_is_empty(bash: Terminal) -> None:
    command = await bash.start("echo x")
    assert not command.has_begun
    piece = command.output()
    assert (piece.data, piece.missed) == (b"", 0)
    await command.wait(PATIENCE_S)
    assert command.output(piece.next).data == b"x\r\n"


async def test_bytes_that_the_log_has_lost_are_counted(forgetful: Terminal, gate: Gate) -> None:
    async with started(forgetful, f"echo begun; {gate.wait}; seq -w 10000; {gate.wait}") as command:
        first = command.output()
        gate.go()
        assert await command.wait_for(r"^10000$", PATIENCE_S)
        rest = command.output(first.next)
        assert rest.missed > 0
        assert (rest.offset, len(rest.data)) == (first.next + rest.missed, LOG_BYTES)
        # Nothing is lost without being counted: seq prints 10,000 lines of 7 bytes.
        assert rest.missed + len(rest.data) == 70_000
        assert rest.data.endswith(b"09999\r\n10000\r\n")
        gate.go()
        result = await command.wait(PATIENCE_S)
    # The result is made from the command's own capture, which the log's size does not touch.
    assert (result.total_bytes, result.text.splitlines()[:2]) == (7 + 70_000, ["begun", "00001"])


async def test_output_that_is_gone_altogether_is_missed(forgetful: Terminal) -> None:
    command = await forgetful.start("echo short")
    await command.wait(PATIENCE_S)
    await forgetful.run("seq 10000", wait_s=PATIENCE_S)
    gone = command.output()
    assert (gone.data, gone.missed) == (b"", len(b"short\r\n"))


# The stream of events.


async def test_events_are_all_output_in_order_and_then_the_result(bash: Terminal) -> None:
    command = await bash.start("seq 1 2000; (exit 3)")
    events = await collect(command, 0)
    *outputs, last = events
    assert joined(events).replace(b"\r\n", b"\n") == b"".join(b"%d\n" % number for number in range(1, 2001))
    assert last == Completed(command.result())
    assert command.result().exit_code == 3
    position = command.output().offset
    for event in outputs:
        assert isinstance(event, OutputArrived)
        assert (event.offset, event.missed) == (position, 0)
        position += len(event.data)


async def test_events_of_a_command_without_output_are_its_result(bash: Terminal) -> None:
    command = await bash.start("(exit 9)")
    assert await collect(command) == [Completed(command.result())]
    assert command.result().exit_code == 9


async def test_events_of_an_ended_command_can_still_be_read(bash: Terminal) -> None:
    command = await bash.start("echo x")
    result = await command.wait(PATIENCE_S)
    offset = command.output().offset
    assert await collect(command) == [OutputArrived(offset, b"x\r\n", "x\n"), Completed(result)]


async def test_an_interval_gathers_output(bash: Terminal, gate: Gate) -> None:
    # A thousand writes; the interval is longer than the command: what was there first, and all the rest.
    async with started(bash, f"echo begun; {gate.wait}; for i in {{1..1000}}; do echo $i; done; (exit 2)") as command:
        stream = command.events(interval_s=PATIENCE_S)
        async with aclosing(stream):  # type: ignore[type-var]
            assert (await anext(stream)) == OutputArrived(command.output().offset, b"begun\r\n", "begun\n")
            gate.go()
            rest = [event async for event in stream]
    assert [type(event) for event in rest] == [OutputArrived, Completed]
    assert joined(rest).count(b"\r\n") == 1000


async def test_the_interval_of_the_settings_is_the_default(home: Path, work: Path, gate: Gate) -> None:
    async with hermitty.open(settings_for(home, event_interval_s=PATIENCE_S)) as runtime:
        terminal = await runtime.open_terminal(shell="bash", cwd=work)
        async with started(terminal, f"echo begun; {gate.wait}; for i in {{1..1000}}; do echo $i; done") as command:
            stream = command.events()
            await anext(stream)
            gate.go()
            assert [type(event) async for event in stream] == [OutputArrived, Completed]


async def test_a_late_reader_of_events_learns_what_it_missed(forgetful: Terminal) -> None:
    command = await forgetful.start("seq -w 10000")
    await command.wait(PATIENCE_S)
    output, end = await collect(command)
    assert isinstance(output, OutputArrived)
    assert output.missed + len(output.data) == 70_000
    assert isinstance(end, Completed)


async def test_a_question_is_an_event_told_once(bash: Terminal) -> None:
    command = await bash.start("read -r -p 'Name? ' name; echo hello $name")
    seen: list[CommandEvent] = []
    async with asyncio.timeout(PATIENCE_S):
        async for event in command.events():
            seen.append(event)
            if isinstance(event, InputWanted):
                command.write("Ann\r")
    assert [event for event in seen if isinstance(event, InputWanted)] == [
        InputWanted(NeedsInput("Name? ", False, "kernel"))
    ]
    assert seen[-1] == Completed(command.result())
    assert joined(seen) == b"Name? Ann\r\nhello Ann\r\n"


async def test_two_readers_of_events_do_not_disturb_each_other(bash: Terminal) -> None:
    command = await bash.start("for i in {1..200}; do echo $i; done")
    slow, quick = await asyncio.gather(collect(command, 0.05), collect(command, 0))
    assert joined(slow) == joined(quick)
    assert slow[-1] == quick[-1]


async def test_leaving_the_stream_leaves_the_command(bash: Terminal, gate: Gate) -> None:
    async with started(bash, f"echo begun; {gate.wait}; echo end") as command:
        async for event in command.events():
            assert isinstance(event, OutputArrived)
            break
        assert command.is_running
        gate.go()
        assert (await command.wait(PATIENCE_S)).text == "begun\nend\n"


# Waiting.


async def test_a_time_out_returns_what_is_known_so_far(bash: Terminal, gate: Gate) -> None:
    async with started(bash, f"echo begun; {gate.wait}; echo end; (exit 5)") as command:
        so_far = await command.wait(0)
        assert (so_far.state, so_far.exit_code, so_far.text, so_far.total_bytes) == (State.RUNNING, None, "begun\n", 7)
        assert so_far.needs_input is None
        gate.go()
        done = await command.wait(PATIENCE_S)
        assert (done.state, done.exit_code, done.text) == (State.DONE, 5, "begun\nend\n")
        assert done.id == so_far.id


async def test_everybody_who_waits_gets_the_same_result(bash: Terminal, gate: Gate) -> None:
    async with started(bash, f"echo begun; {gate.wait}; (exit 6)") as command:
        waiting = [asyncio.create_task(command.wait(limit)) for limit in (None, PATIENCE_S, PATIENCE_S * 2)]
        early = await command.wait(0)
        gate.go()
        results = await asyncio.gather(*waiting)
    assert early.state is State.RUNNING
    assert results == [command.result()] * 3
    assert results[0].exit_code == 6


async def test_cancelling_one_wait_disturbs_neither_command_nor_others(bash: Terminal, gate: Gate) -> None:
    async with started(bash, f"echo begun; {gate.wait}; echo end") as command:
        other = asyncio.create_task(command.wait(PATIENCE_S))
        cancelled = asyncio.create_task(command.wait(PATIENCE_S))
        matching = asyncio.create_task(command.wait_for("never", PATIENCE_S))
        await asyncio.sleep(0)
        for task in (cancelled, matching):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert command.is_running
        gate.go()
        assert (await other).text == "begun\nend\n"
        assert (await other).state is State.DONE


async def test_a_wait_may_ignore_questions(bash: Terminal) -> None:
    command = await bash.start("read -r -p 'Name? ' name; echo hello $name")
    assert (await command.wait(PATIENCE_S)).state is State.NEEDS_INPUT
    deaf = asyncio.create_task(command.wait(PATIENCE_S, until_input=False))
    # By the time the question has been seen again, it would have ended the other wait as well.
    assert (await command.wait(PATIENCE_S)).state is State.NEEDS_INPUT
    assert not deaf.done()
    command.write("Ann\r")
    assert (await deaf).text == "Name? Ann\nhello Ann\n"


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), True])
async def test_impossible_times_are_refused_and_change_nothing(bash: Terminal, gate: Gate, seconds: float) -> None:
    async with started(bash, f"echo begun; {gate.wait}") as command:
        with pytest.raises(InvalidTime):
            await command.wait(seconds)
        with pytest.raises(InvalidTime):
            await command.wait_for("x", seconds)
        with pytest.raises(InvalidTime):
            await collect(command, seconds)
        gate.go()
        assert (await command.wait(PATIENCE_S)).exit_code == 0


# Waiting for a pattern.


async def test_a_pattern_is_found_in_what_was_printed_before(bash: Terminal) -> None:
    command = await bash.start("echo port 8080 ready")
    await command.wait(PATIENCE_S)
    found = await command.wait_for(r"port (\d+)")
    assert found is not None
    assert found.group(1) == "8080"


async def test_a_pattern_matches_across_writes(bash: Terminal, gate: Gate) -> None:
    async with started(bash, f"echo begun; printf rea; {gate.wait}; echo dy; {gate.wait}", "rea") as command:
        waiting = asyncio.create_task(command.wait_for(r"^ready$", PATIENCE_S))
        await asyncio.sleep(0)
        gate.go()
        found = await waiting
        assert found is not None
        assert found.group() == "ready"
        assert command.is_running
        gate.go()
        await command.wait(PATIENCE_S)


async def test_a_pattern_is_found_behind_a_flood(bash: Terminal, gate: Gate) -> None:
    command = await bash.start(f"seq 1 200000; printf rea; echo dy; {gate.wait}")
    assert await command.wait_for(r"^ready$", PATIENCE_S)
    gate.go()
    await command.wait(PATIENCE_S)


async def test_the_beginning_of_a_line_is_where_a_line_begins(bash: Terminal, gate: Gate) -> None:
    # One long line in two parts: wherever a search may start again, it is not the beginning of a line.
    part = "printf '%20000s' '' | tr ' ' x"
    async with started(bash, f"printf begun; {part}; printf 1; {gate.wait}; {part}; printf 2; {gate.wait}") as command:
        assert await command.wait_for("x1", PATIENCE_S)
        waiting = asyncio.create_task(command.wait_for("^[x12]", PATIENCE_S))
        await asyncio.sleep(0)
        gate.go()
        assert await command.wait_for("x2", PATIENCE_S)
        assert not waiting.done()
        gate.go()
        assert await waiting is None


async def test_a_pattern_that_matches_nothing_needs_output_all_the_same(bash: Terminal, gate: Gate) -> None:
    command = await bash.start(f"{gate.wait}; echo end")
    waiting = asyncio.create_task(command.wait_for(".*", PATIENCE_S))
    assert await command.wait_for("end", 0.05) is None
    assert not waiting.done()
    gate.go()
    found = await waiting
    assert found is not None
    assert found.group() == "end"


async def test_colours_do_not_hide_a_match(bash: Terminal) -> None:
    command = await bash.start(r"printf '\033[1mser\033[32mver\033[0m up\n'")
    assert await command.wait_for("^server up$", PATIENCE_S)
    await command.wait(PATIENCE_S)


async def test_no_match_until_the_end_is_none(bash: Terminal, gate: Gate) -> None:
    async with started(bash, f"echo begun; {gate.wait}; echo end") as command:
        waiting = asyncio.create_task(command.wait_for("never"))
        await asyncio.sleep(0)
        gate.go()
        assert await waiting is None
        assert not command.is_running


async def test_no_match_in_time_is_none_and_the_command_goes_on(bash: Terminal, gate: Gate) -> None:
    async with started(bash, f"echo begun; {gate.wait}") as command:
        assert await command.wait_for("never", 0.05) is None
        assert command.is_running
        gate.go()
        assert (await command.wait(PATIENCE_S)).exit_code == 0


async def test_the_last_words_of_a_command_can_match(bash: Terminal, gate: Gate) -> None:
    async with started(bash, f"echo begun; {gate.wait}; printf end") as command:
        waiting = asyncio.create_task(command.wait_for("end$", PATIENCE_S))
        await asyncio.sleep(0)
        gate.go()
        assert await waiting


async def test_a_pattern_that_is_none_is_an_error(bash: Terminal, gate: Gate) -> None:
    async with started(bash, f"echo begun; {gate.wait}") as command:
        with pytest.raises(InvalidPattern, match=r"'\(open'"):
            await command.wait_for("(open")
        gate.go()
        assert (await command.wait(PATIENCE_S)).exit_code == 0


# Doing something to it.


async def test_what_is_written_reaches_the_program(bash: Terminal) -> None:
    async with started(bash, "echo begun; head -n 2 | tr a-z A-Z") as command:
        command.write("one\r")
        command.write(b"tw\xc3\xb6\r")
        assert (await command.wait(PATIENCE_S, until_input=False)).text == "begun\none\ntwö\nONE\nTWö\n"


async def test_what_is_written_at_once_waits_for_the_program(terminal: Terminal) -> None:
    for number in range(5):
        command = await terminal.start("head -n 2 | tr a-z A-Z")
        command.write("one\r")
        command.write(f"two {number}")
        command.send_key("enter")
        result = await command.wait(PATIENCE_S, until_input=False)
        assert result.text == f"one\ntwo {number}\nONE\nTWO {number}\n"


async def test_what_is_written_for_a_line_that_runs_nothing_is_not_typed_at_the_prompt(
    bash: Terminal, work: Path
) -> None:
    for line in ("echo ) (", "# only a comment", "true"):
        command = await bash.start(line)
        command.write("touch never\r")
        await command.wait(PATIENCE_S)
    assert (await bash.run("ls", wait_s=PATIENCE_S)).text == ""


async def test_too_much_for_a_command_that_has_not_begun_is_refused(bash: Terminal) -> None:
    command = await bash.start("cat")
    with pytest.raises(InputOverflow):
        command.write(b"x" * 2_000_000)
    command.send_key("ctrl-c")
    assert (await command.wait(PATIENCE_S, until_input=False)).exit_code == 130


async def test_keys_reach_the_program(bash: Terminal) -> None:
    async with started(bash, "echo begun; cat -v; echo left") as command:
        command.send_key("up")
        command.send_key("enter")
        assert await command.wait_for(r"^\^\[\[A$", PATIENCE_S)
        command.send_key("ctrl-d")
        result = await command.wait(PATIENCE_S, until_input=False)
        assert (result.exit_code, result.text.splitlines()[-1]) == (0, "left")


async def test_a_key_that_nobody_knows_is_an_error_and_sends_nothing(bash: Terminal) -> None:
    async with started(bash, "echo begun; cat") as command:
        with pytest.raises(UnknownKey):
            command.send_key("hyper-q")
        command.send_key("ctrl-d")
        assert (await command.wait(PATIENCE_S, until_input=False)).text == "begun\n"


async def test_an_interrupt_may_be_ignored_and_the_code_is_the_programs(bash: Terminal, gate: Gate) -> None:
    ignoring = f"bash -c 'trap \"echo caught\" INT; echo begun; {gate.wait}; {gate.wait}; exit 8'"
    async with started(bash, ignoring) as command:
        command.interrupt()
        assert await command.wait_for("caught", PATIENCE_S)
        assert command.is_running
        gate.go()
        gate.go()
        result = await command.wait(PATIENCE_S)
    assert (result.state, result.exit_code) == (State.INTERRUPTED, 8)


async def test_a_kill_after_an_interrupt_is_called_a_kill(bash: Terminal) -> None:
    async with started(bash, "sh -c 'trap \"\" INT TERM; echo begun; while :; do sleep 1000; done'") as command:
        command.interrupt()
        result = await command.kill()
    assert (result.state, bash.is_open) == (State.KILLED, True)
    assert (await bash.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


async def test_kill_ends_everybodys_wait(bash: Terminal) -> None:
    async with started(bash, "echo begun; sleep 1000") as command:
        waiting = [asyncio.create_task(command.wait(PATIENCE_S)) for _ in range(2)]
        watching = asyncio.create_task(collect(command))
        matching = asyncio.create_task(command.wait_for("never", PATIENCE_S))
        await asyncio.sleep(0)
        result = await command.kill()
        assert await asyncio.gather(*waiting) == [result, result]
        assert (await watching)[-1] == Completed(result)
        assert await matching is None
    assert result.state is State.KILLED


async def test_closing_the_terminal_ends_everybodys_wait(bash: Terminal) -> None:
    async with started(bash, "echo begun; sleep 1000") as command:
        waiting = asyncio.create_task(command.wait(PATIENCE_S))
        matching = asyncio.create_task(command.wait_for("never", PATIENCE_S))
        await asyncio.sleep(0)
        await bash.close("no longer wanted")
        result: CommandResult = await waiting
        assert await matching is None
    assert (result.state, result.exit_code) == (State.KILLED, None)
    assert result.warnings == [f"terminal {bash.id} is closed: no longer wanted"]
    with pytest.raises(TerminalClosed, match="no longer wanted"):
        await bash.start("echo no")
    with pytest.raises(TerminalClosed, match="no longer wanted"):
        bash.write("echo no\r")


async def test_after_the_end_nothing_can_be_done_to_it(bash: Terminal) -> None:
    command = await bash.start("echo x")
    result = await command.wait(PATIENCE_S)
    with pytest.raises(CommandEnded) as caught:
        command.write("echo never\r")
    assert caught.value.command_id == command.id
    with pytest.raises(CommandEnded):
        command.send_key("enter")
    with pytest.raises(CommandEnded):
        command.interrupt()
    with pytest.raises(CommandEnded):
        await command.kill()
    assert command.result() == result
    assert (await bash.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


async def test_an_old_handle_cannot_touch_the_next_command(bash: Terminal, gate: Gate) -> None:
    old = await bash.start("true")
    await old.wait(PATIENCE_S)
    async with started(bash, f"echo begun; {gate.wait}; echo end") as command:
        with pytest.raises(CommandEnded):
            old.interrupt()
        gate.go()
        result = await command.wait(PATIENCE_S)
    assert (result.state, result.text) == (State.DONE, "begun\nend\n")


# One command at a time, and cancelling.


async def test_a_second_command_is_refused_and_names_the_first(bash: Terminal, gate: Gate, work: Path) -> None:
    async with started(bash, f"echo begun; {gate.wait}") as command:
        with pytest.raises(TerminalBusy) as caught:
            await bash.start("touch never")
        assert (caught.value.terminal_id, caught.value.command) == (bash.id, command.line)
        gate.go()
        await command.wait(PATIENCE_S)
    assert (await bash.run("ls", wait_s=PATIENCE_S)).text == ""


async def test_of_many_starts_at_once_one_is_taken(bash: Terminal, work: Path) -> None:
    tries = await asyncio.gather(
        *(bash.start(f"echo {number} >>taken") for number in range(20)), return_exceptions=True
    )
    taken = [each for each in tries if isinstance(each, Command)]
    assert [type(each) for each in tries if not isinstance(each, Command)] == [TerminalBusy] * 19
    await taken[0].wait(PATIENCE_S)
    assert (work / "taken").read_text() == "0\n"


async def test_cancelling_a_run_kills_its_command(bash: Terminal) -> None:
    task = asyncio.create_task(bash.run("sh -c 'echo $$; exec sleep 1000'"))
    while bash.current is None:
        await asyncio.sleep(0)
    command = bash.current
    found = await command.wait_for(r"^(\d+)$", PATIENCE_S)
    assert found is not None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await command.wait(PATIENCE_S)).state is State.KILLED
    with pytest.raises(ProcessLookupError):
        os.kill(int(found.group(1)), 0)
    assert (await bash.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


async def slow_prompt(runtime: Runtime, home: Path, work: Path) -> Terminal:
    """A bash whose prompt waits while there is a pipe named `gate` in its directory."""
    (home / ".bashrc").write_text("PROMPT_COMMAND='[ ! -p gate ] || read -r _ <gate'\n")
    return await runtime.open_terminal(shell="bash", cwd=work)


async def test_cancelling_before_the_prompt_sends_nothing(runtime: Runtime, home: Path, work: Path) -> None:
    terminal = await slow_prompt(runtime, home, work)
    await terminal.run("mkfifo gate", wait_s=PATIENCE_S)
    for how in (terminal.start, terminal.run):
        task = asyncio.create_task(how("touch never"))
        while not terminal.is_busy:
            await asyncio.sleep(0)
        with pytest.raises(TerminalBusy, match="touch never"):
            await terminal.start("touch never")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (terminal.is_busy, terminal.current) == (False, None)
    # The prompt comes back; the next command is the only one that runs.
    descriptor = os.open(work / "gate", os.O_RDWR)
    (work / "gate").unlink()
    os.write(descriptor, b"go\n")
    try:
        assert (await terminal.run("ls; echo fine", wait_s=PATIENCE_S)).text == "fine\n"
    finally:
        os.close(descriptor)


async def test_a_command_waits_for_a_slow_prompt_and_runs_once(runtime: Runtime, home: Path, work: Path) -> None:
    terminal = await slow_prompt(runtime, home, work)
    await terminal.run("mkfifo gate", wait_s=PATIENCE_S)
    task = asyncio.create_task(terminal.run("echo ran >>ran; cat ran", wait_s=PATIENCE_S))
    while not terminal.is_busy:
        await asyncio.sleep(0)
    descriptor = os.open(work / "gate", os.O_RDWR)
    (work / "gate").unlink()
    os.write(descriptor, b"go\n")
    try:
        assert (await task).text == "ran\n"
    finally:
        os.close(descriptor)


async def test_a_shell_that_dies_before_the_prompt_is_an_error_for_who_waits(
    runtime: Runtime, home: Path, work: Path
) -> None:
    terminal = await slow_prompt(runtime, home, work)
    await terminal.run("mkfifo gate", wait_s=PATIENCE_S)
    task = asyncio.create_task(terminal.start("touch never"))
    while not terminal.is_busy:
        await asyncio.sleep(0)
    os.kill(terminal.pty.pid, 9)
    with pytest.raises(TerminalClosed, match="SIGKILL"):
        await task
    await terminal.finished()
    assert not (work / "never").exists()
