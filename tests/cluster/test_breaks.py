"""Breaks in mid-stream: of the connection, of the agent, of the gateway. Every byte is compared."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermitty.cluster.agent_process import AgentProcess
from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.presence import NodeState
from hermitty.cluster.remote import RemoteHost
from hermitty.errors import HostBusy, HostUnavailable
from hermitty.host.base import Host, HostedPty, PipeSpec
from hermitty.host.control import host_status, stop_host
from hermitty.model import ExitStatus, Size
from hermitty.wire.hostlink.messages import StatusReport
from tests.cluster.conftest import PATIENT, EndLater, Stage
from tests.support.kernel import gone, is_alive, so
from tests.support.proxy import Proxy
from tests.support.recorders import ProcessRecorder, Recorder
from tests.support.specs import spec_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

COUNT = 200_000
NUMBERS = b"".join(b"%d\n" % number for number in range(1, COUNT + 1))
PRINT_NUMBERS = f"stty -opost; seq 1 {COUNT}; exit 3"


class Consumer(Recorder):
    """Acknowledges what it has taken, and calls back whenever it has taken so much more."""

    pty: HostedPty | None = None

    def on_output(self, data: bytes) -> None:
        super().on_output(data)
        if self.pty is not None:
            self.pty.acknowledge(self.pty.log.end)

    async def took(self, count: int) -> None:
        await self.until(lambda: len(self.data) >= count or bool(self.statuses))


async def opened(host: Host, script: str, name: str = "t_1") -> tuple[HostedPty, Consumer]:
    sink = Consumer()
    sink.pty = pty = await host.open(await spec_of(host, script, name), sink)
    return pty, sink


async def in_state(remote: RemoteHost, state: NodeState) -> None:
    await so(lambda: remote.state is state)


@pytest.fixture
async def proxy(stage: Stage) -> AsyncIterator[Proxy]:
    """What lies between the gateway and the node."""
    async with Proxy(stage.endpoint.host, stage.endpoint.port) as proxy:
        stage.endpoint = replace(stage.endpoint, port=proxy.port)
        yield proxy
        # Gateways leave before the network does.
        await stage.aclose()


async def test_a_connection_that_breaks_in_mid_stream_loses_and_doubles_nothing(stage: Stage, proxy: Proxy) -> None:
    remote = await stage.connected()
    _, sink = await opened(remote, PRINT_NUMBERS)
    for part in range(1, 9):
        await in_state(remote, NodeState.LIVE)
        await sink.took(part * len(NUMBERS) // 10)
        proxy.cut()
        await in_state(remote, NodeState.UNREACHABLE)
        proxy.mend()

    assert await sink.ended() == ExitStatus(code=3)
    assert sink.data == NUMBERS
    assert proxy.accepted >= 8


async def test_a_connection_that_stalls_is_given_up_and_made_again(stage: Stage, proxy: Proxy) -> None:
    times = replace(PATIENT, ping_s=0.5, answer_s=0.5)
    remote = await stage.connected(times=times)
    _, sink = await opened(remote, PRINT_NUMBERS)
    await sink.took(len(NUMBERS) // 3)

    proxy.stall()
    await in_state(remote, NodeState.UNREACHABLE)
    before = len(sink.data)
    proxy.mend()

    assert await sink.ended() == ExitStatus(code=3)
    assert sink.data == NUMBERS
    assert before < len(NUMBERS)


async def test_input_arrives_once_whatever_breaks(stage: Stage, proxy: Proxy) -> None:
    remote = await stage.connected()
    pty, sink = await opened(remote, "stty raw -echo; echo ready; head -c 60000")
    await sink.printed(b"ready\n")
    expected = b""
    for number in range(10_000):
        line = b"%05d\n" % number
        expected += line
        pty.write(line)
        if number % 1_000 == 500:
            proxy.cut()
        elif number % 1_000 == 600:
            proxy.mend()
        if number % 50 == 0:
            await asyncio.sleep(0)

    assert await sink.ended() == ExitStatus(code=0)
    assert sink.data == b"ready\n" + expected
    assert pty.writes == 10_000


async def test_a_connection_that_breaks_while_it_comes_back_kills_nothing(stage: Stage, proxy: Proxy) -> None:
    remote = await stage.connected()
    pty, sink = await opened(remote, "echo ready; read x; exit 3")
    await sink.printed(b"ready")
    for turns in range(0, 40, 2):
        proxy.cut()
        await in_state(remote, NodeState.UNREACHABLE)
        proxy.accepted = 0
        proxy.mend()
        await so(lambda: proxy.accepted > 0)
        # A greeting, a lease, the host's welcome, the terminals: one of them is under way.
        for _ in range(turns):
            await asyncio.sleep(0)
        proxy.cut()
        proxy.mend()
        await in_state(remote, NodeState.LIVE)

    pty.write(b"\r")
    assert await sink.ended() == ExitStatus(code=3)


async def test_what_is_said_while_a_node_is_out_of_reach_is_said_later_in_order(stage: Stage, proxy: Proxy) -> None:
    remote = await stage.connected()
    pty, sink = await opened(
        remote, 'stty -echo; echo ready; read name; stty size; cat "$DIR/$name"; read x', "t_files"
    )
    await sink.printed(b"ready")
    proxy.cut()
    await in_state(remote, NodeState.UNREACHABLE)

    pty.put_file("text", b"old\n")
    pty.put_file("text", b"new\n")
    pty.put_file("other", b"x")
    pty.drop_file("other")
    pty.resize(Size(cols=33, rows=11))
    pty.write(b"text\n")
    proxy.mend()

    await sink.printed(b"11 33\r\n")
    assert await pty.get_file("text") == b"new\n"
    assert await pty.get_file("other") is None
    await pty.close()


async def test_a_terminal_that_was_closed_out_of_reach_is_closed_when_its_node_is_back(
    stage: Stage, proxy: Proxy
) -> None:
    remote = await stage.connected()
    pty, sink = await opened(remote, "trap '' HUP; echo ready; while :; do sleep 1; done")
    await sink.printed(b"ready")
    proxy.cut()
    await in_state(remote, NodeState.UNREACHABLE)

    await pty.close()

    assert is_alive(pty.pid)
    proxy.mend()
    await gone(pty.pid)
    await remote.ready()
    assert await remote.found() == []


async def test_a_gateway_that_leaves_waits_for_a_node_to_hear_what_was_closed(stage: Stage, proxy: Proxy) -> None:
    remote = await stage.connected()
    pty, sink = await opened(remote, "trap '' HUP; echo ready; while :; do sleep 1; done")
    await sink.printed(b"ready")
    proxy.cut()

    await pty.close()
    leaving = asyncio.create_task(remote.leave())
    await so(lambda: proxy.accepted >= 3)
    proxy.mend()
    await leaving

    await gone(pty.pid)


async def test_a_process_with_pipes_ends_with_the_connection(stage: Stage, proxy: Proxy) -> None:
    remote = await stage.connected()
    sink = ProcessRecorder()
    spec = PipeSpec("c_1", ("/bin/sh", "-c", "echo ready; exec sleep 1000"), "/", {"PATH": os.environ["PATH"]})
    process = await remote.start(spec, sink)
    await sink.printed(b"ready")

    proxy.cut()

    await sink.until(lambda: bool(sink.lost))
    await gone(process.pid)
    assert sink.statuses == []


async def test_a_file_that_cannot_be_written_is_not_there_and_breaks_nothing(stage: Stage, proxy: Proxy) -> None:
    remote = await stage.connected()
    pty, sink = await opened(remote, "stty -echo; echo ready; read x; echo got $x; read y")
    await sink.printed(b"ready")
    (directory,) = (each.directory for each in remote._held._ptys.values())
    os.mkdir(f"{directory}/line")

    pty.put_file("line", b"a command")
    pty.drop_file("line")
    pty.write(b"it\n")

    await sink.printed(b"got it")
    assert proxy.accepted == 1


async def test_a_slow_gateway_lets_programs_wait_and_gets_everything(stage: Stage) -> None:
    remote = await stage.connected()
    sink = Recorder()
    pty = await remote.open(await spec_of(remote, PRINT_NUMBERS), sink)
    await so(lambda: report_of(stage).terminals[0].is_paused)

    assert len(sink.data) < len(NUMBERS)
    while not sink.statuses:
        pty.acknowledge(pty.log.end)
        await asyncio.sleep(0)

    assert sink.data == NUMBERS
    await pty.close()


def report_of(stage: Stage) -> StatusReport:
    status = host_status(stage.state)
    assert status is not None
    return status.report


# Loss.


async def test_a_node_out_of_reach_for_too_long_is_lost_and_live_again_with_the_same_host(
    stage: Stage, proxy: Proxy
) -> None:
    times = replace(PATIENT, lost_s=0.05)
    remote = await stage.connected(times=times)
    pty, sink = await opened(remote, "echo ready; read x; echo got $x; read y")
    await sink.printed(b"ready")
    incarnation = remote.incarnation
    proxy.cut()

    await sink.until(lambda: bool(sink.lost))
    await pty.close()  # as a terminal does that is lost

    assert remote.state is NodeState.LOST
    assert sink.statuses == []
    assert "what became of it is not known" in sink.lost[0]
    proxy.mend()
    await in_state(remote, NodeState.LIVE)
    assert remote.incarnation == incarnation
    (found,) = await remote.found()
    again = Consumer()
    again.pty = await remote.take_over(found.terminal, again, since=found.start)
    again.pty.write(b"it\n")
    await again.printed(b"got it")
    assert again.data.startswith(b"ready")


async def test_another_run_of_the_host_means_that_the_terminals_are_gone(stage: Stage, proxy: Proxy) -> None:
    remote = await stage.connected()
    pty, sink = await opened(remote, "echo ready; read x")
    await sink.printed(b"ready")
    before = remote.incarnation
    proxy.cut()
    await in_state(remote, NodeState.UNREACHABLE)
    await asyncio.to_thread(stop_host, stage.state)
    proxy.mend()

    await sink.until(lambda: bool(sink.lost))
    await in_state(remote, NodeState.LIVE)

    assert remote.incarnation != before
    assert await remote.found() == []
    await pty.close()


async def test_the_end_of_the_host_is_told_at_once(stage: Stage) -> None:
    remote = await stage.connected()
    _, sink = await opened(remote, "echo ready; read x")
    await sink.printed(b"ready")

    await asyncio.to_thread(stop_host, stage.state)

    await sink.until(lambda: bool(sink.lost or sink.statuses))


# Other gateways.


async def test_another_gateway_waits_until_the_first_has_left_and_goes_on(stage: Stage) -> None:
    first = await stage.connected("g1")
    pty, sink = await opened(first, "echo ready; read x; echo got $x; exit 4")
    await sink.printed(b"ready")
    pty.put_file("kept.state", b"of the first")
    second = stage.gateway("g2")
    await so(lambda: "g1 has the terminals" in second.problem)

    await first.leave()
    await second.ready()

    (found,) = await second.found()
    assert await second.read_file(found, "kept.state") == b"of the first"
    assert await second.read_file(found, "nothing") is None
    again = Consumer()
    again.pty = await second.take_over(found.terminal, again, since=len(b"ready\r\n"))
    again.pty.write(b"it\n")
    assert await again.ended() == ExitStatus(code=4)
    assert again.data == b"it\r\ngot it\r\n"
    assert sink.data == b"ready\r\n"


async def test_a_gateway_that_is_silent_loses_the_terminals(tmp_path: Path, hosts_end: EndLater) -> None:
    stage = Stage(hosts_end(tmp_path / "node"))
    await stage.listen(lease_s=0.2)
    async with Proxy(stage.endpoint.host, stage.endpoint.port) as proxy:
        direct = stage.endpoint
        stage.endpoint = replace(direct, port=proxy.port)
        await stage.connected("g1")
        proxy.stall()

        second = stage.gateway("g2", at=direct, times=replace(PATIENT, ping_s=0.05))
        await second.ready()

        assert second.state is NodeState.LIVE
        await stage.aclose()


async def test_the_same_gateway_takes_the_place_of_its_old_connection(stage: Stage, proxy: Proxy) -> None:
    remote = await stage.connected("g1", times=replace(PATIENT, ping_s=0.5, answer_s=0.5))
    proxy.stall()
    await in_state(remote, NodeState.UNREACHABLE)
    proxy.mend()  # the agent has not noticed anything: its lease is long
    await in_state(remote, NodeState.LIVE)


async def test_whoever_does_not_know_the_secret_gets_nothing(stage: Stage) -> None:
    wrong = replace(stage.endpoint, secret=b"x" * 32)
    remote = stage.gateway(at=wrong)

    await so(lambda: "does not know the secret" in remote.problem)

    assert remote.state is NodeState.CONNECTING


async def test_noise_ends_the_connection_and_nothing_else(stage: Stage) -> None:
    for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\2\1{", b"\xff" * 100, b"\0\0\0\x01\x02"):
        reader, writer = await asyncio.open_connection(stage.endpoint.host, stage.endpoint.port)
        writer.write(noise)
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    await stage.connected()


async def test_output_from_before_what_was_kept_can_still_be_read(stage: Stage) -> None:
    first = await stage.connected("g1")
    pty, sink = await opened(first, f"stty -opost -echo; seq 1 {COUNT}; read x; echo got $x; read y")
    await sink.took(len(NUMBERS))
    kept = len(NUMBERS) - 1000
    await first.leave()
    second = await stage.connected("g2")
    (found,) = await second.found()
    again = Consumer()

    again.pty = await second.take_over(found.terminal, again, since=kept)

    assert again.pty.log.end >= kept
    older = again.pty.log.read(kept - 60_000, kept)
    assert (older.data, older.missed) == (NUMBERS[kept - 60_000 : kept], 0)
    again.pty.write(b"it\n")
    await again.printed(b"got it")
    assert again.data == NUMBERS[kept:] + b"got it\n"
    assert pty.writes == 0


# Processes that are killed.


@pytest.fixture
async def agent(tmp_path: Path, hosts_end: EndLater) -> AsyncIterator[AgentProcess]:
    """An agent in a process of its own, which is started again when it dies."""
    agent = AgentProcess(hosts_end(tmp_path / "node"))
    agent.start()
    await agent.endpoint()
    yield agent
    await agent.aclose()


async def test_an_agent_that_is_killed_in_mid_stream_loses_and_doubles_nothing(agent: AgentProcess) -> None:
    remote = RemoteHost("here", agent.endpoint, gateway="g1", times=PATIENT)
    remote.look()
    await remote.ready()
    incarnation = remote.incarnation
    pty, sink = await opened(remote, f"stty -echo -opost; read x; seq 1 {COUNT}; read y; exit $y")
    killed = set()
    for part in range(4):
        await sink.took(part * len(NUMBERS) // 5)
        await so(lambda: agent.pid is not None and agent.pid not in killed)
        assert agent.pid is not None
        killed.add(agent.pid)
        os.kill(agent.pid, signal.SIGKILL)
        if part == 0:
            pty.write(b"go\n")
    pty.write(b"9\n")

    assert await sink.ended() == ExitStatus(code=9)
    assert sink.data == NUMBERS
    assert remote.incarnation == incarnation
    assert len(killed) == 4
    await remote.aclose()


async def test_a_gateway_that_is_killed_in_mid_stream_leaves_everything_to_the_next(
    stage: Stage, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    script = Path(__file__).with_name("gateway_process.py")
    endpoint = stage.endpoint
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *(str(script), endpoint.host, str(endpoint.port), endpoint.secret.hex(), str(copy), PRINT_NUMBERS),
    )
    try:
        await so(lambda: copy.exists() and copy.stat().st_size > len(NUMBERS) // 3)
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()
    second = stage.gateway("g2")
    await second.ready()

    (found,) = await second.found()
    have = copy.stat().st_size
    assert found.start <= have < len(NUMBERS)
    sink = Consumer()
    sink.pty = await second.take_over(found.terminal, sink, since=have)

    assert await sink.ended() == ExitStatus(code=3)
    assert copy.read_bytes() + sink.data == NUMBERS


# Ends that vanish: no byte, no end of the connection.


async def test_an_agent_that_vanishes_is_found_by_the_pulse_and_nothing_is_lost(agent: AgentProcess) -> None:
    remote = RemoteHost("here", agent.endpoint, gateway="g1", times=replace(PATIENT, ping_s=0.2, answer_s=1.0))
    remote.look()
    await remote.ready()
    pty, sink = await opened(remote, f"stty -echo -opost; seq 1 {COUNT}; read x; exit 5")
    await sink.took(len(NUMBERS) // 3)
    pid = agent.pid
    assert pid is not None

    os.kill(pid, signal.SIGSTOP)
    try:
        await in_state(remote, NodeState.UNREACHABLE)
        pty.write(b"go\n")
    finally:
        os.kill(pid, signal.SIGCONT)

    assert await sink.ended() == ExitStatus(code=5)
    assert sink.data == NUMBERS
    assert agent.pid == pid
    await remote.aclose()


async def test_a_gateway_that_vanishes_loses_the_terminals_to_the_next_and_no_byte(
    tmp_path: Path, hosts_end: EndLater
) -> None:
    stage = Stage(hosts_end(tmp_path / "node"))
    await stage.listen(lease_s=1.0)
    copy, endpoint = tmp_path / "copy", stage.endpoint
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(Path(__file__).with_name("gateway_process.py")), endpoint.host, str(endpoint.port)),
        *(endpoint.secret.hex(), str(copy), PRINT_NUMBERS),
    )
    try:
        await so(lambda: copy.exists() and copy.stat().st_size > len(NUMBERS) // 3)
        process.send_signal(signal.SIGSTOP)
        second = stage.gateway("g2", times=replace(PATIENT, ping_s=0.05))
        await second.ready()
        (found,) = await second.found()
        have = copy.stat().st_size
        sink = Consumer()
        sink.pty = await second.take_over(found.terminal, sink, since=have)

        assert await sink.ended() == ExitStatus(code=3)
        assert copy.read_bytes() + sink.data == NUMBERS
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()
        await stage.aclose()


def test_errors_of_the_agent_are_ours() -> None:
    assert issubclass(HostBusy, HostUnavailable)
    assert "secret" not in repr(Endpoint(host="h", port=1, secret=b"hidden")).replace("secret=", "")
