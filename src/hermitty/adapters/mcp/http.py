"""Serving many clients over HTTP, in this process."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web

from hermitty.adapters.mcp.app import PATH, asgi_app
from hermitty.adapters.mcp.bridge import AsgiBridge
from hermitty.errors import HostUnavailable

if TYPE_CHECKING:
    from hermitty.adapters.mcp.server import TerminalServer

# Clients that wait are cut off; what they started goes on, or ends with the process.
_LAST_REQUESTS_S = 1.0


@asynccontextmanager
async def http_serving(
    server: "TerminalServer",
    *,
    host: str,
    port: int,
    token: str | None,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    body_bytes: int = 1024 * 1024,
) -> AsyncIterator[str]:
    """Serve as long as the context is open; give the address."""
    own = f"[{host}]" if ":" in host else host
    bridge = AsgiBridge(asgi_app(server, token=token, hosts=[own, *hosts], origins=origins, body_bytes=body_bytes))
    app = web.Application(client_max_size=body_bytes)
    app.router.add_route("*", PATH, bridge.handle)
    app.cleanup_ctx.append(bridge.lifespan)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_LAST_REQUESTS_S)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as exc:
            raise HostUnavailable(f"cannot listen on {host} port {port}: {exc.strerror or exc}") from exc
        bound = runner.addresses[0][1]
        yield f"http://{own}:{bound}{PATH}"
    finally:
        await runner.cleanup()
