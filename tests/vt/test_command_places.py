"""Where commands are on a screen."""

from hypothesis import given
from hypothesis import strategies as st

from hermitty.model import Size
from hermitty.vt.command_places import Place, places_of
from hermitty.vt.ghostty import GhosttyScreen

SIZE = Size(40, 10)


def shown(*pieces: bytes) -> GhosttyScreen:
    screen = GhosttyScreen(SIZE)
    for each in pieces:
        screen.feed(each)
    return screen


def session(counts: list[int]) -> tuple[bytes, list[int], list[int]]:
    """Commands with so many lines of output each: the bytes, and where outputs start and end."""
    data, starts, ends = b"", [], []
    for number, count in enumerate(counts):
        data += b"\x1b[36m$\x1b[0m run %d\r\n" % number
        starts.append(len(data))
        data += b"".join(b"line %d of %d\r\n" % (line, number) for line in range(count))
        ends.append(len(data))
    return data + b"$ ", starts, ends


@given(counts=st.lists(st.integers(0, 15), min_size=1, max_size=12))
def test_rows_are_counted_from_the_cursor_up(counts: list[int]) -> None:
    data, starts, ends = session(counts)
    screen = shown(b"\r\n" * 30, data)
    cuts = sorted([*starts, *ends])
    found = dict(zip(cuts, places_of(cuts, data, screen), strict=True))
    above = 0
    for number in reversed(range(len(counts))):
        # Output that ends nowhere but where it starts has one place for both.
        assert found[ends[number]] == Place(above, 0)
        above += counts[number]
        assert found[starts[number]] == Place(above, 0)
        above += 1


def test_output_without_a_line_break_ends_in_a_column() -> None:
    data = b"$ printf abc\r\n"
    assert places_of([len(data), len(data) + 3], data + b"abc$ ", shown(data + b"abc$ ")) == [Place(0, 0), Place(0, 3)]


def test_a_line_that_was_overwritten_is_nowhere() -> None:
    data = b"$ first\r\n"
    rest = b"out\r\n$ clear\r\n\x1b[H\x1b[2J\x1b[3J$ second\r\n"
    cuts = [len(data), len(data + rest)]
    assert places_of(cuts, data + rest + b"$ ", shown(data, rest, b"$ ")) == [None, Place(0, 0)]


def test_a_screen_that_shows_something_else_has_no_places() -> None:
    data, starts, _ = session([3, 3])
    other = GhosttyScreen(Size(6, 10))  # where lines are wrapped
    other.feed(data)
    other.resize(SIZE)
    other.feed(b"\x1b[H\x1b[2Jelse")
    assert places_of(starts, data, other) == [None, None]
    assert places_of(starts, data, shown(data, b"\x1b[?1049h")) == [None, None]
    assert places_of(starts, data, shown()) == [None, None]


def test_without_the_beginning_the_rest_has_its_places() -> None:
    data, starts, _ = session([3, 3, 3])
    cut = starts[0] - 5  # in the line of the first command
    found = places_of([each - cut for each in starts], data[cut:], shown(data))
    assert found == [None, Place(7, 0), Place(3, 0)]


@given(noise=st.binary(max_size=300), cuts=st.lists(st.integers(0, 300), max_size=5))
def test_noise_is_taken(noise: bytes, cuts: list[int]) -> None:
    at = sorted(min(each, len(noise)) for each in cuts)
    assert len(places_of(at, noise, shown(noise))) == len(at)
