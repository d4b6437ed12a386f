"""The MCP server as a part of `hermitty serve`, at /mcp: made when the first client comes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from aiohttp import web

from hermitty.errors import NotSupported
from hermitty.server.access import Scope
from hermitty.server.guard import check_scope
from hermitty.server.parts import PARTS

if TYPE_CHECKING:
    from hermitty.adapters.mcp.bridge import AsgiBridge

_PATH = "/mcp"


def mount_mcp(app: web.Application) -> None:
    """Let clients of the Model Context Protocol use the runtime of a server, with a token for `run`."""
    mounted = _Mounted(app)
    app.router.add_route("*", _PATH, mounted.handle)
    app.on_shutdown.append(mounted.hang_up)
    app.cleanup_ctx.append(mounted.life)


class _Mounted:
    def __init__(self, app: web.Application) -> None:
        self._parts = app[PARTS]
        self._stack = AsyncExitStack()
        self._bridge: asyncio.Task[AsgiBridge] | None = None
        self._answering: set[asyncio.Task[object]] = set()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
        access = self._parts.guard.identify(request)
        check_scope(access, Scope.RUN)
        self._parts.guard.check_rate(access)
        if self._bridge is None:
            self._bridge = asyncio.get_running_loop().create_task(self._make())
        bridge = await asyncio.shield(self._bridge)
        answering = asyncio.current_task()
        assert answering is not None
        self._answering.add(answering)
        try:
            return await bridge.handle(request)
        finally:
            self._answering.discard(answering)

    async def hang_up(self, _app: web.Application) -> None:
        """End the streams of clients, who would listen for ever."""
        for answering in self._answering:
            answering.cancel()

    async def life(self, _app: web.Application) -> AsyncIterator[None]:
        """End it with the application."""
        yield
        if self._bridge is not None:
            await asyncio.wait({self._bridge})
        await self._stack.aclose()

    async def _make(self) -> "AsgiBridge":
        try:
            from hermitty.adapters.mcp.app import asgi_app
            from hermitty.adapters.mcp.bridge import AsgiBridge
            from hermitty.adapters.mcp.local import LocalTerminals
            from hermitty.adapters.mcp.server import serving
        except ImportError as exc:
            raise NotSupported(f"MCP needs more packages ({exc.name} is missing); install hermitty[mcp]") from exc
        recordings = self._parts.runtime.recordings
        terminals = LocalTerminals(
            self._parts.runtime, read_cast=recordings.open_cast if recordings is not None else None
        )
        server = await self._stack.enter_async_context(serving(terminals))
        # The guard has looked at the token, the Host and the Origin.
        bridge = AsgiBridge(asgi_app(server, token=None, checks_place=False))
        await self._stack.enter_async_context(bridge.running())
        return bridge
