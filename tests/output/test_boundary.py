import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.output.boundary import safe_end
from hermitty.vt.plain import plain_text


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"", 0),
        (b"plain", 5),
        ("ä".encode(), 2),
        ("ä".encode()[:1], 0),
        ("x€".encode()[:-1], 1),
        ("x😀".encode()[:-1], 1),
        ("x😀".encode(), 5),
        (b"x\x1b", 1),
        (b"x\x1b[31", 1),
        (b"x\x1b[31m", 6),
        (b"x\x1b]0;title", 1),
        (b"x\x1b]0;title\x1b", 1),
        (b"x\x1b]0;title\x07", 11),
        (b"x\x1b(", 1),
        (b"x\x1b(B", 4),
        (b"\x80\x80\x80\x80\x80", 5),  # no beginning of anything
        (b"x\x1b]" + b"a" * 1000, 1003),  # too long to be waited for
    ],
)
def test_where_to_cut(data: bytes, end: int) -> None:
    assert safe_end(data) == end


@given(
    st.lists(st.sampled_from(["a", "ä", "€", "😀", "\x1b[31m", "\x1b]0;t\x07", "\x1b(B", "\n"]), max_size=20), st.data()
)
def test_pieces_read_like_the_whole(parts: list[str], data: st.DataObject) -> None:
    whole = "".join(parts).encode()
    at = data.draw(st.integers(0, len(whole)))
    end = safe_end(whole[:at])
    assert plain_text(whole[:end]) + plain_text(whole[end:]) == plain_text(whole)


@given(st.binary(max_size=600))
def test_it_holds_back_only_the_beginning_of_something(data: bytes) -> None:
    end = safe_end(data)
    assert 0 <= end <= len(data)
    assert len(data) - end <= 256
    assert end == len(data) or data[end] == 0x1B or data[end] >= 0xC0
