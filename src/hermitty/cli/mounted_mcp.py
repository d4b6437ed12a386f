"""The MCP server as a part of `hermitty serve`, at /mcp: made when the first client comes.

It is told with each request which token was shown, and what that is for.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hermitty.errors import HermittyError, NotSupported
from hermitty.server.access import Access, Scope
from hermitty.server.guard import check_scope
from hermitty.server.parts import PARTS

if TYPE_CHECKING:
    from hermitty.adapters.mcp.bridge import AsgiBridge
    from hermitty.adapters.mcp.local import LocalTerminals

_PATH = "/mcp"
# How long calls may take to answer when the server ends.
_LAST_CALLS_S = 3.0


def mount_mcp(app: web.Application) -> None:
    """Let clients of the Model Context Protocol use the runtime of a server, with a token for `run`.

    What a tool needs besides is what the HTTP API needs for the same; without `approve`, nobody is asked by the client.
    """
    mounted = _Mounted(app)
    app.router.add_route("*", _PATH, mounted.handle)
    app.on_shutdown.append(mounted.hang_up)
    app.cleanup_ctx.append(mounted.life)


class _Mounted:
    def __init__(self, app: web.Application) -> None:
        self._parts = app[PARTS]
        self._stack = AsyncExitStack()
        self._bridge: asyncio.Task[AsgiBridge] | None = None
        self._terminals: LocalTerminals | None = None
        self._calls: set[asyncio.Task[object]] = set()
        self._streams: set[asyncio.Task[object]] = set()
        self._kept: set[asyncio.Task[object]] = set()

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
        listens = request.method == "GET" or request.headers.get("Mcp-Method") == "subscriptions/listen"
        alike = self._streams if listens else self._calls
        alike.add(answering)

        def turn_out() -> None:
            # A call that has arrived is answered; what listens would go on.
            if listens or not request.content.is_eof():
                answering.cancel()

        try:
            with self._parts.guard.standing.hold(access, turn_out):
                return await bridge.handle(request, _known_as(access))
        finally:
            alike.discard(answering)

    async def hang_up(self, _app: web.Application) -> None:
        """Answer the calls that wait, and end the streams of clients, who would listen for ever."""
        if self._terminals is not None:
            self._terminals.stop_waiting()
        if self._calls:
            await asyncio.wait(self._calls, timeout=_LAST_CALLS_S)
        for answering in self._streams | self._calls:
            answering.cancel()

    async def life(self, _app: web.Application) -> AsyncIterator[None]:
        """End it with the application."""
        yield
        if self._bridge is not None:
            await asyncio.wait({self._bridge})
        await self._stack.aclose()
        await asyncio.sleep(0)  # what was kept has a new owner now

    async def _make(self) -> "AsgiBridge":
        try:
            from hermitty.adapters.mcp.app import asgi_app
            from hermitty.adapters.mcp.bridge import AsgiBridge
            from hermitty.adapters.mcp.local import LocalTerminals
            from hermitty.adapters.mcp.server import serving
        except ImportError as exc:
            raise NotSupported(f"MCP needs more packages ({exc.name} is missing); install hermitty[mcp]") from exc
        recordings = self._parts.runtime.recordings
        self._terminals = LocalTerminals(
            self._parts.runtime,
            read_cast=recordings.open_cast if recordings is not None else None,
            keep=self._keep,
        )
        server = await self._stack.enter_async_context(serving(self._terminals))
        # The guard has looked at the token, the Host and the Origin.
        bridge = AsgiBridge(asgi_app(server, token=None, checks_place=False))
        await self._stack.enter_async_context(bridge.running())
        return bridge

    def _keep(self, command: "asyncio.Task[Any]") -> None:
        """Give a command that no call waits for to the server's other runs: they end after the runtime, by its will."""
        keeping = asyncio.get_running_loop().create_task(self._parts.runs.detached(_ended(command)))
        self._kept.add(keeping)
        keeping.add_done_callback(self._kept.discard)


def _known_as(access: Access) -> dict[str, Any]:
    from hermitty.adapters.mcp.rights import known_as

    return known_as(access.token_id, [scope.value for scope in Scope if access.may(scope)])


async def _ended(command: "asyncio.Task[Any]") -> None:
    with contextlib.suppress(HermittyError):  # that the runtime is closed
        await command
