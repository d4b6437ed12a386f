"""What stays open: the stream of events, and viewers of terminals."""

import asyncio
import contextlib

from aiohttp import hdrs, web

from hermitty.errors import TooManyRequests
from hermitty.server import requests
from hermitty.server.feed import Feed, frame_of
from hermitty.server.routing import Call

# A reader that takes nothing for so long is gone.
_STUCK_S = 60.0
# Streams stay open: they may take one in so many connections, so that others still get in.
_STREAMS_PART = 2
_FULL_S = 5.0


async def events(call: Call[None, requests.EventsQuery]) -> web.StreamResponse:
    """Send what happens as it happens, after what happened since the event that the client has."""
    feed = call.parts.feed
    if feed.readers >= max(1, call.parts.settings.current().server.connections // _STREAMS_PART):
        raise TooManyRequests("streams of events", _FULL_S)
    last = call.request.headers.get("Last-Event-ID") or call.query.since
    response = web.StreamResponse(
        headers={hdrs.CONTENT_TYPE: "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}
    )
    response.headers[hdrs.CACHE_CONTROL] = "no-store"
    feed.readers += 1
    try:
        await response.prepare(call.request)
        # The reader has left, takes nothing any more, or may not be told any more.
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(None) as telling:
                with call.parts.guard.standing.hold(call.access, lambda: telling.reschedule(_now())):
                    await _tell(response, feed, last, call)
    finally:
        feed.readers -= 1
    return response


async def _tell(response: web.StreamResponse, feed: Feed, last: str | None, call: Call[None, object]) -> None:
    position = feed.position_of(last)
    first = b"retry: 1000\n"
    if position is None:
        position = feed.last
        first += _reset(feed)
    else:
        first += b": hermitty\n\n"
    await _write(response, first)
    while True:
        # Told before the wait: what comes while something is written is seen the next time.
        batch = feed.since(position)
        position = batch.position
        if batch.missed:
            await _write(response, _reset(feed))
        elif batch.events:
            await _write(response, b"".join(each.frame for each in batch.events))
        elif feed.is_closed:
            await _write(response, frame_of("shutdown", {"type": "shutdown"}, feed.id_of(position)))
            return
        elif not await feed.wait(every_s := call.parts.settings.current().server.heartbeat_s):
            await _write(response, _alive(feed, position, every_s))


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _write(response: web.StreamResponse, data: bytes) -> None:
    async with asyncio.timeout(_STUCK_S):
        await response.write(data)


def _alive(feed: Feed, position: int, every_s: float) -> bytes:
    """Say that the stream lives: as a comment, and as an event, since pages cannot see comments."""
    return b": alive\n" + frame_of("alive", {"type": "alive", "every_s": every_s}, feed.id_of(position))


def _reset(feed: Feed) -> bytes:
    """Say that events are missing: the client asks for everything anew, and goes on from here."""
    return frame_of("reset", {"type": "reset"}, feed.id_of(feed.last))
