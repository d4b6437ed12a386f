"""A lazy screen shows what one shows that is drawn at once, whatever comes and however it is cut."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermitty.errors import InvalidRequest
from hermitty.model import Size
from hermitty.vt import lazy_screen
from hermitty.vt.ghostty import GhosttyScreen
from hermitty.vt.lazy_screen import LazyScreen, colours_after, most_rows, plain_end
from hermitty.vt.markers import MarkerScanner
from hermitty.vt.screen import PLAIN, Palette
from tests.vt.test_screen import answers_of, state_of

# Wide rows: few of them fill the history, so that a flood can be short.
WIDE = Size(300, 4)

_COLOURS = [b"\x1b[m", b"\x1b[0m", b"\x1b[31m", b"\x1b[1;4:3m", b"\x1b[48;2;1;2;3m", b"\x1b[;m", b"\x1b[38;5m"]
_PLAIN = [b"text", "größe 日本".encode(), b"\r", b"\n", b"\r\n", b"\t", b"x" * 700, b"\x9b2J", b"\xc2\x9b2J", *_COLOURS]
_OTHER = [
    *(b"\x1b", b"\x1b[", b"\x1b[3", b"1m", b"\xe6\x97", b"\xa5", b"\xff", b"\x18", b"\x08", b"\x07", b"\x7f", b"\x0e"),
    *(b"\x1b[2;3r", b"\x1b[3;4r\x1b[1;1H", b"\x1b[1;2r\x1b[4;1H", b"\x1b[r", b"\x1b[?69h\x1b[5;9s", b"\x1b[?69l"),
    *(
        b"\x1b[?1049h",
        b"\x1b[?1049l",
        b"\x1b[H",
        b"\x1b[2J",
        b"\x1b[3J",
        b"\x1b[?7l",
        b"\x1b[?7h",
        b"\x1b[4h",
        b"\x1b[4l",
    ),
    *(b"\x1b[20h", b"\x1b(0", b"\x1b(B", b"\x1bM", b"\x1b7", b"\x1b8", b"\x1bc", b"\x1b]0;ti", b"tle\x07", b"\x1bPq"),
    *(b"\x1b[6n", b"\x1b[c", b"\x1b[?2004h", b"\x1b[5b", b"\x1b[31", b"\x1b]8;;http://x\x07", b"\x1b]133;A\x07"),
]


def flood(lines: int, colours: bytes, end: bytes) -> bytes:
    return b"".join(b"%sline %d%s" % (colours if at % 3 != 1 else b"", at, end) for at in range(lines))


_FLOOD = st.builds(
    flood, st.integers(0, 3000), st.sampled_from([b"", *_COLOURS]), st.sampled_from([b"\r\n", b"\n", b"\r\r\n", b"\r"])
)
_PIECES = st.lists(st.one_of(st.sampled_from(_PLAIN), st.sampled_from(_OTHER), _FLOOD), max_size=12)


@pytest.fixture(autouse=True)
def little_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_screen, "_WORTH_HOLDING", 8)
    monkeypatch.setattr(lazy_screen, "_HELD_BYTES", 20_000)
    monkeypatch.setattr(lazy_screen, "_WORTH_LEAVING_OUT", 3_000)


def agree(lazy: LazyScreen, eager: GhosttyScreen) -> None:
    assert state_of(lazy) == state_of(eager)
    ours, theirs = (screen.history_text().splitlines() for screen in (lazy, eager))
    shared = min(len(ours), len(theirs))
    assert shared == 0 or ours[-shared:] == theirs[-shared:]
    assert len(ours) >= min(len(theirs), most_rows(WIDE) // 4)
    assert lazy.repaint() == eager.repaint()


@settings(deadline=None, max_examples=150, derandomize=True)
@given(_PIECES, st.lists(st.integers(0, 40_000), max_size=6), st.integers(0, 3))
def test_it_shows_the_same_as_a_screen_drawn_at_once(pieces: list[bytes], cuts: list[int], look_every: int) -> None:
    data = b"".join(pieces)
    lazy, eager = LazyScreen(GhosttyScreen(WIDE)), GhosttyScreen(WIDE)
    edges = [0, *sorted(min(at, len(data)) for at in cuts), len(data)]
    for turn, (start, end) in enumerate(pairwise(edges)):
        assert lazy.feed(data[start:end]) == eager.feed(data[start:end])
        if look_every and turn % look_every == 0:
            agree(lazy, eager)
    agree(lazy, eager)
    assert answers_of(lazy) == answers_of(eager)
    for screen in (lazy, eager):
        screen.close()


@settings(deadline=None, max_examples=60, derandomize=True)
@given(_PIECES, st.integers(2, 5000))
def test_a_flood_in_pieces_of_one_size_shows_the_same(pieces: list[bytes], step: int) -> None:
    data = b"".join([*pieces, flood(3000, b"\x1b[32m", b"\r\n"), *pieces])
    lazy, eager = LazyScreen(GhosttyScreen(WIDE)), GhosttyScreen(WIDE)
    for start in range(0, len(data), step):
        assert lazy.feed(data[start : start + step]) == eager.feed(data[start : start + step])
    agree(lazy, eager)
    for screen in (lazy, eager):
        screen.close()


@settings(deadline=None, max_examples=80, derandomize=True)
@given(_PIECES, st.integers(300, 5000), st.integers(1, 16), st.sampled_from([0, 0, 7]))
def test_a_glance_at_each_piece_changes_nothing(pieces: list[bytes], step: int, at_once: int, look_every: int) -> None:
    """Neither what is shown nor what the scanner finds; a turn of one piece is not shown before."""
    data = b"".join([*pieces, flood(1500, b"\x1b[32m", b"\r\n"), *pieces])
    lazy, eager = LazyScreen(GhosttyScreen(WIDE)), GhosttyScreen(WIDE)
    told, alone = MarkerScanner(), MarkerScanner()
    for turn, start in enumerate(range(0, len(data), step * at_once)):
        whole = data[start : start + step * at_once]
        if len(whole) > step:
            for at in range(0, len(whole), step):
                lazy.glance(whole[at : at + step])
        assert lazy.feed(whole) == eager.feed(whole)
        assert told.feed(whole, plain=lazy.fed_plain) == alone.feed(whole)
        if look_every and turn % look_every == 0:
            agree(lazy, eager)
    agree(lazy, eager)
    for screen in (lazy, eager):
        screen.close()


def test_a_flood_that_was_glanced_at_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def plain_end_counted(data: bytes) -> int | None:
        looked.append(len(data))
        return plain_end(data)

    monkeypatch.setattr(lazy_screen, "plain_end", plain_end_counted)
    lazy = LazyScreen(GhosttyScreen(WIDE))
    lines = flood(100, b"\x1b[31m", b"\x1b[0m\r\n")
    for _ in range(50):
        for _ in range(4):
            lazy.glance(lines)
        lazy.feed(lines * 4)
        assert lazy.fed_plain
    assert sum(looked) == 200 * len(lines)
    lazy.close()


@pytest.mark.parametrize("begun", [b"\x1b]0;a title", b"\x1b[3", b"\x1b"])
def test_a_flood_that_ends_a_sequence_is_not_plain_at_a_glance(begun: bytes) -> None:
    lazy, eager = LazyScreen(GhosttyScreen(WIDE)), GhosttyScreen(WIDE)
    rest = flood(1500, b"c", b"\r\n")  # the first c resets the terminal, or ends a sequence that nobody knows
    for screen in (lazy, eager):
        screen.feed(b"\x1b[31m" + begun)
    lazy.glance(rest)
    lazy.glance(rest)
    assert lazy.feed(rest * 2) == eager.feed(rest * 2)
    assert not lazy.fed_plain
    agree(lazy, eager)
    for screen in (lazy, eager):
        screen.close()


def test_bytes_that_are_not_those_that_were_shown_before_are_drawn() -> None:
    lazy, eager = LazyScreen(GhosttyScreen(WIDE)), GhosttyScreen(WIDE)
    lazy.glance(b"plain\r\n" * 10)
    other = b"\x1b[2;3r\x1b]0;title\x07" + b"more\r\n" * 30
    assert lazy.feed(other) == eager.feed(other)
    assert not lazy.fed_plain
    agree(lazy, eager)
    for screen in (lazy, eager):
        screen.close()


def test_lines_that_nobody_can_see_are_never_drawn() -> None:
    drawn: list[int] = []

    class Counting(GhosttyScreen):
        def feed(self, data: bytes) -> bytes:
            drawn.append(len(data))
            return super().feed(data)

    lazy = LazyScreen(Counting(WIDE))
    lines = flood(100, b"\x1b[31m", b"\x1b[0m\r\n")
    for _ in range(500):
        lazy.feed(lines)
    assert lazy.text().endswith("line 99")
    assert sum(drawn) < 20 * len(lines)
    lazy.close()


@pytest.mark.parametrize(
    "margins",
    [b"\x1b[1;2r\x1b[4;1H", b"\x1b[?69h\x1b[5;9s"],
    ids=["rows below that do not scroll", "columns beside that do not scroll"],
)
def test_with_margins_every_line_is_drawn(margins: bytes) -> None:
    lazy, eager = LazyScreen(GhosttyScreen(WIDE)), GhosttyScreen(WIDE)
    for screen in (lazy, eager):
        screen.feed(margins + b"a long line that stays where shorter ones overwrite it")
        for _ in range(50):
            screen.feed(flood(100, b"", b"\r\n"))
        screen.feed(b"x")
    agree(lazy, eager)
    for each in (lazy, eager):
        each.close()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\x1b[31;44m", b"x"),
        (b"\x1b[1m\x1b[0m\x1b[4m", b"x"),
        (b"\x1b]0;a title that goes on for long: ", b"\x07x"),
        (b"\xe6\x97", b"\xa5"),
        (b"left on the line", b"x"),
    ],
    ids=["colours", "colours after others", "a sequence that has begun", "half a character", "half a line"],
)
def test_what_came_before_a_flood_counts_after_it(before: bytes, after: bytes) -> None:
    lazy, eager = LazyScreen(GhosttyScreen(WIDE)), GhosttyScreen(WIDE)
    for screen in (lazy, eager):
        screen.feed(before)
        for _ in range(50):
            screen.feed(flood(100, b"", b"\r\n"))
        screen.feed(after)
    agree(lazy, eager)
    for each in (lazy, eager):
        each.close()


def test_a_flood_that_ends_a_sequence_is_drawn_from_its_first_byte_on() -> None:
    lazy, eager = LazyScreen(GhosttyScreen(WIDE)), GhosttyScreen(WIDE)
    for screen in (lazy, eager):
        screen.feed(b"\x1b[31m\x1b")
        for at in range(50):
            screen.feed(flood(100, b"" if at else b"c", b"\r\n"))  # the first c resets the terminal
    agree(lazy, eager)
    assert lazy.runs()[0][0].style == PLAIN
    for each in (lazy, eager):
        each.close()


def test_colours_of_lines_that_were_left_out_go_on() -> None:
    lazy, eager = LazyScreen(GhosttyScreen(WIDE)), GhosttyScreen(WIDE)
    for screen in (lazy, eager):
        for at in range(100):
            screen.feed(flood(100, b"\x1b[0;33m" if at == 50 else b"", b"\r\n"))
    agree(lazy, eager)
    assert lazy.runs()[0][0].style.foreground == Palette(3)
    for each in (lazy, eager):
        each.close()


@pytest.mark.parametrize("size", [Size(20, 6), Size(80, 24), Size(120, 30), WIDE, Size(300, 80)])
def test_the_history_never_keeps_as_many_rows_as_are_counted_on(size: Size) -> None:
    screen = GhosttyScreen(size)
    kept = 0
    for _ in range(400):
        screen.feed(b"a\r\n" * 50)
        kept = max(kept, screen.history_rows + size.rows)
    screen.close()
    assert kept < most_rows(size)


_SGR = re.compile(rb"\x1b\[[0-9;:]*m")
_BYTES = st.lists(st.sampled_from([*_PLAIN, *_OTHER]), max_size=8).map(b"".join)


@settings(deadline=None, derandomize=True)
@given(_BYTES)
def test_plain_is_text_with_colours_and_what_is_cut_off_begins_some(data: bytes) -> None:
    end = plain_end(data)
    controls = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
    if end is None:
        assert controls.search(_SGR.sub(b"", data))
    else:
        assert not controls.search(_SGR.sub(b"", data[:end]))
        assert end == len(data) or re.fullmatch(rb"\x1b(\[[0-9;:]*)?", data[end:])


@settings(deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([b"text", b"\r\n", *_COLOURS]), max_size=12).map(b"".join))
def test_the_colours_behind_are_those_of_all_that_was_printed(data: bytes) -> None:
    whole, short = GhosttyScreen(WIDE), GhosttyScreen(WIDE)
    whole.feed(data + b"\r\n\x1b[Hx")
    short.feed(colours_after(data) + b"\x1b[Hx")
    assert whole.runs()[0][0].style == short.runs()[0][0].style
    assert len(colours_after(data)) <= len(data)
    for screen in (whole, short):
        screen.close()


def test_a_closed_lazy_screen_says_so() -> None:
    screen = LazyScreen(GhosttyScreen(WIDE))
    screen.feed(b"held but never drawn\r\n" * 20)
    screen.close()
    screen.close()
    for ask in (screen.text, screen.snapshot, lambda: screen.feed(b"x"), lambda: screen.feed(b"x" * 100)):
        with pytest.raises(InvalidRequest):
            ask()
