"""Pages: something long, read in pieces with line numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import InvalidOffset, InvalidRequest
from hermitty.output.pages import DEFAULT_PAGE_BYTES, MAX_PAGE_BYTES, LineIndex, Page, page_at, page_of_lines, reader_of

TWO_LINES = b"line 1\nline 2\n"


def page(data: bytes, offset: int, limit: int = DEFAULT_PAGE_BYTES, index: LineIndex | None = None) -> Page:
    return page_at(offset, limit, size=len(data), read=reader_of(data), index=index or LineIndex())


def lines(data: bytes, first: int, count: int, limit: int = DEFAULT_PAGE_BYTES, block: int = 8) -> Page:
    return page_of_lines(first, count, size=len(data), read=reader_of(data), index=LineIndex(block), limit=limit)


def test_numbering_goes_on_after_the_lines_before_the_offset() -> None:
    data = TWO_LINES + b"line 3\r\nline 4"
    assert page(data, 14) == Page(14, b"line 3\r\nline 4", line=3, starts_inside=False, next=None, size=28)
    assert list(page(data, 14).numbered()) == [(3, "line 3"), (4, "line 4")]
    assert list(page(data, 0).numbered())[:2] == [(1, "line 1"), (2, "line 2")]


def test_a_page_that_starts_inside_a_line_says_so() -> None:
    assert page(TWO_LINES, 9) == Page(9, b"ne 2\n", line=2, starts_inside=True, next=None, size=14)


@pytest.mark.parametrize("offset", [-1, 14, 15, 10**30])
def test_an_offset_without_a_byte_is_an_error(offset: int) -> None:
    with pytest.raises(InvalidOffset) as raised:
        page(TWO_LINES, offset)
    assert (raised.value.code, raised.value.first, raised.value.last) == ("invalid_offset", 0, 13)


def test_nothing_has_no_pages() -> None:
    with pytest.raises(InvalidOffset, match="there is nothing to read"):
        page(b"", 0)
    with pytest.raises(InvalidOffset, match="there is nothing to read"):
        lines(b"", 1, 1)


def test_a_page_has_40_kilobytes_unless_asked_otherwise_and_never_more_than_one_megabyte() -> None:
    data = b"x" * (2 * MAX_PAGE_BYTES)
    assert (len(page(data, 5).data), page(data, 5).next) == (40 * 1024, 5 + 40 * 1024)
    assert len(page(data, 0, limit=10**12).data) == MAX_PAGE_BYTES
    assert page(data, 0, limit=1).next == 1


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_of_nothing_is_refused(limit: int) -> None:
    with pytest.raises(InvalidRequest):
        page(TWO_LINES, 0, limit)
    with pytest.raises(InvalidRequest):
        lines(TWO_LINES, 1, 1, limit)


def test_a_page_does_not_end_inside_a_character() -> None:
    data = "aé日😀z".encode()
    ends = {limit: page(data, 0, limit).next for limit in range(1, len(data))}
    assert ends == {1: 1, 2: 1, 3: 3, 4: 3, 5: 3, 6: 6, 7: 6, 8: 6, 9: 6, 10: 10}


def test_bytes_that_are_no_characters_are_paged_all_the_same() -> None:
    for data in (b"\xff" * 9, b"\x80" * 9, b"\xf0" * 9):
        assert page(data, 0, 1).next == 1
        assert page(data, 0, 4).text.count("\ufffd") >= 1


def test_lines_are_read_by_number() -> None:
    data = b"".join(b"line %d\n" % number for number in range(1, 101)) + b"rest"
    assert lines(data, 50, 3).data == b"line 50\nline 51\nline 52\n"
    assert (lines(data, 50, 3).line, lines(data, 50, 3).starts_inside) == (50, False)
    assert lines(data, 100, 5) == Page(783, b"line 100\nrest", line=100, starts_inside=False, next=None, size=796)
    assert lines(data, 1, 1).next == 7
    assert lines(data, 3, 50, limit=10).data == b"line 3\nlin"


@pytest.mark.parametrize("first", [-1, 0, 3, 100])
def test_a_line_that_is_not_there_is_an_error_that_names_the_last(first: int) -> None:
    with pytest.raises(InvalidOffset) as raised:
        lines(TWO_LINES, first, 1)
    assert (raised.value.first, raised.value.last) == (1, 2)


def test_no_lines_cannot_be_read() -> None:
    with pytest.raises(InvalidRequest):
        lines(TWO_LINES, 1, 0)


def test_the_index_reads_each_block_once() -> None:
    data = b"ab\n" * 10_000
    asked: list[tuple[int, int]] = []

    def read(offset: int, count: int) -> bytes:
        asked.append((offset, count))
        return data[offset : offset + count]

    index = LineIndex(1000)
    assert index.line_at(29_999, read) == 10_000
    asked.clear()
    assert index.line_at(29_998, read) == 10_000
    assert index.start_of(9_000, len(data), read) == 26_997
    assert sum(count for _, count in asked) < 3000


def test_an_index_stays_right_while_the_text_grows() -> None:
    index = LineIndex(4)
    data = b""
    for number in range(1, 50):
        data += b"%d\n" % number
        assert index.line_at(len(data) - 1, reader_of(data)) == number
        assert index.start_of(number, len(data), reader_of(data)) == data.rfind(b"\n", 0, len(data) - 1) + 1


TEXTS = st.text("ab\r\n日😀", max_size=60).map(str.encode) | st.binary(max_size=60)


@given(TEXTS, st.integers(1, 20), st.integers(1, 9))
def test_pages_together_are_the_whole(data: bytes, limit: int, block: int) -> None:
    at: int | None = 0 if data else None
    index = LineIndex(block)
    parts: list[bytes] = []
    while at is not None:
        piece = page(data, at, limit, index)
        assert 0 < len(piece.data) <= limit
        assert piece.line == data.count(b"\n", 0, at) + 1
        assert piece.starts_inside == (at > 0 and data[at - 1 : at] != b"\n")
        parts.append(piece.data)
        at = piece.next
    assert b"".join(parts) == data


@given(TEXTS, st.integers(1, 8), st.integers(1, 8), st.integers(1, 9))
def test_lines_are_those_of_a_split(data: bytes, first: int, count: int, block: int) -> None:
    split = [line + b"\n" for line in data.split(b"\n")]
    split[-1] = split[-1][:-1]
    there = [line for line in split if line]
    if first > len(there):
        with pytest.raises(InvalidOffset):
            lines(data, first, count, block=block)
    else:
        assert lines(data, first, count, block=block).data == b"".join(there[first - 1 : first - 1 + count])
