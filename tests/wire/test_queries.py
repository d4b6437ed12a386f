"""What asks a terminal something is taken out of a stream; everything else passes as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.model import Size
from hermitty.vt.ghostty import GhosttyScreen
from hermitty.wire.queries import WithoutQueries

QUERIES = [
    b"\x05",
    b"\x1bZ",
    b"\xc2\x9a",
    b"\x1b[c",
    b"\x1b[0c",
    b"\x1b[>c",
    b"\x1b[>0c",
    b"\x1b[=c",
    b"\x1b[5n",
    b"\x1b[6n",
    b"\x1b[?6n",
    b"\x1b[?996n",
    b"\x1b[?2026$p",
    b"\x1b[4$p",
    b"\x1b[>q",
    b"\x1b[>0q",
    b"\x1b[?u",
    b"\x1b[x",
    b"\x1b[14t",
    b"\x1b[18t",
    b"\x1b[21t",
    b"\x1b[?1;1;0S",
    b"\x1b[?4m",
    b"\x1b[1$w",
    b"\x1b[?2048h",
    b"\xc2\x9b6n",
    b"\x1bP$qm\x1b\\",
    b"\x1bP+q544e\x1b\\",
    b"\xc2\x90$qm\xc2\x9c",
    b"\x1b]10;?\x07",
    b"\x1b]11;?\x1b\\",
    b"\x1b]4;1;?\x07",
    b"\x1b]4;1;rgb:0/0/0;2;?\x07",
    b"\x1b]010;?\x07",
    b"\x1b]52;c;?\x07",
    b"\x1b]21;foreground=?\x1b\\",
    b"\x1b]1337;ReportCellSize\x07",
    b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
]
# What may be left of one: an end of a string that nothing began is nothing to a terminal.
NOTHING = (b"", b"\x1b\\", b"\xc2\x9c", b"\x07")

HARMLESS = [
    b"plain text, \xc3\xa4\xc3\xb6 \xe2\x82\xac \xf0\x9f\x90\x9a\r\n\t\x08",
    b"\x1b[31;1mred\x1b[m\x1b[2J\x1b[H\x1b[10;20H\x1b[K",
    b"\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?2004h\x1b=\x1b>\x1b[?1h",
    b"\x1b[>1u\x1b[<u\x1b[=1;1u\x1b[>4;2m",
    b"\x1b]0;a title; with ? in it\x07\x1b]2;what?\x1b\\\x1b]8;;https://example.org/?\x1b\\link\x1b]8;;\x1b\\",
    b"\x1b]10;#ffffff\x07\x1b]4;1;rgb:ff/00/00\x07\x1b]52;c;aGVsbG8=\x07\x1b]104\x07\x1b]7;file:///tmp\x07",
    b"\x1bPq#0;2;0;0;0~~\x1b\\\x1bP=1s\x1b\\",
    b"\x1b_Ga=T,f=100;AAAA\x1b\\\x1b^private\x1b\\",
    b"\x1b(B\x1b)0\x0e\x0f\x1b7\x1b8\x1bM\x1bc\x1b#8",
    b"\x1b[22;0t\x1b[23;0t\x1b[8;24;80t\x1b[4 q\x1b[!p\x1b[5q",
]


def shown(*chunks: bytes) -> bytes:
    queries = WithoutQueries()
    return b"".join(map(queries.feed, chunks))


@pytest.mark.parametrize("query", QUERIES)
def test_a_question_is_taken_out(query: bytes) -> None:
    left = shown(b"before" + query + b"after")
    assert left.startswith(b"before")
    assert left.endswith(b"after")
    assert left[6:-5] in NOTHING


@pytest.mark.parametrize("data", HARMLESS)
def test_what_draws_passes_as_it_is(data: bytes) -> None:
    assert shown(data) == data


@pytest.mark.parametrize("data", [*QUERIES, *HARMLESS])
def test_cut_anywhere_it_is_the_same(data: bytes) -> None:
    whole = shown(b"a" + data + b"z")
    for cut in range(len(data) + 2):
        around = b"a" + data + b"z"
        assert shown(around[:cut], around[cut:]) == whole
    assert shown(*(bytes((byte,)) for byte in b"a" + data + b"z")) == whole


def test_a_question_in_disguise_is_taken_out() -> None:
    assert shown(b"\x1b[6\nn") == b"\n"  # terminals obey controls in the midst of a sequence
    assert shown(b"\x1b[\x1b[6n") == b""
    assert shown(b"\x1b[?2048;25h") == b"\x1b[?25h"
    assert shown(b"\x1b]0;title\x1b[6nx") == b"\x1b]0;titlex"


def test_long_strings_pass_without_being_held() -> None:
    queries = WithoutQueries()
    assert queries.feed(b"\x1bPq" + b"#" * 100_000) == b"\x1bPq" + b"#" * 100_000
    assert queries.feed(b"\x1b\\done") == b"\x1b\\done"
    picture = b"\x1b]52;c;" + b"A" * 100_000 + b"\x07"
    assert shown(picture) == picture
    assert shown(*(picture[at : at + 100] for at in range(0, len(picture), 100))) == picture


def test_it_knows_which_screen_is_shown() -> None:
    queries = WithoutQueries()
    queries.feed(b"\x1b[?25;1049h")
    assert queries.alternate
    queries.feed(b"\x1b[?1049l")
    assert not queries.alternate


pieces = st.one_of(st.binary(max_size=8), st.sampled_from(QUERIES), st.sampled_from(HARMLESS))


@given(st.lists(pieces, max_size=8), st.data())
def test_any_bytes_in_any_chunks_are_the_same(parts: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    chunks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert shown(*chunks) == shown(stream)


@given(st.lists(pieces, max_size=8))
def test_no_terminal_owes_an_answer_to_what_is_left(parts: list[bytes]) -> None:
    screen = GhosttyScreen(Size(80, 24))
    try:
        assert screen.feed(shown(b"".join(parts))) == b""
    finally:
        screen.close()


@given(st.lists(st.one_of(st.binary(max_size=8), st.sampled_from(HARMLESS)), max_size=8))
def test_what_is_left_asks_nothing_when_fed_again(parts: list[bytes]) -> None:
    once = shown(b"".join(parts))
    assert shown(once) == once or once.startswith(shown(once))
