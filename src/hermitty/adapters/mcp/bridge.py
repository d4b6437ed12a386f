"""An ASGI application inside of an aiohttp application: requests and streamed answers, start and end.

WebSockets are not bridged. A client that leaves is told to the application as a disconnection.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from aiohttp import web

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

# The transport decides about these; what the application says of them would be said twice.
_HOP_BY_HOP = frozenset({b"connection", b"transfer-encoding", b"keep-alive"})

# aiohttp tells a handler nothing of a client that leaves, unless it is cancelled: how often it is looked at.
_LOOK_S = 0.1


class AsgiBridge:
    """Serves one ASGI application.

    web.route("*", "/mcp", bridge.handle); app.cleanup_ctx.append(bridge.lifespan)
    """

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def lifespan(self, _app: web.Application) -> AsyncIterator[None]:
        """Start the application, and end it: for `cleanup_ctx`."""
        async with self.running():
            yield

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the application's lifespan for as long as the context is open."""
        loop = asyncio.get_running_loop()
        told: asyncio.Queue[Message] = asyncio.Queue()
        started: asyncio.Future[None] = loop.create_future()

        async def send(message: Message) -> None:
            if started.done():
                return
            if message["type"] == "lifespan.startup.complete":
                started.set_result(None)
            elif message["type"] == "lifespan.startup.failed":
                started.set_exception(RuntimeError(message.get("message", "the application did not start")))

        # One task: what the application opens at its start, it closes in the same task.
        life = loop.create_task(_life(self._app({"type": "lifespan", "asgi": {"version": "3.0"}}, told.get, send)))
        told.put_nowait({"type": "lifespan.startup"})
        try:
            await asyncio.wait({started, life}, return_when=asyncio.FIRST_COMPLETED)
            if not started.done():
                life.result()
                raise RuntimeError("the application ended before it had started")
            started.result()
            yield
        finally:
            started.cancel()
            told.put_nowait({"type": "lifespan.shutdown"})
            await asyncio.wait({life})
            life.result()

    async def handle(self, request: web.Request, known: Mapping[str, Any] | None = None) -> web.StreamResponse:
        """Answer a request. `known` is added to its scope."""
        exchange = _Exchange(request)
        await self._app({**_scope(request), **(known or {})}, exchange.receive, exchange.send)
        if exchange.response is None:
            raise web.HTTPInternalServerError
        return exchange.response


class _Exchange:
    """One request and its answer."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._is_read = False
        self.response: web.StreamResponse | None = None

    async def receive(self) -> Message:
        content = self._request.content
        if not self._is_read:
            data = await content.readany()
            self._is_read = content.at_eof()
            return {"type": "http.request", "body": data, "more_body": not self._is_read}
        while (transport := self._request.transport) is not None and not transport.is_closing():
            await asyncio.sleep(_LOOK_S)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        # Whoever left is told by `receive`; to write for them is not the application's mistake.
        with contextlib.suppress(ConnectionError):
            await self._send(message)

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            response = web.StreamResponse(status=message["status"])
            for name, value in message.get("headers", ()):
                if name.lower() not in _HOP_BY_HOP:
                    response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
            self.response = response
            await response.prepare(self._request)
        elif message["type"] == "http.response.body" and self.response is not None:
            if data := message.get("body", b""):
                await self.response.write(data)
            if not message.get("more_body", False):
                await self.response.write_eof()


async def _life(running: Awaitable[None]) -> None:
    await running


def _scope(request: web.Request) -> MutableMapping[str, Any]:
    peer = request.transport.get_extra_info("peername") if request.transport is not None else None
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": f"{request.version.major}.{request.version.minor}",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.raw_path.partition("?")[0].encode("ascii", "replace"),
        "query_string": request.raw_path.partition("?")[2].encode("ascii", "replace"),
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.raw_headers],
        "client": tuple(peer[:2]) if isinstance(peer, tuple) else None,
        "server": None,
    }
