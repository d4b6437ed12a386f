"""The server at /mcp does for a token what the HTTP API does for it, and takes answers only from who may give them."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation

from hermitty.adapters.mcp.local import LocalTerminals
from hermitty.adapters.mcp.rights import TOOLS
from hermitty.adapters.mcp.server import serving as mcp_serving
from hermitty.cli.mounted_mcp import mount_mcp
from hermitty.events import ApprovalAsked
from hermitty.runtime.api import Runtime
from hermitty.runtime.places import Places
from hermitty.server.parts import PARTS
from hermitty.server.serving import Options, Serving, serving
from hermitty.server.table import ROUTES
from tests.adapters.mcp.conftest import Person, call, data, failure, said
from tests.server.conftest import source_for
from tests.server.talking import Client as Api
from tests.server.test_standing import sending
from tests.support.runtimes import Listener
from tests.support.shells import PATIENCE_S

NEWER = "2026-07-28"
AGENT = ["view", "type", "run"]
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
# The way to do the same over HTTP.
COUNTERPARTS = {
    "run": ("POST", "/api/run"),
    "start": ("POST", "/api/run"),
    "wait": ("GET", "/api/commands/{cid}"),
    "read": ("GET", "/api/artifacts/{aid}"),
    "search_output": ("GET", "/api/artifacts/{aid}"),
    "write": ("POST", "/api/commands/{cid}/input"),
    "send_keys": ("POST", "/api/commands/{cid}/input"),
    "screen": ("GET", "/api/terminals/{id}/screen"),
    "list": ("GET", "/api/terminals"),
    "open": ("POST", "/api/terminals"),
    "kill": ("POST", "/api/commands/{cid}/kill"),
    "check": ("POST", "/api/check"),
    "run_command": ("POST", "/api/tools/{name}"),
    "open_persistent_terminal": ("POST", "/api/tools/{name}"),
    "run_persistent_command": ("POST", "/api/tools/{name}"),
    "kill_persistent_terminal": ("POST", "/api/tools/{name}"),
}


@pytest.fixture
async def server(home: Path, places: Places) -> AsyncIterator[Serving]:
    """A server that asks people."""
    settings = source_for(home, places, policy__mode="normal")
    async with serving(Options(port=0), places=places, settings=settings, extend=mount_mcp) as server:
        yield server


@pytest.fixture
def rt(server: Serving) -> Runtime:
    """Its runtime."""
    return server.app[PARTS].runtime


@pytest.fixture
async def owner(server: Serving) -> AsyncIterator[Api]:
    """Its owner."""
    async with Api(server, server.token) as owner:
        yield owner


async def token_for(owner: Api, *scopes: str) -> dict[str, str]:
    """Make a token."""
    made = await owner.post("/api/tokens", {"name": "agent", "scopes": scopes})
    assert made.status == 201, made.body
    found: dict[str, str] = made.json
    return found


@asynccontextmanager
async def connected(server: Serving, token: str, era: str, **options: Any) -> AsyncIterator[Client]:
    """A client with a token."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_S) as http:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        info = Implementation(name="agent", version="1")
        async with Client(transport, mode=era, client_info=info, **options) as client:
            yield client


async def asked(rt: Runtime, heard: Listener) -> str:
    """Wait until a person is asked; return the question."""
    await heard.until(lambda: any(isinstance(each, ApprovalAsked) for each in heard.events))
    [question] = rt.gate.approvals.pending()
    return question.id


# Answers.


@pytest.mark.parametrize("way", ["run", "start", "run_command", "run_persistent_command"])
async def test_a_token_that_is_not_for_answering_asks_the_page(
    server: Serving, rt: Runtime, owner: Api, era: str, work: Path, way: str
) -> None:
    agent = (await token_for(owner, *AGENT))["token"]
    form, heard = Person(answer="allow_always"), Listener(rt)
    async with connected(server, agent, era, elicitation_callback=form) as client:
        arguments: dict[str, Any] = {"command": "touch new", "cwd": str(work)}
        if way == "run_persistent_command":
            opened = await data(client, "open_persistent_terminal", cwd=str(work))
            arguments = {"command": "touch new", "persistent_terminal_id": opened["persistent_terminal_id"]}
        calling = asyncio.create_task(client.call_tool(way, arguments))
        question = await asked(rt, heard)
        refused = await owner.post(f"/api/approvals/{question}", {"answer": "allow"}, token=agent)
        assert (refused.status, refused.code) == (403, "missing_scope")
        assert not (work / "new").exists()
        assert (await owner.post(f"/api/approvals/{question}", {"answer": "allow"})).status == 200
        async with asyncio.timeout(PATIENCE_S):
            result = await calling
        assert not result.is_error, said(result)
        if way == "start":
            assert isinstance(result.structured_content, dict)
            await data(client, "wait", target=result.structured_content["id"])
    assert (work / "new").exists()
    assert form.asked == []
    assert (await owner.get("/api/rules")).json["rules"] == []


async def test_a_token_for_answering_answers_in_the_form(
    server: Serving, rt: Runtime, owner: Api, era: str, work: Path
) -> None:
    trusted = (await token_for(owner, *AGENT, "approve"))["token"]
    for token in (trusted, server.token):
        form = Person(answer="allow_once")
        async with connected(server, token, era, elicitation_callback=form) as client:
            await call(client, "run", command="touch new", cwd=str(work))
        assert len(form.asked) == 1
    assert (work / "new").exists()


def calling(number: int, command: str, work: Path, **more: Any) -> dict[str, Any]:
    """A call of the newer protocol by a client that shows forms."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": NEWER,
        "io.modelcontextprotocol/clientCapabilities": FORMS,
        "io.modelcontextprotocol/clientInfo": {"name": "agent", "version": "1"},
    }
    arguments = {"command": command, "cwd": str(work)}
    params = {"name": "run", "arguments": arguments, "_meta": meta, **more}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Wire:
    """Messages as they are sent, with a token."""

    def __init__(self, http: aiohttp.ClientSession, server: Serving, token: str) -> None:
        self._http = http
        self._url = f"{server.url}/mcp"
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}

    def post(self, message: dict[str, Any], **headers: str) -> Any:
        """Send a message; a context."""
        return self._http.post(self._url, json=message, headers={**self._headers, **headers})

    def listen(self, **headers: str) -> Any:
        """Listen to what the server says by itself; a context."""
        return self._http.get(self._url, headers={**self._headers, **headers})

    async def newer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a call of the newer protocol, and return its answer."""
        headers = {"MCP-Protocol-Version": NEWER, "Mcp-Method": "tools/call", "Mcp-Name": "run"}
        async with self.post(message, **headers) as response:
            lines = (await response.text()).splitlines()
            found: dict[str, Any] = json.loads(next((x[5:] for x in lines if x.startswith("data:")), lines[0]))
            return found

    async def shake_hands(self) -> str:
        """Begin a connection of the older protocol; return its name."""
        params = {"protocolVersion": "2025-11-25", "capabilities": FORMS, "clientInfo": {"name": "x", "version": "1"}}
        async with self.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}) as response:
            assert response.status == 200, await response.text()
            await response.read()
            session = str(response.headers["Mcp-Session-Id"])
        async with self.post(
            {"jsonrpc": "2.0", "method": "notifications/initialized"}, **{"Mcp-Session-Id": session}
        ) as response:
            assert response.status == 202
        return session


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """Connections."""
    timeout = aiohttp.ClientTimeout(total=PATIENCE_S)
    async with aiohttp.ClientSession(timeout=timeout) as http:
        yield http


async def test_nobody_answers_what_another_token_was_asked(
    server: Serving, rt: Runtime, owner: Api, http: aiohttp.ClientSession, work: Path
) -> None:
    agent = Wire(http, server, (await token_for(owner, *AGENT))["token"])
    own = Wire(http, server, server.token)
    question = (await own.newer(calling(1, "touch new", work)))["result"]
    [key] = question["inputRequests"]
    answer = {
        "inputResponses": {key: {"action": "accept", "content": {"answer": "allow_once", "note": ""}}},
        "requestState": question["requestState"],
    }
    assert (await agent.newer(calling(2, "touch new", work, **answer)))["error"]["code"] == -32602
    assert not (work / "new").exists()
    # Whose question it is can answer it.
    assert (await own.newer(calling(3, "touch new", work, **answer)))["result"]["isError"] is False
    assert (work / "new").exists()


async def test_an_answer_that_nobody_asked_for_is_none(
    server: Serving, rt: Runtime, owner: Api, http: aiohttp.ClientSession, work: Path
) -> None:
    """A client that knows what the form is called."""
    own = Wire(http, server, server.token)
    [key] = (await own.newer(calling(1, "touch new", work)))["result"]["inputRequests"]
    agent = Wire(http, server, (await token_for(owner, *AGENT))["token"])
    answer = {"inputResponses": {key: {"action": "accept", "content": {"answer": "allow_once", "note": ""}}}}
    heard = Listener(rt)
    sent = asyncio.create_task(agent.newer(calling(2, "touch new", work, **answer)))
    question = await asked(rt, heard)
    assert (await owner.post(f"/api/approvals/{question}", {"answer": "deny"})).status == 200
    assert (await sent)["result"]["isError"] is True
    assert not (work / "new").exists()


async def test_a_connection_belongs_to_its_token(
    server: Serving, owner: Api, http: aiohttp.ClientSession, work: Path
) -> None:
    """In the older protocol, whoever sends the answer to a question names only the connection."""
    own = Wire(http, server, server.token)
    agent = Wire(http, server, (await token_for(owner, *AGENT))["token"])
    session = {"Mcp-Session-Id": await own.shake_hands()}
    arguments = {"command": "touch new", "cwd": str(work)}
    run = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "run", "arguments": arguments}}
    async with own.post(run, **session) as response:
        question = await message_in(response)
        assert question["method"] == "elicitation/create"
        result = {"action": "accept", "content": {"answer": "allow_once", "note": ""}}
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": result}
        async with agent.post(answer, **session) as refused:
            assert refused.status == 404
        assert not (work / "new").exists()
        async with own.post(answer, **session) as taken:
            assert taken.status == 202
        assert (await message_in(response))["result"]["isError"] is False
    assert (work / "new").exists()


async def message_in(response: aiohttp.ClientResponse) -> dict[str, Any]:
    """Read the next message of a stream."""
    while True:
        line = await response.content.readline()
        assert line, "the stream has ended"
        if line.startswith(b"data:") and line[5:].strip():
            found: dict[str, Any] = json.loads(line[5:])
            return found


# What a token is for.


async def test_each_tool_needs_what_the_http_api_needs(rt: Runtime) -> None:
    scopes: dict[tuple[str, str], str | None] = {(route.method, route.path): route.scope for route in ROUTES}
    async with mcp_serving(LocalTerminals(rt)) as mcp:
        assert sorted(TOOLS) == sorted(tool.name for tool in await mcp.list_tools())
    assert {name: scopes[way] for name, way in COUNTERPARTS.items()} == TOOLS


async def test_looking_and_typing_need_a_token_for_them(server: Serving, owner: Api, era: str, work: Path) -> None:
    begun = await owner.run("cat", cwd=str(work), wait_s=0)
    command, terminal = begun["id"], begun["terminal"]
    runner = (await token_for(owner, "run"))["token"]
    arguments: dict[str, dict[str, Any]] = {
        "wait": {"target": command, "timeout_s": 0},
        "read": {"target": command},
        "search_output": {"target": command, "pattern": "x"},
        "screen": {"terminal_id": terminal},
        "list": {"all_sessions": True},
        "check": {"command": "ls"},
        "write": {"target": command, "text": "x"},
        "send_keys": {"target": command, "keys": ["enter"]},
    }
    async with connected(server, runner, era) as client:
        for name, given in arguments.items():
            told = await failure(client, name, **given)
            assert told == f"this needs a token with scope {TOOLS[name]}; yours is for: run"
        for uri in ("hermitty://terminals", f"terminal://{terminal}/output"):
            with pytest.raises(MCPError, match="needs a token with scope view"):
                await client.read_resource(uri)
        with pytest.raises(MCPError, match="needs a token with scope view"):
            await client.list_resources()
        assert (await data(client, "run", command="echo x", cwd=str(work)))["text"] == "x\n"
        await call(client, "kill", target=command)


# Tokens that end.


async def test_a_token_that_is_deleted_hears_no_more(server: Serving, owner: Api, http: aiohttp.ClientSession) -> None:
    made = await token_for(owner, *AGENT)
    agent = Wire(http, server, made["token"])
    session = await agent.shake_hands()
    listen = {
        "jsonrpc": "2.0",
        "id": 5,
        "method": "subscriptions/listen",
        "params": {
            "_meta": calling(0, "", Path())["params"]["_meta"],
            "notifications": {"resourcesListChanged": True},
        },
    }
    newer = {"MCP-Protocol-Version": NEWER, "Mcp-Method": "subscriptions/listen"}
    async with (
        agent.listen(**{"Mcp-Session-Id": session}) as older_stream,
        agent.post(listen, **newer) as newer_stream,
    ):
        assert (older_stream.status, newer_stream.status) == (200, 200)
        assert (await message_in(newer_stream))["method"] == "notifications/subscriptions/acknowledged"
        assert (await owner.ask("DELETE", f"/api/tokens/{made['id']}")).status == 204
        for stream in (older_stream, newer_stream):
            with contextlib.suppress(aiohttp.ClientPayloadError):  # it is cut off
                while await stream.content.readany():
                    pass
    async with agent.listen(**{"Mcp-Session-Id": session}) as refused:
        assert refused.status == 401


async def test_a_call_that_arrives_after_its_token_has_gone_does_nothing(
    server: Serving, rt: Runtime, owner: Api, work: Path
) -> None:
    async with Api(server, (made := await token_for(owner, *AGENT))["token"]) as agent:
        await agent.post("/mcp", {})  # the first one waits until the server is made
        body = json.dumps(calling(1, "echo typed", work)).encode()
        async with sending(agent, "/mcp", len(body)) as (reader, _):
            assert (await owner.ask("DELETE", f"/api/tokens/{made['id']}")).status == 204
            async with asyncio.timeout(PATIENCE_S):
                assert await reader.read() == b""
    assert rt.commands() == []
