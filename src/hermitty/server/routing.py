"""The shape of the route table: one entry for each method and path, read by the router and by the OpenAPI document."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from aiohttp import web

from hermitty.server.access import Access, Scope

if TYPE_CHECKING:
    from hermitty.server.parts import Parts

B_co = TypeVar("B_co", covariant=True)
Q_co = TypeVar("Q_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Call(Generic[B_co, Q_co]):
    """One request whose sender may do it and whose parts were checked."""

    parts: "Parts"
    request: web.Request
    access: Access
    body: B_co
    query: Q_co

    def path(self, name: str) -> str:
        """Return a part of the path."""
        return self.request.match_info[name]


@dataclass(frozen=True, slots=True)
class Content:
    """An answer that is not JSON, by its media type."""

    media_type: str
    is_text: bool = True


Handler = Callable[[Call[Any, Any]], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Route:
    """One thing that can be asked for.

    A handler returns a value for `reply`, which is sent as JSON with `status`, None for 204, or a response of its own.
    `errors` are the statuses that it may answer with besides those that any route may. Without a scope, nobody has to
    show a token.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    scope: Scope | None
    handler: Handler
    doc: str
    body: Any = None
    query: type[Any] | None = None
    reply: Any = None  # or a tuple of those that it may be
    status: int = 200
    errors: tuple[int, ...] = ()
    contents: tuple[Content, ...] = ()  # what may be sent instead of JSON
    raw_body: bool = False  # any JSON: the handler gets its bytes


NO_CONTENT = 204
