"""Viewers that read slowly, or not at all: they cost little, and slow nobody."""

import asyncio
import json
import re

import pytest

from hermitty.runtime.api import Runtime, Terminal
from hermitty.server.attach import AttachLimits
from hermitty.wire.attach import Ack, Exit, Ping, Pong, Viewers
from tests.server.attach.conftest import Server, serving
from tests.server.attach.watching import DeafViewer, Watcher
from tests.support.shells import PATIENCE_S

_LINES = 350_000
# 24 MB, numbered.
_FLOOD = f"seq -f 'line %.0f of a flood that is too much for somebody, 0123456789' 1 {_LINES}; echo the-e''nd\r"
_LIMITS = AttachLimits()


async def _flooded(viewer: Watcher) -> None:
    await viewer.until(lambda: b"the-end" in viewer.output[-4096:])


def _check_flood(viewer: Watcher) -> None:
    """Every line is there once, in order."""
    numbers = re.findall(rb"line ([0-9]+) of a flood that is too much for somebody, 0123456789\r\n", viewer.output)
    assert viewer.resets == 0
    assert len(numbers) == _LINES
    assert all(int(number) == place for place, number in enumerate(numbers, 1))


async def _heard(deaf: DeafViewer, text: bytes) -> list[str]:
    """Read until some text comes; return the types of the messages before it, and "output" for bytes."""
    kinds = []
    while True:
        opcode, payload = await deaf.frame()
        if opcode == 1:
            kinds.append(json.loads(payload)["type"])
            if text in payload:
                return kinds
        elif opcode == 2:
            kinds.append("output")
            if text in payload:
                return kinds


@pytest.mark.parametrize("acks", [False, True])
async def test_a_viewer_that_never_reads_costs_bounded_memory_and_slows_nobody(
    server: Server, terminal: Terminal, acks: bool
) -> None:
    async with server.deaf(terminal.id) as deaf, server.watch(terminal.id, acks=acks) as viewer:
        stop = terminal.watch(lambda: buffered.append(server.attachments.buffered_bytes))
        buffered: list[int] = []
        await viewer.type(_FLOOD)
        await _flooded(viewer)
        stop()
        _check_flood(viewer)
        most = max(buffered)
        assert _LIMITS.buffer_bytes < most < 1_500_000  # of both
        # When it wakes up, it gets what was on its way, then the screen, and then what comes.
        await viewer.type("echo wide-aw''ake\r")
        kinds = await _heard(deaf, b"wide-awake")
        assert kinds[:3] == ["hello", "snapshot", "output"]
        at = kinds.index("reset")
        assert kinds[at : at + 4] == ["reset", "resize", "snapshot", "output"]


async def test_a_viewer_that_acknowledges_is_sent_no_more_than_its_window(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer, server.watch(terminal.id) as other:
        acked = viewer.offset
        await viewer.say(Ack(acked))
        await viewer.say(Ping())
        await viewer.told(Pong)
        await other.type("head -c 900000 /dev/zero | tr '\\0' x; echo the-e''nd\r")  # less than the log holds
        await _flooded(other)
        await viewer.until(lambda: viewer.offset - acked >= _LIMITS.window_bytes)
        assert viewer.offset - acked == _LIMITS.window_bytes
        await viewer.say(Ack(viewer.offset))
        await viewer.until(lambda: viewer.offset - acked >= 2 * _LIMITS.window_bytes)
        assert viewer.offset - acked == 2 * _LIMITS.window_bytes
        viewer.acks = True
        await viewer.say(Ack(viewer.offset))
        await _flooded(viewer)
        assert viewer.resets == 0
        assert viewer.output == other.output[viewer.first - other.first :][: len(viewer.output)]


async def test_a_viewer_whose_window_is_full_for_too_long_is_shown_the_screen(
    server: Server, terminal: Terminal
) -> None:
    async with server.watch(terminal.id) as viewer, server.watch(terminal.id) as other:
        await viewer.say(Ack(viewer.offset))
        await viewer.say(Ping())
        await viewer.told(Pong)
        await other.type(_FLOOD)
        await _flooded(other)
        await viewer.until(lambda: len(viewer.output) == _LIMITS.window_bytes)
        await viewer.say(Ack(viewer.offset))
        await viewer.until(lambda: viewer.resets == 1)
        await viewer.type("echo goes-o''n\r")
        await viewer.printed("goes-on")
        assert b"the-end" in viewer.snapshots[-1]
        assert viewer.output == terminal.log.read(viewer.first, viewer.offset).data


async def test_wrong_acknowledgements_harm_nobody(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer:
        for offset in (2**53 - 1, -5, 0, viewer.offset + 10):
            await viewer.say(Ack(offset))
        await viewer.type("echo st''ill\r")
        await viewer.printed("still")


async def test_who_does_not_answer_is_dropped(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer, server.deaf(terminal.id) as deaf:
        for count in (1, 2, 3):
            server.attachments.beat()
            await viewer.say(Ping())  # by the answer to this, the heartbeat has been answered
            await viewer.told(Pong, count)
        await viewer.until(lambda: Viewers(1) in viewer.messages)
        with pytest.raises((EOFError, ConnectionError)):
            await _heard(deaf, b"nothing that comes")
    assert not viewer.of(Exit)


async def test_a_timer_drops_who_does_not_answer(rt: Runtime, terminal: Terminal) -> None:
    async with serving(rt, AttachLimits(heartbeat_s=0.01)) as server, server.deaf(terminal.id) as deaf:
        with pytest.raises((EOFError, ConnectionError)):
            await _heard(deaf, b"nothing that comes")


async def test_who_is_behind_is_not_asked_and_stays(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer, server.deaf(terminal.id):
        await viewer.type("yes '01234567890123456789012345678901234567890123456789'\r")
        await viewer.until(lambda: server.attachments.buffered_bytes > _LIMITS.buffer_bytes)
        for count in (1, 2, 3):
            server.attachments.beat()
            await viewer.say(Ping())
            await viewer.told(Pong, count)
        await viewer.type("\x03")
        await viewer.printed("^C")
        assert server.attachments.viewers(terminal.id) == 2


async def test_the_end_reaches_a_viewer_that_was_behind(server: Server, terminal: Terminal) -> None:
    async with server.deaf(terminal.id, history=0) as deaf, server.watch(terminal.id) as viewer:
        await viewer.type(_FLOOD.replace("\r", "; exit\r"))
        assert await viewer.closed() == 1000
        assert isinstance(viewer.messages[-1], Exit)
        kinds = await _heard(deaf, b'"exit"')
        at = kinds.index("reset")
        assert kinds[at : at + 4] == ["reset", "resize", "snapshot", "output"]
        opcode, payload = await deaf.frame()
        assert (opcode, payload[:2]) == (8, (1000).to_bytes(2, "big"))


async def test_close_does_not_wait_for_who_does_not_read(rt: Runtime, terminal: Terminal) -> None:
    async with (
        serving(rt, AttachLimits(goodbye_s=0.1)) as server,
        server.deaf(terminal.id),
        server.watch(terminal.id) as viewer,
    ):
        await viewer.type(_FLOOD)
        await _flooded(viewer)
        async with asyncio.timeout(PATIENCE_S):
            await server.attachments.close()
        assert server.attachments.count == 0
        assert await viewer.closed() == 1001
