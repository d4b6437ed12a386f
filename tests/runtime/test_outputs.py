"""Output by whatever names it: pages, lines and searches of what is in memory are those of artifacts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import InvalidOffset
from hermitty.runtime.outputs import Held, read_lines, read_piece

texts = st.text(alphabet="ab\nc é\r", max_size=60)


@given(texts, st.integers(1, 20), st.integers(0, 1000))
async def test_pages_are_together_what_was_read(text: str, limit: int, start: int) -> None:
    held = Held(text.encode(), start)
    data, offset = b"", start
    while offset is not None and offset < held.size:
        page = await held.read(offset, limit)
        assert (page.offset, page.size) == (offset, held.size)
        data += page.data
        offset = page.next if page.next is not None else held.size
    assert data == text.encode()


@given(texts, st.integers(-30, 30), st.integers(1, 5))
async def test_lines_count_from_either_end(text: str, first: int, count: int) -> None:
    held = Held(text.encode())
    lines = text.encode().splitlines(keepends=True) if "\r" not in text else None
    if lines is None or not lines:
        return
    wanted = max(1, len(lines) + 1 + first) if first < 0 else max(1, first)
    if wanted > len(lines):
        with pytest.raises(InvalidOffset):
            await read_lines(held, first, count, 10_000)
        return
    piece = await read_lines(held, first, count, 10_000)
    assert piece.text.encode() == b"".join(lines[wanted - 1 : wanted - 1 + count])
    assert piece.line == wanted


async def test_offsets_may_count_from_the_end() -> None:
    held = Held(b"hello\n", 100)
    assert (await read_piece(held, -3, 100)).text == "lo\n"
    assert (await read_piece(held, -1000, 100)).offset == 100
    assert (await read_piece(held, 106, 100)).text == ""
    assert (await read_piece(Held(b""), 0, 100)).text == ""
    assert (await read_lines(Held(b""), 1, 1, 100)).text == ""
    for wrong in (0, 99, 107):
        with pytest.raises(InvalidOffset):
            await read_piece(held, wrong, 100)


async def test_a_search_tells_places_of_the_whole() -> None:
    held = Held(b"one\ntwo\nthree two\n", 50)
    found = await held.search("TWO", 50)
    assert [(match.line, match.offset, match.text) for match in found.matches] == [
        (2, 54, "two"),
        (3, 64, "three two"),
    ]
    assert [match.offset for match in (await held.search("two", 55)).matches] == [64]
    assert (await held.search("(", 0)).literal
