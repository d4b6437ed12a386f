"""The seam to whoever knows machines: which there are, which has room, and where their agents are.

An engine decides about membership and room. It never sees a byte of a terminal, and owns none.
"""

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from hermitty.cluster.endpoint import Endpoint

Backend = Literal["local", "list", "ray"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a machine has, as far as somebody knows."""

    cpus: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """A machine. `id` stays the same for as long as its state directory does, whatever restarts there."""

    id: str
    name: str
    capacity: Capacity = Capacity()  # as the engine has it
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlaceSpec:
    """What a workspace needs. Its terminals share files, and so one node."""

    workspace: str
    cpu: float = 0.0
    memory_bytes: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node has joined, or the engine says that it is gone."""

    kind: Literal["joined", "gone"]
    node: NodeInfo
    reason: str = ""


class Placement(Protocol):
    """Places workspaces on nodes."""

    @property
    def backend(self) -> Backend:
        """Return what kind of engine this is."""

    async def nodes(self) -> list[NodeInfo]:
        """Return the nodes that there are."""

    async def reserve(self, spec: PlaceSpec, among: Collection[str]) -> str:
        """Keep room for a workspace on one of these nodes and return it. Raises HostUnavailable when there is none.

        For a workspace that has room already, that is where it is, if that is one of them.
        """

    async def release(self, workspace: str) -> None:
        """Give the room of a workspace back."""

    async def reserved(self) -> list[str]:
        """Return the workspaces that have room, also those that an earlier gateway has reserved it for."""

    async def endpoint(self, node: str) -> Endpoint:
        """Return where the agent of a node is now. Raises HostUnavailable when there is none."""

    def watch(self) -> AsyncIterator[NodeChange]:
        """Yield what changes, from the last `nodes` on."""

    async def aclose(self) -> None:
        """Let go of the engine. What it has placed stays."""


class Shares:
    """Room by counting, for backends without an engine: the node with the fewest workspaces gets the next one."""

    def __init__(self) -> None:
        self._nodes: dict[str, str] = {}

    def reserve(self, workspace: str, among: Collection[str]) -> str | None:
        """Choose a node."""
        if (before := self._nodes.get(workspace)) in among and before is not None:
            return before
        taken = list(self._nodes.values())
        chosen = min(among, key=lambda node: (taken.count(node), node), default=None)
        if chosen is not None:
            self._nodes[workspace] = chosen
        return chosen

    def reserved(self) -> list[str]:
        """Return the workspaces that have a node."""
        return list(self._nodes)

    def release(self, workspace: str) -> None:
        """Forget a workspace."""
        self._nodes.pop(workspace, None)
