"""How large recordings may be, and what is deleted when they are too large, too many or too old. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermitty.config import RecordingSettings
from hermitty.runtime.recording.segments import Segment

# Terminals of single commands leave recordings of a few KB: the disk would take them, listing them would not be quick.
MAX_RECORDINGS = 1000

_KB = 1024
# What a terminal may use in any case, however many there are.
_LEAST_BYTES = 128 * _KB
# More than this in one tick is more than anybody could have seen.
_MOST_PER_TICK = 256 * _KB
# Control characters take six bytes in JSON; a segment may grow beyond its size by one tick.
_JSON_GROWTH = 6
# Deleting makes more room than is needed, so that not every write has to look for more.
_ROOM_PART = 10


@dataclass(frozen=True, slots=True)
class Limits:
    """What one terminal's recording may be: in all, for a segment, for the output between two ticks."""

    max_bytes: int
    segment_bytes: int
    tick_bytes: int

    @property
    def kept_bytes(self) -> int:
        """Return how large the older segments may be together when a new one begins."""
        return self.max_bytes - self.segment_bytes - self.tick_bytes * _JSON_GROWTH


def limits_for(settings: RecordingSettings, live: int) -> Limits:
    """Share the disk among the terminals that are recorded."""
    whole = max(_LEAST_BYTES, min(settings.max_bytes, settings.total_bytes // max(1, live)))
    return Limits(whole, whole // 8, min(_MOST_PER_TICK, whole // 32))


def surplus(files: Sequence[Segment], kept_bytes: int) -> list[Segment]:
    """Return the oldest of these segments, so many that the rest is small enough."""
    spare = sum(each.size for each in files) - kept_bytes
    gone = []
    for each in files:
        if spare <= 0:
            break
        gone.append(each)
        spare -= each.size
    return gone


def doomed(
    found: Mapping[str, Sequence[Segment]], live: Collection[str], settings: RecordingSettings, now: float
) -> list[Path]:
    """Return the files to delete, by terminal: the old, then the oldest of terminals that ended, then of the others.

    A live recording keeps its last segment, which is being written.
    """
    ended = sorted(
        (files for terminal, files in found.items() if terminal not in live and files),
        key=lambda files: max(each.modified for each in files),
    )
    oldest = None if settings.keep_days is None else now - settings.keep_days * 86_400
    is_over = len(found) > MAX_RECORDINGS
    excess = len(found) - (MAX_RECORDINGS - MAX_RECORDINGS // _ROOM_PART) if is_over else 0
    total = sum(each.size for files in found.values() for each in files)
    goal = settings.total_bytes - settings.total_bytes // _ROOM_PART if total > settings.total_bytes else total
    gone: list[Path] = []
    for files in ended:
        is_old = oldest is not None and max(each.modified for each in files) < oldest
        if not is_old and excess <= 0 and total <= goal:
            break
        gone += [each.path for each in files]
        total -= sum(each.size for each in files)
        excess -= 1
    older = sorted(
        (each for terminal, files in found.items() if terminal in live for each in files[:-1]),
        key=lambda each: each.modified,
    )
    for each in older:
        if total <= goal:
            break
        gone.append(each.path)
        total -= each.size
    return gone
