"""Around every handler: who may, what was sent, and what is answered, errors too. Headers that protect browsers."""

import asyncio
import contextlib
import logging
import secrets
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import hdrs, web

from hermitty.errors import AccessRefused, HermittyError, NotAuthenticated
from hermitty.server.access import Access
from hermitty.server.attach import refuse
from hermitty.server.connections import Connection
from hermitty.server.errors import body_of, http_body, internal_body, status_of
from hermitty.server.guard import check_scope, headers_of, is_upgrade
from hermitty.server.headers import SECURITY_HEADERS, json_response
from hermitty.server.parts import PARTS
from hermitty.server.reading import read_body, read_query
from hermitty.server.routing import NO_CONTENT, Call, Route
from hermitty.wire.attach import CloseCode

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# Whoever asks where nobody has to be known.
_ANYBODY = Access("anybody", frozenset(), "header")

# How long a body may take to arrive.
_BODY_S = 60.0


def handler_of(route: Route) -> Handler:
    """Make the handler of a route: it checks everything that the table says about it."""

    async def handle(request: web.Request) -> web.StreamResponse:
        parts = request.app[PARTS]
        access = _ANYBODY
        if route.scope is not None:
            access = parts.guard.identify(request)
            check_scope(access, route.scope)
            parts.guard.check_rate(access)
        query = read_query(request.query.items(), route.query) if route.query is not None else None
        body: Any = None
        if route.raw_body or route.body is not None:
            data = await read_all(request)
            if route.scope is not None:
                parts.guard.check_standing(access)  # the body may have taken its time
            body = data if route.raw_body else read_body(data, route.body)
        answer = await route.handler(Call(parts, request, access, body, query))
        if isinstance(answer, web.StreamResponse):
            return answer
        if route.status == NO_CONTENT:
            return web.Response(status=NO_CONTENT)
        return json_response(answer, status=route.status)

    return handle


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Check where a request comes from, and turn whatever goes wrong into an answer of the one shape."""
    parts = request.app[PARTS]
    if isinstance(request.protocol, Connection):
        request.protocol.has_asked()
    try:
        if _header_bytes(request) > parts.settings.current().server.header_bytes:
            response: web.StreamResponse = json_response(http_body(431), status=431)
        else:
            parts.guard.check_place(request)
            response = await handler(request)
    except ConnectionError:
        raise  # there is nobody to answer
    except Exception as error:
        if request.writer.output_size > 0:
            raise ConnectionAbortedError("a part of the answer is sent already") from error
        response = await _answer_to(error, request)
    parts.counters.statuses[response.status] += 1
    return response


async def _answer_to(error: Exception, request: web.Request) -> web.StreamResponse:
    match error:
        case AccessRefused():
            request.app[PARTS].counters.refused_tries += 1
            if is_upgrade(request):
                code = CloseCode.NOT_AUTHENTICATED if isinstance(error, NotAuthenticated) else CloseCode.WRONG_ORIGIN
                return await refuse(request, code, error.message)
            return json_response(body_of(error), status=status_of(error), headers=headers_of(error))
        case HermittyError():
            return json_response(body_of(error), status=status_of(error))
        case web.HTTPException():
            return _http_response(error)
    # A mistake of ours: whoever asks gets a reference, the log gets the place.
    return _internal_response(error, request)


async def read_all(request: web.Request) -> bytes:
    """Read the body as it was sent; who sends it has so much time."""
    if request.headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
        raise web.HTTPUnsupportedMediaType
    try:
        async with asyncio.timeout(_BODY_S):
            return await request.read()
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except web.RequestPayloadError as exc:
        raise web.HTTPBadRequest from exc


async def add_headers(request: web.BaseRequest, response: web.StreamResponse) -> None:
    """Add what protects browsers to every answer."""
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault(hdrs.CACHE_CONTROL, "no-store")
    with contextlib.suppress(KeyError):
        del response.headers[hdrs.SERVER]


def _http_response(error: web.HTTPException) -> web.StreamResponse:
    if error.status < 400:
        # A redirection, with its headers.
        return web.Response(status=error.status, headers={hdrs.LOCATION: error.headers[hdrs.LOCATION]})
    fields: dict[str, Any] = {}
    headers: dict[str, str] = {}
    if isinstance(error, web.HTTPMethodNotAllowed):
        fields["allowed"] = sorted(error.allowed_methods)
        headers[hdrs.ALLOW] = error.headers[hdrs.ALLOW]
    message = {
        404: "there is nothing here; /openapi.json lists what there is",
        405: f"use {' or '.join(fields.get('allowed', []))} here",
        413: "the body is larger than the setting server.body_bytes allows",
        415: "send the body as it is: not compressed, and a form as application/x-www-form-urlencoded",
    }.get(error.status)
    return json_response(http_body(error.status, message, **fields), status=error.status, headers=headers)


def _internal_response(error: Exception, request: web.Request) -> web.Response:
    reference = secrets.token_hex(6)
    # Neither the message nor the values: they may hold what somebody typed, or a token.
    where = "".join(traceback.format_tb(error.__traceback__))
    logging.getLogger("hermitty.server").error(
        "%s: %s of %s %s\n%s", reference, type(error).__name__, request.method, _path_of(request), where
    )
    return json_response(internal_body(reference), status=500)


def _path_of(request: web.Request) -> str:
    """Return the route's path, which has no values of the request in it."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else "?"


def _header_bytes(request: web.Request) -> int:
    return sum(len(name) + len(value) + 4 for name, value in request.raw_headers)
