"""The contract of Screen, tried on the implementation there is."""

import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermitty.errors import InvalidRequest, InvalidSize
from hermitty.model import Size
from hermitty.vt.ghostty import GhosttyScreen
from hermitty.vt.screen import PLAIN, Cursor, Palette, Rgb, Run, Screen, Style, Underline

SMALL = Size(20, 6)

quick = settings(deadline=None, max_examples=120, derandomize=True)


@pytest.fixture
def screen() -> Iterator[Screen]:
    made = GhosttyScreen(SMALL)
    yield made
    made.close()


def fed(data: bytes, size: Size = SMALL) -> GhosttyScreen:
    screen = GhosttyScreen(size)
    screen.feed(data)
    return screen


@pytest.mark.parametrize(
    ("data", "text", "cursor"),
    [
        (b"", "", Cursor(0, 0)),
        (b"hello", "hello", Cursor(5, 0)),
        (b"a\r\nb\r\n", "a\nb", Cursor(0, 2)),
        (b"a\nb", "a\n b", Cursor(2, 1)),
        (b"12345\rab", "ab345", Cursor(2, 0)),
        (b"abc\x08\x08X", "aXc", Cursor(2, 0)),
        (b"a\tb", "a       b", Cursor(9, 0)),
        (b"x   \r\n", "x", Cursor(0, 1)),
        ("日本".encode(), "日本", Cursor(4, 0)),
        ("e\u0301!".encode(), "e\u0301!", Cursor(2, 0)),
        (b"x" * 25, "x" * 20 + "\n" + "x" * 5, Cursor(5, 1)),
        (b"x" * 20, "x" * 20, Cursor(19, 0)),
        (b"x" * 19 + "日".encode(), "x" * 19 + "\n日", Cursor(2, 1)),
        (b"".join(b"%d\r\n" % n for n in range(8)), "3\n4\n5\n6\n7", Cursor(0, 5)),
        (b"\x1b[3;4Hx", "\n\n   x", Cursor(4, 2)),
        (b"abcdef\x1b[3D\x1b[K", "abc", Cursor(3, 0)),
        (b"abc\x1b[2J\x1b[Hx", "x", Cursor(1, 0)),
        (b"\x1b(0lqk\x1b(B", "┌─┐", Cursor(3, 0)),
        (b"\x1b[?25lx", "x", Cursor(1, 0, visible=False)),
        (b"\xff\xc3(", "\ufffd\ufffd(", Cursor(3, 0)),
        (b"\x1b]133;A\x07\x1b]633;C\x07ok\x1b]1337;x=y\x1b\\", "ok", Cursor(2, 0)),
        (b"\x1b_Gf=24;AAAA\x1b\\\x1bPq#0~\x1b\\ok", "ok", Cursor(2, 0)),
    ],
)
def test_bytes_give_text_and_a_cursor(data: bytes, text: str, cursor: Cursor) -> None:
    screen = fed(data)
    assert (screen.text(), screen.cursor) == (text, cursor)


@pytest.mark.parametrize(
    ("data", "runs"),
    [
        (b"plain", [Run("plain", 0, 5)]),
        (b"a \x1b[31mred\x1b[0m b", [Run("a ", 0, 2), Run("red", 2, 3, Style(Palette(1))), Run(" b", 5, 2)]),
        (b"\x1b[38;5;200mx", [Run("x", 0, 1, Style(Palette(200)))]),
        (b"\x1b[48;2;1;2;3mx", [Run("x", 0, 1, Style(background=Rgb(1, 2, 3)))]),
        (b"\x1b[1;2;3;5;7;8;9;53mx", [Run("x", 0, 1, Style(bold=True, faint=True, italic=True, blink=True, inverse=True,
                                                          invisible=True, strikethrough=True, overline=True))]),
        (b"\x1b[4:3;58;5;9mx", [Run("x", 0, 1, Style(underline=Underline.CURLY, underline_color=Palette(9)))]),
        ("日x".encode(), [Run("日", 0, 2, PLAIN, True), Run("x", 2, 1)]),
        ("e\u0301x".encode(), [Run("e\u0301", 0, 1, PLAIN, True), Run("x", 1, 1)]),
        (b"\x1b[44mab\x1b[K", [Run("ab" + " " * 18, 0, 20, Style(background=Palette(4)))]),
        (b"\x1b[4ma\tb", [Run("a", 0, 1, Style(underline=Underline.SINGLE)), Run(" " * 7, 1, 7),
                          Run("b", 8, 1, Style(underline=Underline.SINGLE))]),
        (b"x   ", [Run("x", 0, 1)]),
    ],
)  # fmt: skip
def test_runs_carry_styles_and_widths(data: bytes, runs: list[Run]) -> None:
    assert fed(data).runs() == [runs, [], [], [], [], []]


def test_the_alternate_screen_hides_the_primary_one_and_gives_it_back(screen: Screen) -> None:
    screen.feed(b"$ vim\r\n\x1b[?1049h\x1b[2J\x1b[Hfile")
    assert (screen.alternate, screen.text()) == (True, "file")
    screen.feed(b"\x1b[?1049l")
    assert (screen.alternate, screen.text(), screen.cursor) == (False, "$ vim", Cursor(0, 1))


def test_modes_are_followed(screen: Screen) -> None:
    assert (screen.bracketed_paste, screen.application_cursor_keys) == (False, False)
    screen.feed(b"\x1b[?2004h\x1b[?1h")
    assert (screen.bracketed_paste, screen.application_cursor_keys) == (True, True)
    screen.feed(b"\x1bc")
    assert (screen.bracketed_paste, screen.application_cursor_keys) == (False, False)


@pytest.mark.parametrize(
    ("data", "title"),
    [
        (b"", ""),
        (b"\x1b]2;build\x07", "build"),
        (b"\x1b]0;caf\xc3\xa9\x1b\\", "café"),
        ("\x1b]2;a\nb\u0085c\u2028d\x07".encode(), "abcd"),
        (b"\x1b]2;one\x07\x1b]2;\x07", ""),
    ],
)
def test_the_title_has_no_control_characters(data: bytes, title: str) -> None:
    assert fed(data).title == title


@pytest.mark.parametrize(
    ("query", "reply"),
    [
        (b"\x1b[c", b"\x1b[?62;22c"),
        (b"\x1b[>c", b"\x1b[>1;0;0c"),
        (b"\x1b[5n", b"\x1b[0n"),
        (b"ab\x1b[6n", b"\x1b[1;3R"),
        (b"\x1b[?2004h\x1b[?2004$p", b"\x1b[?2004;1$y"),
        (b"\x1b[?9999$p", b"\x1b[?9999;0$y"),
        (b"\x1b[>q", b"\x1bP>|libghostty\x1b\\"),
        (b"\x1b]10;?\x07", b"\x1b]10;rgb:c5c5/c8c8/c6c6\x07"),
        (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:1d1d/1f1f/2121\x1b\\"),
        (b"\x1b[?u", b"\x1b[?0u"),
        (b"\x1b[18t", b"\x1b[8;6;20t"),
        (b"\x1bP$q q\x1b\\", b"\x1bP1$r2 q\x1b\\"),
        (b"plain text\x07\r\n", b""),
    ],
)
def test_queries_are_answered(query: bytes, reply: bytes) -> None:
    assert GhosttyScreen(SMALL).feed(query) == reply
    cut = GhosttyScreen(SMALL)
    assert b"".join(cut.feed(bytes([byte])) for byte in query) == reply


@pytest.mark.parametrize(
    "attack",
    [
        b"\x1b]2;EVIL\x07\x1b[21t\x1b[20t",
        b"\x1b]2;EVIL\x07\x1b[>3t\x1b[21t",
        b"\x1b]52;c;?\x07",
        b"\x1b]52;c;RVZJTA==\x07\x1b]52;c;?\x1b\\",
        b"\x1bP$qEVIL\x1b\\",
        b"\x1bP+q4556494c\x1b\\",
        b"\x1b]5522;type=read:id=EVIL;Lg==\x1b\\",
        b"\x1b]5522;type=write:id=EVIL;\x1b\\",
        b"\x1b]99;i=EVIL:p=?;\x1b\\",
        b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
        b"\x1b_Gi=1,a=q,t=f;L2V0Yy9wYXNzd2Q=\x1b\\",
        b"\x1b_25a1;q;cp=e000\x1b\\",
        b"\x1b]21;EVIL=?\x1b\\",
        b"\x05",
        b"\x1b]1337;ReportVariable=RVZJTA==\x07",
        b"EVIL\x1b[1;1;1;1;1;2*y",
    ],
)
def test_a_program_cannot_make_the_terminal_type_what_it_chose(attack: bytes) -> None:
    assert GhosttyScreen(SMALL).feed(attack) == b""


def test_a_size_report_is_returned_by_resize_only_when_asked_for(screen: Screen) -> None:
    assert screen.resize(Size(30, 8)) == b""
    screen.feed(b"\x1b[?2048h")
    assert screen.resize(Size(40, 10)) == b"\x1b[48;10;40;160;320t"
    assert screen.size == Size(40, 10)


def test_resizing_reflows_wrapped_lines(screen: Screen) -> None:
    screen.feed(b"x" * 30)
    screen.resize(Size(40, 6))
    assert screen.text() == "x" * 30
    screen.resize(Size(10, 6))
    assert screen.text() == "\n".join(["x" * 10] * 3)


def test_impossible_sizes_are_refused(screen: Screen) -> None:
    for cols, rows in ((0, 5), (5, 0), (5000, 5)):
        with pytest.raises(InvalidSize):
            GhosttyScreen(Size(cols, rows))
        with pytest.raises(InvalidSize):
            screen.resize(Size(cols, rows))
    assert screen.size == SMALL


def test_history_is_kept_and_bounded_in_bytes() -> None:
    lines = [f"line {n}" for n in range(40)]
    assert fed("\r\n".join(lines).encode()).history_text() == "\n".join(lines)
    small = GhosttyScreen(SMALL, scrollback_bytes=10_000)
    small.feed(b"".join(b"line %d\r\n" % n for n in range(50_000)))
    kept = small.history_text().split("\n")
    assert kept[-1] == "line 49999"
    assert len(kept) < 5_000


def test_a_closed_screen_says_so() -> None:
    screen = fed(b"x")
    screen.close()
    screen.close()
    for use in (
        lambda: screen.feed(b"x"),
        lambda: screen.resize(SMALL),
        lambda: screen.size,
        lambda: screen.cursor,
        lambda: screen.title,
        screen.text,
        screen.runs,
        screen.repaint,
        screen.snapshot,
    ):
        with pytest.raises(InvalidRequest, match="closed"):
            use()


@pytest.mark.parametrize("data", [b"", b"nonsense" * 100, None])
def test_what_is_not_a_snapshot_is_refused(data: bytes | None) -> None:
    with pytest.raises(InvalidRequest, match="snapshot"):
        GhosttyScreen.restore(fed(b"text").snapshot()[:-20] if data is None else data)


def test_a_sequence_too_long_to_hand_on_is_still_swallowed() -> None:
    screen = fed(b"before\x1b]52;c;" + b"A" * 3_000_000)
    copy = fed(screen.repaint())
    for each in (screen, copy):
        each.feed(b"AAAA\x07after")
    assert screen.text() == copy.text() == "beforeafter"


def test_importing_the_package_loads_no_emulator() -> None:
    code = "import hermitty, sys; assert not {'pyghostty', 'cffi', 'hermitty.vt.libghostty'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# Streams made of what real programs send, and of noise. Grapheme clustering (mode 2027) is not switched in
# mid-stream, and charsets not mixed with wide characters: what that leaves on the screen cannot be written again.
_SGR = st.lists(
    st.sampled_from([b"0", b"1", b"2", b"3", b"4", b"7", b"9", b"31", b"42", b"39", b"49", b"4:3", b"53", b"97"])
    | st.sampled_from([b"38;5;200", b"48;2;1;2;3", b"58;5;3"]),
    min_size=1,
    max_size=3,
).map(lambda codes: b"\x1b[%sm" % b";".join(codes))
_TEXT = st.sampled_from(["hello ", "x" * 9, "y" * 23, "日本", "e\u0301", "👍", "a\tb", "   ", "é"]).map(str.encode)
_CONTROL = st.sampled_from([b"\r\n", b"\n", b"\r", b"\x08", b"\t", b"\x1bM", b"\x1bD", b"\x1bE", b"\x1b7", b"\x1b8"])
_MOVE = st.builds(
    lambda a, b, final: b"\x1b[%d;%d%s" % (a, b, final),
    st.integers(0, 7),
    st.integers(0, 22),
    st.sampled_from([bytes([byte]) for byte in b"HABCDJKLMPX@STrsGdbgf"]),
)
_MODE = st.builds(
    lambda number, final: b"\x1b[?%d%s" % (number, final),
    st.sampled_from([1, 5, 6, 7, 12, 25, 47, 66, 69, 1000, 1003, 1006, 1047, 1049, 1049, 1049, 2004, 2048]),
    st.sampled_from([b"h", b"h", b"l"]),
)
_OTHER = st.sampled_from(
    [b"\x1b[4h", b"\x1b[4l", b"\x1b]2;title\x07", b"\x1b]8;;http://a\x1b\\", b"\x1b]8;;\x07", b"\x1b[4 q"]
) | st.sampled_from(
    [b"\x1b]4;1;#123456\x07", b"\x1b]11;#102030\x07", b"\x1b[>1u", b"\x1b[!p", b"\x1bc", b"\x1b#8", b"\x1b="]
)
_STREAM = st.lists(st.one_of(_TEXT, _TEXT, _CONTROL, _SGR, _MOVE, _MODE, _OTHER), max_size=25).map(b"".join)
_NOISE = st.one_of(_STREAM, st.binary(max_size=80), st.lists(st.one_of(_STREAM, st.binary(max_size=5))).map(b"".join))
# Beginnings and ends of sequences, in 7 and 8 bits and inside each other.
_NESTED = st.lists(
    st.sampled_from(b"\x1b\x1b[]P^X_\\;2a\x07\x18\x90\x98\x9b\x9c\x9d\x9e\x9f\xe6\x97\xa5"), max_size=14
).map(bytes)
_MODES = b"\x1b[?%d$p"


def state_of(screen: Screen) -> dict[str, object]:
    """Read all there is to know, without changing it."""
    return {
        "size": screen.size,
        "text": screen.text(),
        "runs": screen.runs(),
        "cursor": screen.cursor,
        "alternate": screen.alternate,
        "title": screen.title,
        "bracketed_paste": screen.bracketed_paste,
        "application_cursor_keys": screen.application_cursor_keys,
    }


def answers_of(screen: Screen) -> bytes:
    """Ask what only a query tells, giving up an unfinished sequence: modes, shape, region, style, colours."""
    modes = b"".join(_MODES % mode for mode in (5, 6, 7, 12, 66, 69, 1000, 1003, 1006, 2004, 2048))
    settings = b"".join(b"\x1bP$q%s\x1b\\" % name for name in (b"m", b"r", b"s", b" q"))
    return screen.feed(b"\x18" + modes + settings + b"\x1b[4$p\x1b[?u\x1b]4;1;?\x07\x1b]11;?\x07\x1b[6n")


@quick
@given(_NOISE, st.lists(st.integers(0, 200), max_size=8))
def test_any_cut_gives_the_same_state(data: bytes, cuts: list[int]) -> None:
    whole, cut = GhosttyScreen(SMALL), GhosttyScreen(SMALL)
    replies = whole.feed(data)
    edges = [0, *sorted(min(at, len(data)) for at in cuts), len(data)]
    assert b"".join(cut.feed(data[start:end]) for start, end in pairwise(edges)) == replies
    assert state_of(cut) == state_of(whole)
    assert cut.repaint() == whole.repaint()


@quick
@given(_STREAM, st.integers(0, 12))
def test_a_repaint_brings_a_fresh_screen_to_the_same_state(data: bytes, cut: int) -> None:
    screen = fed(data[: len(data) - cut])
    fresh = fed(screen.repaint())
    assert state_of(fresh) == state_of(screen)
    # What comes next finds the same unfinished sequence, pending wrap, margins and modes.
    for each in (screen, fresh):
        each.feed(data[len(data) - cut :] if cut else b"")
    assert state_of(fresh) == state_of(screen)
    assert answers_of(fresh) == answers_of(screen)
    # And the screen under the alternate one is there, with its cursor.
    for each in (screen, fresh):
        each.feed(b"\x1b[?1049l")
    assert state_of(fresh) == state_of(screen)
    assert answers_of(fresh) == answers_of(screen)


@quick
@given(st.binary(max_size=200) | _NESTED, _NESTED)
def test_a_repaint_of_noise_shows_the_same_text_and_asks_nothing(data: bytes, more: bytes) -> None:
    screen, untouched = fed(data), fed(data)
    fresh = GhosttyScreen(SMALL)
    assert fresh.feed(screen.repaint()) == b""
    restored = GhosttyScreen.restore(screen.snapshot())
    for each in (untouched, screen, fresh, restored):
        each.feed(more + b"\x1b\\x")
    for each in (screen, fresh, restored):
        assert (each.text(), each.cursor, each.title) == (untouched.text(), untouched.cursor, untouched.title)


@quick
@given(_NOISE, st.binary(max_size=20))
def test_a_snapshot_restores_the_same_state(data: bytes, more: bytes) -> None:
    screen = fed(data)
    restored = GhosttyScreen.restore(screen.snapshot())
    assert state_of(restored) == state_of(screen)
    assert restored.repaint() == screen.repaint()
    assert restored.history_text() == screen.history_text()
    assert restored.feed(more) == screen.feed(more)
    assert state_of(restored) == state_of(screen)


@quick
@given(_NOISE)
def test_replies_hold_no_text(data: bytes) -> None:
    reply = GhosttyScreen(SMALL).feed(b"\x1b]2;EVIL\x07EVIL" + data)
    assert b"EVIL" not in reply
    assert not set(reply) & set(b"\r\n\x03\x04")


def test_wrapped_lines_of_a_repaint_can_still_be_unwrapped() -> None:
    screen = fed(b"x" * 19 + "日".encode() + b"y" * 30)
    fresh = fed(screen.repaint())
    fresh.resize(Size(60, 6))
    assert fresh.text() == "x" * 19 + "日" + "y" * 30


def test_clusters_survive_a_repaint() -> None:
    screen = fed("\x1b[?2027h👨\u200d👩\u200d👧 👍🏽|".encode())
    fresh = fed(screen.repaint())
    assert state_of(fresh) == state_of(screen)
    assert [run.cells for run in screen.runs()[0]] == [2, 1, 2, 1]


def test_saved_cursors_survive_a_repaint() -> None:
    screen = fed(b"\x1b[2;3H\x1b[31m\x1b(0\x1b7\x1b[H\x1b[0m\x1b(Bx")
    fresh = fed(screen.repaint())
    for each in (screen, fresh):
        each.feed(b"\x1b8q")
    assert state_of(fresh) == state_of(screen)
    assert fresh.text() == "x\n  ─"
