"""Standard input and output in front of a server that runs: messages go to its /mcp, and come back.

Each request is a POST of its own, whose answer is JSON or a stream of events. The older protocol also has a session,
which a header names and a GET listens to; when the server was started again, the relay shakes hands anew in the
client's name. What was never sent is sent again for a while; what broke on the way is answered with an error that says
so.
"""

import asyncio
import contextlib
import logging
import random
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from hermitty.adapters.mcp.relay_link import Find, Link, body_of, linked, messages_of, refusal
from hermitty.adapters.mcp.relay_messages import (
    INTERNAL_ERROR,
    SESSION_HEADER,
    VERSION_HEADER,
    Answer,
    Places,
    failure,
    newer_headers,
)
from hermitty.adapters.mcp.stdio import client_messages
from hermitty.client.backoff import Backoff
from hermitty.errors import HermittyError, OutcomeUnknown, ServerUnavailable

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

# Takes the answer to a request.
Deliver = Callable[[Answer], Awaitable[None]]

_PATH = "/mcp"
_QUEUED = 1000
# The first client waits until the server has loaded what it needs.
_CHECK_S = 10.0
# How long a call waits for a server that is being started again.
_RETRY_S = 10.0
# How long the server may take to notice that the client has left.
_LEAVE_S = 1.0

_NEWER = "2026-07-28"
_DISCOVER = JSONRPCRequest(
    jsonrpc="2.0",
    id="hermitty-relay",
    method="server/discover",
    params={
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": _NEWER,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
)
_INITIALIZED = JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")

_log = logging.getLogger("hermitty.mcp")


class _SessionGone(Exception):
    """The server does not know our session of the older protocol: it was started again."""


@dataclass(slots=True, eq=False)
class _Call:
    """A request on its way."""

    is_newer: bool
    task: "asyncio.Task[None] | None" = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)  # at the server, or nowhere any more
    is_cancelled: bool = False


@contextlib.asynccontextmanager
async def relaying(find: Find, *, directory: str | None) -> AsyncIterator["Relay"]:
    """Make a relay to the server that `find` finds; sessions begin in `directory`."""
    async with linked(find) as link:
        yield Relay(link, Places(directory, secrets.token_hex(4)))


class Relay:
    """One client on standard input and output, and the server. Made by `relaying`."""

    def __init__(self, link: Link, places: Places) -> None:
        self._link = link
        self._places = places
        self._out: MemoryObjectSendStream[SessionMessage] | None = None
        self._calls: dict[str | int, _Call] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # Of the older protocol.
        self._hello: JSONRPCRequest | None = None
        self._session: str | None = None
        self._version: str | None = None
        self._subscribed: dict[str, JSONRPCRequest] = {}
        self._shaking = asyncio.Lock()
        self._listening: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Make sure that the server is there and lets us in, or raise what is wrong."""
        try:
            async with asyncio.timeout(_CHECK_S):
                answer = await self._exchange(_DISCOVER)
        except TimeoutError as exc:
            url = self._link.url
            raise ServerUnavailable(f"the server at {url} does not answer within {_CHECK_S:g} s", url) from exc
        if isinstance(answer, JSONRPCError):
            raise ServerUnavailable(f"the server at {self._link.url}: {answer.error.message}", self._link.url)

    async def serve(self) -> None:
        """Carry messages until the input ends. Calls that still wait then are cancelled; the session is released."""
        async with client_messages() as (incoming, outgoing):
            self._out = outgoing
            # A message that waits for the server must not hide the end of the input.
            queue: asyncio.Queue[JSONRPCMessage] = asyncio.Queue(_QUEUED)
            self._start(self._pump(queue))
            try:
                async for each in incoming:
                    if isinstance(each, SessionMessage):
                        await queue.put(each.message)
            finally:
                await self._leave()

    async def _pump(self, queue: "asyncio.Queue[JSONRPCMessage]") -> None:
        while True:
            await self._forward(await queue.get())

    async def _forward(self, message: JSONRPCMessage) -> None:
        match message:
            case JSONRPCRequest(method="initialize"):
                # The session that it opens is needed for whatever comes next.
                self._hello, self._session, self._version = message, None, None
                if self._listening is not None:
                    self._listening.cancel()
                    self._listening = None
                self._places.meet(message)
                await self._carry(message, self._enter(message))
            case JSONRPCRequest():
                self._places.meet(message)
                call = self._enter(message)
                call.task = self._start(self._carry(message, call))
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                self._cancel((params or {}).get("requestId"), message)
            case _ if self._session is not None:
                # In the order in which they came: what follows may count on it. The newer protocol has none of these.
                await self._tell(message)
                if isinstance(message, JSONRPCNotification) and message.method == _INITIALIZED.method:
                    self._listening = self._listening or self._start(self._listen())

    # Calls.

    def _enter(self, request: JSONRPCRequest) -> _Call:
        call = _Call(is_newer=newer_headers(request) is not None)
        self._calls[request.id] = call
        return call

    async def _carry(self, request: JSONRPCRequest, call: _Call) -> None:
        """Send a request, and its answer to the client."""
        try:
            lost = await self._try(request, call)
            if lost is not None and not call.is_cancelled:
                await self._pass_on(lost)
        finally:
            call.arrived.set()
            if self._calls.get(request.id) is call:
                del self._calls[request.id]

    async def _try(self, request: JSONRPCRequest, call: _Call) -> JSONRPCError | None:
        """Send a request until it arrives, and see to its answer; return what to answer when there is none."""
        backoff = Backoff(_RETRY_S)
        while True:
            session = self._session
            try:
                placed = await self._placed(request)

                async def deliver(answer: Answer, placed: JSONRPCRequest = placed) -> None:
                    self._note(placed, answer)
                    if not call.is_cancelled:
                        await self._pass_on(answer)

                await self._exchange(placed, call, deliver)
                return None
            except _SessionGone:
                error: HermittyError = ServerUnavailable("the server was started again", self._link.url)
                with contextlib.suppress(HermittyError):
                    await self._shake_hands(session)
                    backoff.succeeded()  # it is there, however long it was away
            except OutcomeUnknown as exc:
                self._broke()
                return failure(request, f"{exc}; it may have been done, so look (`list`) before you ask again")
            except ServerUnavailable as exc:  # nothing was sent
                self._broke()
                error = exc
            pause_s = backoff.pause_s(asyncio.get_running_loop().time(), random.random())
            if pause_s is None or call.is_cancelled:
                return failure(request, f"{error}; nothing was done, and the next call tries again")
            await asyncio.sleep(pause_s)

    async def _placed(self, request: JSONRPCRequest) -> JSONRPCRequest:
        """Give a call its session and its directory."""
        session = self._places.asks_about(request)
        if session is not None:
            try:
                async with self._link.send("GET", "/api/sessions") as response:
                    known = await response.json() if response.status == 200 else {}
            except OutcomeUnknown as exc:  # of a question that changes nothing
                raise ServerUnavailable(str(exc), exc.url) from exc
            if any(each["id"] == session for each in known.get("sessions", [])):
                self._places.begun.add(session)
        return self._places.placed(request)

    def _note(self, request: JSONRPCRequest, answer: Answer) -> None:
        """Remember what has to be known when the server is started again."""
        self._places.answered(request, answer)
        if isinstance(answer, JSONRPCResponse) and request.method in ("resources/subscribe", "resources/unsubscribe"):
            uri = str((request.params or {}).get("uri"))
            self._subscribed.pop(uri, None)
            if request.method == "resources/subscribe":
                self._subscribed[uri] = request

    def _cancel(self, request_id: Any, notification: JSONRPCNotification) -> None:
        call = self._calls.get(request_id) if isinstance(request_id, str | int) else None
        if call is None:
            return  # it is answered
        call.is_cancelled = True
        if not call.is_newer:
            self._start(self._tell_of_cancelling(call, notification))
        elif call.task is not None:
            call.task.cancel()  # the newer protocol over HTTP: whoever hangs up cancels

    async def _tell_of_cancelling(self, call: _Call, notification: JSONRPCNotification) -> None:
        # Another connection may be quicker than the one of the request.
        await call.arrived.wait()
        await self._tell(notification)

    async def _exchange(
        self, request: JSONRPCRequest, call: _Call | None = None, deliver: Deliver | None = None
    ) -> Answer:
        """Send a request and return its answer; what comes before that goes to the client.

        The answer is delivered at once, and the rest of it read: only then the connection can be used again. Raises
        OutcomeUnknown when the connection breaks, and ServerUnavailable when nothing was sent.
        """
        is_hello = request.method == "initialize"
        headers = newer_headers(request)
        if headers is None:
            headers = {} if is_hello else self._older_headers()
        answer: Answer | None = None
        try:
            named = {**headers, **self._places.headers(request)}
            async with self._link.send("POST", _PATH, body_of(request), named) as response:
                if response.status == 404 and SESSION_HEADER in headers:
                    raise _SessionGone
                if response.status == 401 and self._broke():
                    raise ServerUnavailable("the server has another token now", self._link.url)
                if call is not None:
                    call.arrived.set()
                async for message in messages_of(response):
                    if not isinstance(message, JSONRPCResponse | JSONRPCError):
                        await self._pass_on(message)
                    elif answer is None:
                        answer = message.model_copy(update={"id": request.id})  # a refusal may have none
                        if is_hello and isinstance(answer, JSONRPCResponse):
                            self._session = response.headers.get(SESSION_HEADER)
                            self._version = str(answer.result.get("protocolVersion", ""))
                        if deliver is not None:
                            await deliver(answer)
                if answer is None and response.status >= 300:
                    answer = failure(request, await refusal(response), INTERNAL_ERROR)
                    if deliver is not None:
                        await deliver(answer)
        except OutcomeUnknown:
            if answer is None:
                raise
        if answer is None:
            raise self._link.unknown("it ended without an answer")
        return answer

    async def _tell(self, message: JSONRPCMessage) -> None:
        """Send what is not answered. A server that is away has nothing left that it could be about."""
        try:
            async with self._link.send("POST", _PATH, body_of(message), self._older_headers()):
                pass
        except ServerUnavailable as exc:
            _log.debug("not told: %s", exc)

    # The session of the older protocol.

    async def _shake_hands(self, stale: str | None) -> None:
        """Open a session in place of one that is gone, with everything that the client has set up in it."""
        async with self._shaking:
            if self._session != stale or self._hello is None:
                return
            hello = self._hello.model_copy(update={"id": "hermitty-relay"})
            if isinstance(await self._exchange(hello), JSONRPCError):
                raise ServerUnavailable("the server does not shake hands any more", self._link.url)
            await self._tell(_INITIALIZED)
            for request in list(self._subscribed.values()):
                with contextlib.suppress(_SessionGone):
                    await self._exchange(request.model_copy(update={"id": "hermitty-relay"}))

    async def _listen(self) -> None:
        """Pass on what the server says by itself; find it again when it is away."""
        backoff = Backoff(None)
        while True:
            session = self._session
            try:
                async with self._link.send("GET", _PATH, None, self._older_headers()) as response:
                    if response.status == 404:
                        raise _SessionGone
                    if response.status == 405:
                        return
                    if response.status == 200:
                        async for message in messages_of(response):
                            backoff.succeeded()
                            await self._pass_on(message)
            except _SessionGone:
                with contextlib.suppress(HermittyError):
                    await self._shake_hands(session)
            except HermittyError as exc:
                _log.debug("not heard: %s", exc)
            if self._session != session:
                backoff.succeeded()
                continue
            self._broke()
            await asyncio.sleep(backoff.pause_s(asyncio.get_running_loop().time(), random.random()) or 0.0)

    def _older_headers(self) -> dict[str, str]:
        named = {SESSION_HEADER: self._session, VERSION_HEADER: self._version}
        return {name: value for name, value in named.items() if value}

    # The rest.

    def _broke(self) -> bool:
        """Look for the server, which may be elsewhere now and not know what it knew; tell whether it has moved."""
        self._places.begun.clear()
        return self._link.find_again()

    async def _pass_on(self, message: JSONRPCMessage) -> None:
        # A client that reads no more has left, and its input ends.
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            assert self._out is not None
            await self._out.send(SessionMessage(message))

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (exc := task.exception()) is not None:
            _log.error("a message was lost", exc_info=exc)

    async def _leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        with contextlib.suppress(TimeoutError, ServerUnavailable):
            async with asyncio.timeout(_LEAVE_S):
                if self._session is not None:
                    async with self._link.send("DELETE", _PATH, None, self._older_headers()):
                        pass
                if self._places.own is not None:
                    async with self._link.send("POST", f"/api/sessions/{quote(self._places.own, safe='')}/release"):
                        pass
