"""The five methods of a terminal, over a connection in memory, with real processes behind them."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from hermitty.adapters.acp.terminals import AcpTerminals, Exit, Limits, TerminalEvent, exit_of
from hermitty.errors import InvalidRequest
from hermitty.model import CommandId, CommandResult, Quality, State
from hermitty.runtime.api import Runtime
from hermitty.runtime.approvals import Approval
from tests.adapters.acp.conftest import Peer, Person, is_alive
from tests.support.runtimes import Dial, Gate
from tests.support.shells import PATIENCE_S

NOT_FOUND, INVALID, CANCELLED, NOT_ALLOWED = -32002, -32602, -32800, -32001


async def test_a_command_without_arguments_is_a_line_for_the_shell(peer: Peer, work: Path) -> None:
    terminal = await peer.create("printf '%s|' \"$PWD\" a b; exit 3")
    assert await peer.result("terminal/wait_for_exit", terminalId=terminal) == {"exitCode": 3}
    assert await peer.result("terminal/output", terminalId=terminal) == {
        "output": f"{work}|a|b|",
        "truncated": False,
        "exitStatus": {"exitCode": 3},
    }


async def test_a_command_with_arguments_is_a_program_and_exactly_these(peer: Peer) -> None:
    terminal = await peer.create("printf", "%s\n", "$HOME; `id`", "", "*")
    assert (await peer.over(terminal))["output"] == "$HOME; `id`\n\n*\n"


async def test_an_empty_list_of_arguments_is_none(peer: Peer) -> None:
    terminal = (await peer.result("terminal/create", command="echo $((1+1))", args=[]))["terminalId"]
    assert (await peer.over(terminal))["output"] == "2\n"


async def test_variables_and_directory_are_those_asked_for_and_the_last_of_equal_names_wins(
    peer: Peer, tmp_path: Path
) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "x y"}, {"name": "A", "value": "2"}]
    terminal = await peer.create('echo "$A $B $PWD"', env=env, cwd=str(tmp_path))
    assert (await peer.over(terminal))["output"] == f"2 x y {tmp_path}\n"


async def test_standard_input_is_empty_and_nothing_pages(peer: Peer) -> None:
    terminal = await peer.create('cat; test -t 0 || echo "no terminal, $PAGER, $GIT_PAGER"')
    assert (await peer.over(terminal))["output"] == "no terminal, cat, cat\n"


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"command": "pwd", "cwd": "."}, INVALID),
        ({"command": "pwd", "cwd": "/no/such/directory"}, INVALID),
        ({"command": "no-such-program-anywhere", "args": ["x"]}, INVALID),
        ({"command": ""}, INVALID),
        ({"command": "pwd", "outputByteLimit": -1}, INVALID),
        ({"command": "pwd", "env": [{"name": "A=B", "value": ""}]}, INVALID),
        ({"command": ["pwd"]}, INVALID),
        ({"command": "pwd; pwd", "args": [1]}, INVALID),
        ({"command": "echo", "args": ["a", None]}, INVALID),
        ({"command": "pwd", "env": [{"name": "A", "value": 1}]}, INVALID),
        ({"command": "pwd", "cwd": 5}, INVALID),
        ({"command": "pwd", "outputByteLimit": "7"}, INVALID),
        ({}, INVALID),
        ({"command": "pwd", "sessionId": "another"}, NOT_FOUND),
    ],
)
async def test_what_cannot_be_started_is_an_error_that_says_so(peer: Peer, params: dict[str, Any], code: int) -> None:
    assert await peer.error("terminal/create", **params) == code


async def test_output_grows_while_the_command_runs_and_the_status_comes_with_its_end(peer: Peer, work: Path) -> None:
    gate = Gate(work / "gate")
    terminal = await peer.create("echo one; cat gate; echo two")
    while not (seen := await peer.result("terminal/output", terminalId=terminal))["output"]:
        pass
    assert seen == {"output": "one\n", "truncated": False}
    gate.let("between\n")
    assert (await peer.over(terminal))["output"] == "one\nbetween\ntwo\n"


async def test_both_outputs_come_in_the_order_in_which_they_were_written(peer: Peer) -> None:
    line = "i=0; while [ $i -lt 300 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done"
    output = (await peer.over(await peer.create(line)))["output"]
    assert output == "".join(f"out {number}\nerr {number}\n" for number in range(300))


async def test_many_can_wait_and_late_ones_are_answered_at_once(peer: Peer, work: Path) -> None:
    gate = Gate(work / "gate")
    terminal = await peer.create("cat gate; exit 7")
    waits = [peer.begin("terminal/wait_for_exit", sessionId="s1", terminalId=terminal)[1] for _ in range(10)]
    await peer.result("terminal/output", terminalId=terminal)
    assert not any(wait.done() for wait in waits)
    gate.let()
    async with asyncio.timeout(PATIENCE_S):
        assert [(await wait)["result"] for wait in waits] == [{"exitCode": 7}] * 10
    assert await peer.result("terminal/wait_for_exit", terminalId=terminal) == {"exitCode": 7}


async def test_all_output_is_there_when_the_wait_is_over(peer: Peer) -> None:
    for _ in range(5):
        terminal = await peer.create("seq 1 20000", outputByteLimit=1_000_000)
        output = (await peer.over(terminal))["output"]
        assert output == "".join(f"{number}\n" for number in range(1, 20001))


# Characters of one to four bytes, the last one cut by the end.
MIXED = "aé€🦀zß日".encode() + b"\xf0\x9f"


@pytest.mark.parametrize("limit", range(17))
async def test_the_tail_is_kept_between_characters(peer: Peer, limit: int) -> None:
    octal = "".join(f"\\{byte:03o}" for byte in MIXED)
    # Each byte comes by itself: no read has a whole character.
    script = (
        "for b in " + " ".join(f"'{octal[at : at + 4]}'" for at in range(0, len(octal), 4)) + '; do printf "$b"; done'
    )
    terminal = await peer.create(script, outputByteLimit=limit)
    whole = MIXED.decode(errors="replace")
    expected = next(whole[at:] for at in range(len(whole) + 1) if len(whole[at:].encode()) <= limit)
    got = await peer.over(terminal)
    assert (got["output"], got["truncated"]) == (expected, limit < len(whole.encode()))


async def test_a_limit_of_zero_keeps_nothing_and_says_so_once_something_came(peer: Peer, work: Path) -> None:
    gate = Gate(work / "gate")
    terminal = await peer.create("cat gate", outputByteLimit=0)
    assert await peer.result("terminal/output", terminalId=terminal) == {"output": "", "truncated": False}
    gate.let("x")
    assert await peer.over(terminal) == {"output": "", "truncated": True, "exitStatus": {"exitCode": 0}}


async def test_the_ceiling_counts_more_than_what_the_agent_wants(rt: Runtime, work: Path) -> None:
    terminals = AcpTerminals(rt, limits=Limits(default_bytes=4, ceiling_bytes=8))
    terminals.begin_session("s", str(work))
    try:
        for wanted, kept in ((None, "6789"), (2, "89"), (2**40, "23456789")):
            created = await terminals.create_terminal("s", "printf 0123456789", output_byte_limit=wanted)
            await terminals.wait_for_terminal_exit("s", created.terminal_id)
            output = await terminals.terminal_output("s", created.terminal_id)
            assert (output.output, output.truncated) == (kept, True)
    finally:
        await terminals.aclose()


async def test_sequences_are_stripped_and_bytes_that_are_no_text_replaced(peer: Peer) -> None:
    terminal = await peer.create(r"printf '\033[31mred\033[0m \377 \033]0;title\007end\r\n'")
    assert (await peer.over(terminal))["output"] == "red � end\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
async def test_a_signal_has_a_name_and_no_code(peer: Peer, number: signal.Signals) -> None:
    terminal = await peer.create(f"kill -{number.value} $$")
    assert (await peer.over(terminal))["exitStatus"] == {"signal": number.name}


async def test_what_a_shell_says_of_a_child_that_a_signal_ended_is_its_own_code(peer: Peer) -> None:
    terminal = await peer.create("sh -c 'kill -9 $$'; exit $?")
    assert (await peer.over(terminal))["exitStatus"] == {"exitCode": 137}


@pytest.mark.parametrize(
    ("code", "name", "expected"),
    [
        (0, None, Exit(0)),
        (255, None, Exit(255)),
        (137, "SIGKILL", Exit(None, "SIGKILL")),
        (None, None, Exit()),
        (-9, None, Exit()),
    ],
)
def test_no_negative_code_leaves_the_house(code: int | None, name: str | None, expected: Exit) -> None:
    result = CommandResult(
        CommandId("c"), "", None, "pipe", None, State.DONE, code, name, Quality.BASIC, "", 0, None, 0.0
    )
    assert exit_of(result) == expected


TREE = """
import os, subprocess, sys, time
os.write(1, b"%d\\n" % os.getpid())
subprocess.Popen(["sh", "-c", "echo $$; exec sleep 1000"])
subprocess.Popen(["setsid", "sh", "-c", "echo $$; exec sleep 1000"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(1, b"%d\\n" % os.getpid())
        time.sleep(1000)
    os._exit(0)
time.sleep(1000)
"""


async def tree(peer: Peer, work: Path, method: str = "") -> tuple[str, list[int]]:
    """Start a program with children of all kinds; return its terminal and the process ids once all are there."""
    (work / "tree.py").write_text(TREE)
    terminal = await peer.create("python3", "tree.py")
    while len(pids := (await peer.result("terminal/output", terminalId=terminal))["output"].split()) < 4:
        pass
    assert all(map(is_alive, map(int, pids)))
    return terminal, [int(pid) for pid in pids]


async def test_kill_ends_the_whole_tree_and_output_and_status_stay(peer: Peer, work: Path) -> None:
    terminal, pids = await tree(peer, work)
    waiting = peer.begin("terminal/wait_for_exit", sessionId="s1", terminalId=terminal)[1]
    assert await peer.result("terminal/kill", terminalId=terminal) == {}
    assert not any(map(is_alive, pids))
    assert (await waiting)["result"] == {"signal": "SIGINT"}
    output = await peer.result("terminal/output", terminalId=terminal)
    assert [int(pid) for pid in output["output"].split()[:4]] == pids
    assert output["exitStatus"] == {"signal": "SIGINT"}


async def test_killing_twice_and_killing_what_is_over_is_no_error(peer: Peer) -> None:
    terminal = await peer.create("sleep", "1000")
    both = [peer.begin("terminal/kill", sessionId="s1", terminalId=terminal)[1] for _ in range(2)]
    async with asyncio.timeout(PATIENCE_S):
        assert [(await each)["result"] for each in both] == [{}, {}]
    assert await peer.result("terminal/kill", terminalId=terminal) == {}
    ended = await peer.create("true")
    await peer.over(ended)
    assert await peer.result("terminal/kill", terminalId=ended) == {}
    assert (await peer.over(ended))["exitStatus"] == {"exitCode": 0}


async def test_release_kills_and_forgets_and_what_was_shown_can_still_be_shown(peer: Peer, work: Path) -> None:
    terminal, pids = await tree(peer, work)
    waiting = peer.begin("terminal/wait_for_exit", sessionId="s1", terminalId=terminal)[1]
    assert await peer.result("terminal/release", terminalId=terminal) == {}
    assert not any(map(is_alive, pids))
    assert (await waiting)["result"] == {"signal": "SIGKILL"}
    for method in ("output", "wait_for_exit", "kill", "release"):
        answer = await peer.ask(f"terminal/{method}", sessionId="s1", terminalId=terminal)
        assert answer["error"]["code"] == NOT_FOUND
        assert answer["error"]["data"] == {"terminalId": terminal}
    shown = peer.client.terminals.shown(terminal)
    assert shown is not None
    assert shown.exit == Exit(signal="SIGKILL")
    assert str(pids[0]) in shown.text


async def test_two_releases_at_once_are_one_and_an_error(peer: Peer) -> None:
    terminal = await peer.create("sleep", "1000")
    both = [peer.begin("terminal/release", sessionId="s1", terminalId=terminal)[1] for _ in range(2)]
    async with asyncio.timeout(PATIENCE_S):
        first, second = [await each for each in both]
    assert (first["result"], second["error"]["code"]) == ({}, NOT_FOUND)


async def test_ids_are_long_and_mean_nothing_in_another_session(peer: Peer, work: Path) -> None:
    peer.session_id = "s2"
    await peer.client.new_session(str(work))
    terminal = await peer.create("sleep", "1000")
    assert len(terminal) > 32
    peer.session_id = "s1"
    for method in ("output", "wait_for_exit", "kill", "release"):
        assert await peer.error(f"terminal/{method}", terminalId=terminal) == NOT_FOUND
        assert await peer.error(f"terminal/{method}", terminalId="term_0") == NOT_FOUND
    peer.session_id = "s2"
    assert await peer.result("terminal/output", terminalId=terminal) == {"output": "", "truncated": False}


async def test_everything_ends_with_its_session(peer: Peer, work: Path) -> None:
    _, pids = await tree(peer, work)
    await peer.client.close_session("s1")
    assert not any(map(is_alive, pids))
    assert await peer.error("terminal/create", command="true") == NOT_FOUND


async def test_what_runs_can_be_kept_and_ends_with_the_runtime(rt: Runtime, work: Path) -> None:
    events: list[TerminalEvent] = []
    terminals = AcpTerminals(rt, keep_running=True, tell=events.append)
    terminals.begin_session("s", str(work))
    created = await terminals.create_terminal("s", "sleep", ["1000"])
    await terminals.aclose()
    (known,) = rt.commands()
    assert known.handle.is_running
    assert [event.what for event in events] == ["created", "released"]
    assert (terminals.shown(created.terminal_id), known.result().session) == (
        terminals.shown(created.terminal_id),
        known.session,
    )


async def test_cancelling_a_wait_leaves_the_command_alone(peer: Peer, work: Path) -> None:
    gate = Gate(work / "gate")
    terminal = await peer.create("cat gate; echo done")
    number, wait = peer.begin("terminal/wait_for_exit", sessionId="s1", terminalId=terminal)
    peer.notify("$/cancel_request", requestId=number)
    async with asyncio.timeout(PATIENCE_S):
        answer = await wait
    assert answer["error"]["code"] == CANCELLED
    gate.let()
    assert (await peer.over(terminal))["output"] == "done\n"


async def test_cancelling_the_start_withdraws_the_question(
    peer: Peer, rt: Runtime, dial: Dial, person: Person, work: Path
) -> None:
    dial.turn(policy__mode="normal")
    person.answer = None
    number, start = peer.begin("terminal/create", sessionId="s1", command="touch made")
    async with asyncio.timeout(PATIENCE_S):
        await person.was_asked.wait()
        peer.notify("$/cancel_request", requestId=number)
        assert (await start)["error"]["code"] == CANCELLED
    assert rt.gate.approvals.pending() == []
    assert not (work / "made").exists()


async def test_the_policy_judges_the_program_and_its_arguments(
    peer: Peer, dial: Dial, person: Person, work: Path
) -> None:
    dial.turn(policy__mode="normal")
    assert (await peer.over(await peer.create("ls", "-a")))["exitStatus"] == {"exitCode": 0}
    assert person.asked == []
    assert await peer.error("terminal/create", command="touch", args=["a b"]) == NOT_ALLOWED
    person.answer = Approval("allow", by="a person")
    await peer.over(await peer.create("touch", "a b"))
    assert [question.line for question in person.asked] == ["touch 'a b'"] * 2
    assert os.listdir(work) == ["a b"]


async def test_meta_overrides_nothing(peer: Peer, work: Path) -> None:
    meta = {"command": "touch evil", "args": None, "cwd": "/", "session_id": "s2", "output_byte_limit": 0, "x": 1}
    terminal = await peer.create("pwd", _meta=meta)
    meta = {"terminal_id": "another", "session_id": "s2"}
    await peer.result("terminal/wait_for_exit", terminalId=terminal, _meta=meta)
    output = await peer.result("terminal/output", terminalId=terminal, _meta=meta)
    assert output["output"] == f"{work}\n"
    assert os.listdir(work) == []
    await peer.result("terminal/kill", terminalId=terminal, _meta=meta)
    await peer.result("terminal/release", terminalId=terminal, _meta=meta)


async def test_a_session_has_only_so_many_terminals(rt: Runtime, work: Path) -> None:
    terminals = AcpTerminals(rt, limits=Limits(terminals_per_session=2))
    terminals.begin_session("s", str(work))
    try:
        for _ in range(2):
            first = await terminals.create_terminal("s", "true")
        with pytest.raises(Exception, match="2 terminals"):
            await terminals.create_terminal("s", "true")
        await terminals.release_terminal("s", first.terminal_id)
        await terminals.create_terminal("s", "true")
    finally:
        await terminals.aclose()


def test_a_session_needs_an_absolute_directory_and_begins_once(rt: Runtime) -> None:
    terminals = AcpTerminals(rt)
    with pytest.raises(InvalidRequest):
        terminals.begin_session("s", "here")
    terminals.begin_session("s", "/")
    with pytest.raises(InvalidRequest):
        terminals.begin_session("s", "/")
