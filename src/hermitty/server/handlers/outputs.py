"""What a client needs to be a runtime: output of a command as it comes, variables of a shell, lines of an output."""

import asyncio
import contextlib
import json
from collections.abc import Coroutine
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from aiohttp import web
from msgspec import Meta

from hermitty.errors import NotSupported
from hermitty.model import NeedsInput
from hermitty.runtime.api import Command, Terminal
from hermitty.server import replies, requests
from hermitty.server.access import Scope
from hermitty.server.feed import Feed
from hermitty.server.routing import Call, Content, Route

T = TypeVar("T")

_LONG_S = 3600.0


class OutputQuery(requests.Body):
    """Output from an offset on. `wait_s` waits for more, the end or a question; `asked`: not for the one of now."""

    since: requests.Offset | None = None
    wait_s: Annotated[float, Meta(ge=0, le=60)] = 0.0
    asked: bool = False


class LinesQuery(requests.Body):
    """Which lines of an output; the first one is number 1."""

    first: Annotated[int, Meta(ge=1, le=2**53)]
    count: Annotated[int, Meta(ge=1, le=100_000)] = 100


class Environment(replies.Reply):
    """The variables that a shell exports now, and those that it was started with."""

    variables: dict[str, str]
    started_with: dict[str, str]


async def read_output(call: Call[None, OutputQuery]) -> web.Response:
    """Read the raw output of a command by its offset, and wait for it if there is none yet."""
    handle, query = call.parts.runtime.command(call.path("cid")).handle, call.query
    if not isinstance(handle, Command):
        raise NotSupported("this command has no terminal; its output is in its result")
    piece, asked = handle.output(query.since), None
    if query.wait_s and not piece.data and handle.is_running:
        known = await _question(call, handle) if query.asked else None
        asked = await _unless_closed(_change(handle, query, known), call.parts.feed)
        piece = handle.output(query.since)
    headers = {
        "X-Hermitty-Offset": str(piece.offset),
        "X-Hermitty-Next": str(piece.next),
        "X-Hermitty-Missed": str(piece.missed),
        # An end that came after the output was read may have brought more.
        "X-Hermitty-Running": "true" if handle.is_running or handle.output(piece.next).data else "false",
    }
    if asked is not None:
        headers["X-Hermitty-Needs-Input"] = json.dumps(asdict(asked))  # ASCII, without line breaks
    return web.Response(body=piece.data, content_type="application/octet-stream", headers=headers)


async def environment(call: Call[None, None]) -> Environment:
    """Return the variables of a terminal's shell. They may hold secrets, so looking is not enough."""
    terminal: Terminal = call.parts.runtime.terminal(call.path("id"))
    return Environment(variables=await terminal.environment(), started_with=dict(terminal.started_with))


async def read_lines(call: Call[None, LinesQuery]) -> replies.ArtifactPage:
    """Read lines of a command's complete output."""
    artifact_id, query = call.path("aid"), call.query
    page = await call.parts.runtime.read_artifact_lines(artifact_id, query.first, query.count)
    return replies.ArtifactPage(
        id=artifact_id,
        offset=page.offset,
        text=page.text,
        line=page.line,
        starts_inside=page.starts_inside,
        next=page.next,
        size=page.size,
    )


async def _change(handle: Command, query: OutputQuery, known: NeedsInput | None) -> NeedsInput | None:
    """Wait for output, the end, or a question that has not been told."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(query.wait_s):
            while handle.is_running and not handle.output(query.since).data:
                if (found := await handle.next_change(repeated=known)) is not None:
                    return found
    return None


async def _unless_closed(work: Coroutine[Any, Any, T], feed: Feed) -> T | None:
    """Wait for something, but not when the server ends."""

    async def closed() -> None:
        while not feed.is_closed:
            await feed.wait(_LONG_S)

    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(closed())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].result() if tasks[0].done() else None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _question(call: Call[None, OutputQuery], handle: Command) -> NeedsInput | None:
    result = handle.result()
    return await call.parts.runtime.terminal(result.terminal or "").look(handle)


_RAW = Content("application/octet-stream", is_text=False)

ROUTES: tuple[Route, ...] = (
    Route(
        "GET", "/api/commands/{cid}/output", Scope.VIEW, read_output,
        "Read a command's raw output by its offset; the headers X-Hermitty-Offset, -Next, -Missed and -Running say "
        "what it is, and -Needs-Input what the program asks.",
        query=OutputQuery, contents=(_RAW,), errors=(404, 422),
    ),
    Route(
        "GET", "/api/terminals/{id}/environment", Scope.RUN, environment,
        "Return the variables of a terminal's shell.",
        reply=Environment, errors=(404, 409, 410, 422),
    ),
    Route(
        "GET", "/api/artifacts/{aid}/lines", Scope.VIEW, read_lines,
        "Read lines of a command's complete output.",
        query=LinesQuery, reply=replies.ArtifactPage, errors=(404,),
    ),
)  # fmt: skip
