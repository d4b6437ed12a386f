"""Breaks while somebody asks, and gateways that are cancelled while they leave."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType
from typing import NoReturn

import pytest

from hermitty.cluster.presence import NodeState
from hermitty.cluster.remote import RemoteHost
from hermitty.cluster.remote_pty import RemotePty
from hermitty.config import Settings
from hermitty.engine.host_opener import OWNER, HostOpener
from hermitty.errors import HostUnavailable
from hermitty.host.base import FoundPty
from hermitty.model import Size, TerminalId
from tests.cluster.conftest import PATIENT, Stage
from tests.cluster.test_breaks import in_state, opened
from tests.cluster.test_breaks import proxy as proxy  # a fixture
from tests.support.kernel import few_descriptors, is_alive, so
from tests.support.proxy import Proxy
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

OWNED = b'{"owner": "somebody"}'


def cut(remote: RemoteHost) -> None:
    """Break the connection of a gateway."""
    assert remote.link is not None
    remote.link.abort("a break")


@contextlib.contextmanager
def interrupted() -> Iterator[None]:
    """End a hopeless wait even if the event loop has no turn any more."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise AssertionError("the event loop does not get a turn")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# Terminals that were left.


async def left_on(stage: Stage, count: int) -> list[int]:
    """Leave terminals on the node as a gateway does that is gone; return their processes."""
    first = await stage.connected("g1")
    pids = []
    for number in range(count):
        pty, sink = await opened(first, "echo ready; read x", f"t_{number}")
        await sink.printed(b"ready")
        pty.put_file(OWNER, OWNED)
        assert await pty.get_file(OWNER) == OWNED
        pids.append(pty.pid)
    await first.leave()
    return pids


async def test_files_of_what_was_found_are_read_through_a_later_connection(stage: Stage) -> None:
    await left_on(stage, 1)
    second = await stage.connected("g2")
    (found,) = await second.found()

    cut(second)

    assert await second.read_file(found, OWNER) == OWNED
    assert await second.read_file(found, "nothing") is None


async def test_a_terminal_that_is_not_there_is_not_one_without_files(stage: Stage) -> None:
    await left_on(stage, 1)
    second = await stage.connected("g2")
    (found,) = await second.found()

    with pytest.raises(HostUnavailable, match="t_other is not among those that nobody uses"):
        await second.read_file(replace(found, terminal=TerminalId("t_other")), OWNER)

    assert await second.read_file(found, OWNER) == OWNED


async def test_a_break_after_terminals_were_found_closes_none_of_them(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = await left_on(stage, 3)
    second = await stage.connected("g2")
    found = second.found

    async def found_and_cut() -> list[FoundPty]:
        listed = await found()
        cut(second)
        return listed

    def no_screen(size: Size) -> NoReturn:
        raise AssertionError("nothing is opened")

    monkeypatch.setattr(second, "found", found_and_cut)
    left = await HostOpener(second, Settings, no_screen).found()

    assert [each.owner for each in left] == [{"owner": "somebody"}] * 3
    assert [is_alive(pid) for pid in pids] == [True] * 3


async def test_a_node_without_descriptors_does_not_say_that_files_are_not_there(stage: Stage) -> None:
    await left_on(stage, 1)
    second = await stage.connected("g2")
    (found,) = await second.found()
    pty, sink = await opened(second, "echo ready; read x", "t_own")
    await sink.printed(b"ready")
    pty.put_file("text", b"words")
    assert await pty.get_file("text") == b"words"

    with few_descriptors(0):
        with pytest.raises(HostUnavailable, match="Too many open files"):
            await second.read_file(found, OWNER)
        with pytest.raises(HostUnavailable, match="Too many open files"):
            await pty.get_file("text")

    assert await second.read_file(found, OWNER) == OWNED
    assert await pty.get_file("text") == b"words"


# Questions.


@pytest.mark.parametrize("end", ["gateway", "network"])
async def test_a_file_that_is_asked_for_during_a_break_is_read_after_it(stage: Stage, proxy: Proxy, end: str) -> None:
    remote = await stage.connected()
    pty, sink = await opened(remote, "echo ready; read x")
    await sink.printed(b"ready")
    pty.put_file("text", b"words")
    assert await pty.get_file("text") == b"words"

    with interrupted():
        asked = asyncio.create_task(pty.get_file("text"))
        await asyncio.sleep(0)  # the question is on its way
        if end == "gateway":
            cut(remote)
        else:
            proxy.cut()
            await in_state(remote, NodeState.UNREACHABLE)
            assert not asked.done()
            proxy.mend()
        assert await asked == b"words"


async def test_a_file_of_a_terminal_that_was_closed_is_not_there(stage: Stage) -> None:
    remote = await stage.connected()
    pty, sink = await opened(remote, "echo ready; read x")
    await sink.printed(b"ready")
    pty.put_file("text", b"words")
    assert await pty.get_file("text") == b"words"
    assert isinstance(pty, RemotePty)

    pty.handle += 1  # as if the node had closed it, and had not told yet

    assert await pty.get_file("text") is None


# Gateways that leave.


@pytest.mark.parametrize("turns", range(1, 8))
async def test_a_gateway_that_is_cancelled_while_it_leaves_lets_go_of_the_node(stage: Stage, turns: int) -> None:
    remote = await stage.connected("g1")
    pty, sink = await opened(remote, "echo ready; read x")
    await sink.printed(b"ready")
    link = remote.link
    assert link is not None

    leaving = asyncio.create_task(remote.leave())
    for _ in range(turns):
        await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)

    async with asyncio.timeout(PATIENCE_S):
        await link.gone.wait()
    second = await stage.connected("g2")
    assert [each.terminal for each in await second.found()] == ["t_1"]
    assert is_alive(pty.pid)
    await remote.leave()
    assert remote.link is None


async def test_a_gateway_that_is_cancelled_while_it_waits_for_a_node_does_not_come_back(
    stage: Stage, proxy: Proxy
) -> None:
    remote = await stage.connected("g1")
    pty, sink = await opened(remote, "echo ready; read x")
    await sink.printed(b"ready")
    proxy.cut()
    await in_state(remote, NodeState.UNREACHABLE)
    await pty.close()
    leaving = asyncio.create_task(remote.leave())
    before = proxy.accepted
    await so(lambda: proxy.accepted > before)  # it is being waited for
    assert not leaving.done()

    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)

    looking = remote._presence._task
    assert looking is not None
    await so(looking.done)
    await remote.leave()
    assert remote.link is None
    before = proxy.accepted
    proxy.mend()
    second = await stage.connected("g2")
    assert [each.terminal for each in await second.found()] == ["t_1"]
    assert proxy.accepted == before + 1
    with pytest.raises(HostUnavailable):
        await remote.ready()


async def test_a_node_that_takes_nothing_does_not_keep_a_gateway_that_leaves(stage: Stage, proxy: Proxy) -> None:
    remote = await stage.connected("g1", times=replace(PATIENT, ping_s=PATIENCE_S, answer_s=0.1))
    pty, sink = await opened(remote, "echo ready; read x")
    await sink.printed(b"ready")
    link = remote.link
    assert link is not None
    proxy.stall()
    while link.unsent_bytes < 40_000_000:  # more than the kernel keeps for a connection
        pty.put_file("large", bytes(10_000_000))

    leaving = asyncio.create_task(remote.leave())
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)

    async with asyncio.timeout(PATIENCE_S):
        await link.gone.wait()
        await remote.leave()
    assert link.why == "it takes nothing more"
