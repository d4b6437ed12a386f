"""Requests to a server: one at a time answered, errors as they would be here, breaks of the connection told apart.

What was never sent may be sent; what only looks may be asked again; anything else is sent once.
"""

import asyncio
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import aiohttp

from hermitty.client.backoff import Backoff
from hermitty.client.failures import error_of
from hermitty.client.finding import ServerAddress
from hermitty.errors import InvalidMessage, ServerUnavailable
from hermitty.wire.records import to_json

# A server that takes so long to accept a connection, or to answer what needs no waiting, is not there.
_CONNECT_S = 10.0
_ANSWER_S = 60.0
# Waiting is done in slices: what is between may drop connections on which nothing happens for a minute.
SLICE_S = 25.0

Query = Mapping[str, str | int | float | bool | None]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Read it as JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as exc:
            raise InvalidMessage("the server's answer is not JSON") from exc


class ConnectionBroke(ServerUnavailable):
    """The connection broke after a request was sent. Whoever sent it decides what that means."""

    code = ServerUnavailable.code


class Http:
    """The connections to one server. Use it as an async context manager."""

    def __init__(self, address: ServerAddress, *, retry_s: float) -> None:
        self.address = address
        self.retry_s = retry_s
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            # A connection for each command that is waited for, and some more.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=10),
            headers={"Authorization": f"Bearer {self.address.token}"},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=True,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.session.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        """Return the open session."""
        if self._session is None or self._session.closed:
            raise ServerUnavailable("the connection to the server is closed; open another one", self.address.url)
        return self._session

    def url(self, path: str) -> str:
        """Return the address of a path of the server."""
        return f"{self.address.url}{path}"

    async def get(self, path: str, *, query: Query | None = None, wait_s: float = 0.0) -> Answer:
        """Ask for something, again while the server cannot be reached; `wait_s` is how long it was asked to wait."""
        return await self.send("GET", path, query=query, answer_s=_ANSWER_S + wait_s, repeatable=True)

    async def send(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Query | None = None,
        answer_s: float | None = _ANSWER_S,
        repeatable: bool = False,
    ) -> Answer:
        """Send a request and return its answer, or raise the error that it tells.

        No answer within `answer_s` is a break of the connection; None: it may take for ever. What is not `repeatable`
        is sent once: raises ConnectionBroke when nobody knows whether it arrived.
        """
        backoff = Backoff(self.retry_s)
        while True:
            try:
                return await self._once(method, path, body, query, answer_s)
            except ConnectionBroke as exc:
                if not repeatable:
                    raise
                error: ServerUnavailable = exc
            except ServerUnavailable as exc:  # nothing was sent
                error = exc
            pause_s = backoff.pause_s(asyncio.get_running_loop().time(), random.random())
            if pause_s is None:
                raise ServerUnavailable(error.message, self.address.url) from error
            await asyncio.sleep(pause_s)

    async def _once(self, method: str, path: str, body: object, query: Query | None, answer_s: float | None) -> Answer:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=answer_s)
        data = None if body is None else to_json(body).encode()
        headers = {} if data is None else {"Content-Type": "application/json"}
        params = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        try:
            async with self.session.request(
                method,
                self.url(path),
                params=params,
                data=data,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
            ) as response:
                answer = Answer(response.status, response.headers, await response.read())
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as exc:
            raise self.unavailable(exc) from exc
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as exc:
            why = str(exc) or type(exc).__name__
            raise ConnectionBroke(
                f"the connection to the server at {self.address.url} broke: {why}", self.address.url
            ) from exc
        if answer.status >= 300:
            raise error_of(answer.status, answer.body)
        return answer

    def unavailable(self, exc: BaseException) -> ServerUnavailable:
        """Say that nobody answers, and what to do."""
        why = getattr(exc, "strerror", None) or str(exc) or type(exc).__name__
        return ServerUnavailable(
            f"no server answers at {self.address.url} ({why}); start it with `hermitty serve`", self.address.url
        )


def part(text: str) -> str:
    """Return any text as one part of a path."""
    return quote(text, safe="")


def _text(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
