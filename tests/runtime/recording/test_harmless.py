"""What a recording may do to the terminal of whoever plays it: draw, and nothing else."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermitty.model import Size
from hermitty.runtime.recording.harmless import USUAL, Harmless
from hermitty.vt.ghostty import GhosttyScreen
from hermitty.vt.ghostty_terminal import NativeTerminal

ESC = "\x1b"

# Everything that may come out: text, a few controls, and sequences of these forms.
ALLOWED = re.compile(
    r"(?:[^\x00-\x1f\x7f-\x9f]|[\x07-\x0f]"
    r"|\x1b[678DEHMNOno|}~]|\x1b[()*+./-][0-9A-Za-z]|\x1b[()*+./-][ -/][0-9A-Za-z]|\x1b\#[34568]"
    r"|\x1b\[[0-9:;]*[@-HI-MPSTXZ`abdefghlmrsu]"
    r"|\x1b\[[0-9:;]*(?: [q@A]|!p|\"q|\#[{}pq]|\$[rtvxz{]|'[}~]|\*x)"
    r"|\x1b\[2[23](?:;[0-9:;]*)?t"
    r"|\x1b\[\?[0-9:;]*[hlJKW]"
    r"|\x1b\][0-9]+(?:;[^\x00-\x1f\x7f-\x9f]*)?\x07)*",
)

pieces = st.sampled_from(
    [
        "text", "ü", "\r\n", "\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b_", "\x9b", "\x9d", "\x90", "\x9c", "\x1b\\",
        "\x07", "\x18", "\x05", "\x7f", "?", ">", "=", "<", "0", "1", ";", "52", "1049", "2004", "25", "4;1;", "10;",
        " ", "!", "$", "*", "#", "(", ")", "%", "c", "n", "h", "l", "m", "H", "t", "q", "p", "x", "u", "y", "Z", "R",
        "\\", "\x0e", "\x8d",
    ]
)  # fmt: skip
streams = st.lists(pieces | st.characters(), max_size=40).map("".join)


def shown(text: str) -> str:
    return Harmless().feed(text)


@pytest.mark.parametrize(
    "text",
    [
        "plain ü € 漢字\r\n\tand\bmore\x07",
        f"{ESC}[1;31mred{ESC}[0m {ESC}[38;2;1;2;3m{ESC}[4:3m",
        f"{ESC}[2J{ESC}[H{ESC}[10;20H{ESC}[K{ESC}[3A{ESC}[1;24r{ESC}7{ESC}8{ESC}M",
        f"{ESC}[?1049h{ESC}[?25l{ESC}[?7h{ESC}[4h{ESC}[?2026h",
        f"{ESC}(0lqk{ESC}(B\x0e\x0f{ESC}#8{ESC}[5 q{ESC}[!p{ESC}[22;0t",
        f"{ESC}]0;a title?\x07{ESC}]8;;https://example.org/?q=1\x07link{ESC}]8;;\x07",
        f"{ESC}]4;1;rgb:ff/00/00\x07{ESC}]11;#123456\x07{ESC}]104\x07",
        USUAL,
    ],
)
def test_what_draws_stays_as_it_is(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    "text",
    [
        # Answers would be typed: device attributes, status, modes, settings, capabilities, colours, checksums.
        f"{ESC}[c", f"{ESC}[0c", f"{ESC}[>c", f"{ESC}[=c", f"{ESC}[6n", f"{ESC}[?6n", f"{ESC}[5n", f"{ESC}[?2004$p",
        f"{ESC}[>q", f"{ESC}[>0q", f"{ESC}P$q m{ESC}\\", f"{ESC}P+q544e{ESC}\\", f"{ESC}]4;1;?\x07", f"{ESC}]10;?\x07",
        f"{ESC}]11;?{ESC}\\", f"{ESC}]12;?\x07", f"{ESC}[18t", f"{ESC}[21t", f"{ESC}[14t", f"{ESC}[?u", f"{ESC}[x",
        f"{ESC}[1;1;1;1;1;1*y", f"{ESC}[1$w", f"{ESC}Z", "\x9a", "\x05", f"{ESC}[#R", f"{ESC}[?996n",
        # The clipboard, files, notifications, the printer, what keys and the mouse send, the window.
        f"{ESC}]52;c;aGk=\x07", f"{ESC}]52;c;?\x07", "\x9d52;c;aGk=\x9c", f"{ESC}]1337;File=:aGk=\x07",
        f"{ESC}]9;hi\x07",
        f"{ESC}]777;notify;a;b\x07", f"{ESC}]7;file:///x\x07", f"{ESC}]50;font\x07", f"{ESC}[5i", f"{ESC}[?1000h",
        f"{ESC}[?1006h", f"{ESC}[?1004h", f"{ESC}[?2004h", f"{ESC}[?1h", f"{ESC}[?2048h", f"{ESC}[>1u", f"{ESC}[=5u",
        f"{ESC}[<u", f"{ESC}[>4;2m", f"{ESC}=", f"{ESC}>", f"{ESC}[2h", f"{ESC}[12h", f"{ESC}[8;50;100t", f"{ESC}[2t",
        f"{ESC}[?3h", f"{ESC} G", f"{ESC}%@", f"{ESC}[?1000r", f"{ESC}[?1000s",
        # Pictures and private strings.
        f"{ESC}_Gf=100;AAAA{ESC}\\", f"{ESC}Pq#0~{ESC}\\", f"{ESC}Xsos{ESC}\\", f"{ESC}^pm{ESC}\\", "\x90+q544e\x9c",
        # Never finished, or given up.
        f"{ESC}[31", f"{ESC}]0;title", f"{ESC}", f"{ESC}[31\x18", f"{ESC}]52;c;aGk=\x1a",
    ],
)  # fmt: skip
def test_what_does_anything_else_is_dropped(text: str) -> None:
    assert shown(f"a{text}") == "a"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"{ESC}[?1049;2004;25h", f"{ESC}[?1049;25h"),
        (f"{ESC}[2;4h", f"{ESC}[4h"),
        ("\x9b31m", f"{ESC}[31m"),
        ("a\x85b\x8d", f"a{ESC}Eb{ESC}M"),
        (f"{ESC}]2;t{ESC}\\", f"{ESC}]2;t\x07"),
        (f"{ESC}]2;t\x9c", f"{ESC}]2;t\x07"),
        (f"{ESC}]2;a\nb\x07", f"{ESC}]2;ab\x07"),
        (f"{ESC}]2;a{ESC}[31mred", f"{ESC}[31mred"),
        (f"{ESC}[3\n1m", f"\n{ESC}[31m"),
        (f"{ESC}[3ü", "ü"),
        (f"{ESC}[31{ESC}[32m", f"{ESC}[32m"),
    ],
)
def test_sequences_are_written_in_one_form(text: str, left: str) -> None:
    assert shown(text) == left


def test_a_full_reset_becomes_one_that_leaves_what_is_above_alone() -> None:
    assert shown(f"a{ESC}cb") == f"a{USUAL}{ESC}[H{ESC}[2J{ESC}[3g{ESC}[?5Wb"


@given(streams, st.lists(st.integers(0, 60), max_size=10))
def test_any_chunking_gives_the_same(text: str, places: list[int]) -> None:
    edges = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    screen = Harmless()
    assert "".join(screen.feed(text[start:end]) for start, end in pairwise(edges)) == shown(text)
    byte_by_byte = Harmless()
    assert "".join(byte_by_byte.feed(char) for char in text) == shown(text)


@settings(max_examples=500)
@given(streams)
@example(f"{ESC}]52;c;aGk={ESC}]52;c;aGk=\x07")
@example(f"{ESC}]0;{ESC}{ESC}\\\x07")
def test_only_known_forms_come_out_and_pass_again(text: str) -> None:
    left = shown(text)
    assert ALLOWED.fullmatch(left), left
    assert shown(left) == left


@settings(max_examples=300)
@given(streams)
def test_a_terminal_answers_nothing(text: str) -> None:
    terminal = NativeTerminal.new(Size(40, 10), scrollback_bytes=0)
    try:
        terminal.feed(shown(text + "\x18").encode("utf-8", "replace"))
        assert terminal.take_replies() == []
    finally:
        terminal.close()


@given(st.lists(st.sampled_from(["ab", "ü漢", "\r\n", f"{ESC}[31m", f"{ESC}[5;5H", f"{ESC}[K", f"{ESC}[?1049h"])))
def test_what_is_shown_is_what_was_shown(parts: list[str]) -> None:
    screens = GhosttyScreen(Size(20, 5)), GhosttyScreen(Size(20, 5))
    screens[0].feed("".join(parts).encode())
    screens[1].feed(shown(f"{ESC}[6n".join(parts)).encode())
    assert screens[0].repaint() == screens[1].repaint()
    for screen in screens:
        screen.close()


def test_endless_sequences_are_dropped_and_hold_little() -> None:
    screen = Harmless()
    assert screen.feed(f"{ESC}]0;" + "x" * 100_000) == ""
    assert len(screen._held) < 10_000
    assert screen.feed("\x07after") == "after"
    assert screen.feed(f"{ESC}[" + "1" * 300 + "m")[-5:] != f"{ESC}[11m"
