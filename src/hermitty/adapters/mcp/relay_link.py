"""The connections of a relay to its server: what was never sent and what broke on the way are told apart."""

import contextlib
import json
from collections.abc import AsyncIterator, Callable

import aiohttp
from mcp.types import JSONRPCMessage, jsonrpc_message_adapter

from hermitty.client.finding import ServerAddress
from hermitty.client.sse import EventParser
from hermitty.errors import HermittyError, OutcomeUnknown, ServerUnavailable

# Returns where the server is now: it may come back elsewhere, and with another token.
Find = Callable[[], ServerAddress]

_CONNECT_S = 5.0
# The server says every 15 s that it is alive: one that is silent for longer than this is not there.
_SILENCE_S = 60.0
_EVENT_BYTES = 64 * 1024 * 1024
_TEXT_CHARACTERS = 2000


@contextlib.asynccontextmanager
async def linked(find: Find) -> AsyncIterator["Link"]:
    """Open the way to the server that `find` finds."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=10),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=_SILENCE_S),
        cookie_jar=aiohttp.DummyCookieJar(),
    ) as http:
        yield Link(http, find)


class Link:
    """The way to a server. Made by `linked`."""

    def __init__(self, http: aiohttp.ClientSession, find: Find) -> None:
        self._http = http
        self._find = find
        self._address = find()

    @property
    def url(self) -> str:
        """Return where the server is."""
        return self._address.url

    @contextlib.asynccontextmanager
    async def send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Give the answer to a request, whatever its status, as long as the context is open.

        Raises OutcomeUnknown when the connection breaks, here or in the context, and ServerUnavailable when nothing was
        sent.
        """
        address = self._address
        usual = {"Authorization": f"Bearer {address.token}", "Accept": "application/json, text/event-stream"}
        if body is not None:
            usual["Content-Type"] = "application/json"
        try:
            async with self._http.request(
                method, address.url + path, data=body, headers={**usual, **(headers or {})}, allow_redirects=False
            ) as response:
                yield response
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as exc:
            why = getattr(exc, "strerror", None) or str(exc) or type(exc).__name__
            raise ServerUnavailable(f"no server answers at {address.url} ({why})", address.url) from exc
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as exc:
            raise self.unknown(str(exc) or type(exc).__name__) from exc

    def unknown(self, why: str) -> OutcomeUnknown:
        """Say that nobody knows what became of a request."""
        url = self._address.url
        return OutcomeUnknown(f"the connection to the hermitty server at {url} broke before the answer ({why})", url)

    def find_again(self) -> bool:
        """Look where the server is now, and tell whether that, or its token, is another."""
        before = self._address
        with contextlib.suppress(HermittyError):  # it is being started
            self._address = self._find()
        return self._address != before


def body_of(message: JSONRPCMessage) -> bytes:
    """Write a message."""
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


async def messages_of(response: aiohttp.ClientResponse) -> AsyncIterator[JSONRPCMessage]:
    """Yield the messages of an answer, whichever way it has them; none if it is no answer of the protocol."""
    if response.content_type == "text/event-stream":
        parser = EventParser(_EVENT_BYTES)
        async for data in response.content.iter_any():
            for event in parser.feed(data):
                if (message := _message(event.data)) is not None:
                    yield message
    elif (message := _message(await response.read())) is not None:
        yield message


async def refusal(response: aiohttp.ClientResponse) -> str:
    """Return what a server says that does not do what it is asked."""
    try:
        said = str(json.loads(await response.read())["error"]["message"])
    except (ValueError, TypeError, KeyError, RecursionError):
        said = f"status {response.status}"
    return f"the hermitty server refused: {said[:_TEXT_CHARACTERS]}"


def _message(data: str | bytes) -> JSONRPCMessage | None:
    try:
        return jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValueError:  # an error of the server, which is none of the protocol
        return None
