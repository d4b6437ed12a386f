"""Clients that send nonsense, too much, or come too often. The `server` fixture checks that nothing is logged."""

import asyncio
import json
import os

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermitty.runtime.api import Runtime, Terminal
from hermitty.server.attach import AttachLimits
from hermitty.wire.attach import Ack, Error, Ping, Pong
from tests.server.attach.conftest import Server, serving
from tests.server.attach.watching import masked
from tests.support.shells import PATIENCE_S

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(["resize", "ack", "ping", "lock", "visible", "hello", "", "snapshot"])
CONTROL = st.fixed_dictionaries(
    {"type": TYPES | JSON},
    optional={"cols": JSON, "rows": JSON, "offset": JSON, "locked": JSON, "visible": JSON, "x": JSON},
)


async def _answers(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer:
        await viewer.say(Ping())
        await viewer.told(Pong)


@pytest.mark.parametrize("text", ["", "{", "null", "[]", "1", '"text"', "[" * 100_000, '{"a":' + "9" * 5000 + "}"])
async def test_what_is_no_json_object_ends_the_connection(server: Server, terminal: Terminal, text: str) -> None:
    async with server.watch(terminal.id) as viewer:
        await viewer.ws.send_str(text)
        assert await viewer.closed() == 1003
    await _answers(server, terminal)


async def test_what_makes_no_sense_is_answered(server: Server, terminal: Terminal) -> None:
    wrong = [
        {},
        {"type": 5},
        {"type": "dance"},
        {"type": "resize"},
        {"type": "resize", "cols": "80", "rows": 24},
        {"type": "resize", "cols": True, "rows": 24},
        {"type": "ack", "offset": 1.5},
        {"type": "ack", "offset": 2**60},
        {"type": "lock", "locked": "yes"},
        {"type": "\ud800"},
    ]
    async with server.watch(terminal.id) as viewer:
        for each in wrong:
            await viewer.ws.send_str(json.dumps(each))
        await viewer.say(Ping())
        await viewer.told(Pong)
        assert [error.code for error in viewer.of(Error)] == ["invalid_message"] * len(wrong)


async def test_a_message_that_is_too_big_ends_the_connection(server: Server, terminal: Terminal) -> None:
    too_much = 1024 * 1024 + 1
    async with server.watch(terminal.id) as viewer:
        await viewer.ws.send_bytes(bytes(too_much))
        assert await viewer.closed() == 1009
    async with server.watch(terminal.id) as viewer:
        await viewer.ws.send_str(" " * too_much)
        assert await viewer.closed() == 1009
    await _answers(server, terminal)


async def test_a_long_message_in_many_fragments_counts_as_one(server: Server, terminal: Terminal) -> None:
    async with server.deaf(terminal.id) as client:
        await client.send(masked(2, b"", final=False))
        for _ in range(5):
            await client.send(masked(0, bytes(300_000), final=False))
        opcode, payload = 0, b""
        while opcode != 8:
            opcode, payload = await client.frame()
        assert payload[:2] == (1009).to_bytes(2, "big")


async def test_fragments_are_one_message(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer, server.deaf(terminal.id) as client:
        text = b"echo in-pie''ces\r"
        await client.send(masked(2, text[:3], final=False))
        await client.send(masked(9, b"a ping between"))
        await client.send(masked(0, text[3:], final=True))
        await viewer.printed("in-pieces")


async def test_noise_instead_of_frames_harms_nobody(server: Server, terminal: Terminal) -> None:
    for noise in (os.urandom(5000), b"\xff" * 100, masked(3, b"reserved"), masked(1, b"\xff\xfe"), b"\x82\x05naked"):
        async with server.deaf(terminal.id) as client:
            await client.send(noise)
    await _answers(server, terminal)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(CONTROL.map(json.dumps) | st.text(max_size=30) | st.binary(max_size=40), max_size=12))
async def test_any_messages_harm_nobody(server: Server, terminal: Terminal, messages: list[str | bytes]) -> None:
    # A viewer that may not type, so that the shell survives.
    async with server.watch(terminal.id, scope="view") as viewer:
        for message in messages:
            try:
                if isinstance(message, bytes):
                    await viewer.ws.send_bytes(message)
                else:
                    await viewer.ws.send_str(message.encode("utf-8", "replace").decode())
            except aiohttp.ClientConnectionError:
                break  # it was closed, for something before
    assert viewer.ws.close_code in (1000, 1003)
    await _answers(server, terminal)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=300))
async def test_any_bytes_instead_of_frames_harm_nobody(server: Server, terminal: Terminal, data: bytes) -> None:
    async with server.deaf(terminal.id, scope="view") as client:
        await client.send(data)
    await _answers(server, terminal)


async def test_answers_to_who_does_not_read_do_not_pile_up(server: Server, terminal: Terminal) -> None:
    async with server.deaf(terminal.id) as client, server.watch(terminal.id) as viewer:
        pings = masked(1, b'{"type":"ping"}') * 2000 + masked(9, bytes(125)) * 2000
        for _ in range(60):  # 18 MB of answers, if all were given
            await client.send(pings)
        await viewer.say(Ping())
        await viewer.told(Pong)
        assert server.attachments.buffered_bytes < 1_000_000


async def test_typing_more_than_the_program_reads_is_refused_and_the_viewer_stays(
    server: Server, terminal: Terminal
) -> None:
    async with server.watch(terminal.id) as viewer:
        await viewer.type("stty raw -echo; echo re''ady; read -t 0; exec sleep 1000\r")
        await viewer.printed("ready")
        for _ in range(10):
            await viewer.type(bytes(1_000_000))
        await viewer.told(Error)
        assert viewer.of(Error)[0].code == "input_overflow"
        await viewer.say(Ping())
        await viewer.told(Pong)


async def test_too_many_viewers_are_refused_and_places_are_given_back(rt: Runtime, terminal: Terminal) -> None:
    async with serving(rt, AttachLimits(viewers_of_terminal=2, viewers=3)) as server:
        other = await rt.open_terminal()
        async with server.watch(terminal.id):
            async with server.watch(terminal.id):
                assert await _refused(server, terminal.id) == 4009
                async with server.watch(other.id):
                    assert await _refused(server, other.id) == 4009
            async with asyncio.timeout(PATIENCE_S):
                while server.attachments.count > 1:
                    await asyncio.sleep(0)
            async with server.watch(terminal.id) as viewer:
                assert viewer.hello


async def _refused(server: Server, terminal_id: str) -> int | None:
    ws = await server.connect(terminal_id)
    await ws.receive()
    return ws.close_code


async def test_close_says_goodbye_and_takes_nobody_any_more(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as one, server.watch(terminal.id, acks=True) as two:
        await server.attachments.close()
        assert await one.closed() == await two.closed() == 1001
    assert await _refused(server, terminal.id) == 1001
    assert terminal.is_open
    await server.attachments.close()  # a second time is fine


async def test_what_is_no_websocket_is_refused_as_http(server: Server, terminal: Terminal) -> None:
    url = f"http://127.0.0.1:{server.port}{server.path(terminal.id)}"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        assert response.status == 400
    assert server.attachments.count == 0
    assert server.attachments.viewers(terminal.id) == 0


async def test_a_hundred_viewers_come_and_go_and_nothing_is_left(server: Server, terminal: Terminal) -> None:
    async def visit(number: int) -> None:
        async with server.watch(terminal.id, acks=number % 2 == 0) as viewer:
            await viewer.say(Ack(viewer.offset))
            await viewer.type("\r")
            await viewer.until(lambda: bool(viewer.output))
            if number % 3 == 0:
                viewer.ws._response.connection.transport.abort()  # type: ignore[union-attr]

    for _ in range(4):
        await asyncio.gather(*(visit(number) for number in range(25)))
    async with asyncio.timeout(PATIENCE_S):
        while server.attachments.count:
            await asyncio.sleep(0)
    assert server.attachments.viewers(terminal.id) == 0
    assert server.attachments.buffered_bytes == 0
