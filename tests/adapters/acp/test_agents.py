"""Agents that are processes of their own: of the Python SDK, of the TypeScript SDK, and bad ones."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from acp import spawn_agent_process, text_block

from hermitty.adapters.acp.agent_process import AgentProcess
from hermitty.adapters.acp.audience import Offers
from hermitty.adapters.acp.client import AcpClient, running_agent
from hermitty.adapters.acp.permissions import Option
from hermitty.adapters.acp.terminals import AcpTerminals, TerminalEvent
from hermitty.adapters.acp.updates import Change, Said, ToolCall
from hermitty.errors import AgentFailed, InvalidDirectory
from hermitty.runtime.api import Runtime
from tests.adapters.acp.conftest import AGENTS, agent, is_alive
from tests.adapters.acp.frames import Frames
from tests.adapters.packages import node, package
from tests.support.shells import PATIENCE_S

TERMINAL_METHODS = {f"terminal/{name}" for name in ("create", "output", "wait_for_exit", "kill", "release")}
# `make test` installs it; the variable names another directory where version 2.4.0 was installed.
SDK = package("@agentclientprotocol/sdk", "HERMITTY_TEST_ACP_SDK")
NODE = node(20)
needs_sdk = pytest.mark.skipif(
    NODE is None or not SDK.exists(), reason="needs Node, and @agentclientprotocol/sdk of npm"
)


class Text:
    """A listener that keeps what the agent says."""

    def __init__(self) -> None:
        self.said = ""
        self.spoke = asyncio.Event()

    def on_update(self, session_id: str, raw: Mapping[str, Any], change: Change) -> None:
        if isinstance(change, Said):
            self.said += change.text
            self.spoke.set()

    def on_terminal(self, event: TerminalEvent) -> None:
        pass

    def on_permission(self, session_id: str, call: ToolCall, options: Sequence[Option], answer: str | None) -> None:
        pass


async def do(client: AcpClient, text: Text, work: Path, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Let a scripted agent make calls in a new session, and return what they gave."""
    text.said = ""
    async with asyncio.timeout(PATIENCE_S):
        session_id = await client.new_session(str(work))
        assert await client.prompt(session_id, json.dumps(calls)) == "end_turn"
        await client.close_session(session_id)
    return list(json.loads(text.said))


async def test_a_python_agent_uses_all_five_methods_and_every_frame_fits_the_schema(rt: Runtime, work: Path) -> None:
    text, frames = Text(), Frames()
    async with running_agent(
        rt, agent("scripted"), cwd=str(work), listener=text, observers=[frames], offers=Offers(files=True)
    ) as client:
        made = await do(
            client,
            text,
            work,
            ("create_terminal", {"command": "printf 'a\\nb'; exit 4", "output_byte_limit": 2}),
            ("wait_for_terminal_exit", {"terminal_id": "$T"}),
            ("terminal_output", {"terminal_id": "$T"}),
            ("kill_terminal", {"terminal_id": "$T"}),
            ("release_terminal", {"terminal_id": "$T"}),
            ("terminal_output", {"terminal_id": "$T"}),
            ("create_terminal", {"command": "sleep", "args": ["1000"], "cwd": str(work)}),
            ("kill_terminal", {"terminal_id": "$T"}),
            ("wait_for_terminal_exit", {"terminal_id": "$T"}),
            ("create_terminal", {"command": "true", "cwd": "relative"}),
            ("write_text_file", {"path": str(work / "file"), "content": "text"}),
            ("read_text_file", {"path": str(work / "file")}),
            ("raw", {"method": "terminal/create", "params": {"command": "pwd", "_meta": {"command": "touch evil"}}}),
        )
    assert made[1:6] == [
        {"exitCode": 4},
        {"output": "\nb", "truncated": True, "exitStatus": {"exitCode": 4}},
        {},
        {},
        {"error": -32002},
    ]
    assert made[7:9] == [{}, {"signal": "SIGINT"}]
    assert made[9:12] == [{"error": -32602}, {}, {"content": "text"}]
    assert frames.methods() >= TERMINAL_METHODS | {"initialize", "session/new", "session/prompt", "session/update"}
    assert frames.problems() == []
    assert os.listdir(work) == ["file"]


class OwnClient:
    """Somebody's own client, with our terminals in it."""

    def __init__(self, terminals: AcpTerminals) -> None:
        self.create_terminal = terminals.create_terminal
        self.terminal_output = terminals.terminal_output
        self.wait_for_terminal_exit = terminals.wait_for_terminal_exit
        self.kill_terminal = terminals.kill_terminal
        self.release_terminal = terminals.release_terminal
        self.text = ""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.text += update.content.text

    def on_connect(self, conn: Any) -> None:
        pass


async def test_the_terminals_fit_into_any_client_of_the_sdk(rt: Runtime, work: Path) -> None:
    terminals = AcpTerminals(rt)
    client = OwnClient(terminals)
    program, *arguments = agent("scripted")
    async with asyncio.timeout(PATIENCE_S), spawn_agent_process(client, program, *arguments) as (conn, _):  # type: ignore[arg-type]
        await conn.initialize(1)
        session_id = (await conn.new_session(str(work), mcp_servers=[])).session_id
        terminals.begin_session(session_id, str(work))
        calls = [
            ("create_terminal", {"command": "pwd"}),
            ("wait_for_terminal_exit", {"terminal_id": "$T"}),
            ("terminal_output", {"terminal_id": "$T"}),
            ("kill_terminal", {"terminal_id": "$T"}),
            ("release_terminal", {"terminal_id": "$T"}),
            ("release_terminal", {"terminal_id": "$T"}),
        ]
        await conn.prompt(session_id, [text_block(json.dumps(calls))])
        await terminals.aclose()
    made = json.loads(client.text)
    assert made[1:] == [
        {"exitCode": 0},
        {"output": f"{work}\n", "truncated": False, "exitStatus": {"exitCode": 0}},
        {},
        {},
        {"error": -32002},
    ]


@needs_sdk
async def test_a_typescript_agent_uses_all_five_methods_and_every_frame_fits_the_schema(
    rt: Runtime, work: Path
) -> None:
    assert NODE is not None
    text, frames = Text(), Frames()
    argv = [NODE, str(AGENTS / "scripted.mjs")]
    env = {**os.environ, "ACP_SDK": str(SDK)}
    async with running_agent(rt, argv, cwd=str(work), env=env, listener=text, observers=[frames]) as client:
        made = await do(
            client,
            text,
            work,
            ("terminal/create", {"command": "printf 'né\\n'; exit 4", "outputByteLimit": 2}),
            ("terminal/wait_for_exit", {"terminalId": "$T"}),
            ("terminal/output", {"terminalId": "$T"}),
            ("terminal/kill", {"terminalId": "$T"}),
            ("terminal/release", {"terminalId": "$T"}),
            ("terminal/release", {"terminalId": "$T"}),
            ("terminal/create", {"command": "sleep", "args": ["1000"], "env": [{"name": "A", "value": "b"}]}),
            ("terminal/output", {"terminalId": "$T"}),
            ("terminal/kill", {"terminalId": "$T"}),
            ("terminal/wait_for_exit", {"terminalId": "$T"}),
            ("terminal/create", {"command": "pwd", "cwd": "relative"}),
        )
    assert made[1:6] == [
        {"exitCode": 4},
        {"output": "\n", "truncated": True, "exitStatus": {"exitCode": 4}},
        {},
        {},
        {"error": -32002},
    ]
    assert made[7:] == [{"output": "", "truncated": False}, {}, {"signal": "SIGINT"}, {"error": -32602}]
    assert frames.methods() >= TERMINAL_METHODS
    assert frames.problems() == []


@needs_sdk
async def test_a_hostile_typescript_agent_gets_what_the_protocol_says(rt: Runtime, work: Path) -> None:
    assert NODE is not None
    text, frames = Text(), Frames()
    env = {**os.environ, "ACP_SDK": str(SDK)}
    swept = [
        call
        for limit in range(17)
        for call in (
            ("terminal/create", {"command": "printf 'aé日😀z'", "outputByteLimit": limit}),
            ("terminal/wait_for_exit", {"terminalId": "$T"}),
            ("terminal/output", {"terminalId": "$T"}),
            ("terminal/release", {"terminalId": "$T"}),
        )
    ]
    argv = [NODE, str(AGENTS / "scripted.mjs")]
    async with running_agent(rt, argv, cwd=str(work), env=env, listener=text, observers=[frames]) as client:
        made = await do(
            client,
            text,
            work,
            ("terminal/create", {"command": "sleep 1000", "_meta": {"command": "touch evil", "cwd": "/"}}),
            ("terminal/output", {"sessionId": "another", "terminalId": "$T"}),
            ("terminal/kill", {"sessionId": "another", "terminalId": "$T"}),
            ("terminal/kill", {"terminalId": "$T"}),
            ("terminal/kill", {"terminalId": "$T"}),
            ("terminal/release", {"terminalId": "$T"}),
            ("terminal/kill", {"terminalId": "$T"}),
            *swept,
        )
    assert made[1:7] == [{"error": -32002}, {"error": -32002}, {}, {}, {}, {"error": -32002}]
    whole = "aé日😀z"
    tails = [next(whole[at:] for at in range(6) if len(whole[at:].encode()) <= limit) for limit in range(17)]
    outputs = [each for each in made[7:] if "output" in each]
    assert [(each["output"], each["truncated"]) for each in outputs] == [(tail, tail != whole) for tail in tails]
    assert frames.problems() == []
    assert os.listdir(work) == []


async def test_noise_on_both_outputs_holds_nothing_up(rt: Runtime, work: Path) -> None:
    text = Text()
    async with running_agent(rt, agent("scripted"), cwd=str(work), listener=text) as client:
        made = await do(
            client,
            text,
            work,
            ("stderr", {"bytes": 300_000, "last": "\x1b[31mthe end\x1b[0m"}),
            ("stdout", {"text": 'debug {"id": 1}\n\n[1]\n\x1b[2J'}),
            ("stdout", {"text": "\n"}),
            ("create_terminal", {"command": "echo works"}),
            ("wait_for_terminal_exit", {"terminal_id": "$T"}),
            ("terminal_output", {"terminal_id": "$T"}),
        )
        assert made[-1]["output"] == "works\n"
        process = client._process
        assert process is not None
        assert process.stderr_bytes >= 300_000
        assert len(process.last_words) <= 64 * 1024
        assert process.last_words.endswith("the end\n")


async def test_an_agent_that_dies_in_a_turn_leaves_nothing_and_its_last_words(rt: Runtime, work: Path) -> None:
    text = Text()
    with pytest.raises(AgentFailed, match=r"ended with code 3 .*\s+out of tokens"):  # noqa: PT012
        async with running_agent(rt, agent("scripted"), cwd=str(work), listener=text) as client:
            pids = [
                *(await do(client, text, work, ("spawn", {}))),
                client._process.pid if client._process is not None else 0,
            ]
            session_id = await client.new_session(str(work))
            calls = [
                ("create_terminal", {"command": "sleep", "args": ["1000"]}),
                ("stderr", {"bytes": 0, "last": "out of tokens"}),
                ("die", {"code": 3}),
            ]
            await client.prompt(session_id, json.dumps(calls))
    assert not any(map(is_alive, pids))
    assert not any(known.handle.is_running for known in rt.commands())


async def test_a_message_without_end_ends_the_connection(rt: Runtime, work: Path) -> None:
    text = Text()
    with pytest.raises(AgentFailed, match=r"broke the protocol.* 40000 bytes"):
        async with running_agent(rt, agent("scripted"), cwd=str(work), listener=text, max_frame_bytes=40_000) as client:
            await do(client, text, work, ("stdout", {"text": "x" * 1000, "times": 50}))


async def test_what_the_agent_started_ends_with_it(rt: Runtime, work: Path) -> None:
    text = Text()
    async with running_agent(rt, agent("scripted"), cwd=str(work), listener=text) as client:
        (pid,) = await do(client, text, work, ("spawn", {}))
        assert is_alive(pid)
    assert not is_alive(pid)


async def test_a_turn_can_be_cancelled(rt: Runtime, work: Path) -> None:
    text = Text()
    async with running_agent(rt, agent("scripted"), cwd=str(work), listener=text) as client:
        session_id = await client.new_session(str(work))
        calls = [("say", {"text": "waiting"}), ("until_cancelled", {})]
        turn = asyncio.ensure_future(client.prompt(session_id, json.dumps(calls)))
        async with asyncio.timeout(PATIENCE_S):
            await text.spoke.wait()
            await client.cancel(session_id)
            assert await turn == "cancelled"


async def test_an_agent_that_cannot_be_started_is_named(rt: Runtime, work: Path) -> None:
    with pytest.raises(AgentFailed, match="no-such-agent"):
        async with running_agent(rt, ["no-such-agent"], cwd=str(work)):
            pass
    with pytest.raises(InvalidDirectory):
        async with running_agent(rt, ["true"], cwd=str(work / "none")):
            pass


async def test_a_program_that_is_no_agent_is_an_error(rt: Runtime, work: Path) -> None:
    with pytest.raises(AgentFailed, match="ended with code 0 before it answered initialize"):
        async with running_agent(rt, ["true"], cwd=str(work)):
            pass


STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
os.write(1, b"%d\\n" % os.getpid())
while True:
    time.sleep(1000)
"""


async def test_an_agent_that_does_not_leave_is_killed_with_all_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermitty.adapters.acp.agent_process._LEAVE_S", 0.01)
    monkeypatch.setattr("hermitty.adapters.acp.agent_process._TERMINATE_S", 0.01)
    process = await AgentProcess.start([sys.executable, "-c", STUBBORN], cwd=str(tmp_path))
    try:
        async with asyncio.timeout(PATIENCE_S):
            pids = [int(await process.reader.readline()) for _ in range(2)]
        assert all(map(is_alive, pids))
    finally:
        await process.end()
    assert not any(map(is_alive, pids))
    assert process.exit_code == -9


async def test_an_agent_gets_the_whole_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    process = await AgentProcess.start(["sh", "-c", 'echo "$SOME_API_KEY $HERMITTY_OWNER"'], cwd=str(tmp_path))
    try:
        key, owner = (await process.reader.readline()).split()
        assert key == b"secret"
        assert owner.startswith(b"acp.")
    finally:
        await process.end()
