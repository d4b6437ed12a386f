"""Much output at once, and those who watch it: every byte once, for everybody who reads."""

import asyncio
import contextlib

import aiohttp

from soak.lines import Numbered, fitting, misplaced
from soak.scenarios.commands import artifact
from soak.viewer import Viewer
from soak.world import LONG_S, Hand

# A server that is away for longer than this may lose output: the host holds programs up for five seconds.
_HELD_S = 4.0


async def watch_flood(hand: Hand) -> None:
    """Flood a terminal that several watch, who leave and come back: each sees everything, in order, once."""
    lines = fitting(hand.name, hand.dice.randint(*hand.plan.flood_bytes))
    async with hand.terminal() as terminal:
        viewers = [
            Viewer(hand.http, hand.server, terminal.id, hand.dice, acks=bool(each % 2))
            for each in range(hand.dice.randint(1, 3))
        ]
        if not await _flood(hand, terminal.id, lines, viewers):
            return
        for viewer in viewers:
            if viewer.resets:
                hand.ledger.problem("lost_bytes", f"{hand.name}: a viewer was shown the screen instead", viewer.resets)
            else:
                seen = viewer.seen(_begin(lines), _end(lines))
                hand.ledger.compare_bytes(
                    f"{hand.name}: a viewer after {viewer.visits} visits", lines.printed(), seen or b""
                )


async def watch_deluge(hand: Hand) -> None:
    """Print more than is held: what viewers get is right where it is, and what they do not get is told to them."""
    lines = fitting(hand.name, hand.dice.randint(*hand.plan.deluge_bytes))
    async with hand.terminal() as terminal:
        viewers = [Viewer(hand.http, hand.server, terminal.id, hand.dice, acks=True)]
        if not await _flood(hand, terminal.id, lines, viewers):
            return
        for viewer in viewers:
            _check_places(hand, lines, viewer)


async def ignore_flood(hand: Hand) -> None:
    """Watch without reading, while another one reads: that costs nobody anything."""
    lines = fitting(hand.name, hand.plan.flood_bytes[0])
    async with hand.terminal() as terminal:
        url = f"{hand.server.url}/ws/terminal/{terminal.id}?since=0"
        with contextlib.suppress(aiohttp.ClientError, ConnectionError):
            async with hand.http.ws_connect(url, max_msg_size=0) as lazy:
                reader = Viewer(hand.http, hand.server, terminal.id, hand.dice)
                if not await _flood(hand, terminal.id, lines, [reader]):
                    return
                hand.ledger.compare_bytes(
                    f"{hand.name}: the other", lines.printed(), reader.seen(_begin(lines), _end(lines)) or b""
                )
                with contextlib.suppress(TimeoutError):  # it may have everything already
                    async with asyncio.timeout(1):
                        async for _ in lazy:
                            pass


async def _flood(hand: Hand, terminal: str, lines: Numbered, viewers: list[Viewer]) -> bool:
    """Flood a terminal until everybody has seen the end of it; False: a kill met the command before it began."""
    code, outage_s = hand.dice.randint(0, 255), hand.server.longest_outage_s
    arguments = (lines.form, lines.count, hand.dice.randint(2, 12), lines.tag, code)
    async with asyncio.TaskGroup() as group:
        watching = [group.create_task(viewer.watch(_end(lines))) for viewer in viewers]
        result = await hand.run_in(terminal, "flood.sh", *arguments)
        if result is not None:
            end = (await hand.ask("GET", f"/api/terminals/{terminal}")).json()["offset"]
            # Who was shown the screen instead of the end has seen it there.
            await hand.so(
                lambda: all(task.done() or view.offset >= end for task, view in zip(watching, viewers, strict=True)),
                LONG_S,
            )
        for task in watching:
            task.cancel()
    if result is None:
        return False
    hand.ledger.compare_code(hand.name, code, result.exit_code)
    expected, kept = _all(lines), await artifact(hand, result)
    is_excused = len(expected) > hand.plan.log_bytes and hand.server.longest_outage_s > max(outage_s, _HELD_S)
    if is_excused and kept != expected:
        hand.ledger.note("deluges that met a server away for longer than output is held")
    else:
        hand.ledger.compare_bytes(f"{hand.name}: artifact", expected, kept)
    for viewer in viewers:
        for problem in viewer.problems:
            hand.ledger.problem("wrong_bytes", f"{hand.name}: {problem}")
    return True


def _check_places(hand: Hand, lines: Numbered, viewer: Viewer) -> None:
    """Compare every byte that a viewer has with the one that was printed at its offset."""
    if viewer.resets:
        hand.ledger.note("viewers of a deluge that were shown the screen instead")
    expected = _all(lines)
    pieces = [*viewer.pieces, (viewer.start, bytes(viewer.data))]
    begin = _begin_of(lines, pieces)
    if begin is None:
        return  # it came too late for all of it
    wrong = sum(misplaced(expected, start - begin, data) for start, data in pieces)
    hand.ledger.checked_bytes += sum(len(data) for _, data in pieces)
    if wrong:
        hand.ledger.problem("wrong_bytes", f"{hand.name}: a viewer of a deluge", wrong)


def _begin_of(lines: Numbered, pieces: list[tuple[int, bytes]]) -> int | None:
    """Return the offset at which a flood begins, if its first or its last line was seen."""
    for start, data in pieces:
        if (at := data.find(_begin(lines))) >= 0:
            return start + at
        if (at := data.find(_end(lines))) >= 0:
            return start + at + len(_end(lines)) - len(_all(lines))
    return None


def _all(lines: Numbered) -> bytes:
    return _begin(lines) + lines.printed() + _end(lines)


def _begin(lines: Numbered) -> bytes:
    return f"begin-{lines.tag}\r\n".encode()


def _end(lines: Numbered) -> bytes:
    return f"end-{lines.tag}\r\n".encode()
