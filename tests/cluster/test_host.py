"""Several nodes as one host: the contract, places, drain, loss, joining, and other gateways."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermitty.cluster.host import ClusterHost
from hermitty.cluster.link import LinkTimes
from hermitty.cluster.local import LocalPlacement, node_state
from hermitty.cluster.names import Whereabouts, whereabouts
from hermitty.cluster.place import Place
from hermitty.errors import HostUnavailable, TerminalNotFound
from hermitty.host.base import FoundPty, Host, HostedPty
from hermitty.model import Size, TerminalId
from tests.cluster.conftest import PATIENT, EndLater
from tests.contract.host_contract import HostContract
from tests.support.kernel import gone, so
from tests.support.recorders import Recorder
from tests.support.shells import PATIENCE_S
from tests.support.specs import spec_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


class Cluster:
    """A local cluster and its gateways."""

    def __init__(self, state: Path, hosts_end: EndLater) -> None:
        self.state = state
        self._hosts_end = hosts_end
        self._hosts: list[ClusterHost] = []

    def placement(self, count: int) -> LocalPlacement:
        for number in range(1, count + 2):
            self._hosts_end(node_state(self.state, number))
        return LocalPlacement(self.state, count, options=("--lease", "60", "--host-times", "60,60,30,10"))

    async def gateway(
        self, count: int = 2, *, times: LinkTimes = PATIENT, release_s: float = PATIENCE_S
    ) -> tuple[ClusterHost, LocalPlacement]:
        placement = self.placement(count)
        host = ClusterHost(placement, programs=("sh", "bash"), times=times, release_s=release_s)
        self._hosts.append(host)
        await host.connect()
        return host, placement

    async def aclose(self) -> None:
        for host in self._hosts:
            await host.leave()


@pytest.fixture
async def cluster(tmp_path: Path, hosts_end: EndLater) -> AsyncIterator[Cluster]:
    cluster = Cluster(tmp_path / "state", hosts_end)
    yield cluster
    await cluster.aclose()


class TestClusterHost(HostContract):
    """The contract."""

    cluster: Cluster

    @pytest.fixture(autouse=True)
    async def place(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def make_host(self) -> Host:
        host, _ = await self.cluster.gateway(1)
        return host


async def opened(host: Host, script: str, workspace: str | None, name: str = "t_0001") -> tuple[HostedPty, Recorder]:
    at = await host.at(workspace)
    terminal = at.name_terminal(TerminalId(name))
    sink = Recorder()
    return await at.open(await spec_of(at, script, terminal), sink), sink


def node_of(place: Host) -> str:
    assert isinstance(place, Place)
    return place.remote.key


def states(host: ClusterHost) -> list[str]:
    return [node.state for node in host.nodes()]


async def test_workspaces_are_spread_and_stay_where_they_are(cluster: Cluster) -> None:
    host, _ = await cluster.gateway()
    nodes = [node_of(await host.at(name)) for name in ("a", "b", "c", "d")]

    assert sorted(nodes) == sorted([node.key for node in host.nodes()] * 2)
    assert [node_of(await host.at(name)) for name in ("a", "b", "c", "d")] == nodes
    assert node_of(await host.at(None)) == node_of(await host.at(None))


async def test_an_id_tells_the_node_and_the_run_of_its_host(cluster: Cluster) -> None:
    host, _ = await cluster.gateway()
    place = await host.at("a")
    assert isinstance(place, Place)

    name = place.name_terminal(TerminalId("t_0123456789ab"))

    assert whereabouts(name) == Whereabouts(place.remote.key, place.remote.incarnation[:8])
    assert whereabouts("t_0123456789ab") is None
    with pytest.raises(TerminalNotFound):
        await host.take_over(TerminalId("t_00000000_00000000_0001"), Recorder(), since=0)


async def test_a_draining_node_gets_nothing_new_and_keeps_what_it_has(cluster: Cluster) -> None:
    host, _ = await cluster.gateway()
    pty, sink = await opened(host, "echo ready; read x; echo got $x", "a")
    await sink.printed(b"ready")
    before = node_of(await host.at("a"))
    (node,) = (each.id for each in host.nodes() if each.key == before)

    await host.drain(node)

    assert sorted(states(host)) == ["draining", "live"]
    assert {node_of(await host.at(name)) for name in ("a", "b", "c")}.isdisjoint({before})
    pty.write(b"it\n")
    await sink.printed(b"got it")
    await host.drain(node, on=False)
    assert states(host) == ["live", "live"]
    assert before in {node_of(await host.at(name)) for name in ("d", "e", "f", "g")}


async def test_draining_outlives_the_gateway_and_the_agent(cluster: Cluster) -> None:
    first, _ = await cluster.gateway()
    await first.drain(first.nodes()[0].id)
    await first.leave()

    second, _ = await cluster.gateway()

    assert states(second) == ["draining", "live"]


async def test_a_cluster_without_a_node_that_takes_terminals_says_so(cluster: Cluster) -> None:
    host, _ = await cluster.gateway(1, times=replace(PATIENT, ready_s=0.05))
    # It may have taken longer than that to start.
    await host.until(lambda nodes: nodes[0].state == "live")
    await host.drain(host.nodes()[0].id)

    with pytest.raises(HostUnavailable, match="node-1 is draining"):
        await host.at("a")


async def test_a_joining_node_is_used(cluster: Cluster) -> None:
    host, placement = await cluster.gateway(1)
    first = node_of(await host.at("a"))
    joined = placement.join()
    await host.until(lambda nodes: [node.state for node in nodes] == ["live", "live"])

    assert node_of(await host.at("b")) == joined.id != first
    assert node_of(await host.at("a")) == first


async def test_the_terminals_of_a_lost_node_are_told_and_new_ones_go_elsewhere(cluster: Cluster) -> None:
    host, placement = await cluster.gateway(times=replace(PATIENT, lost_s=0.2))
    _, sink = await opened(host, "echo ready; read x", "a")
    _, other = await opened(host, "echo ready; read x; echo got $x", "b", "t_0002")
    await sink.printed(b"ready")
    await other.printed(b"ready")
    before = node_of(await host.at("a"))
    agent = placement.agent(before)

    await agent.aclose()
    await sink.until(lambda: bool(sink.lost))

    assert [node.state for node in host.nodes() if node.key == before] == ["lost"]
    assert node_of(await host.at("a")) != before
    assert other.lost == []
    returned = asyncio.Event()
    host.on_return = returned.set
    agent.start()
    async with asyncio.timeout(PATIENCE_S):
        await returned.wait()
    assert states(host) == ["live", "live"]
    assert [found.terminal for found in await host.found()] != []


async def test_the_next_gateway_finds_terminals_and_the_places_of_their_workspaces(cluster: Cluster) -> None:
    first, _ = await cluster.gateway()
    ptys = [await opened(first, "echo ready; read x; exit 5", name, f"t_000{name}") for name in ("a", "b", "c")]
    for _, sink in ptys:
        await sink.printed(b"ready")
    nodes = {name: node_of(await first.at(name)) for name in ("a", "b", "c")}
    await first.leave()

    second, _ = await cluster.gateway()
    found = await second.found()

    assert len(found) == 3
    assert {name: node_of(await second.at(name)) for name in ("a", "b", "c")} == nodes
    for each in found:
        sink = Recorder()
        pty = await second.take_over(each.terminal, sink, since=each.start)
        pty.write(b"\n")
        await sink.ended()
        await pty.close()
    assert await second.found() == []


async def test_room_that_nobody_uses_is_given_back(cluster: Cluster) -> None:
    host, placement = await cluster.gateway(release_s=0.01)
    pty, sink = await opened(host, "echo ready; read x", "a")
    await sink.printed(b"ready")
    assert await placement.reserved() == ["a"]

    await pty.close()

    async def is_given_back() -> bool:
        return not await placement.reserved()

    await so(is_given_back)


async def test_nothing_is_left_of_a_cluster_that_was_closed(cluster: Cluster) -> None:
    host, placement = await cluster.gateway()
    pty, sink = await opened(host, "trap '' HUP; echo ready; while :; do sleep 1; done", "a")
    await sink.printed(b"ready")
    agents = [placement.agent(node.id).pid for node in host.nodes()]

    await host.aclose()

    await gone(pty.pid, *(pid for pid in agents if pid is not None))
    assert len(agents) == 2
    assert await placement.reserved() == []


async def test_an_agent_ends_with_whoever_started_it_and_its_terminals_do_not(
    tmp_path: Path, hosts_end: EndLater
) -> None:
    state = hosts_end(node_state(tmp_path / "state", 1))
    program = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom hermitty.cluster.local import LocalPlacement\n"
        "async def main():\n p = LocalPlacement(Path(sys.argv[1]), 1)\n (n,) = await p.nodes()\n"
        " await p.endpoint(n.id)\n print(p.agent(n.id).pid, flush=True)\n await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(tmp_path / "state"), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    agent = int(await process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    await process.communicate()

    await gone(agent)
    await so(lambda: not (state / "host" / "agent.json").exists())


async def test_a_terminal_of_which_nothing_can_be_read_stays_and_the_others_are_found(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _ = await cluster.gateway(1)
    names = []
    for name in ("t_0001", "t_0002", "t_0003"):
        _, sink = await opened(host, "echo ready; read x", "a", name)
        await sink.printed(b"ready")
        names.append((await host.at("a")).name_terminal(TerminalId(name)))
    await host.leave()
    host, _ = await cluster.gateway(1)
    (remote,) = host._remotes.values()
    read_file = remote.read_file

    async def read_others(found: FoundPty, name: str) -> bytes | None:
        if found.terminal == names[1]:
            raise HostUnavailable("too many open files")
        return await read_file(found, name)

    monkeypatch.setattr(remote, "read_file", read_others)
    assert {each.terminal for each in await host.found()} == {names[0], names[2]}
    monkeypatch.undo()
    assert {each.terminal for each in await host.found()} == set(names)


async def test_a_terminal_that_was_not_found_is_not_one_without_files(cluster: Cluster) -> None:
    host, _ = await cluster.gateway(1)
    nowhere = FoundPty(TerminalId("t_none"), 1, "/", Size(cols=80, rows=24), 0, 0, 0, 0)

    with pytest.raises(HostUnavailable, match="t_none"):
        await host.read_file(nowhere, "kept.owner")
