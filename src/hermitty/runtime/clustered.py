"""A runtime whose terminals are on the machines of a cluster."""

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from hermitty.cluster.chosen import make_placement, parse_choice, wanted_of
from hermitty.cluster.control import remember_cluster
from hermitty.cluster.host import ClusterHost
from hermitty.cluster.link import LinkTimes
from hermitty.cluster.status import NodeStatus, count_states
from hermitty.config import Settings
from hermitty.errors import HermittyError
from hermitty.runtime.durable import open_on
from hermitty.runtime.places import find_places, make_private
from hermitty.runtime.runtime import Runtime
from hermitty.shell.launch import DIALECTS

if TYPE_CHECKING:
    import asyncio

__all__ = ["NodeStatus", "Nodes", "nodes_of", "open_clustered"]


async def open_clustered(
    cluster: str,
    settings: Settings | Callable[[], Settings] | None = None,
    *,
    times: LinkTimes | None = None,
) -> Runtime:
    """Reach the nodes of a cluster and go on with what is there; `cluster` is what `hermitty serve --cluster` takes.

    Like a durable runtime: `leave` lets go of everything, and the next gateway finds it; `close` ends every terminal.
    A node that comes back after it was given up brings its terminals back.
    """
    choice = parse_choice(cluster)
    state = make_private(find_places().state)
    host = ClusterHost(make_placement(choice, state), programs=tuple(DIALECTS), times=times, wanted=wanted_of(choice))
    try:
        await host.connect()
    except BaseException:
        await host.leave()
        raise
    runtime = await open_on(host, settings)
    remember_cluster(state, cluster)
    runtime.node_states = lambda: count_states(host.nodes())
    host.on_return = _Returning(runtime).begin
    return runtime


class Nodes:
    """The machines that a runtime has its terminals on."""

    def __init__(self, host: ClusterHost) -> None:
        self._host = host
        self.backend = host.backend

    def all(self) -> list[NodeStatus]:
        """Return how each of them is."""
        return self._host.nodes()

    def find(self, name: str) -> NodeStatus | None:
        """Return the node with that name, or else with that key or id."""
        nodes = self.all()
        by_name = (node for node in nodes if node.name == name)
        return next(by_name, None) or next((node for node in nodes if name in (node.key, node.id)), None)

    async def drain(self, node: NodeStatus, *, on: bool) -> NodeStatus:
        """Give a node no new terminals, or again. Raises HostUnavailable when it cannot be told."""
        await self._host.drain(node.id, on=on)
        return next((each for each in self.all() if each.id == node.id), node)


def nodes_of(runtime: Runtime) -> Nodes | None:
    """Return the machines of the cluster that a runtime has its terminals on; None without one."""
    return Nodes(runtime._host) if isinstance(runtime._host, ClusterHost) else None


class _Returning:
    """Goes on with the terminals of nodes that came back, one node after the other."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._task: asyncio.Task[None] | None = None
        self._again = False

    def begin(self) -> None:
        """Look, now or when the look that is under way is over."""
        self._again = True
        if self._task is None or self._task.done():
            self._task = self._runtime._look_after(self._look())

    async def _look(self) -> None:
        while self._again:
            self._again = False
            with contextlib.suppress(HermittyError):  # it is gone again
                await self._runtime._adopt_terminals()
