"""`hermitty mcp` in front of a server that runs: the terminals are the server's, and the client notices nothing."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.message import SessionMessage
from mcp.types import Implementation, JSONRPCError, JSONRPCRequest, JSONRPCResponse

from hermitty.adapters.mcp import relay as relay_module
from hermitty.cli.mounted_mcp import mount_mcp
from hermitty.client.finding import ServerAddress
from hermitty.runtime.api import Runtime
from hermitty.runtime.places import Places
from hermitty.server.parts import PARTS
from hermitty.server.serving import Options, Serving, serving
from tests.adapters.mcp import processes
from tests.adapters.mcp.conftest import Person, call, data
from tests.adapters.mcp.processes import ARGUMENTS, Raw, environment
from tests.server.conftest import source_for
from tests.support.kernel import gone, is_alive
from tests.support.notes import Note
from tests.support.server_process import TOKEN, ServerProcess
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

NEWER = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": NEWER, "io.modelcontextprotocol/clientCapabilities": {}}
Start = Callable[..., AbstractAsyncContextManager[Serving]]


@pytest.fixture
def start(home: Path, places: Places) -> Start:
    """Starts a server with MCP in this process."""

    def begin(mode: str = "off", **options: Any) -> AbstractAsyncContextManager[Serving]:
        settings = source_for(home, places, policy__mode=mode)
        return serving(Options(port=0, **options), places=places, settings=settings, extend=mount_mcp)

    return begin


@pytest.fixture
async def server(start: Start) -> AsyncIterator[Serving]:
    """A server that allows everything."""
    async with start() as server:
        yield server


@pytest.fixture
def rt(server: Serving) -> Runtime:
    """The runtime of the server."""
    return server.app[PARTS].runtime


def env_of(home: Path, **more: str) -> dict[str, str]:
    """The environment of a relay: the state directory of the server."""
    return environment(home, HERMITTY_STATE_DIR=os.environ["HERMITTY_STATE_DIR"], **more)


@asynccontextmanager
async def relayed(home: Path, work: Path, era: str, **options: Any) -> AsyncIterator[Client]:
    """A client that starts `hermitty mcp` in a directory."""
    variables = options.pop("env", {})
    parameters = StdioServerParameters(
        command=sys.executable, args=list(ARGUMENTS), env=env_of(home, **variables), cwd=str(work)
    )
    info = Implementation(name="test client", version="1")
    async with Client(stdio_client(parameters), mode=era, client_info=info, **options) as client:
        yield client


@pytest.fixture
def note(work: Path) -> Iterator[Note]:
    """Where a command writes its process, in the project."""
    with Note(work / "pid") as note:
        yield note


@pytest.fixture
def note_at_home(home: Path) -> Iterator[Note]:
    """The same in the home directory."""
    with Note(home / "pid") as note:
        yield note


# What passes.


async def test_the_terminals_are_those_of_the_server(
    rt: Runtime, home: Path, work: Path, era: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (work / "sub").mkdir()
    async with relayed(home, work, era) as client:
        tools = (await client.list_tools()).tools
        assert "search_output" in [tool.name for tool in tools]
        first = await data(client, "run", command="pwd; cd sub")
        assert (first["text"], first["exit_code"]) == (f"{work}\n", 0)
        # The session keeps its directory.
        assert (await data(client, "run", command="pwd"))["text"] == f"{work / 'sub'}\n"
        [terminal] = rt.terminals()
        assert terminal.id == first["terminal"]
        assert rt.sessions() == [first["session"]]
        assert first["session"].startswith("mcp-test-client-")
        listed = await data(client, "list")
        assert [each["id"] for each in listed["terminals"]] == [terminal.id]
        opened = await data(client, "open_persistent_terminal")
        assert opened["cwd"] == str(work)

        some = await asyncio.gather(*(data(client, "run", command=f"echo {number}") for number in range(20)))
        assert [each["text"] for each in some] == [f"{number}\n" for number in range(20)]
        long = await data(client, "run", command="seq 200000")
        assert len((await data(client, "read", target=long["id"], limit=100_000))["text"]) > 80_000

        with pytest.raises(MCPError):
            await client.read_resource("terminal://t_nowhere/output")
        assert (await client.call_tool("run", {"command": "true", "cwd": "nowhere"})).is_error
        assert (await client.call_tool("nothing", {})).is_error
    assert capfd.readouterr().err == ""


async def test_clients_of_one_name_have_sessions_of_their_own(server: Serving, home: Path, work: Path) -> None:
    (work / "other").mkdir()
    async with relayed(home, work, NEWER) as one, relayed(home, work / "other", NEWER) as other:
        first, second = await asyncio.gather(data(one, "run", command="pwd"), data(other, "run", command="pwd"))
    assert (first["text"], second["text"]) == (f"{work}\n", f"{work / 'other'}\n")
    assert first["session"] != second["session"]


async def test_clients_at_once_see_only_their_own_terminals(rt: Runtime, home: Path, work: Path, era: str) -> None:
    async with relayed(home, work, era) as one, relayed(home, work, era) as other:
        clients = (one, other)
        ran = await asyncio.gather(*(data(client, "run", command="true") for client in clients))
        opened = await asyncio.gather(*(data(client, "open_persistent_terminal") for client in clients))
        listed = await asyncio.gather(*(data(client, "list") for client in clients))
        assert [{each["id"] for each in found["terminals"]} for found in listed] == [
            {run["terminal"], terminal["persistent_terminal_id"]} for run, terminal in zip(ran, opened, strict=True)
        ]
        assert len(rt.terminals()) == 4
        assert len(rt.sessions()) == 2
    # Both have left: their terminals, the persistent ones too, are in the background.
    assert rt.sessions() == []
    assert len(rt.background_terminals()) == 4


async def test_a_session_that_is_there_stays_where_it_is(rt: Runtime, home: Path, work: Path) -> None:
    (work / "there").mkdir()
    await rt.run("true", session="of a person", cwd=str(work / "there"))
    async with relayed(home, work, NEWER) as client:
        known = await data(client, "run", command="pwd", session="of a person")
        fresh = await data(client, "run", command="pwd", session="new", cwd="there")
    assert known["text"] == fresh["text"] == f"{work / 'there'}\n"
    # Sessions that somebody named are theirs to end.
    assert set(rt.sessions()) == {"of a person", "new"}


async def test_progress_passes(server: Serving, home: Path, work: Path, era: str) -> None:
    told: list[str | None] = []
    heard = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)
        heard.set()

    async with relayed(home, work, era) as client, asyncio.timeout(PATIENCE_S):
        begun = await data(client, "start", command="echo first; sleep 1000")
        arguments = {"target": begun["id"], "timeout_s": 50}
        waiting = asyncio.create_task(client.call_tool("wait", arguments, progress_callback=note))
        await heard.wait()
        await call(client, "kill", target=begun["id"])
        assert not (await waiting).is_error
    assert told[0] == "first"


async def test_a_cancelled_run_ends_its_command(rt: Runtime, home: Path, work: Path, note: Note, era: str) -> None:
    async with relayed(home, work, era) as client, asyncio.timeout(PATIENCE_S):
        calling = asyncio.create_task(client.call_tool("run", {"command": "sh -c 'echo $$ >pid; exec sleep 1000'"}))
        pid = await note.number()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await gone(pid)
        assert (await data(client, "run", command="echo on"))["text"] == "on\n"


async def test_a_person_is_asked_in_the_client(start: Start, home: Path, work: Path, era: str) -> None:
    person = Person(answer="allow_once")
    async with start("normal"), relayed(home, work, era, elicitation_callback=person) as client:
        await call(client, "run", command="touch new")
        assert (work / "new").exists()
    [asked] = person.asked
    assert asked.message.startswith(f"Run this command?\n\n    touch new\n\nIt would run in bash in {work}")


@pytest.mark.filterwarnings("ignore:resources/")
async def test_changes_are_told_to_a_client_of_the_older_protocol(server: Serving, home: Path, work: Path) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def note(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            told.put_nowait(str(message.params.uri))

    async with relayed(home, work, "legacy", message_handler=note) as client, asyncio.timeout(PATIENCE_S):
        opened = await data(client, "open")
        await client.subscribe_resource(f"terminal://{opened['id']}/output")
        await call(client, "run", command="echo new", terminal_id=opened["id"])
        assert await told.get() == f"terminal://{opened['id']}/output"


async def test_changes_are_told_to_a_client_of_the_newer_protocol(server: Serving, home: Path, work: Path) -> None:
    async with relayed(home, work, NEWER) as client, asyncio.timeout(PATIENCE_S):
        opened = await data(client, "open")
        uri = f"terminal://{opened['id']}/screen"
        async with client.listen(resource_subscriptions=[uri]) as events:
            await call(client, "run", command="echo new", terminal_id=opened["id"])
            assert getattr(await anext(aiter(events)), "uri", None) == uri


async def test_what_is_no_message_is_forgotten(server: Serving, home: Path) -> None:
    client = await Raw.start(home, HERMITTY_STATE_DIR=os.environ["HERMITTY_STATE_DIR"])
    for noise in (b"not json\n", b"\n", b"[]\n", b'{"jsonrpc": "2.0"}\n', b"\xff\xfe\n", b"[" * 5000 + b"\n"):
        client.send(noise)
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}})
    odd = await client.ask("tools/call", {"name": "run", "arguments": 7})
    assert odd["error"]["code"] < 0
    done = await client.call("run", command="echo on")
    assert done["structuredContent"]["text"] == "on\n"
    assert await client.close() == (0, b"", b"")


# Who leaves.


@pytest.mark.parametrize("number", [None, signal.SIGTERM])
async def test_a_client_that_leaves_releases_its_session_and_what_runs_goes_on(
    rt: Runtime, home: Path, note_at_home: Note, number: signal.Signals | None
) -> None:
    client = await Raw.start(home, HERMITTY_STATE_DIR=os.environ["HERMITTY_STATE_DIR"])
    await client.call("start", command="sh -c 'echo $$ >pid; exec sleep 1000'")
    pid = await note_at_home.number()
    assert len(rt.sessions()) == 1

    if number is None:
        assert await client.close() == (0, b"", b"")
    else:
        client.process.send_signal(number)
        assert await client.end() == (0, b"", b"")
        assert client.process.stdin is not None
        client.process.stdin.close()

    assert rt.sessions() == []
    assert is_alive(pid)
    [terminal] = rt.background_terminals()
    assert terminal.is_busy


@pytest.mark.parametrize("is_newer", [False, True])
async def test_a_call_that_waits_is_cancelled_with_its_client(
    rt: Runtime, home: Path, note_at_home: Note, is_newer: bool
) -> None:
    client = await Raw.start(home, HERMITTY_STATE_DIR=os.environ["HERMITTY_STATE_DIR"])
    params: dict[str, Any] = {"name": "run", "arguments": {"command": "sh -c 'echo $$ >pid; exec sleep 1000'"}}
    if is_newer:
        params["_meta"] = META
    client.send({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params})
    pid = await note_at_home.number()
    assert (await client.close())[0] == 0
    await gone(pid)


# Which server.


async def test_own_terminals_are_used_when_asked_for(rt: Runtime, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "ARGUMENTS", (*ARGUMENTS, "--own"))
    client = await Raw.start(home, HERMITTY_STATE_DIR=os.environ["HERMITTY_STATE_DIR"], HERMITTY_POLICY__MODE="off")
    assert (await client.call("run", command="echo own"))["structuredContent"]["text"] == "own\n"
    assert rt.terminals() == []
    assert await client.close() == (0, b"", b"")


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"HERMITTY_TOKEN": "a-token-that-nobody-knows-0123456789"}, "the hermitty server refused: "),
        ({"HERMITTY_URL": "http://127.0.0.1:1", "HERMITTY_TOKEN": "x" * 40}, "no server answers at http://127.0.0.1:1"),
        ({"HERMITTY_URL": "http://127.0.0.1:1"}, "needs its token"),
    ],
)
async def test_without_a_server_that_lets_us_in_the_terminals_are_its_own(
    rt: Runtime, home: Path, variables: dict[str, str], why: str
) -> None:
    more = {"HERMITTY_STATE_DIR": os.environ["HERMITTY_STATE_DIR"], "HERMITTY_POLICY__MODE": "off", **variables}
    client = await Raw.start(home, **more)
    assert (await client.call("run", command="echo own"))["structuredContent"]["text"] == "own\n"
    assert rt.terminals() == []
    code, out, err = await client.close()
    [line] = err.decode().splitlines()
    assert (code, out) == (0, b"")
    assert why in line
    assert line.endswith("; the terminals are its own instead")


# A server that dies and comes back.


async def test_a_server_that_was_started_again_is_used_again(
    process: ServerProcess, home: Path, work: Path, note: Note, era: str
) -> None:
    (work / "sub").mkdir()
    async with relayed(home, work, era, env={"HERMITTY_TOKEN": TOKEN}) as client, asyncio.timeout(3 * PATIENCE_S):
        await call(client, "run", command="cd sub")
        begun = await data(client, "start", command="sh -c 'echo $$ >../pid; exec sleep 1000'")
        pid = await note.number()
        waiting = asyncio.create_task(client.call_tool("wait", {"target": begun["id"], "timeout_s": 50}))
        listed = await data(client, "list")  # the server has most likely had the wait
        assert listed["terminals"]

        await process.end(signal.SIGKILL)
        with pytest.raises(MCPError, match=r"broke before the answer .* it may have been done|nothing was done"):
            await waiting

        # A call that comes while nobody is there waits for the server.
        asking = asyncio.create_task(data(client, "wait", target=begun["id"], timeout_s=0))
        await process.start()
        try:
            found = await asking
        except MCPError as exc:  # the server took longer to start than a call waits
            assert "nothing was done, and the next call tries again" in str(exc)
            found = await data(client, "wait", target=begun["id"], timeout_s=0)
        assert found["state"] == "running"
        assert is_alive(pid)
        assert (await data(client, "run", command="pwd"))["text"] == f"{work / 'sub'}\n"
        await call(client, "kill", target=begun["id"])
        await gone(pid)


@pytest.mark.filterwarnings("ignore:resources/")
async def test_a_subscription_outlives_the_server(process: ServerProcess, home: Path, work: Path) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def note(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            told.put_nowait(str(message.params.uri))

    async with (
        relayed(home, work, "legacy", env={"HERMITTY_TOKEN": TOKEN}, message_handler=note) as client,
        asyncio.timeout(3 * PATIENCE_S),
    ):
        opened = await data(client, "open")
        uri = f"terminal://{opened['id']}/output"
        await client.subscribe_resource(uri)
        await process.end(signal.SIGKILL)
        await process.start()
        await call(client, "run", command="echo new", terminal_id=opened["id"])
        assert await told.get() == uri


async def test_a_server_that_stays_away_is_an_error_and_not_the_end(
    start: Start, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_module, "_RETRY_S", 0.1)
    request = JSONRPCRequest(jsonrpc="2.0", id=7, method="server/discover", params={"_meta": META})
    answers, told = anyio.create_memory_object_stream[SessionMessage](10)
    found: list[ServerAddress] = []
    async with start() as server:
        found.append(ServerAddress(server.url, server.token))
        stack = AsyncExitStack()
        relay = await stack.enter_async_context(relay_module.relaying(lambda: found[-1], directory=str(work)))
        relay._out = answers
        await relay.check()
    async with stack, answers, told, asyncio.timeout(PATIENCE_S):
        await relay._carry(request, relay._enter(request))
        lost = (await told.receive()).message
        assert isinstance(lost, JSONRPCError)
        assert (lost.id, lost.error.code) == (7, -32000)
        assert lost.error.message.startswith(f"no server answers at {server.url} (")
        assert lost.error.message.endswith("); nothing was done, and the next call tries again")

        # It comes back at another address, with another token.
        async with start(token=TOKEN) as again:
            found.append(ServerAddress(again.url, again.token))
            await relay._carry(request, relay._enter(request))
            assert isinstance((await told.receive()).message, JSONRPCResponse)


async def test_the_end_of_the_input_is_noticed_while_nobody_answers(
    process: ServerProcess, home: Path, work: Path
) -> None:
    client = await Raw.start(home, HERMITTY_STATE_DIR=os.environ["HERMITTY_STATE_DIR"], HERMITTY_TOKEN=TOKEN)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        # This one is sent in its turn, and the server does not take it.
        client.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
        client.send({"jsonrpc": "2.0", "id": 98, "method": "ping"})
        async with asyncio.timeout(PATIENCE_S):
            assert (await client.close())[0] == 0
    finally:
        os.kill(process.pid, signal.SIGCONT)


# The same server, mounted.


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


async def post(url: str, token: str | None) -> tuple[int, str]:
    """Shake hands with the mounted server."""
    headers = ACCEPT if token is None else {**ACCEPT, "Authorization": f"Bearer {token}"}
    async with (
        asyncio.timeout(PATIENCE_S),
        aiohttp.ClientSession() as http,
        http.post(f"{url}/mcp", json=HELLO, headers=headers) as response,
    ):
        return response.status, await response.text()


async def test_the_mounted_server_lets_in_who_may_run(server: Serving) -> None:
    owner = {"Authorization": f"Bearer {server.token}"}
    body = {"name": "viewer", "scopes": ["view"]}
    async with (
        aiohttp.ClientSession(headers=owner) as http,
        http.post(f"{server.url}/api/tokens", json=body) as made,
    ):
        assert made.status < 300, await made.text()
        viewer = (await made.json())["token"]

    assert (await post(server.url, None))[0] == 401
    assert (await post(server.url, "a-token-that-nobody-knows-0123456789"))[0] == 401
    status, text = await post(server.url, viewer)
    assert (status, json.loads(text)["error"]["code"]) == (403, "missing_scope")
    status, text = await post(server.url, server.token)
    assert status == 200
    assert '"name":"hermitty"' in text
