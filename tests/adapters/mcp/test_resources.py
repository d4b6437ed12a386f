"""Terminals as resources, and who is told that they changed."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import TextResourceContents

from hermitty.adapters.mcp.local import LocalTerminals
from hermitty.adapters.mcp.resources import LIST_URI
from hermitty.adapters.mcp.server import serving
from hermitty.runtime.api import Runtime
from tests.adapters.mcp.conftest import Connect, call, data
from tests.support.shells import PATIENCE_S


async def text(client: Client, uri: str) -> str:
    [content] = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


async def test_terminals_are_resources(connect: Connect, work: Path) -> None:
    async with connect() as client:
        opened = await data(client, "open", cwd=str(work))
        await call(client, "run", command="echo shown", terminal_id=opened["id"])
        listed = [str(each.uri) for each in (await client.list_resources()).resources]
        assert listed == [LIST_URI, f"terminal://{opened['id']}/output", f"terminal://{opened['id']}/screen"]
        templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
        assert templates == [f"terminal://{{terminal}}/{kind}" for kind in ("output", "screen", "recording")]

        assert "shown\n" in await text(client, listed[1])
        assert "shown\n" in await text(client, listed[2])
        assert [each["id"] for each in json.loads(await text(client, LIST_URI))] == [opened["id"]]


@pytest.mark.parametrize(
    "uri",
    [
        "terminal://t_nowhere/output",
        "terminal://t_nowhere/screen",
        "terminal://t_nowhere/recording",
        "terminal://c_0000000000000000/output",
        "terminal://..%2F..%2Fetc/output",
        "terminal://t_x/secrets",
        "file:///etc/passwd",
    ],
)
async def test_what_is_not_there_is_an_error(connect: Connect, uri: str) -> None:
    async with connect() as client:
        with pytest.raises(MCPError):
            await client.read_resource(uri)


async def test_a_recording_is_a_resource(rt: Runtime, era: str, work: Path) -> None:
    terminals = LocalTerminals(rt, read_cast=lambda terminal: iter([b'{"version": 3}\n', terminal.encode()]))
    async with serving(terminals) as server, Client(server, mode=era) as client:
        [content] = (await client.read_resource("terminal://t_any/recording")).contents
        assert content.mime_type == "application/x-asciicast"


@pytest.mark.filterwarnings("ignore:resources/")
async def test_a_client_of_the_older_protocol_is_told_of_changes(rt: Runtime, work: Path) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def note(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            told.put_nowait(str(message.params.uri))

    async with (
        serving(LocalTerminals(rt)) as server,
        Client(server, mode="legacy", message_handler=note) as client,
        asyncio.timeout(PATIENCE_S),
    ):
        assert client.server_capabilities.resources is not None
        assert client.server_capabilities.resources.subscribe
        opened = await data(client, "open", cwd=str(work))
        uri = f"terminal://{opened['id']}/output"
        await client.subscribe_resource(uri)
        await call(client, "run", command="echo new", terminal_id=opened["id"])
        assert await told.get() == uri
        assert "new" in await text(client, uri)

        await client.unsubscribe_resource(uri)
        await client.subscribe_resource(LIST_URI)
        await call(client, "kill", target=opened["id"])
        while (found := await told.get()) == uri:
            pass
        assert found == LIST_URI


async def test_a_client_of_the_newer_protocol_is_told_of_changes(rt: Runtime, work: Path) -> None:
    async with (
        serving(LocalTerminals(rt)) as server,
        Client(server, mode="2026-07-28") as client,
        asyncio.timeout(PATIENCE_S),
    ):
        opened = await data(client, "open", cwd=str(work))
        uri = f"terminal://{opened['id']}/screen"
        async with client.listen(resource_subscriptions=[uri], resources_list_changed=True) as events:
            await call(client, "run", command="echo new", terminal_id=opened["id"])
            assert getattr(await anext(aiter(events)), "uri", None) == uri
            await call(client, "kill", target=opened["id"])
            async for event in events:
                if type(event).__name__ == "ResourcesListChanged":
                    break


async def test_nobody_is_told_who_does_not_listen(rt: Runtime, work: Path) -> None:
    async with serving(LocalTerminals(rt)) as server, Client(server, mode="legacy") as client:
        await call(client, "run", command="seq 1000", cwd=str(work))
    assert all(not terminal.viewing.is_watched for terminal in rt.terminals())
