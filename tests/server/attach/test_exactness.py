"""A viewer that comes at any moment sees what one sees who was there from the beginning."""

import asyncio
import base64
import json
import os
import random
import re
import shutil
from pathlib import Path

import pytest

from hermitty.model import Size
from hermitty.runtime.api import Runtime
from hermitty.server.attach.painting import paint
from hermitty.vt.ghostty import GhosttyScreen
from tests.server.attach.conftest import Server
from tests.server.attach.recordings import COLS, PROGRAMS, ROWS, agent, installed, record, until_output
from tests.support.shells import PATIENCE_S

CUTS = 200
HISTORY_BYTES = 256 * 1024
NAMES = [*PROGRAMS, "agent"]
XTERM = (
    Path(os.environ.get("HERMITTY_XTERM", Path(__file__).parents[3] / "web")) / "node_modules" / "@xterm" / "headless"
)


def screen_of(*data: bytes) -> GhosttyScreen:
    screen = GhosttyScreen(Size(COLS, ROWS))
    for each in data:
        screen.feed(each)
    return screen


def facts(screen: GhosttyScreen) -> dict[str, object]:
    """Everything that can be seen or felt of a screen, and of the one under it."""
    # A repaint writes text, styles, cursors, margins, tab stops, modes and colours of both screens.
    shown = {
        "text": screen.text(),
        "runs": screen.runs(),
        "cursor": screen.cursor,
        "alternate": screen.alternate,
        "title": screen.title,
        # To name the usual charset is to say nothing.
        "repaint": re.sub(rb"\x1b[()*+]B", b"", screen.repaint()),
    }
    under = GhosttyScreen.restore(screen.snapshot())
    under.feed(b"\x18\x1b[?1049l")
    shown["under"] = (under.text(), under.runs(), under.cursor)
    return shown


def painted(data: bytes) -> bytes:
    return paint(screen_of(data), rows=ROWS, history_bytes=HISTORY_BYTES)


def cuts_of(recording: bytes, count: int) -> list[int]:
    return sorted(random.Random(len(recording)).sample(range(1, len(recording)), count))


async def recording_of(rt: Runtime, directory: Path, name: str) -> bytes:
    if name == "agent":
        return b"".join(b"before %d\r\n" % number for number in range(50)) + agent()
    if not installed(name):
        pytest.skip(f"{name} is not installed")
    return await record(rt, directory, name)


@pytest.mark.parametrize("name", NAMES)
async def test_a_picture_and_the_rest_are_the_whole(rt: Runtime, tmp_path: Path, name: str) -> None:
    recording = await recording_of(rt, tmp_path, name)
    whole = facts(screen_of(recording))
    for cut in cuts_of(recording, CUTS // 4):
        before = screen_of(recording[:cut])
        picture = painted(recording[:cut])
        viewer = screen_of(picture)
        assert facts(viewer) == facts(before), f"a viewer that comes at {cut}"
        if not before.alternate:
            assert viewer.history_text() == before.history_text()
        viewer.feed(recording[cut:])
        assert facts(viewer) == whole, f"a viewer that came at {cut} and stayed"


SMALL = (
    "plain é 中文 👍🏽\r\n\x1b[1;38;2;10;20;30mstyled\x1b[0m\x1b]2;títle\x07\x1b[?2004h\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"
    "\x1bP+q544e\x1b\\\x1b[?1049h\x1b[2;3Hunder\x1b[?25l\x1b(0qq\x1b(B\x1b[5n"
).encode()


def test_no_cut_leaves_half_a_character_or_sequence() -> None:
    whole = facts(screen_of(SMALL))
    for cut in range(len(SMALL) + 1):
        viewer = screen_of(painted(SMALL[:cut]))
        viewer.feed(SMALL[cut:])
        assert facts(viewer) == whole, f"cut at {cut}: {SMALL[max(0, cut - 8) : cut]!r}"


def test_a_picture_asks_nothing() -> None:
    for cut in range(len(SMALL) + 1):
        assert GhosttyScreen(Size(COLS, ROWS)).feed(painted(SMALL[:cut])) == b""


@pytest.mark.parametrize("lines", [0, 1, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS])
@pytest.mark.parametrize("end", [b"", b"prompt> ", b"\x1b[2J\x1b[H", b"\x1b[2J\x1b[5Hmiddle"])
def test_what_scrolled_off_is_in_the_history_of_the_viewer(lines: int, end: bytes) -> None:
    data = b"".join(b"line %d %s\r\n" % (number, b"x" * (number % COLS)) for number in range(lines)) + end
    before = screen_of(data)
    viewer = screen_of(paint(before, rows=ROWS, history_bytes=HISTORY_BYTES))
    assert (viewer.history_text(), facts(viewer)) == (before.history_text(), facts(before))


def test_rows_as_wide_as_the_screen_are_one_row_each() -> None:
    data = b"".join(b"%d" % (number % 10) * COLS + b"\r\n" for number in range(2 * ROWS)) + b"w" * (3 * COLS)
    viewer = screen_of(painted(data))
    assert viewer.history_text() == screen_of(data).history_text()


def test_history_is_bounded_and_the_newest_is_kept() -> None:
    data = b"".join(b"line %d\r\n" % number for number in range(500))
    picture = paint(screen_of(data), rows=ROWS, history_bytes=1000)
    assert len(picture) < 2500
    assert b"line 471\r\n" in picture
    assert b"line 100\r\n" not in picture


async def test_a_viewer_in_the_midst_of_a_character_sees_it_whole(server: Server, rt: Runtime, tmp_path: Path) -> None:
    terminal = await rt.open_terminal(cwd=tmp_path, cols=COLS, rows=ROWS)
    async with server.watch(terminal.id) as typist:
        await typist.type(
            "stty -echo; printf '\\344\\270'; read -rsn1; printf '\\255!\\033['; read -rsn1; printf '31mred\\n'\r"
        )
        await until_output(terminal, lambda: terminal.log.read(0).data.endswith(b"\xe4\xb8"))
        async with server.watch(terminal.id) as first:
            await typist.type("x")
            await first.until(lambda: first.output.endswith(b"\x1b["))
            async with server.watch(terminal.id) as second:
                await typist.type("x")
                await second.printed("31mred")
                await first.until(lambda: first.offset == second.offset)
                for viewer in (first, second):
                    screen = screen_of(viewer.snapshots[0], bytes(viewer.output))
                    assert "中!red" in screen.text()
                    assert screen.runs() == screen_of(terminal.log.read(0, viewer.offset).data).runs()


async def test_viewers_that_come_in_the_midst_of_a_flood_see_each_line_once(
    server: Server, rt: Runtime, tmp_path: Path
) -> None:
    terminal = await rt.open_terminal(cwd=tmp_path, cols=COLS, rows=ROWS)
    terminal.write("seq 1000000000\r")
    await until_output(terminal, lambda: terminal.log.end > 100_000)
    for _ in range(30):
        async with server.watch(terminal.id) as viewer:
            await viewer.until(lambda: len(viewer.output) > 1000)
        assert viewer.resets == 0
        screen = screen_of(viewer.snapshots[0], bytes(viewer.output))
        # The first row may be the rest of something, and the last one half a number.
        rows = [int(row) for row in screen.history_text().split("\n")[1:-1]]
        assert rows == list(range(rows[0], rows[0] + len(rows)))
        assert len(rows) > ROWS


async def test_a_viewer_that_wants_no_history_gets_the_screen_alone(
    server: Server, rt: Runtime, tmp_path: Path
) -> None:
    terminal = await rt.open_terminal(cwd=tmp_path, cols=COLS, rows=ROWS)
    await terminal.run("seq -f 'row %.0f' 100")
    async with server.watch(terminal.id) as one, server.watch(terminal.id, history=0) as other:
        for viewer in (one, other):
            await viewer.until(lambda viewer=viewer: bool(viewer.snapshots))  # type: ignore[misc]
            assert b"row 99" in viewer.snapshots[0]
        assert b"row 12\r\n" in one.snapshots[0]
        assert b"row 12" not in other.snapshots[0]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.skipif(not XTERM.is_dir(), reason="@xterm/headless is not installed")
async def test_xterm_sees_the_same(rt: Runtime, tmp_path: Path) -> None:
    cases: list[dict[str, str | int | bytes]] = []
    names = [name for name in NAMES if name == "agent" or installed(name)]
    for name in names:
        recording = await recording_of(rt, tmp_path, name)
        cases += [
            {"name": f"{name} at {cut}", "whole": recording, "cut": cut, "picture": painted(recording[:cut])}
            for cut in cuts_of(recording, CUTS // len(names) + 1)
        ]
    assert len(cases) >= CUTS
    lines = "".join(
        json.dumps({key: base64.b64encode(v).decode() if isinstance(v, bytes) else v for key, v in case.items()}) + "\n"
        for case in cases
    )
    script = Path(__file__).with_name("xterm_sees.cjs")
    node = await asyncio.create_subprocess_exec(
        "node",
        str(script),
        str(XTERM),
        str(COLS),
        str(ROWS),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE_S):
        out, _ = await node.communicate(lines.encode())
    answer = json.loads(out)
    assert node.returncode == 0
    assert (answer["cases"], answer["different"]) == (len(cases), [])
