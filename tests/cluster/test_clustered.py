"""A runtime on a cluster: commands, keeping, another gateway, lost nodes that come back, and the command line."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermitty.cli.main import main
from hermitty.cluster.agent_process import AgentProcess
from hermitty.cluster.host import ClusterHost
from hermitty.cluster.link import LinkTimes
from hermitty.cluster.local import LocalPlacement, node_state
from hermitty.cluster.names import whereabouts
from hermitty.cluster.status import NodeStatus
from hermitty.errors import InvalidDirectory, InvalidRequest, SandboxUnavailable
from hermitty.host.control import stop_host
from hermitty.model import State
from hermitty.runtime.api import Runtime
from hermitty.runtime.clustered import open_clustered
from tests.cluster.conftest import PATIENT, EndLater
from tests.support.runtimes import Listener, begun, settings_in
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


class Clusters:
    """Runtimes on the local cluster of one state directory."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._runtimes: list[Runtime] = []

    async def open(self, *, times: LinkTimes = PATIENT) -> Runtime:
        runtime = await open_clustered("local:2", settings_in(self.home, policy__mode="off"), times=times)
        self._runtimes.append(runtime)
        return runtime

    async def leave(self, runtime: Runtime) -> None:
        self._runtimes.remove(runtime)
        await runtime.leave()

    async def aclose(self) -> None:
        for runtime in self._runtimes:
            await runtime.close()


@pytest.fixture
async def clusters(tmp_path: Path, hosts_end: EndLater, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Clusters]:
    state = tmp_path / "state"
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(state))
    for number in (1, 2):
        hosts_end(node_state(state, number))
    (tmp_path / "home").mkdir()
    clusters = Clusters(tmp_path / "home")
    yield clusters
    await clusters.aclose()


def host_of(runtime: Runtime) -> ClusterHost:
    host = runtime._host
    assert isinstance(host, ClusterHost)
    return host


async def test_commands_run_on_the_nodes_of_their_workspaces(clusters: Clusters) -> None:
    runtime = await clusters.open()
    results = [
        await runtime.run(f"cd /; echo {name}; (exit 3)", cwd=clusters.home, workspace=name) for name in ("a", "b", "a")
    ]

    assert [(each.text, each.exit_code, each.cwd) for each in results] == [
        ("a\n", 3, "/"), ("b\n", 3, "/"), ("a\n", 3, "/")
    ]  # fmt: skip
    nodes = [whereabouts(each.terminal or "") for each in results]
    assert nodes[0] == nodes[2] is not None
    assert nodes[0] != nodes[1] is not None
    assert results[0].terminal == results[2].terminal
    assert (await runtime.environment(results[0].terminal or ""))["HOME"] == str(clusters.home)
    with pytest.raises(InvalidDirectory):
        await runtime.run("true", cwd=clusters.home / "nowhere", workspace="a")


async def test_processes_without_a_terminal_run_there_too(clusters: Clusters) -> None:
    runtime = await clusters.open()
    result = await runtime.run("echo out; echo err >&2; exit 4", cwd=clusters.home, workspace="a", provider="pipe")

    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 4)


async def test_a_long_output_is_complete(clusters: Clusters) -> None:
    runtime = await clusters.open()
    result = await runtime.run("stty -opost; seq 1 200000", cwd=clusters.home)

    assert result.exit_code == 0
    assert result.total_bytes == len("".join(f"{number}\n" for number in range(1, 200_001)))


async def test_the_next_gateway_goes_on_with_a_command(clusters: Clusters) -> None:
    first = await clusters.open()
    command = await begun(first, "echo ready; read x; echo got $x; (exit 6)", clusters.home, prints="ready")
    await clusters.leave(first)

    second = await clusters.open()
    (terminal,) = second.terminals()
    terminal.write("it\n")
    result = await second.result(command.id, PATIENCE_S)

    assert (result.state, result.exit_code, result.terminal) == (State.DONE, 6, terminal.id)
    assert result.text.endswith("got it\n")


async def test_a_command_of_a_lost_node_is_lost_and_its_terminal_comes_back_with_the_node(clusters: Clusters) -> None:
    runtime = await clusters.open(times=replace(PATIENT, lost_s=0.2))
    listener = Listener(runtime)
    command = await begun(runtime, "echo ready; read x; echo got $x", clusters.home, prints="ready")
    (terminal,) = (each.id for each in runtime.terminals())
    where = whereabouts(terminal)
    assert where is not None
    placement = host_of(runtime)._placement
    assert isinstance(placement, LocalPlacement)
    agent = placement.agent(where.node)

    await agent.aclose()
    result = await command.wait(PATIENCE_S)

    assert (result.state, result.exit_code) == (State.LOST, None)
    assert any("what became of it is not known" in warning for warning in result.warnings)
    elsewhere = await runtime.run("echo elsewhere", cwd=clusters.home)
    there = whereabouts(elsewhere.terminal or "")
    assert there is not None
    assert there.node != where.node
    agent.start()
    await listener.until(lambda: any(each.id == terminal for each in runtime.terminals()))
    again = runtime.terminal(terminal)
    again.write("it\n")
    ended = await runtime.result(command.id, PATIENCE_S)
    assert ended.exit_code == 0
    assert ended.text.endswith("got it\n")


async def test_a_node_that_comes_back_with_another_host_has_lost_its_commands_and_runs_none_again(
    clusters: Clusters,
) -> None:
    runtime = await clusters.open()
    count = clusters.home / "count"
    command = await begun(runtime, f"echo x >> {count}; echo ready; read x", clusters.home, prints="ready")
    (terminal,) = (each.id for each in runtime.terminals())
    host = host_of(runtime)
    before, state = used_node(host)
    placement = host._placement
    assert isinstance(placement, LocalPlacement)
    agent = placement.agent(before.id)

    await agent.aclose()
    await asyncio.to_thread(stop_host, state)
    agent.start()
    result = await command.wait(PATIENCE_S)

    assert (result.state, result.exit_code) == (State.LOST, None)
    async with asyncio.timeout(PATIENCE_S):
        await host.until(lambda nodes: all(node.state == "live" for node in nodes))
    (after,) = (node for node in host.nodes() if node.id == before.id)
    assert (after.key, after.terminals) == (before.key, 0)
    assert after.incarnation != before.incarnation
    assert runtime.terminals() == []
    again = await runtime.run("echo again", cwd=clusters.home)
    assert again.text == "again\n"
    assert again.terminal != terminal
    assert count.read_text() == "x\n"


def used_node(host: ClusterHost) -> tuple[NodeStatus, Path]:
    """The one node with a terminal, and its state directory."""
    (node,) = (each for each in host.nodes() if each.terminals == 1)
    placement = host._placement
    assert isinstance(placement, LocalPlacement)
    return node, placement.agent(node.id).files.state


async def test_a_sandbox_holds_on_a_node_and_outlives_the_gateway(clusters: Clusters, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    line = "touch ../outside; touch inside; ls"
    first = await clusters.open()
    try:
        result = await first.run(line, cwd=project, workspace=str(project), sandbox="workspace")
    except SandboxUnavailable as error:
        pytest.skip(error.message)
    assert result.text.endswith("inside\n")
    await clusters.leave(first)

    second = await clusters.open()
    (terminal,) = second.terminals()
    again = await terminal.run(line)

    assert again.text.endswith("inside\n")
    assert terminal.pty.sandbox is not None
    assert not (tmp_path / "outside").exists()


async def test_nodes_are_shown_and_drained_from_the_command_line(
    clusters: Clusters, capsys: pytest.CaptureFixture[str]
) -> None:
    runtime = await clusters.open()
    await runtime.run("true", cwd=clusters.home, workspace="a")

    async def cli(*words: str) -> tuple[int, str]:
        code = await asyncio.to_thread(main, ["cluster", *words])
        return code, capsys.readouterr().out

    code, text = await cli("status", "--json")
    nodes = [json.loads(line) for line in text.splitlines()]
    assert code == 0
    assert [(node["name"], node["state"]) for node in nodes] == [("node-1", "live"), ("node-2", "live")]
    assert sorted(node["terminals"] for node in nodes) == [0, 1]
    code, text = await cli("drain", "node-1")
    assert code == 0
    assert text.startswith("node-1 gets no new terminals; ")
    assert "draining" in (await cli("status"))[1]
    assert await cli("drain", nodes[0]["node"], "--off") == (0, "node-1 is used again\n")
    assert (await cli("drain", "node-9"))[0] == 125
    await clusters.leave(runtime)
    code, text = await cli("status")
    assert code == 1
    assert "its agent does not run" in text


async def test_machines_can_be_listed_in_a_file(
    tmp_path: Path, hosts_end: EndLater, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    agent = AgentProcess(hosts_end(tmp_path / "machine"), ("--name", "one"))
    agent.start()
    try:
        endpoint = await agent.endpoint()
        secret = agent.files.secret
        (tmp_path / "nodes.toml").write_text(
            f'[[nodes]]\nname = "one"\naddress = "{endpoint.address}"\nsecret_file = "{secret}"\n'
        )
        cluster = str(tmp_path / "nodes.toml")
        runtime = await open_clustered(cluster, settings_in(tmp_path, policy__mode="off"), times=PATIENT)
        try:
            assert (await runtime.run("echo there", cwd=tmp_path)).text == "there\n"
            assert await asyncio.to_thread(main, ["cluster", "status", "--cluster", cluster]) == 0
            assert "one " in capsys.readouterr().out
        finally:
            await runtime.close()
    finally:
        await agent.aclose()


async def test_a_cluster_that_makes_no_sense_is_refused(clusters: Clusters) -> None:
    with pytest.raises(InvalidRequest):
        await open_clustered("local:many")
    with pytest.raises(InvalidRequest):
        await open_clustered(str(clusters.home / "missing.toml"))
    assert "HERMITTY_CLUSTER" not in os.environ
