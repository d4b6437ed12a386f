"""The asciicast format: exact whatever the chunks, readable by others, tolerant of what is cut or wrong."""

import json
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import InvalidRequest
from hermitty.wire.asciicast import CastReader, CastWriter, Event, Header, TextDecoder, header_line, size_of, to_v2

HEADER = Header(
    80, 24, timestamp=1_700_000_000, title="a title", term_type="xterm-256color", env={"SHELL": "bash"},
    theme={"fg": "#ffffff", "bg": "#000000"}, idle_limit_s=2.0, command="top", extra={"tags": ["one"]},
)  # fmt: skip

codes = st.sampled_from("oirmx")
# Text as it can be in JSON: no half surrogate pairs.
texts = st.text(st.characters(codec="utf-8"), max_size=30)
gaps = st.lists(st.tuples(st.integers(0, 100_000), codes, texts), max_size=10)


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted({min(place, len(data)) for place in places}), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def timed(steps: list[tuple[int, str, str]]) -> list[Event]:
    at_ms = 0
    events = []
    for gap_ms, code, text in steps:
        at_ms += gap_ms
        events.append(Event(at_ms / 1000, code, text))
    return events


def written(events: list[Event], header: Header = HEADER) -> bytes:
    writer = CastWriter()
    return writer.header(header) + b"".join(writer.event(event) for event in events)


def read(data: bytes) -> tuple[Header | None, list[Event]]:
    reader = CastReader()
    return reader.header, reader.feed(data) + reader.finish()


# Bytes to text.


@given(st.binary(max_size=60) | st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace")), st.data())
def test_any_chunking_gives_the_same_text(data: bytes, draw: st.DataObject) -> None:
    decoder = TextDecoder()
    pieces = cut(data, draw.draw(st.lists(st.integers(0, len(data)), max_size=8)))
    text = "".join(decoder.feed(piece) for piece in pieces) + decoder.finish()
    assert text == data.decode("utf-8", "replace")


def test_a_character_that_is_split_is_not_lost() -> None:
    decoder = TextDecoder()
    assert [decoder.feed(b"a\xe2"), decoder.feed(b"\x82"), decoder.feed(b"\xacb\xff")] == ["a", "", "€b\ufffd"]


# Writing.


def test_a_recording_looks_like_this() -> None:
    events = [
        Event(0.25, "o", "\x1b[1mhi\r\n"),
        Event(1.2504, "m", ""),
        Event(1.2508, "r", "90x30"),
        Event(9, "x", "0"),
    ]
    lines = written(events).decode().splitlines()
    assert json.loads(lines[0]) == {
        "version": 3,
        "term": {"cols": 80, "rows": 24, "type": "xterm-256color", "theme": {"fg": "#ffffff", "bg": "#000000"}},
        "timestamp": 1_700_000_000, "title": "a title", "env": {"SHELL": "bash"}, "idle_time_limit": 2.0,
        "command": "top", "tags": ["one"],
    }  # fmt: skip
    assert lines[1:] == [
        r'[0.250, "o", "\u001b[1mhi\r\n"]',
        '[1.000, "m", ""]',
        '[0.001, "r", "90x30"]',
        '[7.749, "x", "0"]',
    ]


def test_the_least_header_has_the_size_only() -> None:
    assert json.loads(header_line(Header(80, 24), version=3)) == {"version": 3, "term": {"cols": 80, "rows": 24}}
    assert json.loads(header_line(Header(80, 24), version=2)) == {"version": 2, "width": 80, "height": 24}


@given(gaps)
def test_what_is_written_is_read(steps: list[tuple[int, str, str]]) -> None:
    reader = CastReader()
    assert reader.feed(written(timed(steps))) + reader.finish() == timed(steps)
    assert (reader.header, reader.version, reader.skipped) == (HEADER, 3, 0)


@given(st.text(st.characters(exclude_categories=()), max_size=50))
def test_a_line_holds_no_control_character_and_no_half_pair(text: str) -> None:
    data = written([Event(0, "o", text)], Header(80, 24, title=text))
    lines = data.decode().split("\n")
    assert len(lines) == 3
    assert all(char >= " " and not "\x7f" <= char <= "\x9f" and char not in "\u2028\u2029" for char in "".join(lines))
    assert json.loads(lines[1])[2] == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") or any(
        "\ud800" <= char <= "\udfff" for char in text
    )


@given(st.lists(st.floats(0, 0.01), max_size=200))
def test_roundings_do_not_add_up(waits: list[float]) -> None:
    at, events = 0.0, []
    for wait in waits:
        at += wait
        events.append(Event(at, "o", ""))
    _, found = read(written(events))
    assert all(abs(one.at_s - other.at_s) <= 0.00051 for one, other in zip(events, found, strict=True))


def test_an_event_told_too_late_does_not_go_back() -> None:
    assert [event.at_s for event in read(written([Event(2, "o", "a"), Event(1, "o", "b")]))[1]] == [2.0, 2.0]


# Reading.


@given(gaps, st.lists(st.integers(0, 3000), max_size=10), st.booleans())
def test_any_chunking_gives_the_same_events(steps: list[tuple[int, str, str]], places: list[int], old: bool) -> None:
    data = written(timed(steps))
    if old:
        data = b"".join(to_v2([data]))
    reader = CastReader()
    found = [event for piece in cut(data, places) for event in reader.feed(piece)]
    assert (reader.header, [*found, *reader.finish()]) == (reader.header, read(data)[1])


@given(gaps.filter(bool), st.data())
def test_a_recording_that_is_cut_anywhere_gives_what_was_complete(
    steps: list[tuple[int, str, str]], draw: st.DataObject
) -> None:
    data = written(timed(steps))
    place = draw.draw(st.integers(data.index(b"\n") + 1, len(data)))
    complete = data[:place].count(b"\n") - 1
    _, found = read(data[:place])
    assert found == timed(steps)[: len(found)]
    assert complete <= len(found) <= complete + 1


def test_version_2_has_times_since_the_start_and_no_exit() -> None:
    events = [Event(0.5, "o", "a"), Event(1.75, "i", "b"), Event(2.0, "x", "3")]
    lines = list(to_v2(line + b"\n" for line in written(events).splitlines()))
    assert json.loads(lines[0]) == {
        "version": 2, "width": 80, "height": 24, "theme": {"fg": "#ffffff", "bg": "#000000"},
        "timestamp": 1_700_000_000, "title": "a title", "env": {"SHELL": "bash", "TERM": "xterm-256color"},
        "idle_time_limit": 2.0, "command": "top", "tags": ["one"],
    }  # fmt: skip
    assert lines[1:] == [b'[0.500, "o", "a"]\n', b'[1.750, "i", "b"]\n', b'[2.000, "m", "exit 3"]\n']


@given(gaps)
def test_version_2_is_read_as_the_same_events(steps: list[tuple[int, str, str]]) -> None:
    kept = [event for event in timed(steps) if event.code != "x"]
    assert [event for event in read(b"".join(to_v2([written(timed(steps))])))[1] if event.code != "m"] == [
        event for event in kept if event.code != "m"
    ]


def test_comments_blank_lines_and_nonsense_are_left_out() -> None:
    reader = CastReader()
    lines = [
        b'{"version": 3, "term": {"cols": 0, "rows": true}, "env": {"A": 1}, "title": 5, "timestamp": Infinity}',
        b"# a comment", b"", b'[1, "o", "a"]', b"nonsense", b'[NaN, "o", "b"]', b'[-1, "o", "b"]', b'[1, "o"]',
        b'["1", "o", "b"]', b'[1, 2, "b"]', b'{"a": 1}', b"7", b"[" * 10_000, b'[true, "o", "b"]', b'[1.5, "?", "c"]',
        b'[1' + b"0" * 400 + b', "o", "c"]',
    ]  # fmt: skip
    events = reader.feed(b"\r\n".join(lines))
    assert events + reader.finish() == [Event(1, "o", "a"), Event(2.5, "?", "c")]
    assert (reader.header, reader.skipped) == (Header(80, 24), 11)


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b"hello\n", b"[1]\n", b'{"width": 80}\n', b'{"version": 1, "width": 80}\n', b"\x00\xff\n"]
)
def test_what_is_no_recording_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidRequest, match="asciicast"):
        read(data)


@given(st.binary(max_size=100))
def test_noise_after_the_header_never_raises(noise: bytes) -> None:
    reader = CastReader()
    reader.feed(header_line(HEADER, version=3))
    reader.feed(noise)
    reader.finish()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | texts, lambda inner: st.lists(inner)))
def test_any_values_in_a_header_give_a_header(value: object) -> None:
    names = ("term", "width", "height", "theme", "env", "timestamp", "idle_time_limit", "title", "command")
    for version in (2, 3):
        table = {"version": version, **dict.fromkeys(names, value), "more": {"a": 1}}
        reader = CastReader()
        reader.feed(json.dumps(table).encode() + b"\n")
        assert reader.header is not None
        assert 0 < reader.header.cols <= 65_535


def test_a_line_without_end_is_refused() -> None:
    reader = CastReader()
    for _ in range(64):
        reader.feed(bytes(1 << 20))
    with pytest.raises(InvalidRequest, match="a line has more than"):
        reader.feed(b"x")


def test_the_size_of_a_resize() -> None:
    assert [size_of(Event(0, code, text)) for code, text in (("r", "90x30"), ("o", "90x30"), ("r", "a"))] == [
        (90, 30), None, None,
    ]  # fmt: skip
