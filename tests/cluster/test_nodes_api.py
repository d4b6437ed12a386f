"""The nodes of a cluster over HTTP: how they are, draining them, and the numbers; with real agents."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermitty.cluster import control
from hermitty.cluster.host import ClusterHost
from hermitty.cluster.link import LinkTimes
from hermitty.cluster.local import LocalPlacement, node_state
from hermitty.cluster.names import whereabouts
from hermitty.runtime.api import Runtime
from hermitty.runtime.clustered import open_clustered
from hermitty.runtime.places import Places
from hermitty.server.parts import SettingsPlace
from hermitty.server.serving import Options, serving
from tests.cluster.conftest import PATIENT, EndLater
from tests.server.conftest import OWN_TOKEN, source_for
from tests.server.talking import Client
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

# A node that is away is lost soon; one that is there is never cut off because a machine is busy.
SOON_LOST = replace(PATIENT, lost_s=0.05)


class Gateways:
    """Servers in front of the two local nodes of a state directory."""

    def __init__(self, stack: AsyncExitStack, home: Path, places: Places) -> None:
        self._stack = stack
        self._home = home
        self._places = places

    async def start(self, times: LinkTimes = PATIENT) -> Client:
        async def make(settings: SettingsPlace) -> Runtime:
            return await open_clustered("local:2", settings.current, times=times)

        settings = source_for(self._home, self._places, policy__mode="off")
        server = await self._stack.enter_async_context(
            serving(
                Options(port=0, token=OWN_TOKEN),
                places=self._places,
                settings=settings,
                make_runtime=make,
            )
        )
        return await self._stack.enter_async_context(Client(server, OWN_TOKEN))


@pytest.fixture
async def gateways(home: Path, places: Places, hosts_end: EndLater) -> AsyncIterator[Gateways]:
    for number in (1, 2):
        hosts_end(node_state(places.state, number))
    async with AsyncExitStack() as stack:
        yield Gateways(stack, home, places)


def host_of(client: Client) -> ClusterHost:
    host = client.parts.runtime._host
    assert isinstance(host, ClusterHost)
    return host


async def nodes_of(client: Client) -> list[dict[str, Any]]:
    answer = await client.get("/api/cluster")
    assert answer.status == 200
    nodes: list[dict[str, Any]] = answer.json["nodes"]
    return nodes


async def states_of(client: Client) -> dict[str, str]:
    return {node["name"]: node["state"] for node in await nodes_of(client)}


async def drain(client: Client, name: str, **body: object) -> Any:
    return await client.post(f"/api/cluster/nodes/{name}/drain", body)


async def test_a_server_without_a_cluster_has_no_nodes(home: Path, places: Places) -> None:
    settings = source_for(home, places, policy__mode="off")
    async with (
        serving(Options(port=0, token=OWN_TOKEN), places=places, settings=settings) as server,
        Client(server, OWN_TOKEN) as client,
    ):
        assert (await client.get("/api/cluster")).json == {"backend": None, "nodes": []}
        refused = await drain(client, "node-1")
        assert (refused.status, refused.code) == (404, "not_found")
        assert "no cluster" in refused.json["error"]["message"]
        assert b"hermitty_nodes" not in (await client.get("/metrics")).body


async def test_nodes_are_told_with_what_is_known_of_them(gateways: Gateways, work: Path) -> None:
    client = await gateways.start()
    result = await client.run("true", cwd=str(work), workspace="a")

    answer = (await client.get("/api/cluster")).json

    assert answer["backend"] == "local"
    assert [(node["name"], node["state"]) for node in answer["nodes"]] == [("node-1", "live"), ("node-2", "live")]
    where = whereabouts(result["terminal"])
    assert where is not None
    assert {node["key"]: node["terminals"] for node in answer["nodes"]} == {
        node["key"]: int(node["key"] == where.node) for node in answer["nodes"]
    }
    (used,) = (node for node in answer["nodes"] if node["key"] == where.node)
    assert used["incarnation"].startswith(where.incarnation)
    assert used["cpus"] >= 1
    assert used["memory_bytes"] > 1 << 20
    assert (used["labels"], used["problem"]) == ({}, None)
    assert client.parts.counters.started_at - PATIENCE_S < used["since"]


async def test_a_node_is_drained_and_taken_back(gateways: Gateways, work: Path) -> None:
    client = await gateways.start()
    before = {node["name"]: node["since"] for node in await nodes_of(client)}

    drained = await drain(client, "node-1")

    assert (drained.status, drained.json["state"]) == (200, "draining")
    assert drained.json["since"] >= before["node-1"]
    assert await states_of(client) == {"node-1": "draining", "node-2": "live"}
    for workspace in ("a", "b", "c"):
        result = await client.run("true", cwd=str(work), workspace=workspace)
        where = whereabouts(result["terminal"])
        assert where is not None
        assert where.node != drained.json["key"]
    back = await drain(client, drained.json["key"], draining=False)  # by its key, too
    assert (back.status, back.json["state"]) == (200, "live")
    missing = await drain(client, "node-9")
    assert (missing.status, missing.code) == (404, "not_found")
    assert missing.json["error"]["known"] == ["node-1", "node-2"]


async def test_what_runs_on_a_draining_node_goes_on(gateways: Gateways, work: Path) -> None:
    client = await gateways.start()
    body = {"command": "echo ready; read x; echo got $x", "cwd": str(work), "workspace": "a", "wait_s": 0}
    running = (await client.post("/api/run", body)).json
    where = whereabouts(running["terminal"])
    assert where is not None

    await drain(client, where.node)
    other = await client.run("echo new", cwd=str(work), workspace="a")
    await client.post(f"/api/terminals/{running['terminal']}/input", {"text": "it\n"})
    ended = (await client.get(f"/api/commands/{running['id']}?wait_s={PATIENCE_S:g}")).json

    assert (ended["state"], ended["exit_code"]) == ("done", 0)
    assert ended["text"].endswith("got it\n")
    elsewhere = whereabouts(other["terminal"])
    assert elsewhere is not None
    assert elsewhere.node != where.node


async def test_only_an_administrator_drains(gateways: Gateways) -> None:
    client = await gateways.start()
    made = await client.post("/api/tokens", {"name": "watcher", "scopes": ["view"]})
    token = made.json["token"]

    assert (await client.get("/api/cluster", token=token)).status == 200
    refused = await client.post("/api/cluster/nodes/node-1/drain", {}, token=token)

    assert (refused.status, refused.code) == (403, "missing_scope")
    assert (await client.get("/api/cluster", token=None)).status == 401
    assert await states_of(client) == {"node-1": "live", "node-2": "live"}


async def test_a_node_that_goes_away_is_told_and_counted(gateways: Gateways, work: Path) -> None:
    client = await gateways.start(SOON_LOST)
    host = host_of(client)
    placement = host._placement
    assert isinstance(placement, LocalPlacement)
    first = (await nodes_of(client))[0]
    agent = placement.agent(first["id"])

    await agent.aclose()
    async with asyncio.timeout(PATIENCE_S):
        await host.until(lambda nodes: nodes[0].state == "lost")

    lost = (await nodes_of(client))[0]
    assert (lost["state"], lost["terminals"], lost["incarnation"]) == ("lost", 0, first["incarnation"])
    assert lost["problem"]
    assert lost["since"] >= first["since"]
    numbers = (await client.get("/metrics")).body.decode()
    assert [line for line in numbers.splitlines() if line.startswith("hermitty_nodes{")] == [
        'hermitty_nodes{state="connecting"} 0',
        'hermitty_nodes{state="draining"} 0',
        'hermitty_nodes{state="live"} 1',
        'hermitty_nodes{state="lost"} 1',
        'hermitty_nodes{state="unreachable"} 0',
    ]
    agent.start()
    async with asyncio.timeout(PATIENCE_S):
        await host.until(lambda nodes: nodes[0].state == "live")
    assert (await nodes_of(client))[0]["problem"] is None


async def test_what_somebody_else_drains_is_told_at_once(gateways: Gateways, places: Places) -> None:
    client = await gateways.start()

    await control.drain("local:2", places.state, "node-2", on=True)

    async with asyncio.timeout(PATIENCE_S):
        await host_of(client).until(lambda nodes: [node.state for node in nodes] == ["live", "draining"])
    assert await states_of(client) == {"node-1": "live", "node-2": "draining"}
