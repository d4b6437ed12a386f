"""A runtime in an empty home behind an MCP server, and clients of both eras in front of it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, ElicitResult, Implementation, TextContent

from hermitty.adapters.mcp.approvals import refuse
from hermitty.adapters.mcp.local import LocalTerminals
from hermitty.adapters.mcp.server import serving
from hermitty.runtime.api import Runtime, build_runtime
from hermitty.runtime.places import Places
from tests.support.runtimes import Dial
from tests.support.server_process import ServerProcess, durable_server
from tests.support.shells import PATIENCE_S

ERAS = ["legacy", "2026-07-28"]
Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """Which protocol the client speaks."""
    return str(request.param)


@pytest.fixture
async def rt(dial: Dial) -> AsyncIterator[Runtime]:
    """A runtime that refuses what nobody allowed."""
    async with build_runtime(dial, approver=refuse) as runtime:
        yield runtime


@pytest.fixture
def connect(rt: Runtime, era: str) -> Connect:
    """Connects clients to a server over `rt`, in memory."""

    @asynccontextmanager
    async def connected(**options: Any) -> AsyncIterator[Client]:
        info = Implementation(name="test client", version="1")
        async with (
            serving(LocalTerminals(rt)) as server,
            Client(server, mode=era, client_info=info, **options) as client,
        ):
            yield client

    return connected


@pytest.fixture
async def process(places: Places, home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ServerProcess]:
    """`hermitty serve` with a durable host, which allows everything."""
    places.config_file.parent.mkdir(parents=True)
    places.config_file.write_text('[policy]\nmode = "off"\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHELL", "/bin/bash")
    async with durable_server(places.state) as server:
        yield server


def said(result: CallToolResult) -> str:
    """The text that a model reads."""
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


async def call(client: Client, name: str, /, **arguments: Any) -> CallToolResult:
    """Call a tool that works."""
    async with asyncio.timeout(PATIENCE_S):
        result = await client.call_tool(name, arguments)
    assert not result.is_error, said(result)
    return result


async def data(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool that works, and return its data."""
    found = (await call(client, name, **arguments)).structured_content
    assert isinstance(found, dict)
    return found


async def failure(client: Client, name: str, /, **arguments: Any) -> str:
    """Call a tool that does not work, and return what it says."""
    async with asyncio.timeout(PATIENCE_S):
        result = await client.call_tool(name, arguments)
    assert result.is_error
    return said(result)


class Person:
    """Answers forms as told, and remembers what was asked."""

    def __init__(self, action: str = "accept", **content: Any) -> None:
        self.asked: list[Any] = []
        self._answer = {"action": action, "content": content or None}

    async def __call__(self, context: object, params: Any) -> ElicitResult:
        self.asked.append(params)
        return ElicitResult.model_validate(self._answer)
