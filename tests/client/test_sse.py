"""Server-sent events: the same however the stream is cut, whatever its bytes are."""

from hypothesis import given
from hypothesis import strategies as st

from hermitty.client.sse import EventParser, ServerEvent


def parsed(*chunks: bytes) -> list[ServerEvent]:
    parser = EventParser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


def test_events_have_a_name_data_and_the_newest_id() -> None:
    stream = b": comment\nretry: 1000\n\nid: a-1\nevent: started\ndata: {}\n\ndata: x\ndata:y\ndata\n\n"
    assert parsed(stream) == [ServerEvent("started", "{}", "a-1"), ServerEvent("message", "x\ny\n", "a-1")]


def test_what_has_no_data_is_no_event_but_its_id_counts() -> None:
    parser = EventParser()
    assert parser.feed(b"id: 7\nevent: nothing\n\n") == []
    assert parser.last_id == "7"
    assert parser.feed(b"id: bad\0id\ndata: x\n\n") == [ServerEvent("message", "x", "7")]


def test_lines_end_in_every_way_and_a_byte_order_mark_is_no_text() -> None:
    assert parsed(b"\xef\xbb\xbfdata: a\r\n\r\ndata: b\r\rdata: c\n\n") == [
        ServerEvent("message", text, "") for text in "abc"
    ]


def test_an_unfinished_event_is_not_told() -> None:
    assert parsed(b"data: a\n") == []
    assert parsed(b"data: a\n", b"\n") == [ServerEvent("message", "a", "")]


def test_an_event_that_is_too_large_is_left_out_and_counted() -> None:
    parser = EventParser(limit_bytes=100)
    assert parser.feed(b"data: " + b"x" * 60) == []
    assert parser.feed(b"x" * 60) == []
    assert parser.feed(b"x" * 10_000) == []
    assert parser.feed(b"\n\ndata: fine\n\n") == [ServerEvent("message", "fine", "")]
    assert parser.dropped == 1
    assert parser.feed(b"data: " + b"y" * 60 + b"\ndata: " + b"y" * 60 + b"\n\n") == []
    assert parser.dropped == 2


lines = st.lists(
    st.one_of(
        st.sampled_from(
            [b"data: x", b"data:", b"id: 3", b"event: e", b":c", b"", b"", b"data: \xf0\x9f\x90\x9a", b"?"]
        ),
        st.binary(max_size=6),
    ),
    max_size=12,
)
ends = st.sampled_from([b"\n", b"\r\n", b"\r"])


def test_nothing_between_return_and_newline_changes_nothing() -> None:
    assert parsed(b"data: x\r", b"", b"\n", b"\r\n") == [ServerEvent("message", "x", "")]
    assert parsed(b"data: x\r", b"", b"\n") == []


@given(lines, ends, st.data())
def test_any_chunking_gives_the_same_events(parts: list[bytes], end: bytes, data: st.DataObject) -> None:
    stream = end.join(parts) + end
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert parsed(*chunks) == parsed(stream)
    assert parsed(*(bytes((byte,)) for byte in stream)) == parsed(stream)
