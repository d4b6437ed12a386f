"""A real Ray cluster on one machine: a raylet for each node, an actor for each agent, durable hosts outside of Ray.

Ray runs in processes of its own, and so do the gateways: what Ray leaves in a process ends with it.
"""

import asyncio
import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from hermitty.host.control import host_status, stop_host
from tests.support.kernel import gone, is_alive

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed (hermitty[ray])"),
]

# Ray starts slowly on a busy machine: three processes for a node, and one for each actor.
PATIENCE_S = 120.0
TOKEN = "of-the-tests-" * 4
COUNT = 150_000
NUMBERS = b"".join(b"%d\n" % number for number in range(1, COUNT + 1))
PRINT_NUMBERS = f"stty -opost; seq 1 {COUNT}; exit 3"
# A node is looked for until the test gives up; agents come back when Ray has restarted their actors.
PATIENT = {"ping_s": 60, "answer_s": 60, "greet_s": 120, "ready_s": 120, "lost_s": 120}


class RayEnded(Exception):
    """The process of the cluster is gone."""


class RayCluster:
    """The process of the cluster. `home` has the token of the cluster, and nothing tells to use it."""

    def __init__(self, base: Path) -> None:
        self.state = base / "nodes"
        self.home = base / "home"
        (self.home / ".ray").mkdir(parents=True)
        (self.home / ".ray" / "auth_token").write_text(TOKEN)
        env = {**clean(), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN, "RAY_TMPDIR": str(base)}
        script = Path(__file__).with_name("cluster_process.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            text=True,
            start_new_session=True,
        )
        self.address = ""
        self.names: set[str] = set()

    def do(self, what: str) -> dict[str, Any]:
        """Have something done, and wait until it is."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        hopeless = Timer(PATIENCE_S, os.killpg, (self._process.pid, signal.SIGKILL))
        hopeless.start()
        try:
            self._process.stdin.write(what + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            hopeless.cancel()
            hopeless.join()
        if not line:
            raise RayEnded(f"the process of the cluster has ended instead of: {what}")
        facts: dict[str, Any] = json.loads(line)
        self.address = facts.get("address", self.address)
        verb, _, name = what.partition(" ")
        if verb == "add":
            self.names.add(name)
        elif verb == "kill":
            self.names.discard(name)
        return facts

    def close(self) -> None:
        """End it, with every process that it started."""
        try:
            with contextlib.suppress(RayEnded, BrokenPipeError):
                self.do("quit")
            self._process.communicate(timeout=PATIENCE_S)
        finally:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        for node in self.state.glob("*"):
            running = host_status(node)
            if running is not None:
                stop_host(node)


def clean() -> dict[str, str]:
    """Our environment without anything of a Ray cluster that may be here."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return {**env, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(Path(__file__).resolve().parents[3])}


@pytest.fixture(scope="module")
def ray() -> Iterator[RayCluster]:
    """Two nodes. The path is short: the kernel allows sockets 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="hr-", ignore_cleanup_errors=True) as base:
        cluster = RayCluster(Path(base))
        try:
            try:
                cluster.do("add a")
                cluster.do("add b")
            except (RayEnded, BrokenPipeError) as problem:
                pytest.skip(f"Ray does not start here: {problem}")
            yield cluster
        finally:
            cluster.close()


class Gateway:
    """A gateway in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def says(self) -> dict[str, Any]:
        """Wait for the next thing it says."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self.process.stdout.readline()
        assert line, "the gateway has ended; see its error output"
        facts: dict[str, Any] = json.loads(line)
        return facts

    def tell(self, line: str = "") -> None:
        """Let it go on."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")

    async def kill(self) -> None:
        """Kill it with no chance to do anything more."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
        await self.process.communicate()


@asynccontextmanager
async def gateway(ray: RayCluster, body: str, **options: float) -> AsyncIterator[Gateway]:
    """Run a scenario; see gateway_process.py. Its home has the token, its environment does not say so."""
    script = Path(__file__).with_name("gateway_process.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *(str(script), ray.address, str(ray.state), ",".join(ray.names), json.dumps({**PATIENT, **options}), body),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**clean(), "HOME": str(ray.home)},
    )
    running = Gateway(process)
    try:
        yield running
    finally:
        await running.kill()


async def test_nodes_have_agents_and_workspaces_have_room_and_ctrl_c_works(ray: RayCluster, tmp_path: Path) -> None:
    script = "(setsid sleep 1000 & echo pid=$!); exec sleep 1000"
    body = f"""
        say(nodes=sorted([node.name, node.state] for node in host.nodes()))
        sink, place = await opened(host, "w", {script!r}, {str(tmp_path / "o")!r})
        await sink.took(4)
        say(reserved=await placement.reserved(), environment=[n for n in place.environment() if n.startswith("RAY_")])
        sink.pty.write(b"\\x03")
        await sink.over.wait()
        say(status=sink.status, leftover=int(open({str(tmp_path / "o")!r}).read().split("pid=")[1].split()[0]))
        await sink.pty.close()
        while await placement.reserved():
            await asyncio.sleep(0.05)
        say(released=True)
    """
    async with gateway(ray, body) as running:
        assert await running.says() == {"nodes": [["a", "live"], ["b", "live"]]}
        assert await running.says() == {"reserved": ["w"], "environment": []}
        ended = await running.says()
        assert ended["status"] == [None, signal.SIGINT]
        assert await running.says() == {"released": True}
        assert await running.says() == {"over": True}
        await gone(ended["leftover"])


async def test_who_finds_no_room_is_told_what_was_asked_and_what_there_is(ray: RayCluster) -> None:
    body = """
        from hermitty.cluster.placement import PlaceSpec
        say(nodes=sorted([node.name, node.capacity.cpus] for node in host.nodes()))
        try:
            await placement.reserve(PlaceSpec("big", 64.0), [node.id for node in host.nodes()])
        except HermittyError as error:
            say(problem=error.message)
        say(reserved=await placement.reserved())
    """
    async with gateway(ray, body) as running:
        assert await running.says() == {"nodes": [["a", 1.0], ["b", 1.0]]}
        problem = (await running.says())["problem"]
        assert problem.startswith("no node has room for workspace 'big', which wants 64 CPU; there are ")
        assert "a (1 CPU" in problem
        assert "b (1 CPU" in problem
        assert "free in all: 2 CPU" in problem
        assert await running.says() == {"reserved": []}


async def test_an_agents_worker_that_is_killed_in_mid_stream_loses_nothing(ray: RayCluster, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    body = f"""
        sink, place = await opened(host, "w", {PRINT_NUMBERS!r}, {str(copy)!r})
        incarnation, seen = place.remote.incarnation, set()
        for part in (1, 2):
            await sink.took(part * {len(NUMBERS) // 3})
            where = await another_agent(placement, place.remote.key, seen)
            say(keeper=where["keeper"], agent=where["pid"])
            await told()
        await sink.over.wait()
        say(status=sink.status, lost=sink.lost, same=place.remote.incarnation == incarnation)
        await sink.pty.close()
    """
    async with gateway(ray, body) as running:
        for _ in range(2):
            told = await running.says()
            os.kill(told["keeper"], signal.SIGKILL)
            await gone(told["keeper"], told["agent"])
            running.tell()
        assert await running.says() == {"status": [3, None], "lost": None, "same": True}
        assert await running.says() == {"over": True}
    assert copy.read_bytes() == NUMBERS


async def test_a_gateway_that_is_killed_in_mid_stream_loses_nothing(ray: RayCluster, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    first = f"""
        sink, place = await opened(host, "w", {PRINT_NUMBERS!r}, {str(copy)!r})
        await sink.took({len(NUMBERS) // 3})
        os.kill(os.getpid(), 9)
    """
    second = f"""
        (found,) = await host.found()
        say(reserved=await placement.reserved())
        sink = await taken_over(host, found, {str(copy)!r})
        await sink.over.wait()
        say(status=sink.status, lost=sink.lost)
        await sink.pty.close()
    """
    async with gateway(ray, first) as running:
        await running.process.wait()
    assert len(copy.read_bytes()) < len(NUMBERS)
    async with gateway(ray, second) as running:
        assert await running.says() == {"reserved": ["w"]}
        assert await running.says() == {"status": [3, None], "lost": None}
        assert await running.says() == {"over": True}
    assert copy.read_bytes() == NUMBERS


async def test_a_raylet_that_is_killed_in_mid_stream_loses_nothing_and_a_lost_node_is_replaced(
    ray: RayCluster, tmp_path: Path
) -> None:
    await asyncio.to_thread(ray.do, "add c")
    copy = tmp_path / "copy"
    script = f"stty -opost -echo; seq 1 {COUNT}; read code; exit $code"
    body = f"""
        for node in host.nodes():
            if node.name != "c":
                await host.drain(node.id)
        sink, place = await opened(host, "w", {script!r}, {str(copy)!r})
        incarnation = place.remote.incarnation
        await sink.took({len(NUMBERS) // 3})
        say(name=place.remote.name, pid=sink.pty.pid)
        sink.pty.write((await told()).encode() + b"\\n")
        await sink.over.wait()
        say(status=sink.status, lost=sink.lost, same=place.remote.incarnation == incarnation)
        await sink.pty.close()
        sink, place = await opened(host, "w", "echo ready; read x", {str(tmp_path / "other")!r})
        for node in host.nodes():
            if node.name != "c":
                await host.drain(node.id, on=False)
        await sink.took(5)
        say(name=place.remote.name, pid=sink.pty.pid)
        await host.until(lambda nodes: any(node.name == "c" and node.state == "unreachable" for node in nodes))
        place.remote.give_up("the test says so")
        await sink.over.wait()
        again = await host.at("w")
        say(status=sink.status, lost=sink.lost is not None, elsewhere=again.remote.name)
        await host.until(lambda nodes: all(node.name != "c" for node in nodes))
        say(nodes=sorted([node.name, node.state] for node in host.nodes()))
    """
    async with gateway(ray, body, answer_s=1, ping_s=60) as running:
        told = await running.says()
        assert told["name"] == "c"
        await asyncio.to_thread(ray.do, "kill c")
        assert is_alive(told["pid"])
        await asyncio.to_thread(ray.do, "add c")
        running.tell("3")
        assert await running.says() == {"status": [3, None], "lost": None, "same": True}
        assert copy.read_bytes() == NUMBERS

        told = await running.says()
        assert told["name"] == "c"
        await asyncio.to_thread(ray.do, "kill c")
        lost = await running.says()
        assert lost == {"status": None, "lost": True, "elsewhere": lost["elsewhere"]}
        assert lost["elsewhere"] in ("a", "b")
        assert await running.says() == {"nodes": [["a", "live"], ["b", "live"]]}
        assert await running.says() == {"over": True}
        os.kill(told["pid"], signal.SIGKILL)
