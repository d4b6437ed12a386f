"""The machines of a cluster: how they are, and which of them shall get no new terminals."""

from typing import TYPE_CHECKING, Literal

from aiohttp import web

from hermitty.runtime.api import Runtime
from hermitty.server import requests
from hermitty.server.access import Scope
from hermitty.server.errors import http_body
from hermitty.server.headers import json_response
from hermitty.server.replies import Reply
from hermitty.server.routing import Call, Route

if TYPE_CHECKING:
    from hermitty.runtime.clustered import Nodes, NodeStatus

_NAMES_TOLD = 50


class Drain(requests.Body):
    """Whether a node shall get no new terminals."""

    draining: bool = True


class Node(Reply):
    """A machine of the cluster. `key` is what the ids of its terminals begin with, after `t_`; null: never reached.

    `since` is in seconds since 1970; `terminals` counts those that are used by this server; `cpus`, `memory_bytes` and
    `labels` are there as far as they are known.
    """

    id: str
    name: str
    key: str | None
    incarnation: str | None
    state: Literal["connecting", "live", "draining", "unreachable", "lost"]
    since: float
    terminals: int
    cpus: float | None
    memory_bytes: int | None
    labels: dict[str, str]
    problem: str | None


class Cluster(Reply):
    """The machines that this server has its terminals on. Without a cluster, `backend` is null."""

    backend: Literal["local", "list", "ray"] | None
    nodes: list[Node]


async def show_cluster(call: Call[None, None]) -> Cluster:
    """List the machines."""
    nodes = _nodes(call.parts.runtime)
    if nodes is None:
        return Cluster(backend=None, nodes=[])
    return Cluster(backend=nodes.backend, nodes=[_node(each) for each in nodes.all()])


async def drain_node(call: Call[Drain, None]) -> Node | web.Response:
    """Give a machine no new terminals, or again."""
    name, nodes = call.path("name"), _nodes(call.parts.runtime)
    found = None if nodes is None else nodes.find(name)
    if nodes is None or found is None:
        return _not_found(name, nodes)
    return _node(await nodes.drain(found, on=call.body.draining))


def _nodes(runtime: Runtime) -> "Nodes | None":
    if runtime.node_states is None:
        return None
    from hermitty.runtime.clustered import nodes_of

    return nodes_of(runtime)


def _not_found(name: str, nodes: "Nodes | None") -> web.Response:
    if nodes is None:
        return json_response(http_body(404, "this server has no cluster"), status=404)
    known = [node.name for node in nodes.all()][:_NAMES_TOLD]
    message = f"there is no node {name[:200]!r}; there are: {', '.join(known) or 'none'}"
    return json_response(http_body(404, message, known=known), status=404)


def _node(status: "NodeStatus") -> Node:
    return Node(
        id=status.id,
        name=status.name,
        key=status.key or None,
        incarnation=status.incarnation or None,
        state=status.state,
        since=round(status.since, 3),
        terminals=status.terminals,
        cpus=status.capacity.cpus,
        memory_bytes=status.capacity.memory_bytes,
        labels=dict(status.labels),
        problem=status.problem or None,
    )


ROUTES: tuple[Route, ...] = (
    Route(
        "GET", "/api/cluster", Scope.VIEW, show_cluster, "List the machines that this server has its terminals on.",
        reply=Cluster,
    ),
    Route(
        "POST", "/api/cluster/nodes/{name}/drain", Scope.ADMIN, drain_node,
        "Give a machine, by its name or key, no new terminals, or again. What runs there goes on.",
        body=Drain, reply=Node, errors=(404,),
    ),
)  # fmt: skip
