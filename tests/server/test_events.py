"""Server-sent events: what happens, in order, resumed after a gap, and told to be missing when it is."""

import asyncio
import socket
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.server.feed import Feed, frame_of
from tests.server.conftest import StartServer
from tests.server.talking import Client, Events, SentEvent
from tests.support.shells import PATIENCE_S

# The feed.


async def test_a_reader_gets_what_came_after_its_position() -> None:
    feed = Feed()
    for number in range(5):
        feed.publish("x", {"number": number})
    batch = feed.since(2)
    assert ([each.number for each in batch.events], batch.missed, batch.position) == ([3, 4, 5], False, 5)
    assert feed.since(5).events == ()
    assert feed.position_of(feed.id_of(3)) == 3
    assert feed.position_of(None) == 5


async def test_what_is_too_much_is_forgotten_and_that_is_told() -> None:
    by_number, by_size = Feed(kept_events=3), Feed(kept_bytes=1000)
    for feed in (by_number, by_size):
        for number in range(10):
            feed.publish("x", {"text": "y" * 300, "number": number})
        assert feed.since(0).missed
        assert feed.since(0).events == ()
        assert not feed.since(9).missed
        assert [each.number for each in feed.since(9).events] == [10]
    assert [each.number for each in by_number.since(7).events] == [8, 9, 10]
    assert by_number.since(6).missed


@given(st.text(max_size=40))
def test_an_id_is_one_of_this_server_or_none(text: str) -> None:
    async def check() -> None:
        feed = Feed()
        feed.publish("x", {})
        position = feed.position_of(text)
        assert position is None or text in (feed.id_of(0), feed.id_of(1), f"{feed.epoch}-{'0' * 5}")

    asyncio.run(check())


@pytest.mark.parametrize(
    "last", ["", "-", "x-1", "{epoch}", "{epoch}-", "{epoch}-99", "{epoch}-x", "{epoch}--1", "{epoch}-²"]
)
async def test_ids_that_cannot_be_resumed(last: str) -> None:
    feed = Feed()
    feed.publish("x", {})
    assert feed.position_of(last.format(epoch=feed.epoch)) is None


@given(st.text())
def test_an_event_is_one_line_of_data_whatever_is_in_it(text: str) -> None:
    frame = frame_of("name", {"text": text}, "e-1")
    lines = frame.decode().split("\n")
    assert lines[0] == "id: e-1"
    assert lines[1] == "event: name"
    assert lines[2].startswith("data: {")
    assert lines[3:] == ["", ""]
    assert b"\r" not in frame


# Over HTTP.


async def told(events: Events) -> SentEvent:
    """Read the next event that tells something; a slow machine makes a stream quiet."""
    while True:
        event = await events.next()
        assert event is not None
        if event.name != "alive":
            return event


async def test_what_happens_is_told_in_order_with_what_it_is_about(api: Client, work: Path) -> None:
    async with api.events() as events:
        result = await api.run("cd /; true", cwd=str(work), session="s")
        names: list[str] = []
        while not names or names[-1] != "command_finished":
            event = await told(events)
            assert event.data["type"] == event.name
            assert event.data["terminal"]["id"] == result["terminal"]
            names.append(event.name)
        assert names == ["terminal_opened", "command_started", "cwd_changed", "command_finished"]
        assert event.data["command"] == {
            "id": result["id"],
            "terminal": result["terminal"],
            "command": "cd /; true",
            "source": "agent",
            "exit_code": 0,
        }
        assert event.data["terminal"]["session"] == "s"
        await api.ask("DELETE", f"/api/terminals/{result['terminal']}")
        ended = await events.until("terminal_ended")
        assert ended.data["terminal"] == {"id": result["terminal"]}
        terminal = await api.open(cwd=str(work))
        await api.ask("PATCH", f"/api/terminals/{terminal['id']}", {"name": "mine"})
        while (await events.until("terminal_changed")).data["terminal"]["name"] != "mine":
            pass
        await api.ask("PUT", "/api/workspaces/w", {"name": "W"})
        assert (await events.until("workspace_changed")).data["workspace"]["name"] == "W"
        await api.ask("PUT", "/api/settings", {"terminal.cols": 99})
        assert (await events.until("settings_changed")).data["settings"] == ["terminal.cols"]


@pytest.mark.parametrize("way", ["last", "since"])
async def test_a_stream_is_resumed_without_a_gap_or_a_repetition(api: Client, work: Path, way: str) -> None:
    async with api.events() as events:
        await api.run("echo 1", cwd=str(work), session="s")
        first = await events.until("command_finished")
    for number in (2, 3):
        await api.run(f"echo {number}", cwd=str(work), session="s")
    async with api.events(**{way: first.id}) as events:
        heard = [await told(events) for _ in range(4)]
        assert [(each.name, each.data["command"]["command"]) for each in heard] == [
            ("command_started", "echo 2"),
            ("command_finished", "echo 2"),
            ("command_started", "echo 3"),
            ("command_finished", "echo 3"),
        ]
        numbers = [int(each.id.partition("-")[2]) for each in (first, *heard)]
        assert numbers == list(range(numbers[0], numbers[0] + 5))


async def test_what_cannot_be_resumed_begins_with_a_reset(api: Client, work: Path) -> None:
    for last in ("other-5", "nonsense"):
        async with api.events(last=last) as events:
            first = await told(events)
            assert (first.name, first.id) == ("reset", api.parts.feed.id_of(api.parts.feed.last))
            await api.run("true", cwd=str(work))
            assert (await events.until("command_finished")).data["command"]["exit_code"] == 0


async def test_a_reader_that_is_too_slow_is_reset_and_costs_nobody_else(api: Client) -> None:
    feed = api.parts.feed
    address = urlsplit(api.url)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(slow, (address.hostname, address.port))
        request = f"GET /api/events HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {api.token}\r\n\r\n"
        await loop.sock_sendall(slow, request.encode())
        async with api.events() as events:
            async with asyncio.timeout(PATIENCE_S):
                while feed.readers < 2:
                    await asyncio.sleep(0)
            for number in range(300):
                feed.publish("big", {"number": number, "text": "x" * 50_000})
                assert (await told(events)).data["number"] == number
        assert feed.since(1).missed
        received = b""
        async with asyncio.timeout(PATIENCE_S):
            while b"event: reset" not in received[-200_000:]:
                received += await loop.sock_recv(slow, 65_536)
        assert len(received) < 300 * 50_000


async def test_a_quiet_stream_says_that_it_is_alive(start: StartServer) -> None:
    api = await start(server__heartbeat_s=0.01)
    async with api.events() as events:
        for _ in range(3):
            await events.until("alive")
        assert events.comments.count("alive") == 3  # for those who read no events that they do not know


async def test_pages_are_told_that_a_stream_is_alive_and_how_often(start: StartServer) -> None:
    api = await start(server__heartbeat_s=0.01)
    async with api.events() as events:
        api.parts.feed.publish("x", {})
        last = await events.until("x")
        first = await events.until("alive")
        assert first.data == {"type": "alive", "every_s": 0.01}
        assert first.id == last.id  # nothing is skipped by whoever goes on from there
        api.parts.feed.publish("y", {})
        await events.until("y")
    async with api.events(last=first.id) as events:
        assert (await told(events)).name == "y"


async def test_readers_are_counted_and_forgotten(api: Client) -> None:
    async with api.events() as events:
        api.parts.feed.publish("x", {})
        await events.until("x")
        assert (await api.get("/api/stats")).json["streams"] == 1
    async with asyncio.timeout(PATIENCE_S):
        while api.parts.feed.readers:
            api.parts.feed.publish("x", {})  # a reader that left is noticed when something is told
            await asyncio.sleep(0)


async def test_streams_leave_connections_to_others(start: StartServer) -> None:
    api = await start(policy__mode="off", server__connections=6)
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(api.events()) for _ in range(3)]
        refused = await api.get("/api/events")
        assert (refused.status, refused.code, refused.headers["Retry-After"]) == (429, "too_many_requests", "5")
        assert (await api.get("/api/info")).status == 200
        assert len(streams) == 3
    # The room of one that has left is noticed with the next event that cannot be told to it.
    async with asyncio.timeout(PATIENCE_S):
        while api.parts.feed.readers == 3:
            api.parts.feed.publish("x", {})
            await asyncio.sleep(0.01)
    async with api.events():
        pass
