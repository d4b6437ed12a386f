"""Asking the nodes of a cluster how they are, and telling one to drain: beside the gateway, which goes on.

The agents answer whoever knows their secrets, while a gateway has the terminals and while none does.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from hermitty.cluster.chosen import LocalChoice, make_placement, parse_choice
from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.link import LinkTimes, NodeLink
from hermitty.cluster.local import node_state
from hermitty.cluster.node import NodeFiles
from hermitty.errors import HermittyError, HostUnavailable, InvalidRequest
from hermitty.wire.nodelink import messages as m

T = TypeVar("T")

_TIMES = LinkTimes(greet_s=5.0)
_ANSWER_S = 10.0
_REMEMBERED = "cluster"


@dataclass(frozen=True, slots=True)
class Observed:
    """A node, and how it is; without a report, what is wrong."""

    name: str
    report: m.NodeReport | None
    problem: str = ""


def remember_cluster(state: Path, cluster: str) -> None:
    """Note which cluster a gateway uses, for whoever asks about it without naming it."""
    (state / _REMEMBERED).write_text(cluster)


def remembered_cluster(state: Path) -> str:
    """Return which cluster the gateway of a state directory uses, or used last. Raises InvalidRequest without one."""
    try:
        return (state / _REMEMBERED).read_text()
    except OSError as exc:
        raise InvalidRequest("no server with a cluster ran here; say which with --cluster") from exc


async def observe(cluster: str, state: Path) -> list[Observed]:
    """Ask every node how it is."""
    return await _with_endpoints(cluster, state, _observe_all)


async def drain(cluster: str, state: Path, node: str, *, on: bool) -> Observed:
    """Say whether a node, by its name or key, shall get new terminals; return how it is then."""
    return await _with_endpoints(cluster, state, partial(_drain, node, on))


Find = Callable[[], Awaitable[Endpoint]]


async def _with_endpoints(cluster: str, state: Path, work: Callable[[dict[str, Find]], Awaitable[T]]) -> T:
    choice = parse_choice(cluster)
    if isinstance(choice, LocalChoice):
        # Its agents run with the server; nobody else starts them.
        return await work(
            {
                f"node-{number}": partial(_announced, NodeFiles(node_state(state, number)))
                for number in range(1, choice.count + 1)
            }
        )
    placement = make_placement(choice, state)
    try:
        return await work({node.name: partial(placement.endpoint, node.id) for node in await placement.nodes()})
    finally:
        await placement.aclose()


async def _announced(files: NodeFiles) -> Endpoint:
    told = files.announced()
    if not told:
        raise HostUnavailable("its agent does not run: it starts with the server")
    return Endpoint(host=told["host"], port=told["port"], secret=files.own_secret())


async def _observe_all(nodes: dict[str, Find]) -> list[Observed]:
    return list(await asyncio.gather(*(_observe(name, find) for name, find in nodes.items())))


async def _observe(name: str, find: Find) -> Observed:
    try:
        return Observed(name, await _asked(name, await find(), m.Status, m.NodeReport))
    except HermittyError as error:
        return Observed(name, None, error.message)


async def _drain(wanted: str, on: bool, nodes: dict[str, Find]) -> Observed:
    observed = await _observe_all(nodes)
    for node in observed:
        if wanted == node.name or (node.report is not None and wanted == node.report.node):
            endpoint = await nodes[node.name]()
            await _asked(node.name, endpoint, lambda number: m.Drain(number, on), m.Done)
            return await _observe(node.name, nodes[node.name])
    known = ", ".join(node.name for node in observed) or "none"
    raise InvalidRequest(f"there is no node {wanted!r}; there are: {known}")


AnswerT = TypeVar("AnswerT", bound=m.Answer)


async def _asked(name: str, endpoint: Endpoint, request: Callable[[int], m.Request], kind: type[AnswerT]) -> AnswerT:
    link = NodeLink(name, "observer", "", (), lambda event: None)
    await link.greet(endpoint, _TIMES)
    try:
        async with asyncio.timeout(_ANSWER_S):
            return await link.ask(request, kind, lambda answer: answer)
    except TimeoutError as exc:
        raise HostUnavailable(f"node {name} does not answer") from exc
    finally:
        link.abort("nothing more is asked")
        await link.gone.wait()
