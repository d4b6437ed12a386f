"""The server as an ASGI application: streamable HTTP at /mcp, with a token, and only under its own names."""

import asyncio
import hmac
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from hermitty.adapters.mcp.server import TerminalServer

PATH = "/mcp"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_BODY_BYTES = 1024 * 1024
# Of sse-starlette, which starts it with the first stream of an event loop, and ends it never.
_WATCHER = "_shutdown_watcher"


def asgi_app(
    server: "TerminalServer",
    *,
    token: str | None,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    body_bytes: int = _BODY_BYTES,
    checks_place: bool = True,
) -> "ASGIApp":
    """Make the application. It has to be started and ended (lifespan).

    Without a token everybody is let in, and with `checks_place` false from everywhere: for an application around this
    one that has checked both, and says in the scope of each request what it may do (`rights.known_as`).
    """
    names = [*_LOOPBACK, *hosts]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=checks_place,
        allowed_hosts=[each for name in names for each in (name, f"{name}:*")],
        allowed_origins=[
            *(f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in names for port in ("", ":*")),
            *origins,
        ],
    )
    app: ASGIApp = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=security, max_request_body_size=body_bytes
    )
    return _Owner(AuthContextMiddleware(app) if token is None else _Tokened(app, token))


class _Owner:
    """Ends what the application's event streams leave behind: a task that looks for the end of a uvicorn."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        try:
            await self._app(scope, receive, send)
        finally:
            if scope["type"] == "lifespan":
                left = {task for task in asyncio.all_tasks() if _name_of(task) == _WATCHER}
                for task in left:
                    task.cancel()
                if left:
                    await asyncio.wait(left)


def _name_of(task: "asyncio.Task[Any]") -> str:
    return getattr(task.get_coro(), "__qualname__", "")


class _Tokened:
    """Lets nobody in without the token. Which address somebody came to is not their secret: that is told first."""

    def __init__(self, app: "ASGIApp", token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "http" and not self._is_known(Headers(scope=scope).get("authorization", "")):
            refusal = JSONResponse(
                {"error": {"code": "not_authenticated", "message": "send the token: Authorization: Bearer …"}},
                status_code=401,
                headers={"WWW-Authenticate": 'Bearer realm="hermitty"'},
            )
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_known(self, header: str) -> bool:
        scheme, _, shown = header.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(shown.strip().encode("utf-8", "replace"), self._token)
