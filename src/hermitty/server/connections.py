"""Connections: how many there may be, and answers of the one shape to what is not even HTTP."""

import asyncio
import logging
from typing import Any, cast

from aiohttp import web
from aiohttp.http_exceptions import LineTooLong

from hermitty.server.errors import http_body
from hermitty.server.headers import SECURITY_HEADERS, json_response
from hermitty.server.reading import write_json

_BACKLOG = 512


class Connection(web.RequestHandler):
    """One connection. What the parser refuses is answered as everything else is, and not logged with its content.

    One on which nothing is asked for as long as one may be idle is closed; after the first request, aiohttp does that.
    """

    __slots__ = ("_idle",)
    _idle: asyncio.TimerHandle | None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._idle = asyncio.get_running_loop().call_later(self.keepalive_timeout, transport.close)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop to wait."""
        self.has_asked()
        super().connection_lost(exc)

    def has_asked(self) -> None:
        """Note that a request came."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what cannot be read or went wrong outside of every handler."""
        logging.getLogger("hermitty.server").debug("a request could not be read: %s", type(exc).__name__)
        if request.writer.output_size > 0:
            raise ConnectionError("a part of the answer is sent already")
        if isinstance(exc, LineTooLong):
            status = 431
        text = "the server could not do it" if status >= 500 else None
        response = json_response(http_body(status, text), status=status, headers=SECURITY_HEADERS)
        response.force_close()
        return response


class _Full(asyncio.Protocol):
    """A connection that is one too many: it is told so, and closed."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The loop may be of another make, whose transports are of another class.
        told = cast("asyncio.WriteTransport", transport)
        body = write_json(http_body(503, "the server has as many connections as it takes"))
        head = (
            "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
        )
        told.write(head.encode() + body)
        told.close()


class Site(web.BaseSite):
    """Where an application listens: sockets that are bound already, and at most so many connections."""

    __slots__ = ("_kwargs", "_most", "_servers", "_sockets")

    def __init__(
        self, runner: web.AppRunner, sockets: list[Any], *, most: int, ssl_context: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(runner, ssl_context=ssl_context, backlog=_BACKLOG)
        self._sockets = sockets
        self._most = most
        self._kwargs = kwargs
        self._servers: list[asyncio.AbstractServer] = []

    @property
    def name(self) -> str:
        """Return where it is, for people."""
        return ", ".join(str(sock.getsockname()[:2]) for sock in self._sockets)

    async def start(self) -> None:
        """Listen."""
        await super().start()
        loop = asyncio.get_running_loop()
        for sock in self._sockets:
            self._servers.append(
                await loop.create_server(self._connection, sock=sock, ssl=self._ssl_context, backlog=self._backlog)
            )

    async def stop(self) -> None:
        """Listen no more; connections go on."""
        for server in self._servers:
            server.close()
        await super().stop()

    def _connection(self) -> asyncio.BaseProtocol:
        server = self._runner.server
        if server is None or len(server.connections) >= self._most:
            return _Full()
        # Nobody needs compressed requests, and a small one can hold a very large body.
        return Connection(server, loop=asyncio.get_running_loop(), auto_decompress=False, **self._kwargs)
