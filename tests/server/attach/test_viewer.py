"""Cursor and timeline: the pure parts of following the output."""

from hypothesis import given
from hypothesis import strategies as st

from hermitty.model import Size
from hermitty.server.attach.timeline import Timeline
from hermitty.server.attach.viewer import CHUNK_BYTES, Cursor, Repaint, Send, Wait

WINDOW = 384 * 1024


def test_a_viewer_that_never_acknowledges_is_sent_all_there_is() -> None:
    cursor = Cursor(10, WINDOW)
    assert cursor.step(start=0, end=10, stalled=False) is Wait.NOTHING
    assert cursor.step(start=0, end=20, stalled=True) is Wait.STALLED
    assert cursor.step(start=0, end=20, stalled=False) == Send(20)
    assert cursor.step(start=0, end=10**9, stalled=False) == Send(10 + CHUNK_BYTES)
    assert cursor.step(start=11, end=20, stalled=False) == Repaint()
    assert cursor.takes(10**9)


def test_a_window_holds_back_what_is_not_acknowledged() -> None:
    cursor = Cursor(1000, 100)
    cursor.ack(0)  # nothing was sent before 1000, and nothing is missing there
    assert cursor.in_flight == 0
    assert cursor.step(start=0, end=5000, stalled=False) == Send(1100)
    cursor.offset = 1100
    assert not cursor.takes(1)
    assert cursor.step(start=0, end=5000, stalled=False) is Wait.WINDOW
    assert cursor.step(start=0, end=1100, stalled=False) is Wait.NOTHING
    cursor.ack(1050)
    assert cursor.step(start=0, end=5000, stalled=False) == Send(1150)
    cursor.ack(1000)  # late, or a lie
    assert cursor.in_flight == 50
    cursor.ack(9999)
    assert cursor.in_flight == 0
    cursor.jump(7000)
    assert cursor.in_flight == 0
    assert cursor.step(start=6000, end=9000, stalled=False) == Send(7100)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("grow"), st.integers(0, 500)),
            st.tuples(st.just("ack"), st.integers(-10, 5000)),
            st.tuples(st.just("stall"), st.booleans()),
        ),
        max_size=60,
    )
)
def test_whatever_happens_no_byte_is_skipped_unsaid_and_no_window_exceeded(steps: list[tuple[str, int]]) -> None:
    cursor, end, kept, stalled = Cursor(0, 300), 0, 700, False
    has_acked = False
    for what, value in steps:
        match what:
            case "grow":
                end += value
            case "ack":
                cursor.ack(value)
                has_acked = True
            case _:
                stalled = bool(value)
        while True:
            start = max(0, end - kept)
            step = cursor.step(start=start, end=end, stalled=stalled)
            if isinstance(step, Send):
                assert start <= cursor.offset < step.until <= end
                cursor.offset = step.until
                assert not has_acked or cursor.in_flight <= 300
            elif isinstance(step, Repaint):
                assert cursor.offset < start
                cursor.jump(end)
            else:
                assert step is not Wait.NOTHING or cursor.offset == end
                assert stalled == (step is Wait.STALLED)
                break


def test_messages_have_their_place_and_the_oldest_are_forgotten() -> None:
    timeline = Timeline()
    assert timeline.next(0) is None
    assert timeline.since(0) == 0
    for number in range(2000):
        assert timeline.add(number * 10, b"%d" % number).number == number
    first = timeline.next(0)
    assert first is not None
    assert first.number > 0
    timeline.add(5, b"late")
    last = timeline.next(2000)
    assert last is not None
    assert last.offset == 19990  # never before the one before
    assert timeline.since(19_985) == 1999
    assert timeline.since(10**9) == timeline.end == 2001
    assert timeline.next(2001) is None


def test_long_messages_are_forgotten_sooner() -> None:
    timeline = Timeline()
    for _ in range(5):
        timeline.add(0, bytes(100_000))
    oldest = timeline.next(0)
    assert oldest is not None
    assert oldest.number == 4


def test_the_size_at_an_offset_is_the_one_before_the_next_change() -> None:
    timeline = Timeline()
    timeline.add(100, b"", size_before=Size(80, 24))
    timeline.add(150, b"")
    timeline.add(200, b"", size_before=Size(100, 30))
    now = Size(120, 40)
    sizes = [timeline.size_at(offset, now) for offset in (0, 100, 101, 200, 201)]
    assert sizes == [Size(80, 24), Size(80, 24), Size(100, 30), Size(100, 30), now]
