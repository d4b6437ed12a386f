"""Markers are found however the stream is cut, and only those with the nonce are trusted."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.vt.markers import MAX_MARKER, Marker, MarkerScanner, Piece, Text, escape, unescape

NONCE = "5ec2e7"


def scan(data: bytes, cuts: list[int] | None = None, *, nonce: str | None = NONCE) -> list[Piece]:
    """Feed the data in chunks and return the pieces, with adjacent texts joined."""
    scanner = MarkerScanner(nonce)
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts or []), len(data)]
    pieces: list[Piece] = []
    for start, end in itertools.pairwise(edges):
        pieces += scanner.feed(data[start:end])
    return joined([*pieces, *scanner.flush()])


def joined(pieces: list[Piece]) -> list[Piece]:
    result: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Text) and result and isinstance(last := result[-1], Text):
            assert last.start + len(last.data) == piece.start
            result[-1] = Text(last.start, last.data + piece.data)
        else:
            result.append(piece)
    return result


def raw(pieces: list[Piece]) -> bytes:
    return b"".join(piece.data if isinstance(piece, Text) else piece.raw for piece in pieces)


@pytest.mark.parametrize(
    ("sequence", "code", "fields", "trusted"),
    [
        (b"\x1b]633;A\x07", "A", (), False),
        (b"\x1b]633;A;5ec2e7\x07", "A", (), True),
        (b"\x1b]633;A;0;5ec2e7\x1b\\", "A", (b"0",), True),
        (b"\x1b]633;D;1;5ec2e7\x07", "D", (b"1",), True),
        (b"\x1b]633;D;1;5ec2e8\x07", "D", (b"1", b"5ec2e8"), False),
        (b"\x1b]633;D;5ec2e7;1\x07", "D", (b"5ec2e7", b"1"), False),
        (b"\x1b]633;E;echo\\x3b;5ec2e7\x07", "E", (b"echo\\x3b",), True),
        (b"\x1b]633;EnvSingleStart;1\x07", "EnvSingleStart", (b"1",), False),
        (b"\x1b]133;A\x07", "A", (), False),
        (b"\x1b]133;D;130\x1b\\", "D", (b"130",), False),
        (b"\x1b]133;D;0;5ec2e7\x07", "D", (b"0", b"5ec2e7"), False),
        (b"\x1b]133;A;k=s;aid=7\x07", "A", (b"k=s", b"aid=7"), False),
        (b"\x1b]133;C;cmdline=a;b\x07", "C", (b"cmdline=a", b"b"), False),
        (b"\x1b]633;P;Cwd=/a\\x20b\x07", "P", (b"Cwd=/a\\x20b",), False),
        (b"\x1b]7;file://host/a%20b\x07", "P", (b"Cwd=/a\\x20b",), False),
        (b"\x1b]7;file:///%c3%a9\x1b\\", "P", ("Cwd=/é".encode(),), False),
        (b"\x1b]7;kitty-shell-cwd://host/a%20\x07", "P", (b"Cwd=/a%20",), False),
        (b'\x1b]9;9;"C:\\x"\x07', "P", (b"Cwd=C:\\\\x",), False),
        (b"\x1b]1337;CurrentDir=/tmp\x07", "P", (b"Cwd=/tmp",), False),
    ],
)
def test_a_marker_is_read(sequence: bytes, code: str, fields: tuple[bytes, ...], trusted: bool) -> None:
    assert scan(b"x" + sequence + b"y") == [
        Text(0, b"x"),
        Marker(1, sequence, code, fields, trusted),
        Text(1 + len(sequence), b"y"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        b"plain",
        b"\x1b]0;title\x07",
        b"\x1b]2;633;D;0\x07",
        b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
        b"\x1b]52;c;?\x07",
        b"\x1b]9;4;1;50\x07",
        b"\x1b]1337;SetUserVar=a=b\x07",
        b"\x1b]7;http://x/y\x07",
        b"\x1b]6333;A\x07",
        b"\x1b]63;A\x07",
        b"\x1b]633A\x07",
        b"\x1b]633;\x07",
        b"\x1b]633;1\x07",
        b"\x1b[633;A\x07",
        b"\x1b]633;A\x18\x07",
        b"\x1b]633;A\x1a\x07",
        b"\x1b]633;A\x1b[m\x07",
        b"\x1b]633;A",
        b"\x1b]",
        b"\x1b",
    ],
)
def test_what_is_no_marker_is_text(text: bytes) -> None:
    assert scan(text) == [Text(0, text)]


def test_a_title_around_markers_stays_text() -> None:
    pieces = scan(b"\x1b]633;C;5ec2e7\x07\x1b]0;\xe2\x80\xa6 D\x07out\x1b]633;D;0;5ec2e7\x07")
    assert [piece.data if isinstance(piece, Text) else piece.code for piece in pieces] == [
        "C",
        b"\x1b]0;\xe2\x80\xa6 D\x07out",
        "D",
    ]


def test_a_marker_inside_a_broken_one_is_found() -> None:
    pieces = scan(b"\x1b]633;A\x1b]633;D;3;5ec2e7\x07")
    assert pieces == [Text(0, b"\x1b]633;A"), Marker(7, b"\x1b]633;D;3;5ec2e7\x07", "D", (b"3",), True)]


# Three commands as real shells report them, with 133 and 633, BEL and ST, titles and colours in between.
SESSION = (
    b"\x1b]633;A;5ec2e7\x07$ \x1b]633;B;5ec2e7\x07ls\r\n\x1b]633;E;ls;5ec2e7\x07\x1b]633;C;5ec2e7\x07a\r\nb\r\n"
    b"\x1b]633;P;Cwd=/a\\x3bb;5ec2e7\x1b\\\x1b]633;D;0;5ec2e7\x07\x1b]0;title\x07\x1b]133;A\x1b\\$ \x1b]133;B\x07"
    b"x\x1b[31m\x1b]133;C\x07\x1b]7;file:///tmp\x07out\x1b]133;D;1\x1b\\\x1b]633;\x1b]633;D\x07\x1b"
)


def test_a_marker_cut_anywhere_gives_the_same_events() -> None:
    whole = scan(SESSION)
    assert raw(whole) == SESSION
    assert len([piece for piece in whole if isinstance(piece, Marker)]) == 12
    for first in range(len(SESSION)):
        assert scan(SESSION, [first]) == whole
    assert scan(SESSION, list(range(len(SESSION)))) == whole


# Noise made of the parts of markers finds more than noise made of bytes.
parts = st.sampled_from(
    [
        *(b"\x1b", b"]", b"633", b"133", b"7", b"9", b"1337", b";", b"A", b"D", b"P", b"Cwd=/x", b"x"),
        *(b"\x07", b"\\", b"\x18", b"5ec2e7", b"\x1b]633;", b"\x1b\\"),
    ]
)


@given(st.lists(parts, max_size=40).map(b"".join) | st.binary(max_size=60), st.lists(st.integers(0, 200), max_size=12))
def test_any_cut_of_any_noise_gives_the_same_pieces(data: bytes, cuts: list[int]) -> None:
    whole = scan(data)
    assert scan(data, cuts) == whole
    assert raw(whole) == data


@given(st.lists(parts.filter(lambda part: part != b"5ec2e7"), max_size=40).map(b"".join))
def test_nothing_is_trusted_without_the_nonce(data: bytes) -> None:
    assert not [piece for piece in scan(data) if isinstance(piece, Marker) and piece.trusted]


def test_without_a_nonce_nothing_is_trusted() -> None:
    for data in (b"\x1b]633;A;5ec2e7\x07", b"\x1b]633;A;\x07", b"\x1b]633;A;None\x07"):
        [marker] = scan(data, nonce=None)
        assert isinstance(marker, Marker)
        assert not marker.trusted


def test_offsets_continue_where_the_log_is() -> None:
    scanner = MarkerScanner(NONCE, offset=1000)
    assert scanner.feed(b"ab") == [Text(1000, b"ab")]
    [marker] = scanner.feed(b"\x1b]633;A\x07")
    assert isinstance(marker, Marker)
    assert (marker.start, marker.end) == (1002, 1010)


def test_a_sequence_that_does_not_end_is_text_and_withholds_nothing() -> None:
    scanner = MarkerScanner(NONCE)
    data = b"\x1b]633;E;" + b"x" * (MAX_MARKER + 10)
    pieces: list[Piece] = []
    for start in range(0, len(data), 1000):
        pieces += scanner.feed(data[start : start + 1000])
    assert raw(joined(pieces)) == data
    after = joined(scanner.feed(b"more\x1b]633;D;0;5ec2e7\x07"))
    assert [type(piece) for piece in after] == [Text, Marker]


@pytest.mark.parametrize("length", [MAX_MARKER, MAX_MARKER + 1])
@pytest.mark.parametrize("close", [b"\x07", b"\x1b\\"])
@pytest.mark.parametrize("cuts", [[], [9], [MAX_MARKER - 2], [MAX_MARKER - 1], [MAX_MARKER]])
def test_the_limit_is_the_same_however_the_marker_is_cut(length: int, close: bytes, cuts: list[int]) -> None:
    sequence = (b"\x1b]633;E;" + b"x" * MAX_MARKER)[: length - len(close)] + close
    [piece] = scan(sequence, cuts)
    assert isinstance(piece, Marker) == (length <= MAX_MARKER)


@pytest.mark.parametrize(
    "unit", [b"\x1b]633;", b"\x1b]633;E;" + b"x" * 500, b"\x1b", b"\x1b]", b"\x1b]633;E;" + b"x" * 200_000]
)
def test_hostile_beginnings_cost_little_byte_by_byte(unit: bytes) -> None:
    data = (unit * (200_000 // len(unit) + 1))[:200_000]
    scanner = MarkerScanner(NONCE)
    began = time.process_time()
    fed = sum(len(scanner.feed(data[at : at + 1])) for at in range(len(data)))
    assert fed >= 0
    # Work that grows with the square of the length would take far longer.
    assert time.process_time() - began < 10


@given(st.binary(max_size=40))
def test_escaping_is_undone(value: bytes) -> None:
    escaped = escape(value)
    assert unescape(escaped) == value
    assert not set(escaped) & {*range(0x21), ord(";")}


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ((b"Cwd=/a\\x0ab",), ("Cwd", b"/a\nb")),
        ((b"Cwd=a=b",), ("Cwd", b"a=b")),
        ((b"Prompt=",), ("Prompt", b"")),
        ((b"Cwd",), None),
        ((), None),
    ],
)
def test_properties(fields: tuple[bytes, ...], found: tuple[str, bytes] | None) -> None:
    assert Marker(0, b"", "P", fields, trusted=True).property == found
    assert Marker(0, b"", "A", fields, trusted=True).property is None
