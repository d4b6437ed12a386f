"""What whoever calls may do, and what each request takes.

An application around this one that knows whose token a request shows says so in the request's scope (`known_as`).
Without that, the client is the user's own, on standard input or with the one token there is, and may do everything.

A connection of the older protocol, and a question of the newer one, belong to the token that they began with: the SDK
takes nothing for them from another.
"""

from collections.abc import Iterable
from typing import Any, Literal

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_REQUEST

from hermitty.adapters.mcp.answers import problem
from hermitty.errors import MissingScope

Right = Literal["view", "type", "run", "approve"]

# The same as what the HTTP API wants for it.
TOOLS: dict[str, Right] = {
    **dict.fromkeys(("run", "start", "open", "kill"), "run"),
    **dict.fromkeys(("run_command", "run_persistent_command"), "run"),
    **dict.fromkeys(("open_persistent_terminal", "kill_persistent_terminal"), "run"),
    **dict.fromkeys(("write", "send_keys"), "type"),
    **dict.fromkeys(("wait", "read", "search_output", "screen", "list", "check"), "view"),
}
# By how their names begin: resources are what terminals show.
_METHODS: dict[str, Right] = {"resources/": "view", "subscriptions/": "view"}


def known_as(token: str, rights: Iterable[str]) -> dict[str, Any]:
    """Return what goes into the scope of a request: which token it shows, by its id, and what that is for."""
    return {"user": AuthenticatedUser(AccessToken(token="", client_id=token, scopes=list(rights)))}


def may(request: object, right: Right) -> bool:
    """Tell whether the sender of an HTTP request may do something; None is a request over something else."""
    rights = _rights(request)
    return rights is None or right in rights


async def check_rights(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Refuse a message whose sender lacks the right that it takes. Middleware of the server."""
    right = _needed(ctx.method, ctx.params or {})
    if right is None or may(ctx.request, right):
        return await call_next(ctx)
    missing = MissingScope(right, sorted(_rights(ctx.request) or ()))
    if ctx.method == "tools/call":
        return problem(str(missing))
    raise MCPError(code=INVALID_REQUEST, message=str(missing))


def _needed(method: str, params: Any) -> Right | None:
    if method == "tools/call":
        name = params.get("name")
        return TOOLS.get(name) if isinstance(name, str) else None
    return next((right for start, right in _METHODS.items() if method.startswith(start)), None)


def _rights(request: object) -> list[str] | None:
    scope = getattr(request, "scope", None)
    user = scope.get("user") if scope is not None else None
    return user.scopes if isinstance(user, AuthenticatedUser) else None
