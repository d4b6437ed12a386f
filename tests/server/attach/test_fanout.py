"""Any story of output, stalls, acknowledgements, comings and goings: each viewer gets every byte once, in order, or is
told that some are missing."""

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hermitty.model import Size
from hermitty.runtime.api import Terminal
from hermitty.server.attach.fanout import Fanout, Viewer
from hermitty.server.attach.limits import AttachLimits
from hermitty.server.attach.relay import Relay
from hermitty.vt.byte_log import ByteLog
from hermitty.vt.ghostty import GhosttyScreen
from hermitty.wire.attach import CloseCode, CommandNotice, Exit

SIZE = Size(40, 6)
LOG_BYTES = 600
LIMITS = AttachLimits(window_bytes=250, history_bytes=2000)
VIEWERS = 3


class PaperLink:
    """A connection that a story stalls and drains. It reads its frames at once, as a page would."""

    def __init__(self, stream: bytearray) -> None:
        self.is_stalled = False
        self.goodbye: CloseCode | None = None
        self.offset = -1
        self.resets = 0
        self.messages: list[dict[str, Any]] = []
        self.screen = GhosttyScreen(SIZE)
        self._stream = stream
        self.may_be_in_flight: int | None = None  # once it has acknowledged something
        self._drained: Callable[[], None] | None = None
        self._next_is_snapshot = False

    def write(self, frame: bytes) -> None:
        assert not self.is_stalled
        assert self.goodbye is None
        opcode, length = frame[0] & 0x0F, frame[1]
        header = {126: 4, 127: 10}.get(length, 2)
        payload = frame[header:]
        if opcode == 1:
            self._take(json.loads(payload))
        elif self._next_is_snapshot:
            self._next_is_snapshot = False
            self.screen = GhosttyScreen(SIZE)
            self.screen.feed(payload)
        else:
            assert payload == self._stream[self.offset : self.offset + len(payload)]
            self.offset += len(payload)
            self.screen.feed(payload)

    def _take(self, message: dict[str, Any]) -> None:
        assert not self._next_is_snapshot
        self.messages.append(message)
        match message["type"]:
            case "hello":
                self.offset = message["offset"]
            case "reset":
                assert message["offset"] > self.offset or message["offset"] == len(self._stream)
                self.offset = message["offset"]
                self.resets += 1
            case "snapshot":
                self._next_is_snapshot = True
            case "command":
                assert message["offset"] == self.offset
                assert message not in self.messages[:-1]

    def when_drained(self, callback: Callable[[], None]) -> None:
        self._drained = self._drained or callback

    def end(self, code: CloseCode, reason: str) -> None:
        self.goodbye = code

    def drain(self) -> None:
        self.is_stalled = False
        callback, self._drained = self._drained, None
        if callback is not None:
            callback()


class Story:
    """A terminal made of its log and its screen, and who watches it."""

    def __init__(self) -> None:
        self.stream = bytearray()
        self.log = ByteLog(LOG_BYTES)
        self.screen = GhosttyScreen(SIZE)
        self.watched = 0
        terminal: Any = SimpleNamespace(
            id="t_1",
            log=self.log,
            screen=self.screen,
            size=SIZE,
            viewing=SimpleNamespace(counted=lambda count: setattr(self, "watched", count)),
        )
        clock: Any = SimpleNamespace(now=self._now, do=lambda name, do, after_s: do())
        self.fanout = Fanout(terminal, LIMITS, clock, lambda: None)
        self.links: list[PaperLink | None] = [None] * VIEWERS
        self.viewers: list[Viewer | None] = [None] * VIEWERS
        self._time = 0.0
        self._notices = 0

    def _now(self) -> float:
        self._time += 1
        return self._time

    def print(self, size: int) -> None:
        text = b"".join(b"%d\r\n" % number for number in range(len(self.stream), len(self.stream) + size))[:size]
        self.stream += text
        self.log.append(text)
        self.screen.feed(text)

    def note(self) -> None:
        self._notices += 1
        at = max(self.log.end, self.fanout.position)
        self.fanout.add_notice(at, CommandNotice("started", f"c_{self._notices}", None, "user", at))

    def attach(self, which: int, since: int | None) -> None:
        if self.viewers[which] is None:
            self.fanout.flush()
            self.links[which] = link = PaperLink(self.stream)
            self.viewers[which] = viewer = Viewer(which, "", link, may_type=True, history=True)
            self.fanout.attach(viewer, since)
            hello = link.messages[0]
            there = since is not None and self.log.start <= since <= self.log.end
            assert hello["replay"] == (("none" if since == self.log.end else "bytes") if there else "snapshot")

    def detach(self, which: int) -> None:
        viewer, self.viewers[which] = self.viewers[which], None
        if viewer is not None:
            self.fanout.detach(viewer)

    def ack(self, which: int, offset: int) -> None:
        viewer, link = self.viewers[which], self.links[which]
        if viewer is not None and link is not None:
            if link.may_be_in_flight is None:
                # What was sent before the window is not taken back.
                link.may_be_in_flight = max(LIMITS.window_bytes, link.offset - link.messages[0]["offset"])
            self.fanout.acked(viewer, offset)

    def check(self) -> None:
        for viewer, link in zip(self.viewers, self.links, strict=True):
            if viewer is not None and link is not None:
                assert link.offset == viewer.cursor.offset
                assert viewer.cursor.in_flight <= (link.may_be_in_flight or 0)

    def settle(self) -> None:
        """Let everybody read and acknowledge everything."""
        for _ in range(100):
            self.fanout.flush()
            for which, link in enumerate(self.links):
                if self.viewers[which] is not None and link is not None:
                    link.drain()
                    self.ack(which, link.offset)


WHO = st.integers(0, VIEWERS - 1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("print"), st.integers(1, 400)),
        st.tuples(st.just("print"), st.integers(200, 700)),
        st.tuples(st.just("note")),
        st.tuples(st.just("turn")),
        st.tuples(st.just("turn")),
        st.tuples(st.just("attach"), WHO, st.none() | st.integers(0, 3000)),
        st.tuples(st.just("detach"), WHO),
        st.tuples(st.just("stall"), WHO),
        st.tuples(st.just("drain"), WHO),
        st.tuples(st.just("ack"), WHO, st.integers(0, 3000)),
    ),
    min_size=20,
    max_size=80,
)


def story_of(steps: list[tuple[Any, ...]]) -> Story:
    """Let things happen, beginning with somebody who watches."""
    story = Story()
    story.attach(0, None)
    for step in steps:
        act(story, step)
    return story


def act(story: Story, step: tuple[Any, ...]) -> None:
    match step:
        case ("print", size):
            story.print(size)
        case ("note",):
            story.note()
        case ("turn",):
            story.fanout.flush()
        case ("attach", which, since):
            story.attach(which, since)
        case ("detach", which):
            story.detach(which)
        case ("stall" | "drain" as what, which):
            if (link := story.links[which]) is not None and story.viewers[which] is not None:
                link.drain() if what == "drain" else setattr(link, "is_stalled", True)
        case ("ack", which, offset):
            story.ack(which, offset)
    story.check()


@settings(max_examples=100)
@given(STEPS)
def test_each_viewer_gets_every_byte_once_or_is_told(steps: list[tuple[Any, ...]]) -> None:
    story = story_of(steps)
    story.settle()
    assert story.watched == story.fanout.count == sum(viewer is not None for viewer in story.viewers)
    for viewer, link in zip(story.viewers, story.links, strict=True):
        if viewer is not None and link is not None:
            assert link.offset == len(story.stream)
            if link.messages[0]["replay"] == "snapshot" or link.resets:
                assert link.screen.repaint() == story.screen.repaint()
    story.fanout.end(Exit("over"))
    for viewer, link in zip(story.viewers, story.links, strict=True):
        if viewer is not None and link is not None:
            assert link.messages[-1]["type"] == "exit"
            assert link.goodbye is CloseCode.OVER


@settings(max_examples=50)
@given(STEPS)
def test_the_end_reaches_everybody_wherever_they_are(steps: list[tuple[Any, ...]]) -> None:
    story = story_of(steps)
    story.fanout.end(Exit("over"))
    story.screen.close()
    story.settle()
    for viewer, link in zip(story.viewers, story.links, strict=True):
        if viewer is not None and link is not None:
            assert link.offset == len(story.stream)
            assert [message["type"] for message in link.messages].count("exit") == 1
            assert link.goodbye is CloseCode.OVER


def test_a_notice_is_told_once_to_who_catches_up_before_it_is_due() -> None:
    story = story_of([("print", 10), ("stall", 0), ("turn",), ("note",), ("drain", 0), ("turn",)])
    link = story.links[0]
    assert link is not None
    assert [message["type"] for message in link.messages].count("command") == 1


async def test_a_viewer_that_comes_between_output_and_its_turn_gets_it_once(terminal: Terminal) -> None:
    loop = asyncio.get_running_loop()
    stream = bytearray()
    link = PaperLink(stream)
    came: asyncio.Future[int] = loop.create_future()

    def attach() -> None:
        if not came.done():
            relay.attach(viewer, None)
            came.set_result(terminal.log.end)

    def grow() -> None:
        stream[:] = terminal.log.read(0).data
        loop.call_soon(attach)

    # Who watches first is called first: the viewer comes just before the relay's turn.
    stop = terminal.watch(grow)
    relay = Relay(terminal, LIMITS)
    viewer = Viewer(1, "", link, may_type=True, history=False)
    await terminal.run("echo something")
    end = await came
    assert link.messages[0]["offset"] == end
    relay.close()
    stop()
