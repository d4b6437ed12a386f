"""The OpenAPI document, made from the route table.

python -m hermitty.server.openapi docs/openapi.json
"""

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from hermitty.server import replies
from hermitty.server.routing import NO_CONTENT, Route
from hermitty.version import __version__

# What any route may answer with, and what it means.
_MEANINGS = {
    400: "The request makes no sense.",
    401: "No token, or none that is known.",
    403: "Not allowed: by the token, the place the request comes from, the policy, or a person.",
    404: "There is no such thing.",
    405: "This cannot be done with it.",
    408: "The body took too long to arrive.",
    409: "Not now: it is busy, over, or taken.",
    410: "The terminal is closed.",
    413: "The body is too large.",
    422: "Not possible here.",
    429: "Too many requests, or too much input; try again later.",
    431: "The headers are too large.",
    503: "The machine refused it.",
    504: "Nobody answered the question in time.",
}
_ANY_ROUTE = (400, 401, 403, 429, 503)
_OPEN_ROUTE = (400, 403)
_PARAMETERS = {
    "id": "the id",
    "cid": "the id of a command",
    "aid": "the id of an artifact",
    "sid": "the session",
    "wid": "the workspace",
    "tid": "the id of a terminal",
    "name": "the name",
}
_REFERENCE = "#/components/schemas/{name}"
_DESCRIPTION = (
    "Terminals for AI agents and the people who watch them. Every request needs the token, as `Authorization: Bearer "
    "TOKEN` or by the cookie of the page. Errors are `{error: {code, message, ...}}`. Terminals are watched over the "
    "WebSocket `/ws/terminal/{id}?since=OFFSET`."
)


@cache
def document() -> dict[str, Any]:
    """Return the document. The order is that of the table; nothing in it depends on where it is made."""
    from hermitty.server.table import ROUTES

    kinds = [kind for route in ROUTES for kind in (route.body, *_replies(route)) if kind is not None]
    kinds.append(replies.Error)
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    by_kind = {repr(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_kind)
    paths["/openapi.json"] = {"get": _own_operation()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hermitty",
            "version": __version__,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "responses": {
                str(status): {
                    "description": meaning,
                    "content": {"application/json": {"schema": {"$ref": _REFERENCE.format(name="Error")}}},
                }
                for status, meaning in _MEANINGS.items()
            },
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "hermitty-8421"},
            },
        },
    }


def text() -> str:
    """Return the document as it is committed."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def _operation(route: Route, by_kind: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {"summary": route.doc, "operationId": _operation_id(route)}
    if route.scope is None:
        operation["security"] = []
    else:
        operation["description"] = f"Needs the scope `{route.scope.value}`."
    parameters = [*_path_parameters(route.path), *_query_parameters(route)]
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": by_kind[repr(route.body)]}},
        }
    operation["responses"] = {str(route.status): _success(route, by_kind), **_errors(route)}
    return operation


def _success(route: Route, by_kind: dict[str, Any]) -> dict[str, Any]:
    if route.status == NO_CONTENT:
        return {"description": "It is done."}
    content: dict[str, Any] = {}
    found = [by_kind[repr(kind)] for kind in _replies(route)]
    if found:
        content["application/json"] = {"schema": found[0] if len(found) == 1 else {"anyOf": found}}
    for each in route.contents:
        content[each.media_type] = {"schema": {"type": "string"} if each.is_text else {}}
    return {"description": "It is so.", "content": content}


def _replies(route: Route) -> tuple[Any, ...]:
    if isinstance(route.reply, tuple):
        return route.reply
    return () if route.reply is None else (route.reply,)


def _errors(route: Route) -> dict[str, Any]:
    usual = _ANY_ROUTE if route.scope is not None else _OPEN_ROUTE
    body = (408, 413) if route.body is not None else ()
    return _references(*usual, *body, *route.errors)


def _references(*statuses: int) -> dict[str, Any]:
    return {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted({*statuses, 431})}


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PARAMETERS[name],
            "schema": {"type": "string", "minLength": 1},
        }
        for name in re.findall(r"{(\w+)}", path)
    ]


def _query_parameters(route: Route) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    _, components = msgspec.json.schema_components([route.query], ref_template=_REFERENCE)
    schema = components[route.query.__name__]
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _of_text(of_field)}
        for name, of_field in schema["properties"].items()
    ]


def _of_text(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a query parameter: it is left out rather than null."""
    choices = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)}
    return {**choices[0], **rest} if len(choices) == 1 else rest


def _operation_id(route: Route) -> str:
    module = route.handler.__module__.rpartition(".")[2]
    return f"{module}_{route.handler.__name__}"


def _own_operation() -> dict[str, Any]:
    return {
        "summary": "Return this document.",
        "operationId": "openapi",
        "responses": {
            "200": {"description": "It is so.", "content": {"application/json": {"schema": {"type": "object"}}}},
            **_references(*_ANY_ROUTE),
        },
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")
