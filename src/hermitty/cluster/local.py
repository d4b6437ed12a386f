"""Several nodes on one machine: agents that we start ourselves, each with a durable host of its own."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from pathlib import Path

from hermitty.cluster.agent_process import AgentProcess
from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.placement import Backend, NodeChange, NodeInfo, PlaceSpec, Shares
from hermitty.errors import HostUnavailable, InvalidRequest

MOST_NODES = 256


class LocalPlacement:
    """Nodes by number, in directories of one state directory. Agents end with us, terminals do not."""

    backend: Backend = "local"

    def __init__(self, state: Path, count: int, *, options: Sequence[str] = ()) -> None:
        if not 1 <= count <= MOST_NODES:
            raise InvalidRequest(f"a local cluster has 1 to {MOST_NODES} nodes, not {count}")
        self._state = state
        self._options = tuple(options)
        self._shares = Shares()
        self._changes: asyncio.Queue[NodeChange] = asyncio.Queue()
        self._agents: dict[str, AgentProcess] = {}
        self._names: dict[str, str] = {}
        for number in range(1, count + 1):
            self._add(number)

    def _add(self, number: int) -> NodeInfo:
        name = f"node-{number}"
        agent = AgentProcess(node_state(self._state, number), ("--name", name, *self._options))
        node = NodeInfo(agent.files.key(), name)
        self._agents[node.id], self._names[node.id] = agent, name
        return node

    def join(self) -> NodeInfo:
        """Add a node to those there are."""
        node = self._add(len(self._agents) + 1)
        self._agents[node.id].start()
        self._changes.put_nowait(NodeChange("joined", node))
        return node

    def agent(self, node: str) -> AgentProcess:
        """Return what keeps the agent of a node running."""
        return self._agents[node]

    async def nodes(self) -> list[NodeInfo]:
        """Return the nodes; their agents are being started."""
        for agent in self._agents.values():
            agent.start()
        return [NodeInfo(node, name) for node, name in self._names.items()]

    async def reserve(self, spec: PlaceSpec, among: Collection[str]) -> str:
        """Choose the node with the fewest workspaces: all share one machine, and so its room."""
        node = self._shares.reserve(spec.workspace, among)
        if node is None:
            raise HostUnavailable("no node can be reached; see `hermitty cluster status`")
        return node

    async def release(self, workspace: str) -> None:
        """Forget a workspace."""
        self._shares.release(workspace)

    async def reserved(self) -> list[str]:
        """Return the workspaces that have a node."""
        return self._shares.reserved()

    async def endpoint(self, node: str) -> Endpoint:
        """Return where the agent of a node is now."""
        return await self._agents[node].endpoint()

    async def watch(self) -> AsyncIterator[NodeChange]:
        """Yield the nodes that join."""
        while True:
            yield await self._changes.get()

    async def aclose(self) -> None:
        """End the agents."""
        await asyncio.gather(*(agent.aclose() for agent in self._agents.values()))


def node_state(state: Path, number: int) -> Path:
    """Return the state directory of a node."""
    return state / "nodes" / str(number)
