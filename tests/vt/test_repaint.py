"""A repaint against the screen it was made from: both screens, cell by cell."""

import sys
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermitty.model import Size
from hermitty.vt.ghostty import GhosttyScreen
from tests.vt.test_screen import answers_of, fed, state_of

SMALL = Size(20, 6)

thorough = settings(deadline=None, max_examples=250, derandomize=True)


def compare(data: bytes, size: Size = SMALL, later: bytes = b"") -> None:
    """Check that a fresh screen fed with a repaint is the same, now, after more output, and back on the primary."""
    screen = fed(data, size)
    fresh = GhosttyScreen(size)
    assert fresh.feed(screen.repaint()) == b""
    for more in (b"", later, b"\x1b[?1049l"):
        for each in (screen, fresh):
            each.feed(more)
        assert state_of(fresh) == state_of(screen)
    assert answers_of(fresh) == answers_of(screen)


def color_codes(base: int) -> st.SearchStrategy[bytes]:
    short = [b"%d" % (base - 8 + n) for n in range(8)] + [b"%d" % (base + 52 + n) for n in range(8)]
    byte = st.integers(0, 255)
    return st.one_of(
        byte.map(lambda index: b"%d;5;%d" % (base, index)),
        st.tuples(byte, byte, byte).map(lambda rgb: b"%d;2;%d;%d;%d" % (base, *rgb)),
        st.sampled_from([b"%d" % (base + 1)] if base == 58 else [*short, b"%d" % (base + 1)]),
    )


_FLAGS = [b"0", b"1", b"2", b"3", b"4", b"5", b"7", b"8", b"9", b"21", b"53", b"4:3", b"4:4", b"4:5"]
_SGR = st.lists(st.one_of(st.sampled_from(_FLAGS), *map(color_codes, (38, 48, 58))), min_size=1, max_size=3).map(
    lambda codes: b"\x1b[%sm" % b";".join(codes)
)
# U+3000 and U+4000 have no bits in the lowest byte of a cell.
_TEXT = st.sampled_from(
    ["hello ", "m", "@", " ", "y" * 23, "日本", "語" * 11, "\u4000\u3000", "e\u0301", "👍", "a\tb", "\t"]
).map(str.encode)
_MOVE = st.tuples(st.integers(1, 6), st.integers(1, 20)).map(lambda at: b"\x1b[%d;%dH" % at)
_ERASE = st.tuples(st.integers(0, 3), st.sampled_from(b"JKXP@LMST")).map(lambda what: b"\x1b[%d%c" % what)
_REGION = st.sampled_from(
    [b"\x1b[2;4r", b"\x1b[r", b"\x1b[?69h\x1b[3;12s", b"\x1b[?69l", b"\x1b[?6h", b"\x1b[?6l", b"\x1b[4h", b"\x1b[4l"]
)
_OTHER = st.sampled_from(
    [b"\r\n", b"\n", b"\x1bM", b"\x1b7", b"\x1b8", b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?47h", b"\x1b]133;A\x07"]
) | st.sampled_from([b"\x1b(0qx\x1b(B", b"\x1b]8;;http://a\x1b\\", b"\x1b[?7l", b"\x1b[?7h", b"\r\n" * 9])
_STREAM = st.lists(st.one_of(_TEXT, _TEXT, _SGR, _SGR, _MOVE, _ERASE, _REGION, _OTHER), max_size=40).map(b"".join)


@thorough
@given(_STREAM, st.integers(0, 8), st.sampled_from([SMALL, SMALL, Size(3, 3), Size(121, 12)]))
def test_a_repaint_of_styled_text_is_exact(data: bytes, cut: int, size: Size) -> None:
    compare(data[: len(data) - cut], size, data[len(data) - cut :])


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b[31;44ma\x1b[10Gb",
        b"\x1b[44m\x1b[2J",
        b"\x1b[48;2;1;2;3m\x1b[2;3H\x1b[5X\x1b[m\x1b[4H\x1b[41m\x1b[K",
        b"\x1b[44mx\x1b[K\x1b[m\r\ny",
        b"\x1b[7m" + b"x" * 45 + b"\x1b[2;5H\x1b[m\x1b[4X",
        b"x" * 25 + b"\x1b[1;18H\x1b[3X",
        b"x" * 19 + "日".encode() + b"\x1b[2;1Hyy",
        b"x" * 19 + "日".encode() + b"\x1b[2;1H\x1b[2K",
        b"x" * 25 + b"\x1b[H\x1b[K\x1b[2;3H\x1b[1@",
        "\x1b[31m日本\x1b[2Gx\x1b[m".encode(),
        "\x1b[42m\u3000\u4000\x1b[3;5H\u3000".encode(),
        "\x1b[35ma\x1b[m\x1b[10G\x1b[35mb日".encode()[:-1],
        b"\x1b[31ma\x1b[9Gb\x1b[4h\x1b[?69h\x1b[4;6s\x1b[2;3r\x1b[?6h\x1b]2;half a ti",
        b"\x1b[31ma\x1b[9Gb\x1b[?1049h\x1b[32mc\x1b[3;9Hd\x1b[44m\x1b[K",
        b"\x1b[2;20H\x1b[31mx\x1b7\x1b[?1049h\x1b[44m\x1b[2Jx",
    ],
)
def test_cells_without_text_keep_their_colours(data: bytes) -> None:
    compare(data, later=b"z")


@pytest.mark.parametrize("half", [b"", b"\x1b[2;5H\xe6\x97", b"\x1b[1;20H\xe6", b"\x1b[4h\xe6", b"\xe6"])
def test_half_a_character_leaves_no_mark(half: bytes) -> None:
    data = b"\x1b[31m" + b"x" * 40 + "日".encode() + b"\x1b[9Gz" + half
    compare(data, later=b"\x97\xa5")
    wider = [fed(data), fed(fed(data).repaint())]
    for each in wider:
        each.resize(Size(50, 6))
    assert wider[0].text() == wider[1].text()


def test_rows_that_span_pages_of_the_history_are_exact() -> None:
    lines = (b"\x1b[38;5;%dmline\x1b[m\t%d %s\r\n" % (n % 256, n, b"w" * (n % 40)) for n in range(700))
    screen = GhosttyScreen(Size(30, 200))
    for line in lines:
        screen.feed(line)
        if line.endswith(b" %s\r\n" % (b"w" * 7)):
            fresh = fed(screen.repaint(), Size(30, 200))
            assert fresh.runs() == screen.runs()


@pytest.mark.parametrize(
    ("codes", "written"),
    [
        (b"38;5;1", b"31"),
        (b"38;5;9", b"91"),
        (b"48;5;0", b"40"),
        (b"48;5;15", b"107"),
        (b"38;5;16", b"38;5;16"),
        (b"48;5;100", b"48;5;100"),
        (b"58;5;1", b"58;5;1"),
    ],
)
def test_the_first_16_colours_are_written_in_their_short_form(codes: bytes, written: bytes) -> None:
    assert b"\x1b[H\x1b[1H\x1b[0;%smx\x1b[0m" % written in fed(b"\x1b[%smx" % codes).repaint()
    # The same in a row that the library does not write.
    assert b"\x1b[H\x1b[1H\x1b[0;%smx  \x1b[0m" % written in fed(b"\x1b[%smx\x1b(0\xe6\x97\xa5" % codes).repaint()


def test_a_blank_as_wide_as_two_cells_is_written_as_two() -> None:
    screen = fed("\x1b[41m\x1b(0日x\x1b(Bz".encode())
    fresh = fed(screen.repaint())
    assert (fresh.runs(), fresh.cursor) == (screen.runs(), screen.cursor)


def test_the_work_of_a_repaint_does_not_grow_with_the_number_of_styles() -> None:
    def calls(data: bytes) -> int:
        screen = fed(data, Size(120, 40))
        count = 0

        def note(_frame: FrameType, event: str, _argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            screen.repaint()
        finally:
            sys.setprofile(None)
        return count

    plain = b"\r\n".join([b"x" * 119] * 40)
    colorful = b"\r\n".join(
        b"".join(b"\x1b[38;2;%d;%d;0;48;5;%dmx" % (col, row, col) for col in range(16, 120)) for row in range(40)
    )
    assert calls(colorful) < 1.2 * calls(plain)


def test_a_screen_that_the_library_cannot_copy_is_painted_as_text() -> None:
    screen = GhosttyScreen(Size(20, 6))
    screen.feed("\x1b[?1049habc\x1b[1;10H日".encode())
    screen.resize(Size(10, 6))
    again = GhosttyScreen(Size(10, 6))
    again.feed(screen.repaint())
    assert again.text().startswith("abc")
    assert again.alternate
    assert again.cursor == screen.cursor
