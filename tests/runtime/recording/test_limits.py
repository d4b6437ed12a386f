"""What is deleted when recordings are too large, too many or too old."""

from pathlib import Path

import pytest

from hermitty.config import RecordingSettings
from hermitty.runtime.recording.limits import MAX_RECORDINGS, doomed, limits_for, surplus
from hermitty.runtime.recording.segments import Segment

MB = 1024 * 1024
DAY = 86_400.0


def files(terminal: str, *sizes_and_days: tuple[int, float]) -> list[Segment]:
    """Segments of these sizes in MB, last written so many days ago."""
    return [
        Segment(number, Path(f"{terminal}/{number}"), size * MB, -days * DAY)
        for number, (size, days) in enumerate(sizes_and_days, start=1)
    ]


@pytest.mark.parametrize("live", [0, 1, 10, 31, 32, 33, 500, 100_000])
@pytest.mark.parametrize("max_bytes", [256 * 1024, 8 * MB])
def test_the_parts_of_a_recording_fit_into_the_whole(max_bytes: int, live: int) -> None:
    limits = limits_for(RecordingSettings(max_bytes=max_bytes), live)
    assert limits.max_bytes <= max_bytes
    assert limits.tick_bytes * 6 < limits.max_bytes // 4
    # Older segments, a full one, and everything that one tick can add to it.
    assert limits.kept_bytes + limits.segment_bytes + limits.tick_bytes * 6 <= limits.max_bytes
    assert limits.kept_bytes > limits.max_bytes // 2


def test_many_terminals_share_what_there_is() -> None:
    settings = RecordingSettings()
    assert limits_for(settings, 32).max_bytes == 8 * MB
    assert limits_for(settings, 256).max_bytes == MB


def test_the_oldest_segments_make_room() -> None:
    three = files("t", (1, 3), (2, 2), (1, 1))
    assert surplus(three, 4 * MB) == []
    assert surplus(three, 3 * MB) == three[:1]
    assert surplus(three, MB + 1) == three[:2]
    assert surplus(three, 0) == three


def gone(found: dict[str, list[Segment]], live: tuple[str, ...] = (), **settings: object) -> list[str]:
    return [str(path) for path in doomed(found, live, RecordingSettings(**settings), 0.0)]  # type: ignore[arg-type]


def test_old_recordings_of_terminals_that_ended_go() -> None:
    found = {"old": files("old", (1, 9), (1, 8)), "new": files("new", (1, 9), (1, 6)), "live": files("live", (1, 9))}
    assert gone(found, ("live",)) == ["old/1", "old/2"]
    assert gone(found, ("live",), keep_days=None) == []
    assert gone(found, ("live",), keep_days=0.0) == ["old/1", "old/2", "new/1", "new/2"]


def test_too_much_goes_by_age_and_the_ended_first() -> None:
    found = {
        "live": files("live", (40, 5), (40, 4), (40, 3)),
        "b": files("b", (10, 2)),
        "a": files("a", (10, 1)),
        "c": files("c", (10, 3)),
    }
    assert gone(found, ("live",), total_bytes=150 * MB) == []
    assert gone(found, ("live",), total_bytes=149 * MB) == ["c/1", "b/1"]
    assert gone(found, ("live",), total_bytes=100 * MB) == ["c/1", "b/1", "a/1", "live/1"]
    # What is being written stays, whatever the limit.
    assert gone(found, ("live",), total_bytes=MB) == ["c/1", "b/1", "a/1", "live/1", "live/2"]


def test_too_many_recordings_go_by_age() -> None:
    found = {f"t{day}": files(f"t{day}", (0, day / 1000)) for day in range(MAX_RECORDINGS)}
    assert gone(found) == []
    found["more"] = files("more", (0, 0))
    assert gone(found)[:2] == ["t999/1", "t998/1"]
    assert len(gone(found)) == MAX_RECORDINGS // 10 + 1
