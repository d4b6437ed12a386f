"""Where a viewer is in the output: what counts, what does not, and what is asked for after a break."""

import pytest

from hermitty.client.link import Connected, Output, Over, Picture, Place, Told
from hermitty.errors import InvalidMessage
from hermitty.wire.attach import Exit, Hello, Pong, Reset, Snapshot, encode


def hello(offset: int, replay: str) -> str:
    return encode(Hello("t_1", offset, 80, 24, replay))  # type: ignore[arg-type]


def test_bytes_count_and_a_picture_does_not() -> None:
    place = Place()
    greeted = place.take_text(hello(100, "snapshot"))
    assert (type(greeted), place.offset) == (Connected, None)
    assert place.take_text(encode(Snapshot(3))) is None
    assert place.take_bytes(b"pic") == Picture(b"pic")
    assert place.offset == 100
    assert place.take_bytes(b"abcd") == Output(100, b"abcd")
    assert place.offset == 104
    assert place.take_text(encode(Pong())) == Told(Pong())
    assert place.take_text(encode(Exit("over", 3))) == Over("over", 3)


def test_after_a_break_it_goes_on_where_it_was() -> None:
    place = Place(7)
    place.take_text(hello(7, "bytes"))
    place.take_bytes(b"xyz")
    place.disconnected()
    assert place.offset == 10
    place.take_text(hello(10, "none"))
    assert place.take_bytes(b"!") == Output(10, b"!")


@pytest.mark.parametrize("told", [[Reset(50)], [Reset(50), Snapshot(9)]])
def test_a_break_before_the_picture_has_come_asks_for_a_picture(told: list[Reset | Snapshot]) -> None:
    place = Place(7)
    place.take_text(hello(7, "bytes"))
    for message in told:
        place.take_text(encode(message))
    place.disconnected()
    assert place.offset is None


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidMessage):
        Place().take_text(encode(Pong()))
    with pytest.raises(InvalidMessage):
        Place(5).take_text(hello(6, "bytes"))
    place = Place(5)
    place.take_text(hello(5, "bytes"))
    place.take_text(encode(Reset(9)))
    with pytest.raises(InvalidMessage):
        place.take_bytes(b"output without a picture")
    place.take_text(encode(Snapshot(2)))
    with pytest.raises(InvalidMessage):
        place.take_bytes(b"three")
