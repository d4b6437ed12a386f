"""Over HTTP, in front of a real socket: who is let in, and what a client that leaves does to its call."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation

from hermitty.adapters.mcp.http import http_serving
from hermitty.adapters.mcp.local import LocalTerminals
from hermitty.adapters.mcp.server import serving
from hermitty.errors import HostUnavailable
from hermitty.runtime.api import Runtime
from tests.adapters.mcp.conftest import Person, call, data, failure
from tests.support.kernel import gone
from tests.support.notes import Note
from tests.support.runtimes import Dial
from tests.support.shells import PATIENCE_S

TOKEN = "a-token-for-tests"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture
async def url(rt: Runtime) -> AsyncIterator[str]:
    """The address of a server."""
    async with (
        serving(LocalTerminals(rt)) as server,
        http_serving(server, host="127.0.0.1", port=0, token=TOKEN, body_bytes=64 * 1024) as address,
    ):
        yield address


@asynccontextmanager
async def connected(url: str, era: str, **options: Any) -> AsyncIterator[Client]:
    """A client with the token."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE_S) as http:
        transport = streamable_http_client(url, http_client=http)
        info = Implementation(name="web client", version="1")
        async with Client(transport, mode=era, client_info=info, **options) as client:
            yield client


async def status(url: str, headers: dict[str, str] | None = None, *, body: bytes | None = None) -> int:
    """Post a message, and return what the server says of it."""
    known = {
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            url,
            data=json.dumps(PING).encode() if body is None else body,
            headers={name: value for name, value in {**known, **(headers or {})}.items() if value},
        ) as response,
    ):
        await response.read()
        return response.status


async def test_both_eras_are_served(url: str, era: str, work: Path) -> None:
    async with connected(url, era) as client:
        done = await data(client, "run", command="echo over http", cwd=str(work))
        assert (done["text"], done["exit_code"]) == ("over http\n", 0)
        assert done["session"].startswith("mcp-web-client-")
        assert [each["id"] for each in (await data(client, "list"))["terminals"]] == [done["terminal"]]


async def test_connections_of_the_older_protocol_have_sessions_of_their_own(url: str, work: Path) -> None:
    async with connected(url, "legacy") as one, connected(url, "legacy") as other:
        first = await data(one, "run", command="true", cwd=str(work))
        second = await data(other, "run", command="true", cwd=str(work))
        assert first["session"] != second["session"]
        assert (await data(one, "run", command="true"))["session"] == first["session"]


async def test_a_person_is_asked_over_http(url: str, era: str, dial: Dial, work: Path) -> None:
    dial.turn(policy__mode="normal")
    person = Person(answer="allow_once")
    async with connected(url, era, elicitation_callback=person) as client:
        await call(client, "run", command="touch new", cwd=str(work))
    assert len(person.asked) == 1
    assert (work / "new").exists()


async def test_a_client_that_leaves_ends_its_call(url: str, era: str, rt: Runtime, work: Path) -> None:
    with Note(work / "pid") as note:
        async with asyncio.timeout(PATIENCE_S), connected(url, era) as client:
            line = "sh -c 'echo $$ >pid; sleep 1000'"
            calling = asyncio.create_task(client.call_tool("run", {"command": line, "cwd": str(work)}))
            pid = await note.number()
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            await gone(pid)


# E14


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
async def test_others_are_not_let_in(url: str, headers: dict[str, str], expected: int) -> None:
    assert await status(url, headers) == expected


async def test_a_page_of_this_machine_is_let_in(url: str) -> None:
    assert await status(url, {"Origin": "http://localhost:3000"}) not in (401, 403, 421)


async def test_a_body_has_a_limit(url: str) -> None:
    assert await status(url, body=b"[" * (64 * 1024 + 1)) == 413


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"jsonrpc": "1.0"}', b"[" * 5000])
async def test_what_is_no_message_is_refused(url: str, body: bytes) -> None:
    assert 400 <= await status(url, body=body) < 500


async def test_there_is_nothing_else(url: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(url.removesuffix("/mcp")) as response:
        assert response.status == 404


async def test_a_port_that_is_taken_is_named(rt: Runtime, url: str) -> None:
    port = int(url.split(":")[2].partition("/")[0])
    terminals = LocalTerminals(rt)
    async with serving(terminals) as server:
        with pytest.raises(HostUnavailable, match=f"cannot listen on 127.0.0.1 port {port}"):
            async with http_serving(server, host="127.0.0.1", port=port, token=None):
                pass


async def test_a_terminal_outlives_the_client(url: str, era: str, work: Path) -> None:
    async with connected(url, era) as client:
        begun = await data(client, "start", command="echo there; cat", cwd=str(work), session="mine")
    async with connected(url, era) as client:
        found = await data(client, "wait", target=begun["id"], until="match", pattern="there")
        assert found["reason"] == "match"
        assert [each["id"] for each in (await data(client, "list", session="mine"))["terminals"]] == [begun["terminal"]]
        assert (await failure(client, "run", command="true", terminal_id=begun["terminal"])).startswith("terminal t_")
