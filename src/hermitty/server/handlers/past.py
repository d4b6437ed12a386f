"""What happened: the history of commands and the recordings of terminals."""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict

from aiohttp import hdrs, web

from hermitty.errors import RecordingNotFound
from hermitty.runtime.history.entry import Cursor, HistoryQuery
from hermitty.server import replies, requests
from hermitty.server.routing import Call

_PIECE_BYTES = 256 * 1024


async def list_history(call: Call[None, requests.HistoryParameters]) -> replies.HistoryPage:
    """List the commands that ran, newest first."""
    query = call.query
    before = None
    if query.before is not None:
        at, _, number = query.before.partition("-")
        before = Cursor(float(at), int(number))
    page = await call.parts.runtime.history(
        HistoryQuery(query.search, query.session, query.failed, query.since, query.until, query.limit, before)
    )
    return replies.HistoryPage(
        entries=[replies.HistoryEntry(**{**asdict(each), "state": each.state.value}) for each in page.entries],
        next=None if page.next is None else f"{page.next.started_at:.9f}-{page.next.number}",
        missing=page.missing,
    )


async def list_recordings(call: Call[None, None]) -> replies.Recordings:
    """List what was recorded."""
    recordings = call.parts.recordings
    found = await asyncio.to_thread(recordings.list) if recordings is not None else []
    live = {terminal.id for terminal in call.parts.runtime.terminals()}
    return replies.Recordings(
        recordings=[
            replies.Recording(
                terminal=each.terminal,
                title=each.title,
                started_at=each.started_at,
                duration_s=each.duration_s,
                bytes=each.bytes,
                cut=each.cut,
                is_live=each.terminal in live,
            )
            for each in found
        ]
    )


async def read_recording(call: Call[None, requests.CastQuery]) -> web.StreamResponse:
    """Read the recording of a terminal as asciicast."""
    terminal_id, recordings = call.path("tid"), call.parts.recordings
    if recordings is None:
        raise RecordingNotFound(terminal_id)
    recordings.flush(terminal_id)
    lines = await asyncio.to_thread(recordings.open_cast, terminal_id, call.query.version)
    response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "application/x-asciicast"})
    await response.prepare(call.request)
    while data := await asyncio.to_thread(_piece, lines):
        await response.write(data)
    await response.write_eof()
    return response


def _piece(lines: Iterator[bytes]) -> bytes:
    """Read as much as is sent at once."""
    found: list[bytes] = []
    size = 0
    for line in lines:
        found.append(line)
        size += len(line)
        if size >= _PIECE_BYTES:
            break
    return b"".join(found)
