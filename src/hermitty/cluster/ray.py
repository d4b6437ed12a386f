"""Nodes, room and supervision by Ray.

On each node of a Ray cluster one detached, named actor keeps an agent running, in front of the durable host, which is
outside of Ray. A workspace has a placement group of one bundle: reserved in milliseconds, no process, and seen by the
autoscaler. Ray is asked where things are; bytes never pass through it.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.placement import Backend, Capacity, NodeChange, NodeInfo, PlaceSpec
from hermitty.cluster.ray_agent import AgentKeeper
from hermitty.cluster.room import no_room
from hermitty.errors import HermittyError, HostUnavailable, NotSupported

T = TypeVar("T")

_GROUP = "hermitty/"
# An agent that does not answer is asked again by whoever needs it.
_WHERE_S = 20.0
_RESERVE_S = 10.0
# Of a whole CPU: a group must want something, and an idle workspace wants nothing.
_LEAST_CPU = 0.001
NAME_LABEL = "hermitty-node"
_ID_LABEL = "ray.io/node-id"


@dataclass(frozen=True, slots=True)
class RayOptions:
    """Which cluster, and how its nodes are used."""

    address: str = "auto"
    namespace: str = "hermitty"
    # On each node; {name} is the label hermitty-node of the node, or its host name.
    state: str = "~/.local/state/hermitty/nodes/{name}"
    poll_s: float = 1.0
    authority: str = ""  # what certificates of agents are believed
    agent: tuple[str, ...] = ()  # options of the agents, such as --tls-cert
    labels: Mapping[str, str] = field(default_factory=dict)


def token_environment(environ: Mapping[str, str], token_file: Path) -> dict[str, str]:
    """Return what to add to an environment so that a cluster that wants a token gets it.

    A head that was started with `ray start` wants one by itself, and whoever joins must say so: otherwise he waits, and
    is told something else.
    """
    if "RAY_AUTH_MODE" in environ or not ("RAY_AUTH_TOKEN" in environ or token_file.is_file()):
        return {}
    return {"RAY_AUTH_MODE": "token"}


def node_info(key: str, told: Mapping[str, Any]) -> NodeInfo:
    """Return what Ray tells of a node: its name, what it gives away, and the labels that somebody chose."""
    labels = told.get("Labels") or {}
    chosen = {name: value for name, value in labels.items() if name not in (NAME_LABEL, _ID_LABEL)}
    name = labels.get(NAME_LABEL) or told["NodeManagerHostname"]
    return NodeInfo(key, name, _capacity(told.get("Resources") or {}), chosen)


def _capacity(resources: Mapping[str, float]) -> Capacity:
    cpus, memory = resources.get("CPU"), resources.get("memory")
    return Capacity(cpus, None if memory is None else int(memory))


class RayPlacement:
    """A `Placement` by Ray. Calls of Ray wait, so they are made in threads of ours."""

    backend: Backend = "ray"

    def __init__(self, options: RayOptions) -> None:
        self._options = options
        self._threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="ray")
        self._ray: Any = None
        self._keepers: dict[str, Any] = {}  # by Ray's id of a node
        self._keys: dict[str, str] = {}  # Ray's id of a node by ours
        self._infos: dict[str, NodeInfo] = {}

    async def nodes(self) -> list[NodeInfo]:
        """Return the nodes that are alive; each gets its agent."""
        await self._call(self._connect)
        await self._look()
        return list(self._infos.values())

    async def reserve(self, spec: PlaceSpec, among: Collection[str]) -> str:
        """Reserve a bundle on one of these nodes."""
        return await self._call(self._reserve, spec, list(among))

    async def release(self, workspace: str) -> None:
        """Remove the group of a workspace."""
        await self._call(self._release, workspace)

    async def reserved(self) -> list[str]:
        """Return the workspaces that have a group."""
        return await self._call(self._reserved)

    async def endpoint(self, node: str) -> Endpoint:
        """Ask the actor of a node where its agent is."""
        told = await self.agent(node)
        return Endpoint(
            host=told["host"],
            port=told["port"],
            secret=bytes.fromhex(told["secret"]),
            authority=self._options.authority,
        )

    async def agent(self, node: str) -> dict[str, Any]:
        """Return what the actor of a node tells of its agent. Raises HostUnavailable while it is being restarted."""
        ray_node = self._keys.get(node)
        if ray_node is None:
            raise HostUnavailable(f"Ray knows no node {node}")
        told = await self._call(self._where, ray_node)
        if told["node"] != node:
            raise HostUnavailable(f"the agent there is of node {told['node']}, not of {node}")
        return told

    async def watch(self) -> AsyncIterator[NodeChange]:
        """Yield nodes that join, or that Ray gives up; a machine that joins again is the same node."""
        while True:
            await asyncio.sleep(self._options.poll_s)
            before = dict(self._infos)
            try:
                await self._look()
            except HermittyError:
                continue  # the head is away; nodes and terminals are not
            for key, node in self._infos.items():
                if key not in before:
                    yield NodeChange("joined", node)
            for key, node in before.items():
                if key not in self._infos:
                    yield NodeChange("gone", node, "Ray says that the node is dead")

    async def aclose(self) -> None:
        """Leave the cluster. Agents and groups stay for the next gateway."""
        await asyncio.to_thread(self._threads.shutdown)
        if self._ray is not None:
            await asyncio.to_thread(self._ray.shutdown)

    async def stop_agents(self) -> None:
        """End the agents and their actors; terminals go on."""
        await self._call(self._stop_agents)

    # In threads of ours.

    async def _call(self, function: Callable[..., T], *args: object) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, function, *args)
        except HermittyError:
            raise
        except Exception as exc:
            # Ray has errors of its own, of several trees, and some that are none.
            first = str(exc).strip().splitlines()[:1] or [type(exc).__name__]
            raise HostUnavailable(f"Ray: {first[0]}") from exc

    def _connect(self) -> None:
        os.environ.update(token_environment(os.environ, Path("~/.ray/auth_token").expanduser()))
        try:
            import ray
        except ImportError as exc:
            raise NotSupported("a cluster by Ray needs it; install hermitty[ray]") from exc
        # It tells of signal handlers that it does not set in a thread; the server has its own.
        logging.getLogger("ray").setLevel(logging.ERROR)
        if not ray.is_initialized():
            ray.init(
                address=self._options.address,
                namespace=self._options.namespace,
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=False,
            )
        self._ray = ray

    async def _look(self) -> None:
        """Learn which nodes there are, and who they are."""
        alive = await self._call(self._alive)
        for gone in [ray_node for ray_node in self._keepers if ray_node not in alive]:
            del self._keepers[gone]
        known = {ray_node: key for key, ray_node in self._keys.items() if ray_node in alive}
        asked = await asyncio.gather(*(self._identify(ray_node) for ray_node in alive if ray_node not in known))
        known |= {ray_node: key for ray_node, key in asked if key is not None}
        self._keys = {key: ray_node for ray_node, key in known.items()}
        self._infos = {key: node_info(key, alive[ray_node]) for ray_node, key in known.items()}

    async def _identify(self, ray_node: str) -> tuple[str, str | None]:
        try:
            return ray_node, (await self._call(self._where, ray_node))["node"]
        except HermittyError:
            return ray_node, None  # it is asked again

    def _alive(self) -> dict[str, dict[str, Any]]:
        return {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}

    def _where(self, ray_node: str) -> dict[str, Any]:
        if ray_node not in self._keepers:
            self._keepers[ray_node] = self._keeper(ray_node)
        told: dict[str, Any] = self._ray.get(self._keepers[ray_node].where.remote(), timeout=_WHERE_S)
        if "error" in told:
            raise HostUnavailable(f"the agent of {ray_node[:8]} does not start: {told['error']}")
        return told

    def _keeper(self, ray_node: str) -> Any:
        """Find the actor of a node, or start it."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        node = self._alive().get(ray_node)
        if node is None:
            raise HostUnavailable(f"Ray's node {ray_node[:8]} is gone")
        keeper = self._ray.remote(AgentKeeper).options(
            name=f"hermitty-agent-{ray_node}",
            namespace=self._options.namespace,
            lifetime="detached",
            get_if_exists=True,
            num_cpus=0,
            max_restarts=-1,
            max_concurrency=4,
            scheduling_strategy=NodeAffinitySchedulingStrategy(ray_node, soft=False),
        )
        address = node["NodeManagerAddress"]
        return keeper.remote(self._options.state, node_info("", node).name, address, self._options.agent)

    def _reserve(self, spec: PlaceSpec, among: list[str]) -> str:
        from ray.util.placement_group import placement_group, remove_placement_group

        allowed = {ray_node: key for key, ray_node in self._keys.items() if key in among}
        if not allowed:
            raise HostUnavailable("no node can be reached; see `hermitty cluster status`")
        name = _GROUP + spec.workspace
        before = self._group(name)
        if before is not None:
            place = allowed.get(self._node_of(before))
            if place is not None:
                return place
            remove_placement_group(before)
        bundle = {"CPU": max(spec.cpu, _LEAST_CPU)}
        if spec.memory_bytes:
            bundle["memory"] = float(spec.memory_bytes)
        selector = {**spec.labels, **self._options.labels, _ID_LABEL: f"in({','.join(allowed)})"}
        group = placement_group([bundle], name=name, lifetime="detached", bundle_label_selector=[selector])
        if not group.wait(_RESERVE_S):
            remove_placement_group(group)
            nodes = [info for key, info in self._infos.items() if key in among]
            raise no_room(spec, nodes, _capacity(self._ray.available_resources()))
        return allowed[self._node_of(group)]

    def _group(self, name: str) -> Any:
        from ray.util.placement_group import get_placement_group

        try:
            return get_placement_group(name)
        except ValueError:
            return None

    def _node_of(self, group: Any) -> str:
        """Return Ray's id of the node of a group. What was just reserved may take a moment to be told."""
        from ray.util.placement_group import placement_group_table

        deadline = time.monotonic() + _RESERVE_S
        while True:
            table = placement_group_table(group)
            nodes = table.get("bundles_to_node_id") or {}
            if nodes.get(0) or time.monotonic() > deadline or table.get("state") != "CREATED":
                return str(nodes.get(0) or "")
            time.sleep(0.01)

    def _release(self, workspace: str) -> None:
        from ray.util.placement_group import remove_placement_group

        group = self._group(_GROUP + workspace)
        if group is not None:
            remove_placement_group(group)

    def _reserved(self) -> list[str]:
        from ray.util.placement_group import placement_group_table

        return [
            str(each["name"]).removeprefix(_GROUP)
            for each in placement_group_table().values()
            if str(each["name"]).startswith(_GROUP) and each["state"] != "REMOVED"
        ]

    def _stop_agents(self) -> None:
        for ray_node, keeper in list(self._keepers.items()):
            try:
                self._ray.get(keeper.stop.remote(), timeout=_WHERE_S)
            finally:
                self._ray.kill(keeper)
                del self._keepers[ray_node]
