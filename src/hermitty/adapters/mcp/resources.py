"""Terminals as resources, and telling subscribers of both eras that one changed.

An update says only that something changed; whoever wants to know reads again. Nothing is watched as long as nobody
listens to it, and an update is told at most four times a second.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp.types import EmptyResult, InitializeRequestParams, SubscribeRequestParams, UnsubscribeRequestParams
from mcp.types import Resource as ListedResource

from hermitty.adapters.mcp.answers import data_of
from hermitty.adapters.mcp.terminals import Change, Terminals
from hermitty.errors import HermittyError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

LIST_URI = "hermitty://terminals"
OUTPUT, SCREEN, RECORDING = "output", "screen", "recording"

_OUTPUT_BYTES = 100_000
_INTERVAL_S = 0.25
_MOST_SUBSCRIBERS = 1000


def uri_of(terminal: str, kind: str) -> str:
    """Return the address of a terminal's resource."""
    return f"terminal://{terminal}/{kind}"


def add_resources(server: "MCPServer[Any]", terminals: Terminals) -> None:
    """Register the resources of terminals."""

    @server.resource(
        LIST_URI, name="terminals", description="The terminals that are open.", mime_type="application/json"
    )
    async def listed() -> str:
        return json.dumps([data_of(each) for each in await terminals.listed(None)])

    @server.resource(
        uri_of("{terminal}", OUTPUT),
        name="output",
        description="The newest output of a terminal.",
        mime_type="text/plain",
    )
    async def output(terminal: str) -> str:
        try:
            return (await terminals.read(_checked(terminal), offset=-_OUTPUT_BYTES, limit=_OUTPUT_BYTES)).text
        except HermittyError as error:
            raise ResourceNotFoundError(str(error)) from error

    @server.resource(
        uri_of("{terminal}", SCREEN), name="screen", description="What a terminal shows.", mime_type="text/plain"
    )
    async def screen(terminal: str) -> str:
        try:
            return (await terminals.screen(_checked(terminal), picture=False)).text
        except HermittyError as error:
            raise ResourceNotFoundError(str(error)) from error

    @server.resource(
        uri_of("{terminal}", RECORDING),
        name="recording",
        description="The recording of a terminal, as asciicast.",
        mime_type="application/x-asciicast",
    )
    async def recording(terminal: str) -> bytes:
        found = await terminals.recording(_checked(terminal))
        if found is None:
            raise ResourceNotFoundError(f"terminal {terminal[:80]} has no recording; a server makes them")
        return found


async def live_resources(terminals: Terminals) -> list[ListedResource]:
    """List the resources of the terminals that are open."""
    return [
        ListedResource(uri=uri_of(each.id, kind), name=f"{each.id} {kind}", title=each.name, mime_type="text/plain")
        for each in await terminals.listed(None)
        for kind in (OUTPUT, SCREEN)
    ]


class Bus(InMemorySubscriptionBus):
    """Knows whether anybody listens."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners = 0

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Register a listener and return the function that ends it."""
        unsubscribe = super().subscribe(listener)
        self.listeners += 1
        is_over = False

        def end() -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                self.listeners -= 1
                unsubscribe()

        return end


class Updates:
    """Tells who subscribed what changed. Everything happens in the event loop."""

    def __init__(self, terminals: Terminals, bus: Bus) -> None:
        self._bus = bus
        self._subscribed: dict[tuple[int, str], _Subscriber] = {}
        self._changed: set[str | None] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._telling: set[asyncio.Task[None]] = set()
        self._stop = terminals.watch(self._on_change)

    def serve(self, server: "MCPServer[Any]") -> None:
        """Answer the older protocol's requests, which the SDK leaves to its users."""
        # There is no public way to a request that MCPServer does not know.
        low_level = server._lowlevel_server
        low_level.add_request_handler("resources/subscribe", SubscribeRequestParams, self._subscribe)
        low_level.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe)

    async def aclose(self) -> None:
        """Stop telling."""
        self._stop()
        if self._timer is not None:
            self._timer.cancel()
        for task in self._telling:
            task.cancel()
        if self._telling:
            await asyncio.wait(self._telling)

    async def _subscribe(self, ctx: Any, params: SubscribeRequestParams) -> EmptyResult:
        key = (id(ctx.session.client_params), str(params.uri))
        self._subscribed.pop(key, None)
        self._subscribed[key] = _Subscriber(ctx.session, ctx.session.client_params)
        while len(self._subscribed) > _MOST_SUBSCRIBERS:
            del self._subscribed[next(iter(self._subscribed))]
        return EmptyResult()

    async def _unsubscribe(self, ctx: Any, params: UnsubscribeRequestParams) -> EmptyResult:
        self._subscribed.pop((id(ctx.session.client_params), str(params.uri)), None)
        return EmptyResult()

    def _on_change(self, change: Change) -> None:
        if not self._bus.listeners and not self._subscribed:
            return
        self._changed.add(change.terminal)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_INTERVAL_S, self._due)

    def _due(self) -> None:
        self._timer = None
        changed, self._changed = self._changed, set()
        task = asyncio.get_running_loop().create_task(self._tell(changed))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, changed: set[str | None]) -> None:
        uris = [uri_of(each, kind) for each in changed if each is not None for kind in (OUTPUT, SCREEN)]
        if None in changed:
            uris.append(LIST_URI)
            await self._bus.publish(ResourcesListChanged())
        for uri in uris:
            await self._bus.publish(ResourceUpdated(uri=uri))
            for key, subscriber in list(self._subscribed.items()):
                if key[1] == uri and not await subscriber.tell(uri):
                    self._subscribed.pop(key, None)


class _Subscriber:
    """A connection of the older protocol. Its parameters are held, so that nobody else gets their identity."""

    def __init__(self, session: Any, params: InitializeRequestParams | None) -> None:
        self._session = session
        self._params = params

    async def tell(self, uri: str) -> bool:
        """Tell that a resource changed; False when the connection is gone."""
        try:
            await self._session.send_resource_updated(uri)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            logging.getLogger("hermitty.mcp").debug("a subscriber has left")
            return False
        return True


def _checked(terminal: str) -> str:
    if not terminal.startswith("t_"):
        raise ResourceNotFoundError(f"{terminal[:80]!r} is not the id of a terminal, which looks like t_…")
    return terminal
