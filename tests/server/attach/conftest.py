"""A runtime with real shells behind a server of one route, and viewers for it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from hermitty.runtime.api import Runtime, Terminal, build_runtime
from hermitty.server.access import Access, Scope
from hermitty.server.attach import AttachLimits, Attachments
from tests.server.attach.watching import DeafViewer, Watcher
from tests.support.runtimes import Dial, settings_in
from tests.support.shells import PATIENCE_S

ALL = frozenset(Scope)


class Server:
    """One route. The query says who comes: `name`, and `scope` for each scope they have (all without)."""

    def __init__(self, runtime: Runtime, attachments: Attachments, port: int, session: aiohttp.ClientSession) -> None:
        self.runtime = runtime
        self.attachments = attachments
        self.port = port
        self._session = session

    def path(self, terminal: str, **query: str | int) -> str:
        return f"/ws/terminal/{terminal}?" + "&".join(f"{name}={value}" for name, value in query.items())

    async def connect(self, terminal: str, **query: str | int) -> aiohttp.ClientWebSocketResponse:
        url = f"http://127.0.0.1:{self.port}{self.path(terminal, **query)}"
        return await self._session.ws_connect(url, max_msg_size=0, compress=0)

    @contextlib.asynccontextmanager
    async def watch(self, terminal: str, *, acks: bool = False, **query: str | int) -> AsyncIterator[Watcher]:
        async with Watcher(await self.connect(terminal, **query), acks) as watcher:
            yield watcher

    def deaf(self, terminal: str, **query: str | int) -> DeafViewer:
        return DeafViewer(self.port, self.path(terminal, **query))


@contextlib.asynccontextmanager
async def serving(runtime: Runtime, limits: AttachLimits | None = None) -> AsyncIterator[Server]:
    """Serve a runtime's terminals on a port of its own."""
    attachments = Attachments(runtime, limits=limits or AttachLimits())

    async def attach(request: web.Request) -> web.StreamResponse:
        scopes = frozenset(Scope(each) for each in request.query.getall("scope", [])) or ALL
        access = Access(request.query.get("name", "somebody"), scopes, "header")
        return await attachments.serve(request, access, request.match_info["id"])

    app = web.Application()
    app.router.add_get("/ws/terminal/{id}", attach)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        async with aiohttp.ClientSession() as session:
            yield Server(runtime, attachments, port, session)
    finally:
        async with asyncio.timeout(PATIENCE_S):
            await attachments.close()
            await runner.cleanup()


@pytest.fixture
def dial(tmp_path: Path) -> Dial:
    home = tmp_path / "home"
    home.mkdir()
    return Dial(settings_in(home))


@pytest.fixture
async def rt(dial: Dial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Runtime]:
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    async with build_runtime(dial) as runtime:
        yield runtime


@pytest.fixture
async def terminal(rt: Runtime, tmp_path: Path) -> Terminal:
    return await rt.open_terminal(cwd=tmp_path)


@pytest.fixture
async def server(rt: Runtime, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Server]:
    """Whatever clients do, nothing is logged that somebody would have to look at."""
    async with serving(rt) as server:
        yield server
    loud = [record for record in caplog.records if record.levelname in ("WARNING", "ERROR", "CRITICAL")]
    assert not loud
