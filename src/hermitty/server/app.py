"""The server's application: the routes of the table, the page, viewers, and what happens at the end."""

import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from aiohttp import web

from hermitty import events
from hermitty.runtime.api import Runtime
from hermitty.server.access import Scope
from hermitty.server.answering import add_headers, answer_errors, handler_of
from hermitty.server.attach import Attachments
from hermitty.server.counters import Counters
from hermitty.server.feed import Feed, RuntimeEvents
from hermitty.server.guard import Guard, check_scope, is_upgrade
from hermitty.server.openapi import document
from hermitty.server.page import STATIC, add_page
from hermitty.server.parts import PARTS, Parts, RecordingsPlace, SettingsPlace
from hermitty.server.reading import write_json
from hermitty.server.runs import Runs
from hermitty.server.state import StateStore
from hermitty.server.table import ROUTES
from hermitty.server.views import Views


def build_app(
    runtime: Runtime,
    settings: SettingsPlace,
    state: StateStore,
    guard: Guard,
    *,
    audit_file: Path,
    recordings: RecordingsPlace | None = None,
    host: str = "local",
    static: Path = STATIC,
) -> web.Application:
    """Make the application in front of a runtime, which stays the caller's. Call it in the event loop."""
    attachments = Attachments(runtime, standing=guard.standing)
    views = Views(runtime, attachments.viewers)
    parts = Parts(
        runtime=runtime,
        settings=settings,
        state=state,
        audit_file=audit_file,
        guard=guard,
        feed=Feed(),
        runs=Runs(runtime),
        views=views,
        attachments=attachments,
        recordings=recordings,
        host=host,
    )
    app = web.Application(middlewares=[answer_errors], client_max_size=settings.current().server.body_bytes)
    app[PARTS] = parts
    for route in ROUTES:
        # A HEAD request would do everything but send the answer.
        app.router.add_route(route.method, route.path, handler_of(route))
    app.router.add_get("/openapi.json", _openapi, allow_head=False)
    app.router.add_get("/ws/terminal/{id}", _attach, allow_head=False)
    add_page(app, static)
    app.on_response_prepare.append(add_headers)
    app.on_shutdown.append(_say_goodbye)
    app.cleanup_ctx.append(_follow)
    return app


async def _follow(app: web.Application) -> AsyncIterator[None]:
    """Hear what the runtime tells, and count as somebody who can answer its questions."""
    parts = app[PARTS]
    with ExitStack() as stack:
        # Questions wait for a person until their time is over, whether a page is open now or not.
        stack.enter_context(parts.runtime.gate.approvals.client("server"))
        stack.callback(parts.runtime.subscribe(partial(_count, parts.counters)))
        stack.callback(parts.runtime.subscribe(RuntimeEvents(parts.runtime, parts.views, parts.feed)))
        yield


async def _say_goodbye(app: web.Application) -> None:
    """Tell everybody who waits or watches that the server ends. Commands go on."""
    parts = app[PARTS]
    parts.runs.stop_waiting()
    parts.feed.close()
    await parts.attachments.close()


def _count(counters: Counters, event: events.Event) -> None:
    match event:
        case events.CommandFinished():
            counters.command_ended(time.time())
        case events.TerminalOpened():
            counters.terminals_opened += 1
        case events.ApprovalAnswered():
            counters.approvals_answered += 1


async def _openapi(request: web.Request) -> web.Response:
    request.app[PARTS].guard.identify(request)
    return web.Response(body=write_json(document()), content_type="application/json")


async def _attach(request: web.Request) -> web.StreamResponse:
    """Let somebody watch a terminal. What is refused is told by the code of the close: browsers show pages no other."""
    parts = request.app[PARTS]
    access = parts.guard.identify(request)
    check_scope(access, Scope.VIEW)
    parts.guard.check_rate(access)
    if not is_upgrade(request):
        raise web.HTTPUpgradeRequired
    return await parts.attachments.serve(request, access, request.match_info["id"])
