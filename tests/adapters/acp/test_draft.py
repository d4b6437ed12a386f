"""Version 2 of the protocol, the draft, behind its flag: terminals of the agent's own, shown and reported."""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from acp._transport import memory_transport_pair
from acp.exceptions import RequestError
from hypothesis import given
from hypothesis import strategies as st

from hermitty.adapters.acp.audience import Offers
from hermitty.adapters.acp.client import UNREPORTED, AcpClient, connected
from hermitty.adapters.acp.draft import DraftState, asked_call
from hermitty.adapters.acp.terminals import Exit, Shown
from hermitty.adapters.acp.updates import (
    CallChanged,
    Other,
    PlanChanged,
    Said,
    StateChanged,
    TerminalChanged,
    TerminalPart,
    TextPart,
    ToolCall,
)
from hermitty.errors import AgentFailed, NotSupported
from hermitty.runtime.api import Runtime
from hermitty.runtime.approvals import Approval
from tests.adapters.acp.agents.draft_agent import Agent
from tests.adapters.acp.conftest import AGENTS, Peer, Person
from tests.adapters.acp.frames import Frames
from tests.adapters.acp.test_agents import NODE, SDK, needs_sdk
from tests.support.kernel import so
from tests.support.runtimes import Dial
from tests.support.shells import PATIENCE_S


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def update(kind: str, /, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": kind, **fields}


def terminal_update(**fields: Any) -> dict[str, Any]:
    return update("terminal_update", terminalId="t", **fields)


def chunk(data: bytes) -> dict[str, Any]:
    return update("terminal_output_chunk", terminalId="t", data=base64_of(data))


# What updates mean.


def test_a_terminal_is_patched_field_by_field() -> None:
    state = DraftState()
    began = {"command": "make", "cwd": "/project", "size": {"cols": 80, "rows": 24}, "capabilities": {"cancel": {}}}
    assert state.apply(terminal_update(**began, _meta={"a": 1, "b": 2})) == TerminalChanged("t", True, "make", False)
    assert state.apply(chunk(b"one\n")) == TerminalChanged("t", False, None, False)
    terminal = state.terminals["t"]
    assert (terminal.command, terminal.cwd, terminal.cols, terminal.rows) == ("make", "/project", 80, 24)
    assert terminal.can_be_cancelled
    assert terminal.tail.text() == "one\n"

    state.apply(terminal_update(command=None, size=None, _meta={"a": None, "c": 3}))
    assert (terminal.command, terminal.cwd, terminal.cols) == (None, "/project", None)
    assert terminal.meta == {"b": 2, "c": 3}
    state.apply(terminal_update(output={"data": base64_of(b"all anew")}, _meta=None))
    assert (terminal.tail.text(), terminal.meta) == ("all anew", {})
    state.apply(terminal_update(output=None))
    assert terminal.tail.text() == ""


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, (True, None, None)),
        ({"exitCode": 0}, (True, 0, None)),
        ({"exitCode": -1073741819}, (True, -1073741819, None)),
        ({"signal": "SIGKILL", "exitCode": None}, (True, None, "SIGKILL")),
        ({"exitCode": True, "signal": 9}, (True, None, None)),
        (None, (False, None, None)),
        ("over", (False, None, None)),
    ],
)
def test_a_status_is_an_end_even_if_it_says_nothing(status: Any, expected: tuple[Any, ...]) -> None:
    state = DraftState()
    change = state.apply(terminal_update(exitStatus=status))
    terminal = state.terminals["t"]
    assert (terminal.has_ended, terminal.exit_code, terminal.signal) == expected
    assert isinstance(change, TerminalChanged)
    assert change.ends is expected[0]


@pytest.mark.parametrize("cwd", ["relative", 7, None])
def test_a_directory_that_is_none_is_not_known(cwd: Any) -> None:
    state = DraftState()
    state.apply(terminal_update(cwd=cwd))
    assert state.terminals["t"].cwd is None


@pytest.mark.parametrize("abilities", [None, {}, {"cancel": None}, {"cancel": True}, []])
def test_what_is_not_clearly_allowed_is_not_cancelled(abilities: Any) -> None:
    state = DraftState()
    state.apply(terminal_update(capabilities={"cancel": {}}))
    state.apply(terminal_update(capabilities=abilities))
    assert not state.terminals["t"].can_be_cancelled


@given(pieces=st.lists(st.binary(max_size=8)), cuts=st.lists(st.integers(0, 100)))
def test_chunks_may_be_cut_anywhere(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join([*pieces, "né\x1b[31m日本\x1b]0;t\x07\r\n".encode()])
    whole, cut = DraftState(), DraftState()
    whole.apply(chunk(data))
    edges = [0, *sorted(each % (len(data) + 1) for each in cuts), len(data)]
    for start, end in itertools.pairwise(edges):
        cut.apply(chunk(data[start:end]))
    assert cut.terminals["t"].tail.text() == whole.terminals["t"].tail.text()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(
    [
        *("terminal_update", "terminal_output_chunk", "tool_call_update", "tool_call_content_chunk", "state_update"),
        *("plan_update", "agent_message", "agent_message_chunk", "user_message", "tool_call", "plan", "hologram"),
    ]
)
FIELDS = st.sampled_from(
    [
        *("terminalId", "toolCallId", "messageId", "content", "state", "stopReason", "background", "plan", "status"),
        *("command", "cwd", "output", "exitStatus", "size", "capabilities", "_meta", "data", "rawInput", "title"),
    ]
)


@given(st.lists(st.tuples(KINDS, st.dictionaries(FIELDS, JSON)), max_size=6), st.dictionaries(FIELDS, JSON))
def test_nothing_that_comes_raises(updates: list[tuple[str, dict[str, Any]]], asked: dict[str, Any]) -> None:
    state = DraftState()
    for kind, fields in updates:
        state.apply({**fields, "sessionUpdate": kind})
        state.apply({"terminalId": "t", "toolCallId": "c", "state": "idle", **fields, "sessionUpdate": kind})
    asked_call({**asked, "subject": asked.get("content")}, state)


def test_a_flood_is_bounded() -> None:
    state = DraftState()
    for number in range(1000):
        state.apply(update("terminal_update", terminalId=str(number), _meta={str(number): 1}))
        state.apply(update("tool_call_update", toolCallId=str(number)))
        state.apply(update("terminal_update", terminalId="one", _meta={str(number): 1}))
        state.apply(update("tool_call_content_chunk", toolCallId="one", content={"type": "diff", "path": "/x"}))
    assert len(state.terminals) <= 200
    assert len(state.calls) <= 500
    assert len(state.terminals["one"].meta) <= 100
    assert len(state.calls["one"].parts) <= 100


def test_a_tool_call_is_patched_and_null_takes_back() -> None:
    state = DraftState()
    content = [{"type": "terminal", "terminalId": "t"}]
    fields = {"title": "Make", "kind": "execute", "rawInput": {"command": "make"}, "content": content}
    begun = ToolCall("c", "Make", "execute", "in_progress", (TerminalPart("t"),), {"command": "make"})
    assert state.apply(update("tool_call_update", toolCallId="c", status="in_progress", **fields)) == CallChanged(
        begun, None
    )
    text = {"type": "content", "content": {"type": "text", "text": "more"}}
    change = state.apply(update("tool_call_content_chunk", toolCallId="c", content=text))
    assert isinstance(change, CallChanged)
    assert change.call.parts == (TerminalPart("t"), TextPart("more"))
    nothing = {"title": None, "kind": None, "status": None, "content": None, "rawInput": None}
    change = state.apply(update("tool_call_update", toolCallId="c", **nothing))
    assert isinstance(change, CallChanged)
    assert change.call == ToolCall("c")


@pytest.mark.parametrize(
    ("status", "ours", "is_over"),
    [
        ("paused", "in_progress", False),
        ("_vendor", "in_progress", False),
        ("cancelled", "cancelled", True),
        ("failed", "failed", True),
    ],
)
def test_a_status_that_nobody_knows_is_work_in_progress(status: str, ours: str, is_over: bool) -> None:
    change = DraftState().apply(update("tool_call_update", toolCallId="c", status=status))
    assert isinstance(change, CallChanged)
    assert (change.call.status, change.call.is_over) == (ours, is_over)


def test_a_message_is_told_once() -> None:
    state = DraftState()
    text = {"type": "text", "text": "hello"}
    assert state.apply(update("agent_message_chunk", messageId="1", content=text)) == Said("agent", "hello")
    whole = update("agent_message", messageId="1", content=[text])
    assert state.apply(whole) == Other("agent_message", whole)
    assert state.apply(update("agent_message", messageId="2", content=[text, text])) == Said("agent", "hellohello")
    entries = [{"content": "a", "priority": "high", "status": "pending"}]
    plan = update("plan_update", plan={"type": "items", "planId": "p", "entries": entries})
    assert state.apply(plan) == PlanChanged((("a", "pending"),))


def test_an_idle_state_ends_a_turn_only_after_work() -> None:
    state = DraftState()
    idle = update("state_update", state="idle", stopReason="end_turn")
    assert state.apply(idle) == StateChanged("idle", "end_turn", False)
    running = update("state_update", state="running", background=[{"type": "terminal", "terminalId": "t"}])
    assert state.apply(running) == StateChanged("running", None, False)
    assert state.background == ("t",)
    assert state.apply(update("state_update", state="requires_action")) == StateChanged("requires_action", None, False)
    assert state.apply(idle) == StateChanged("idle", "end_turn", True)
    assert state.apply(idle) == StateChanged("idle", "end_turn", False)


def test_what_is_asked_about_is_a_command_a_call_or_a_title() -> None:
    state = DraftState()
    state.apply(update("tool_call_update", toolCallId="c", kind="edit", title="Edit"))
    command = {"type": "command", "command": "make", "cwd": "/project", "terminalId": "t"}
    assert asked_call({"title": "T", "subject": command}, state) == ToolCall(
        "", "T", "execute", raw_input={"command": "make", "cwd": "/project"}
    )
    call = {"type": "tool_call", "toolCall": {"toolCallId": "c", "status": "pending"}}
    assert asked_call({"title": "T", "subject": call}, state) == ToolCall("c", "Edit", "edit")
    assert asked_call({"title": "T"}, state) == ToolCall("", "T")
    assert asked_call({"title": "T", "subject": {"type": "_new"}}, state) == ToolCall(
        "", "T", raw_input={"type": "_new"}
    )


# The client, with an agent that has our reporter.


@contextlib.asynccontextmanager
async def running(rt: Runtime, work: Path) -> AsyncIterator[tuple[AcpClient, str, Agent]]:
    """A client and an agent of the draft in one process; every frame fits the schema."""
    ours, theirs = memory_transport_pair()
    frames = Frames("v2")
    agent = Agent(theirs, rt)
    try:
        async with (
            asyncio.timeout(PATIENCE_S),
            connected(rt, ours, offers=Offers(draft=True), observers=[frames]) as client,
        ):
            yield client, await client.new_session(str(work)), agent
    finally:
        await agent.close()
    assert frames.problems() == []


def only_terminal(client: AcpClient, session_id: str) -> str:
    state = client.state(session_id)
    assert isinstance(state, DraftState)
    [terminal_id] = state.terminals
    return terminal_id


async def test_a_command_of_the_agent_is_shown_with_its_end(rt: Runtime, work: Path) -> None:
    async with running(rt, work) as (client, session_id, _):
        assert client.is_draft
        line = "printf 'n\\303\\251\\n'; exit 3"
        assert await client.prompt(session_id, line) == "end_turn"
        terminal_id = only_terminal(client, session_id)
        assert client.shown(session_id, terminal_id) == Shown(line, "né\n", False, Exit(3))
        [call] = client.state(session_id).calls.values()
        assert (call.kind, call.status, call.parts) == ("execute", "failed", (TerminalPart(terminal_id),))
        with pytest.raises(NotSupported):
            await client.cancel_terminal(session_id, terminal_id)


async def test_a_turn_without_a_reason_is_over_all_the_same(rt: Runtime, work: Path) -> None:
    async with running(rt, work) as (client, session_id, _):
        assert await client.prompt(session_id, "silent true") == UNREPORTED


async def test_much_output_comes_complete_at_its_end(rt: Runtime, work: Path) -> None:
    async with running(rt, work) as (client, session_id, _):
        await client.prompt(session_id, "seq 300000")
        shown = client.shown(session_id, only_terminal(client, session_id))
        assert shown is not None
        assert shown.text.endswith("\n299999\n300000\n")
        assert shown.is_truncated


async def test_one_terminal_can_be_cancelled_and_its_turn_goes_on(rt: Runtime, work: Path) -> None:
    async with running(rt, work) as (client, session_id, agent):
        turn = asyncio.create_task(client.prompt(session_id, "echo ready; exec sleep 1000"))
        state = client.state(session_id)
        assert isinstance(state, DraftState)
        await so(lambda: [each.tail.text() for each in state.terminals.values()] == ["ready\n"])
        [terminal_id] = state.terminals
        await client.cancel_terminal(session_id, terminal_id)
        assert await turn == "end_turn"
        shown = client.shown(session_id, terminal_id)
        assert shown is not None
        assert shown.exit == Exit(signal="SIGINT")
        assert not any(each.handle.is_running for each in rt.commands())
        with pytest.raises(RequestError) as refused:
            await agent.reporter.cancel(session_id, terminal_id)
        assert refused.value.code == -32602


async def test_a_turn_can_be_cancelled(rt: Runtime, work: Path) -> None:
    async with running(rt, work) as (client, session_id, _):
        turn = asyncio.create_task(client.prompt(session_id, "sleep 1000"))
        await so(lambda: any(each.handle.is_running for each in rt.commands()))
        await client.cancel(session_id)
        assert await turn == "cancelled"
        await so(lambda: not any(each.handle.is_running for each in rt.commands()))


@pytest.mark.parametrize("answer", ["allow", "deny"])
async def test_a_command_is_asked_about_with_our_policy(
    rt: Runtime, work: Path, dial: Dial, person: Person, answer: Any
) -> None:
    dial.turn(policy__mode="normal")
    person.answer = Approval(answer, by="a person")
    async with running(rt, work) as (client, session_id, _):
        await client.prompt(session_id, "ask echo >made")
    assert person.asked[0].line == "echo >made"
    assert (work / "made").exists() is (answer == "allow")


# Other agents.


@contextlib.asynccontextmanager
async def played(rt: Runtime, work: Path, hello: dict[str, Any], offers: Offers) -> AsyncIterator[Peer]:
    """An agent that the test plays."""
    ours, theirs = memory_transport_pair()
    peer = Peer(theirs)
    peer.hello = hello
    try:
        async with asyncio.timeout(PATIENCE_S), connected(rt, ours, offers=offers) as client:
            peer.client = client
            await client.new_session(str(work))
            yield peer
    finally:
        await peer.close()


HELLO = {"protocolVersion": 2, "info": {"name": "x", "version": "1"}, "capabilities": {"session": {}}}


async def test_without_the_flag_an_agent_of_the_draft_is_refused(rt: Runtime, work: Path) -> None:
    with pytest.raises(NotSupported, match=r"version 2 of .*; hermitty speaks 1$"):
        async with played(rt, work, HELLO, Offers()):
            pass


async def test_with_the_flag_an_agent_of_version_1_is_spoken_to_as_ever(rt: Runtime, work: Path) -> None:
    async with played(rt, work, {"protocolVersion": 1}, Offers(draft=True)) as peer:
        assert not peer.client.is_draft
        terminal_id = await peer.create("echo here")
        assert (await peer.over(terminal_id))["output"] == "here\n"


async def test_methods_of_version_1_mean_nothing_there(rt: Runtime, work: Path) -> None:
    async with played(rt, work, HELLO, Offers(draft=True, files=True)) as peer:
        assert await peer.error("terminal/create", command="touch made") == -32601
        assert await peer.error("fs/read_text_file", path=str(work)) == -32601
        assert await peer.error("session/request_permission", options=[]) == -32602
    assert os.listdir(work) == []


async def test_an_agent_that_leaves_before_it_is_idle_is_an_error(rt: Runtime, work: Path) -> None:
    async with played(rt, work, HELLO, Offers(draft=True)) as peer:
        turn = asyncio.create_task(peer.client.prompt(peer.session_id, "go"))
        asked = await peer.prompts.get()
        peer.reply(asked, messageId="m")
        peer.update("state_update", state="running")
        await peer.transport.close()
        with pytest.raises(AgentFailed, match="session/prompt"):
            await turn


# The TypeScript SDK.


@needs_sdk
@pytest.mark.parametrize("cancels", [False, True])
async def test_a_typescript_client_reads_what_the_reporter_tells(tmp_path: Path, work: Path, cancels: bool) -> None:
    assert NODE is not None
    line = "echo ready; exec sleep 1000" if cancels else "printf 'n\\303\\251\\n'; exit 3"
    home = {"HOME": str(tmp_path), "HERMITTY_STATE_DIR": str(tmp_path / "state"), "HERMITTY_CONFIG": os.devnull}
    more = {"ACP_SDK": str(SDK), "PROMPT": line, "HERMITTY_POLICY__MODE": "off", **({"CANCEL": "1"} if cancels else {})}
    process = await asyncio.create_subprocess_exec(
        *(NODE, str(AGENTS / "draft_client.mjs"), sys.executable, str(AGENTS / "draft_agent.py")),
        cwd=work,
        env={**os.environ, **home, **more},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE_S):
        out, _ = await process.communicate()
    told = json.loads(out)
    assert told["hello"]["protocolVersion"] == 2
    state = DraftState()
    for each in told["updates"]:
        state.apply(each)
    [terminal] = state.terminals.values()
    assert (terminal.command, terminal.cwd) == (line, str(work))
    if cancels:
        assert (terminal.tail.text(), terminal.signal) == ("ready\n", "SIGINT")
    else:
        assert (terminal.tail.text(), terminal.exit_code) == ("né\n", 3)
    assert (state.activity, told["late"]) == ("idle", -32602)
