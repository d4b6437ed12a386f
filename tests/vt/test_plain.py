"""plain_text: what is left of output once it has overwritten itself."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyghostty import Terminal

from hermitty.vt.plain import ends_on_alternate_screen, plain_text

CASES = [
    # Output that does not move the cursor is exact.
    ("", ""),
    ("a\r\nb\r\n", "a\nb\n"),
    ("a\nb", "a\nb"),
    ("a\r\r\nb", "a\nb"),
    ("  lead\ttab  \r\n\r\n\r\n\tx \t", "  lead\ttab  \n\n\n\tx \t"),
    ("日本 é 👩‍👧 e\u0301\r\n", "日本 é 👩‍👧 e\u0301\n"),
    ("<b>&amp;</b>", "<b>&amp;</b>"),
    ("page\x0cnext\x0bline", "page\nnext\nline"),
    # Colours and other sequences that leave no text.
    ("\x1b[1;31mred\x1b[0m \x1b[38:2::1:2:3mrgb\x1b[m\t.\r\n", "red rgb\t.\n"),
    ("\x1b]0;title\x07a\x1b]2;t\x1b\\b\x1b]633;C\x07c", "abc"),
    ("\x1b]8;id=1;https://example.org\x1b\\link\x1b]8;;\x1b\\!", "link!"),
    ("a\x1b]52;c;c2VjcmV0\x07b", "ab"),
    ("\x1bPq#0;2;0;0;0~~\x1b\\a\x1b_Gi=1;AAAA\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d", "abcd"),
    ("\x1bPtmux;\x1b\x1b]52;c;c2VjcmV0\x07\x1b\\x", "x"),
    ("\x1b(B\x1b)0a\x1b=\x1b>\x1b#3b\x1b%Gc\x1b[?25l\x1b[?2004h\x1b[>4;1m\x1b[ q\x1b[!pd", "abcd"),
    ("bell\x07 nul\x00 del\x7f so\x0e c1\x85\x9b", "bell nul del so c1"),
    ("\x1b]0;given up\x1b[1mbold", "bold"),
    ("\x1b]0;cancelled\x18text", "text"),
    # Carriage returns.
    ("30%\r60%\r100%\n", "100%\n"),
    ("longer line\rshort\n", "shortr line\n"),
    ("a\rb\r\n\rc", "b\nc"),
    ("日本語\rab", "ab本語"),
    ("日本語\ra", "a 本語"),
    ("abcdef\r日", "日cdef"),
    ("日本\r\x1b[1C語", " 語 "),
    # Backspaces.
    ("|\b/\b-\b\\\bdone", "done"),
    ("\b\b\bx", "x"),
    ("a\n\bb", "a\nb"),
    ("working *\b \b\b\b!", "workin!  "),
    ("e\u0301\bx", "x"),
    # Tabs: kept where they are whole, blanks where something was written into them.
    ("a\tb\rX", "X\tb"),
    ("a\tb\r\x1b[3CX", "a  X    b"),
    ("12345678\r\tx", "12345678x"),
    # Erasing.
    ("abc\r\x1b[Kd", "d"),
    ("abcdef\x1b[3D\x1b[K", "abc"),
    ("abcdef\x1b[3D\x1b[1K", "    ef"),
    ("abc\x1b[2Kd", "   d"),
    ("abc\x1b[2K\rd", "d"),
    ("日本\x1b[D\x1b[K", "日 "),
    ("abcdef\r\x1b[2X", "  cdef"),
    ("a\nb\nc\x1b[2A\x1b[J", "a"),
    ("a\nb\nc\x1b[A\x1b[1J", "\n\nc"),
    ("a\nb\n\x1b[H\x1b[2Jc\n", "c\n"),
    ("".join(f"{n}\n" for n in range(40)) + "\x1b[H\x1b[2J\x1b[3Jnew\n", "new\n"),
    ("old\n\x1bcnew", "new"),
    # Moving.
    ("a\nb\n\x1b[2A1\x1b[B\x1b[D2\x1b[Bend", "1\n2\n end"),
    ("x\x1b[5Cy", "x     y"),
    ("abc\x1b[2GX\x1b[5GY", "aXc Y"),
    ("\x1b[2;3Hx\x1b[1;1fy\x1b[3dz", "y\n  x\n z"),
    ("ab\x1b7cd\x1b8X\x1b[sYZ\x1b[u!", "abX!Z"),
    ("a\nb\x1bMc", "ac\nb"),
    ("a\x1bMb", " b\na"),
    ("a\x1bEb\x1bDc", "a\nb\n c"),
    ("a\nb\nc\x1b[2A\r\x1b[Lx", "x\na\nb\nc"),
    ("a\nb\nc\x1b[2A\x1b[M", "b\nc"),
    ("abcd\r\x1b[2@", "  abcd"),
    ("abcd\r\x1b[2P", "cd"),
    ("-\x1b[4b", "-----"),
    ("a\x1b[0A\x1b[;Hb\x1b[Kc", "bc"),
    # The alternate screen.
    ("a\r\n\x1b[?1049h\x1b[2J\x1b[HVIM\r\n~\x1b[?1049lb", "a\nb"),
    ("a\x1b[?25;1047hX\x1b[?1047lb\x1b[?47hY\x1b[?47lc", "abc"),
    ("a\x1b[?1049hno end", "a"),
    ("a\x1b[?1049lb", "ab"),
    # Sequences that are cut or never end.
    ("a\x1b", "a"),
    ("a\x1b[38;5", "a"),
    ("a\x1b]0;tit", "a"),
    ("a\x1b]0;tit\x1b", "a"),
    ("a\x1bPq#0", "a"),
    ("\x1b]0;open\r\nlater\r\n", "0;open\nlater\n"),
    ("\x1b]52;c;c2VjcmV0\r\nlater\r\n", "\nlater\n"),
    ("\x1b]" + "a " * 40_000 + "\x07z", "a " * 40_000 + "z"),
    ("\x1b]1337;File=:" + "A" * 100_000 + "\x07z", "z"),
    # Displays of real programs.
    ("\x1b[1G\x1b[0K⠋ a\x1b[1G\x1b[0K⠙ b\x1b[1G\x1b[0Kadded 3 packages\r\n", "added 3 packages\n"),
    ("   Compiling x\r\n    Building [=> ] 1/2\r\x1b[K    Finished\r\n", "   Compiling x\n    Finished\n"),
    ("\r  0%|    |\r 50%|██  |\r100%|████|\n", "100%|████|\n"),
    ("a: 1\r\nb: 1\r\n\x1b[2A\x1b[2K\ra: 2\r\x1b[1B\x1b[2K\rb: 2\r\x1b[1B", "a: 2\nb: 2\n"),
    ("Working ━━\nx\r\x1b[2K\x1b[1A\x1b[2KWorking ━━━━\ndone\n", "Working ━━━━\ndone\n"),
    (
        "\r\n\x1b7\x1b[0;29r\x1b8\x1b[1A"
        + "".join(f"unpack {n}\r\n\x1b7\x1b[30;0fProgress: {n}\x1b8" for n in range(35))
        + "\r\n\x1b7\x1b[0;30r\x1b8\x1b[1A\x1b[J",
        "".join(f"unpack {n}\n" for n in range(35)),
    ),
]


@pytest.mark.parametrize(("output", "text"), CASES)
def test_output_reads_as(output: str, text: str) -> None:
    assert plain_text(output.encode()) == text


def test_the_cursor_goes_up_no_further_than_the_screen() -> None:
    lines = b"".join(b"%d\n" % n for n in range(10))
    assert plain_text(lines + b"\x1b[99AX", rows=4) == "0\n1\n2\n3\n4\n5\n6\nX\n8\n9\n"
    assert plain_text(lines + b"\x1b[99AX", rows=30).startswith("X\n1\n")


def test_invalid_utf8_is_replaced_with_and_without_controls() -> None:
    assert plain_text(b"a\xffb\xe6\x97") == "a\ufffdb\ufffd"
    assert plain_text(b"\xe6\x97\x1b[1mx\ry") == "yx"


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", False), (b"\x1b[?1049hx", True), (b"\x1b[?1049hx\x1b[?1049l", False), (b"\x1b[?1;47h", True)],
)
def test_the_screen_at_the_end_is_known(data: bytes, expected: bool) -> None:
    assert ends_on_alternate_screen(data) is expected


PIECES = st.sampled_from(
    [
        b"\x1b[",
        b"\x1b]",
        b"\x1bP",
        b"\x1b",
        b"?1049h",
        b"?47l",
        b"9",
        b"99999",
        b";",
        b"\r",
        b"\n",
        b"\b",
        b"\t",
        b"\x07",
        b"\x1b\\",
        b"52;c;",
        b"m",
        b"K",
        b"J",
        b"\x1b[2J",
        b"\x1b[9999G",
        b"\x1b[3A",
        b"\x1b[9B",
        b"\x1bM",
        b"\x1b[5L",
        b"\x1b[M",
        b"\x1b[9@",
        b"\x1b[2P",
        b"\x1b[7X",
        b"\x1b[3;9r",
        b"\x1b[99b",
        b"\x1b7",
        b"\x1b8",
        b"\xe6\x97\xa5",
        b"\xcc\x81",
        b"\xe2\x80\x8d",
        b"abc",
        b"\xff",
        b"\xc2\x9b",
        b"\x18",
        b"\x1b[3J",
        b"\x1bc",
    ]
)
NOISE = st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=40).map(b"".join))


@given(NOISE, st.integers(1, 5))
def test_any_bytes_give_clean_text_of_bounded_size(data: bytes, rows: int) -> None:
    text = plain_text(data, rows=rows)
    assert not [char for char in text if (char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f"]
    assert len(text) <= 100_000 + 32 * len(data)
    assert plain_text(text.encode(), rows=rows) == text


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"], include_characters="\n\t")))
@example("\u0301x\n\ufeffy")
def test_text_without_controls_is_itself(text: str) -> None:
    assert plain_text(text.encode()) == text
    assert plain_text(text.replace("\n", "\r\n").encode()) == text


@given(st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126, include_characters="\té日"))))
def test_lines_next_to_an_edited_one_stay_exact(lines: list[str]) -> None:
    text = "".join(line + "\n" for line in lines)
    assert plain_text((text + "1%\r2%\n" + text).encode()) == text + "2%\n" + text


def csi(finals: str, most: int, *, least: int = 0) -> st.SearchStrategy[str]:
    """Control sequences with one parameter, or none."""
    return st.builds(
        "\x1b[{}{}".format, st.one_of(st.just(""), st.integers(least, most)), st.sampled_from(list(finals))
    )


EDITS = st.one_of(
    st.text("abc ", min_size=1, max_size=8),
    st.text("ab日é█", min_size=1, max_size=4),
    st.sampled_from(["\r\n", "\r\n", "\r", "\b", "\b\b"]),
    csi("ABCDGd", 9),
    csi("JK", 2),
    csi("LM@PX", 4, least=1),  # emulators do not agree on 0
    st.sampled_from(["\x1b7", "\x1b8", "\x1b[s", "\x1b[u", "\x1bM", "\x1bD", "\x1bE"]),
    st.builds("\x1b[{};{}H".format, st.integers(0, 9), st.integers(0, 20)),
    st.builds("\x1b[{};{}r".format, st.integers(1, 4), st.integers(2, 8)),
)


def emulated(output: str, rows: int) -> list[str]:
    """Lines of the same output on an emulator that is wide enough not to wrap, without trailing blanks."""
    with Terminal(600, rows, 10_000_000) as terminal:
        # The emulator strips blanks before the first character: one that has scrolled off keeps the rest.
        terminal.feed(b"#" + b"\r\n" * rows + b"\x1b[H" + output.encode())
        return without_trailing_blanks(terminal.contents().removeprefix("#").removeprefix("\n"))


def without_trailing_blanks(text: str) -> list[str]:
    return "\n".join(line.rstrip(" ") for line in text.split("\n")).rstrip("\n").split("\n")


@settings(max_examples=300)
@given(st.lists(EDITS, max_size=40).map("".join), st.integers(3, 8))
def test_edits_leave_what_an_emulator_shows(output: str, rows: int) -> None:
    assert without_trailing_blanks(plain_text(output.encode(), rows=rows)) == emulated(output, rows)


@settings(max_examples=100)
@given(st.lists(st.sampled_from(["ab", "\t", "\r", "\b", "\r\n", "\x1b[3C", "\x1b[A", "x y"]), max_size=30))
def test_tabs_leave_what_an_emulator_shows(pieces: list[str]) -> None:
    output = "".join(pieces)
    text = plain_text(output.encode(), rows=10).expandtabs(8)
    assert without_trailing_blanks(text) == emulated(output, 10)


MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    "unit",
    [
        b"\x1b",
        b"\x1b[",
        b"\x1b]",
        b"\x1bP",
        b"\x1b[?47;",
        b"\x1b[999999999G\x1b[999999999Bx",
        b"\x1b[9999b",
        b"x\r",
        b"\x1b[9999@",
        "\u0301".encode(),
        b"\x1b[99L",
        b"\t\b",
        b"\x1b[1K",
        b"\x1b[99999999999999999999;9H",
        b"\xff",
    ],
)
def test_hostile_output_takes_linear_time_and_memory(unit: bytes) -> None:
    """Each of these is quadratic, or fills gigabytes, in a simple implementation."""
    data = b"a" * 50_000 + unit * (MEGABYTE // 4 // len(unit))
    started = time.perf_counter()
    text = plain_text(data)
    assert time.perf_counter() - started < 5
    assert len(text) <= 100_000 + 17 * len(data)
