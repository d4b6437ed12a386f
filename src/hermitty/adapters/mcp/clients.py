"""Who calls: the name of the client, its session, and what it can do."""

import hashlib
import re
import secrets
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import Context

from hermitty.adapters.mcp.rights import may

_CONNECTION_HEADER = "mcp-session-id"
# Names the session of a client whose calls do not: a relay's, which is one client and many connections.
SESSION_HEADER = "hermitty-session"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_CHARACTERS = 40
_SESSION_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")

AnyContext = Context[Any, Any]
SessionOf = Callable[[AnyContext, str | None], str]


def client_name(ctx: AnyContext) -> str:
    """Return what the client calls itself, as one word."""
    params = ctx.session.client_params
    name = params.client_info.name if params is not None else ""
    return _NOT_IN_NAMES.sub("-", name).strip("-")[:_MOST_CHARACTERS] or "unknown"


def can_elicit(ctx: AnyContext) -> bool:
    """Tell whether a person answers in the client's forms: it shows them, can be reached, and its token is for that."""
    if not may_answer(ctx):
        return False
    capabilities = ctx.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return False
    return not is_legacy(ctx) or ctx.session.can_send_request


def may_answer(ctx: AnyContext) -> bool:
    """Tell whether what comes from this client counts as a person's answer."""
    return may(ctx.request_context.request, "approve")


def is_legacy(ctx: AnyContext) -> bool:
    """Tell whether the client speaks a protocol with a handshake."""
    return (ctx.protocol_version or "") < "2026"


def session_namer() -> SessionOf:
    """Make the function that names the session of a call: the one it names, in an argument or in a header, else one
    for each connection.

    Over HTTP the newer protocol has no connections: clients of one name share a session there, unless they name one.
    """
    seed = secrets.token_bytes(16)

    def name(ctx: AnyContext, given: str | None) -> str:
        if given:
            return given
        headers = ctx.headers or {}
        named = headers.get(SESSION_HEADER, "")
        if _SESSION_NAME.fullmatch(named):
            return named
        connection = headers.get(_CONNECTION_HEADER, "") if is_legacy(ctx) else ""
        mark = hashlib.sha256(seed + connection.encode()).hexdigest()[:8]
        return f"mcp-{client_name(ctx)}-{mark}"

    return name
