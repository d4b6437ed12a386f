"""An ASGI application inside of an aiohttp application."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from hermitty.adapters.mcp.bridge import AsgiApp, AsgiBridge, Receive, Send
from tests.support.shells import PATIENCE_S

Scope = MutableMapping[str, Any]


class Recorder:
    """An application that streams what it gets, and remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.left = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                self.told.append(message["type"])
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        await send(
            {
                "type": "http.response.start",
                "status": 207,
                "headers": [(b"x-one", b"1"), (b"x-one", b"2"), (b"connection", b"close")],
            }
        )
        if scope["path"] == "/wait":
            await send({"type": "http.response.body", "body": b"begun", "more_body": True})
            while (await receive())["type"] != "http.disconnect":
                pass
            self.left.set()
            return
        more = True
        while more:
            message = await receive()
            more = message["more_body"]
            await send({"type": "http.response.body", "body": message["body"], "more_body": True})
        query = f"|{scope['method']} {scope['path']}?{scope['query_string'].decode()}"
        await send({"type": "http.response.body", "body": query.encode()})


@asynccontextmanager
async def served(app: AsgiApp) -> AsyncIterator[str]:
    bridge = AsgiBridge(app)
    outer = web.Application()
    outer.router.add_route("*", "/{path:.*}", bridge.handle)
    outer.cleanup_ctx.append(bridge.lifespan)
    runner = web.AppRunner(outer, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("size", [0, 1, 300_000])
async def test_bodies_and_headers_pass(size: int) -> None:
    app = Recorder()
    async with (
        served(app) as url,
        aiohttp.ClientSession() as session,
        session.post(URL(f"{url}/a%20b?x=%2F&y", encoded=True), data=b"z" * size) as response,
    ):
        assert response.status == 207
        assert response.headers.getall("X-One") == ["1", "2"]
        body = await response.read()
    assert body == b"z" * size + b"|POST /a b?x=%2F&y"
    assert app.told == ["lifespan.startup", "lifespan.shutdown"]


async def test_a_client_that_leaves_is_told() -> None:
    app = Recorder()
    async with served(app) as url, asyncio.timeout(PATIENCE_S):
        async with aiohttp.ClientSession() as session, session.get(f"{url}/wait") as response:
            assert await response.content.readexactly(5) == b"begun"
        await app.left.wait()


async def test_an_application_that_does_not_start_is_an_error() -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "lifespan.startup.failed", "message": "no room"})

    async def leaves(scope: Scope, receive: Receive, send: Send) -> None:
        return

    for app, told in ((fails, "no room"), (leaves, "ended before it had started")):
        with pytest.raises(RuntimeError, match=told):
            async with AsgiBridge(app).running():
                pass
