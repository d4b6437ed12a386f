"""What of a recording is due when."""

from hermitty.runtime.recording.playback import Playback, timeline
from hermitty.wire.asciicast import Event

EVENTS = [Event(1, "o", "a"), Event(1.5, "m", "mark"), Event(2, "o", "b"), Event(12, "o", "c"), Event(12, "x", "0")]


def test_only_output_is_shown_and_pauses_can_be_limited() -> None:
    assert timeline(EVENTS) == [Event(1, "o", "a"), Event(2, "o", "b"), Event(12, "o", "c")]
    assert [event.at_s for event in timeline(EVENTS, 0.5)] == [0.5, 1.0, 1.5]
    assert [event.at_s for event in timeline(EVENTS, 100)] == [1.0, 2.0, 12.0]


def test_things_are_shown_at_their_time() -> None:
    playback = Playback(timeline(EVENTS))
    assert (playback.begin(100.0), playback.wait_s(100.0)) == ("", 1.0)
    assert (playback.advance(101.0), playback.wait_s(101.25)) == ("a", 0.75)
    assert (playback.advance(103.0), playback.is_over) == ("b", False)
    assert (playback.advance(200.0), playback.is_over, playback.wait_s(200.0)) == ("c", True, None)


def test_a_recording_can_be_faster_and_begin_later() -> None:
    playback = Playback(timeline(EVENTS), speed=4.0, start_s=1.5)
    assert (playback.begin(0.0), playback.wait_s(0.0)) == ("a", 0.125)
    assert playback.advance(0.125) == "b"
    assert playback.wait_s(0.125) == 2.5


def test_time_stands_still_in_a_pause() -> None:
    playback = Playback(timeline(EVENTS))
    playback.begin(0.0)
    playback.toggle(0.5)
    assert (playback.advance(50.0), playback.wait_s(50.0), playback.is_paused) == ("", None, True)
    playback.toggle(60.0)
    assert (playback.is_paused, playback.wait_s(60.0)) == (False, 0.5)
    assert playback.advance(60.5) == "a"


def test_steps_show_one_thing_each_and_pause() -> None:
    playback = Playback(timeline(EVENTS))
    playback.begin(0.0)
    assert [playback.step(0.1) for _ in range(2)] == ["a", "b"]
    assert (playback.is_paused, playback.advance(100.0)) == (True, "")
    playback.toggle(100.0)
    assert playback.wait_s(100.0) == 10.0
    assert (playback.step(100.0), playback.step(100.0), playback.is_over) == ("c", "", True)


def test_skipping_shows_what_is_skipped_and_back_begins_again() -> None:
    playback = Playback(timeline(EVENTS))
    playback.begin(0.0)
    assert playback.skip(0.0, 5.0) == "ab"
    assert playback.wait_s(0.0) == 7.0
    again = playback.skip(1.0, -5.0)
    assert again.endswith("a")
    assert "\x1b[2J" in again
    assert "b" not in again[-3:]
    assert playback.wait_s(1.0) == 1.0
    assert playback.skip(1.0, -5.0).endswith("\x1b[?5W")
    assert playback.wait_s(1.0) == 1.0


def test_what_is_shown_is_harmless_across_events() -> None:
    playback = Playback([Event(0, "o", "x\x1b]52;c;"), Event(1, "o", "aGk=\x07y")])
    assert playback.begin(0.0) + playback.advance(1.0) == "xy"
