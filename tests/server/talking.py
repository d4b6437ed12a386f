"""Talking to a server as its clients do, over a socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web

from hermitty.server.parts import PARTS, Parts
from hermitty.server.serving import Serving
from tests.support.shells import PATIENCE_S


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of the error that it tells; its body has the one shape."""
        value = self.json
        assert set(value) == {"error"}
        assert isinstance(value["error"]["message"], str)
        code = value["error"]["code"]
        assert isinstance(code, str)
        return code


@dataclass(frozen=True, slots=True)
class SentEvent:
    """One server-sent event."""

    id: str
    name: str
    data: Any


class Client:
    """Somebody with a token. Opened as a context."""

    def __init__(self, server: Serving, token: str | None) -> None:
        self.server = server
        self.url = server.url
        self.token = token
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        # Without a jar: a test that wants a cookie sends it.
        self._session = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout(total=PATIENCE_S)
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    @property
    def parts(self) -> Parts:
        """The insides of the server."""
        return self.server.app[PARTS]

    @property
    def app(self) -> web.Application:
        """The server's application."""
        return self.server.app

    async def ask(
        self,
        method: str,
        path: str,
        value: object = None,
        *,
        data: bytes | Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        token: str | None = "",
    ) -> Answer:
        """Send a request. `token` is the client's own unless given; None sends none."""
        shown = self.token if token == "" else token
        sent = {"Authorization": f"Bearer {shown}"} if shown is not None else {}
        body = data if value is None else json.dumps(value).encode()
        async with self._session.request(
            method, self.url + path, data=body, headers={**sent, **(headers or {})}, allow_redirects=False
        ) as response:
            return Answer(response.status, response.headers, await response.read())

    async def get(self, path: str, **options: Any) -> Answer:
        """GET."""
        return await self.ask("GET", path, **options)

    async def post(self, path: str, value: object = None, **options: Any) -> Answer:
        """POST JSON."""
        return await self.ask("POST", path, {} if value is None and "data" not in options else value, **options)

    async def run(self, command: str | list[str], **fields: Any) -> Any:
        """Run a command and return its result."""
        answer = await self.post("/api/run", {"command": command, **fields})
        assert answer.status == 200, answer.body
        return answer.json

    async def open(self, **fields: Any) -> Any:
        """Open a terminal and return it."""
        answer = await self.post("/api/terminals", fields)
        assert answer.status == 201, answer.body
        return answer.json

    @asynccontextmanager
    async def events(self, *, last: str | None = None, since: str | None = None) -> AsyncIterator["Events"]:
        """Follow what happens."""
        headers = {"Authorization": f"Bearer {self.token}"}
        if last is not None:
            headers["Last-Event-ID"] = last
        params = {"since": since} if since is not None else {}
        timeout = aiohttp.ClientTimeout(total=None, sock_read=PATIENCE_S)
        async with self._session.get(
            f"{self.url}/api/events", headers=headers, params=params, timeout=timeout
        ) as response:
            assert response.status == 200, await response.read()
            assert response.content_type == "text/event-stream"
            yield Events(response)

    def websocket(self, path: str, **headers: str) -> Any:
        """Open a WebSocket; a context."""
        return self._session.ws_connect(self.url + path, headers=headers)


class Events:
    """A stream of events that is being read."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.comments: list[str] = []

    async def next(self) -> SentEvent | None:
        """Read the next event; None at the end of the stream."""
        fields: dict[str, str] = {}
        while True:
            line = (await self._response.content.readline()).decode()
            if not line:
                return None
            if line == "\n":
                if "event" in fields:
                    return SentEvent(fields["id"], fields["event"], json.loads(fields["data"]))
                fields = {}
            elif line.startswith(":"):
                self.comments.append(line[1:].strip())
            else:
                name, _, value = line.rstrip("\n").partition(": ")
                fields[name] = value

    async def until(self, name: str) -> SentEvent:
        """Read until an event of that name."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                event = await self.next()
                assert event is not None, f"the stream ended before {name}"
                if event.name == name:
                    return event
