"""Connections that break: nothing is sent twice, nothing is lost, and what nobody knows is said."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hermitty import errors, events
from hermitty.client.finding import ServerAddress
from hermitty.client.http import Http
from hermitty.client.link import Connected, LinkEvent, Lost, Output, Over, Picture, TerminalLink
from hermitty.client.runtime import RemoteRuntime
from hermitty.model import Size
from tests.client.conftest import TOKEN, Server, started_server, until
from tests.client.proxy import Proxy, proxy_to
from tests.support.kernel import so
from tests.support.runtimes import Gate
from tests.support.shells import PATIENCE_S


@pytest.fixture
async def proxy(server: Server) -> AsyncIterator[Proxy]:
    async with proxy_to(server.serving.port) as proxy:
        yield proxy


@pytest.fixture
async def rt(proxy: Proxy) -> AsyncIterator[RemoteRuntime]:
    async with RemoteRuntime(ServerAddress(proxy.url, TOKEN), retry_s=PATIENCE_S) as runtime:
        yield runtime


async def busy(server: Server) -> None:
    """Wait until a command runs."""
    told = asyncio.Event()

    def note(event: events.Event) -> None:
        if isinstance(event, events.CommandStarted):
            told.set()

    stop = server.runtime.subscribe(note)
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not server.runtime.terminals(busy=True):
                told.clear()
                await told.wait()
    finally:
        stop()


async def test_a_run_whose_connection_breaks_is_found_again_and_ran_once(
    rt: RemoteRuntime, proxy: Proxy, server: Server, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    work = asyncio.ensure_future(rt.run("echo ran >> times; cat gate; sh -c 'exit 3'", cwd=tmp_path))
    await busy(server)
    for _ in range(3):
        proxy.cut()
        await until_forwarded(proxy, b"GET /api/commands/", 1)
        proxy.forwarded.clear()
    gate.let("through\n")
    result = await work
    assert (result.exit_code, result.text) == (3, "through\n")
    assert (tmp_path / "times").read_text() == "ran\n"
    assert len(server.runtime.commands()) == 1


async def test_a_command_that_may_not_have_arrived_is_not_sent_again(
    rt: RemoteRuntime, proxy: Proxy, server: Server, tmp_path: Path
) -> None:
    proxy.swallow = b"POST /api/run"
    with pytest.raises(errors.OutcomeUnknown, match="unknown whether it ran") as unknown:
        await rt.run("echo ran >> times", cwd=tmp_path, command_id="c_0123456789abcdef")
    assert unknown.value.command_id == "c_0123456789abcdef"
    assert proxy.swallowed == 1
    assert not (tmp_path / "times").exists()
    proxy.swallow = b"POST /api/terminals "
    with pytest.raises(errors.OutcomeUnknown, match="unknown whether the terminal was opened"):
        await rt.open_terminal(cwd=tmp_path)
    assert proxy.swallowed == 2
    assert server.runtime.terminals() == []


async def test_what_is_typed_is_not_typed_twice(rt: RemoteRuntime, proxy: Proxy, tmp_path: Path) -> None:
    terminal = await rt.open_terminal(cwd=tmp_path)
    proxy.swallow = b"POST /api/terminals/" + terminal.id.encode() + b"/input"
    with pytest.raises(errors.ServerUnavailable, match="broke"):
        await terminal.write("lost")
    assert proxy.swallowed == 1


async def test_what_only_looks_is_asked_again(rt: RemoteRuntime, proxy: Proxy, tmp_path: Path) -> None:
    result = await rt.run("echo hi", cwd=tmp_path)
    proxy.swallow = b"GET /api/commands/"
    looking = asyncio.ensure_future(rt.result(result.id))
    while proxy.swallowed < 3:
        await asyncio.sleep(0)
    proxy.swallow = None
    assert (await looking).text == "hi\n"


async def test_output_is_followed_across_breaks_without_a_gap(rt: RemoteRuntime, proxy: Proxy, tmp_path: Path) -> None:
    # One for each: whoever has read one to its end may not have closed it yet.
    gates = [Gate(tmp_path / f"gate{number}") for number in range(1, 6)]
    terminal = await rt.open_terminal(cwd=tmp_path)
    command = await terminal.start("for i in 1 2 3 4 5; do cat gate$i; done")
    for number, gate in enumerate(gates, start=1):
        await asyncio.to_thread(gate.let, f"{number}\n")
        assert await command.wait_for(f"^{number}$", PATIENCE_S)
        proxy.cut()
    result = await command.wait(PATIENCE_S)
    assert command.output().text == result.text == "1\n2\n3\n4\n5\n"


async def test_events_go_on_where_they_were(rt: RemoteRuntime, proxy: Proxy, server: Server, tmp_path: Path) -> None:
    told: list[events.Event] = []
    rt.subscribe(told.append)
    terminal = await server.runtime.open_terminal(cwd=tmp_path)
    await until(rt, lambda: terminal.id in {each.id for each in rt.terminals()})
    proxy.is_closed = True
    proxy.cut()
    await server.runtime.run_in(terminal.id, "sh -c 'exit 3'")
    await server.runtime.run_in(terminal.id, "sh -c 'exit 4'")
    proxy.is_closed = False
    await until(rt, lambda: codes(told) == [3, 4])
    assert rt.terminal(terminal.id).last is not None


def codes(told: list[events.Event]) -> list[int | None]:
    return [event.exit_code for event in told if isinstance(event, events.CommandFinished)]


async def test_a_server_that_dies_while_somebody_connects_is_waited_for(server: Server) -> None:
    async with proxy_to(server.serving.port) as proxy:
        proxy.swallow = b"GET /api/events"
        client = RemoteRuntime(ServerAddress(proxy.url, TOKEN), retry_s=PATIENCE_S)
        opening = asyncio.ensure_future(client.__aenter__())
        await so(lambda: proxy.swallowed >= 2)
        assert not opening.done()
        proxy.swallow = None
        async with asyncio.timeout(PATIENCE_S):
            await opening
        assert client.terminals() == []
        await client.close()


async def test_somebody_without_patience_is_told_at_once_that_a_server_dies(server: Server) -> None:
    async with proxy_to(server.serving.port) as proxy:
        proxy.swallow = b"GET /api/events"
        with pytest.raises(errors.ServerUnavailable):
            await RemoteRuntime(ServerAddress(proxy.url, TOKEN), retry_s=0.0).__aenter__()


async def test_a_server_that_is_gone_is_told_after_the_patience(server: Server, tmp_path: Path) -> None:
    async with (
        proxy_to(server.serving.port) as proxy,
        RemoteRuntime(ServerAddress(proxy.url, TOKEN), retry_s=0.05) as rt,
    ):
        proxy.is_closed = True
        proxy.cut()
        with pytest.raises(errors.ServerUnavailable):
            await rt.run("true", cwd=tmp_path)
        with pytest.raises(errors.ServerUnavailable):
            await rt.history()
        assert rt.terminals() == []  # what was known last
        proxy.is_closed = False
        assert (await rt.run("echo back", cwd=tmp_path)).text == "back\n"


async def test_another_server_at_the_same_place_is_loaded_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a restart: the mirror has what the new server has, and nothing else."""
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "one"))
    async with contextlib.AsyncExitStack() as second:
        async with contextlib.AsyncExitStack() as first:
            one = await first.enter_async_context(started_server(tmp_path, monkeypatch, {}))
            proxy = await second.enter_async_context(proxy_to(one.serving.port))
            rt = await second.enter_async_context(RemoteRuntime(ServerAddress(proxy.url, TOKEN), retry_s=PATIENCE_S))
            old = await rt.open_terminal(cwd=tmp_path)
            monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "two"))
            two = await second.enter_async_context(started_server(tmp_path, monkeypatch, {}))
            new = await two.runtime.open_terminal(cwd=tmp_path)
            proxy.lead_to(two.serving.port)
        await until(rt, lambda: [each.id for each in rt.terminals()] == [new.id])
        assert not old.is_open
        with pytest.raises(errors.TerminalClosed):
            old.write("x")


# Viewers.


class Watched:
    """What a link gives, in order."""

    def __init__(self, link: TerminalLink) -> None:
        self.link = link
        self.seen: list[LinkEvent] = []
        self._changed = asyncio.Event()
        self._task = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        try:
            async for event in self.link.events():
                self.seen.append(event)
                self.link.handled()
                self._changed.set()
        finally:
            self._changed.set()

    async def until(self, fact: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not fact():
                if self._task.done():
                    self._task.result()
                    assert fact(), self.seen[-3:]
                self._changed.clear()
                await self._changed.wait()

    @property
    def output(self) -> bytes:
        return b"".join(event.data for event in self.seen if isinstance(event, Output))

    def of(self, kind: type[LinkEvent]) -> list[LinkEvent]:
        return [event for event in self.seen if isinstance(event, kind)]

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})


@contextlib.asynccontextmanager
async def watching(proxy: Proxy, terminal_id: str) -> AsyncIterator[Watched]:
    async with Http(ServerAddress(proxy.url, TOKEN), retry_s=0) as http:
        watched = Watched(TerminalLink(http, terminal_id, size=Size(100, 30)))
        try:
            yield watched
        finally:
            await watched.close()


async def test_a_viewer_gets_every_byte_once_across_breaks(proxy: Proxy, server: Server, tmp_path: Path) -> None:
    terminal = await server.runtime.open_terminal(cwd=tmp_path)
    async with watching(proxy, terminal.id) as watched:
        await watched.until(lambda: bool(watched.of(Picture)))
        start = watched.of(Connected)[0]
        assert isinstance(start, Connected)
        gates = [Gate(tmp_path / f"gate{number}") for number in range(10)]
        command = await terminal.start("for i in $(seq 0 9); do cat gate$i; seq $i 300 2000; done")
        for number, gate in enumerate(gates):
            await asyncio.to_thread(gate.let, f"<{number}>\n")
            await watched.until(lambda wanted=b"<%d>" % number: wanted in watched.output)  # type: ignore[misc]
            proxy.cut()
            await watched.until(lambda count=number + 1: len(watched.of(Lost)) >= count)  # type: ignore[misc]
        await command.wait(PATIENCE_S)
        await watched.until(lambda: start.hello.offset + len(watched.output) >= terminal.log.end)
        assert watched.output == terminal.log.read(start.hello.offset).data
        assert len(watched.of(Picture)) == 1
        outputs = [event for event in watched.seen if isinstance(event, Output)]
        for before, after in itertools.pairwise(outputs):
            assert after.offset == before.offset + len(before.data)


async def test_a_viewer_types_and_learns_of_the_end(proxy: Proxy, server: Server, tmp_path: Path) -> None:
    terminal = await server.runtime.open_terminal(cwd=tmp_path)
    async with watching(proxy, terminal.id) as watched:
        assert not watched.link.type(b"too early")
        await watched.until(lambda: bool(watched.of(Picture)))
        assert watched.link.type(b"stty size; exit 3\r")
        await watched.until(lambda: bool(watched.of(Over)))
        assert b"30 100" in watched.output
        [over] = watched.of(Over)
        assert isinstance(over, Over)
        assert "exited with code 3" in over.reason


async def test_a_viewer_of_nothing_is_told(proxy: Proxy, server: Server) -> None:
    async with watching(proxy, "t_nothing") as watched:
        with pytest.raises(errors.TerminalNotFound):
            await watched.until(lambda: False)


async def until_forwarded(proxy: Proxy, start: bytes, count: int) -> None:
    """Wait until the client has asked again."""
    async with asyncio.timeout(PATIENCE_S):
        while sum(line.startswith(start) for line in proxy.forwarded) < count:
            await asyncio.sleep(0)
