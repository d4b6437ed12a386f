"""Output as text that only grows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.adapters.acp.plain_stream import PlainStream
from hermitty.adapters.acp.tail import TailText


def plain(*chunks: bytes) -> str:
    stream = PlainStream()
    return "".join(map(stream.feed, chunks)) + stream.finish()


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (b"", ""),
        (b"plain \ttext\n", "plain \ttext\n"),
        (b"\x1b[1;31mred\x1b[0m\n", "red\n"),
        (b"one\r\ntwo\r\r\nthree", "one\ntwo\nthree"),
        (b"10%\r20%\r30%\n", "10%\n20%\n30%\n"),
        (b"\r\x1b[K10%\r\x1b[K20%\r\n", "10%\n20%\n"),
        (b"end\r", "end"),
        (b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        (b"\x1bPq#0;2;0\nsixel\x1b\\after", "after"),
        (b"\x1b]0;never ended\ntext", "\ntext"),
        (b"a\x08b\x00\x07\x7fc", "abc"),
        (b"a\x0bb\x0cc", "a\nb\nc"),
        (b"\x1b(B\x1b=\x1b7x", "x"),
        (b"\x1b\x1b[31mx", "x"),
        (b"\x1b[31\x1b[32mx", "x"),
        (b"\x1b[3\xc3\xa9", "é"),
        (b"\xff\xfeok\xe2\x82", "��ok�"),
        ("größer 日本 🦀".encode(), "größer 日本 🦀"),
        ("\x9b31m".encode(), "31m"),
        (b"\x1b[" + b"1" * 300 + b"x", "1" * 44 + "x"),
        (b"\x1b]" + b"a" * 70_000 + b"x", "a" * (70_000 - 65_536) + "x"),
    ],
)
def test_sequences_are_dropped_and_text_stays(output: bytes, text: str) -> None:
    assert plain(output) == text
    assert plain(*(output[at : at + 1] for at in range(len(output)))) == text


ALPHABET = [
    b"\x1b",
    b"[",
    b"]",
    b"P",
    b"\\",
    b"\r",
    b"\n",
    b"\x07",
    b"a",
    b"m",
    b"1",
    b";",
    b"\xe2",
    b"\x82",
    b"\xac",
    b"\xff",
]


@given(st.lists(st.one_of(st.sampled_from(ALPHABET), st.binary(max_size=4))), st.data())
def test_any_cut_gives_the_same_text_and_it_only_grows(pieces: list[bytes], data: st.DataObject) -> None:
    output = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(output)), max_size=6)))
    chunks = [output[start:end] for start, end in zip([0, *cuts], [*cuts, len(output)], strict=True)]
    text = plain(*chunks)
    assert text == plain(output)
    assert not any((char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f" for char in text)


@pytest.mark.parametrize("limit", range(17))
def test_the_tail_is_cut_between_characters_at_every_limit(limit: int) -> None:
    whole = "aé€🦀zß日"
    tail = TailText(limit)
    for char in whole:
        tail.append(char)
    expected = next(whole[at:] for at in range(len(whole) + 1) if len(whole[at:].encode()) <= limit)
    assert (tail.text(), tail.is_truncated) == (expected, limit < len(whole.encode()))


@given(st.lists(st.text(max_size=20)), st.integers(0, 40))
def test_the_tail_is_the_longest_that_fits_whatever_the_pieces(pieces: list[str], limit: int) -> None:
    tail = TailText(limit)
    for piece in pieces:
        tail.append(piece)
    whole = "".join(pieces).encode("utf-8", "replace").decode()
    expected = next(whole[at:] for at in range(len(whole) + 1) if len(whole[at:].encode()) <= limit)
    assert (tail.text(), tail.is_truncated) == (expected, len(whole.encode()) > limit)


def test_a_long_stream_takes_no_more_than_its_limit() -> None:
    tail = TailText(1000)
    for number in range(100_000):
        tail.append(f"{number}\n")
    assert len(tail._kept) <= 3 * 1000 + 4096
    assert tail.text().endswith("99998\n99999\n")
    tail.shrink(12)
    assert (tail.text(), tail.is_truncated) == ("99998\n99999\n", True)
