"""The names nearest to a misspelt one: few edits away, where two letters that changed places count as one edit."""

import re
from collections.abc import Iterable
from itertools import islice

# A directory on PATH may hold anything; only ordinary names are offered.
_ORDINARY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,39}\Z")
_MAX_NAMES = 20_000


def nearest(name: str, names: Iterable[str], *, limit: int = 3) -> list[str]:
    """Return the names at most two edits away (one for short names), the likeliest first."""
    most = 1 if len(name) <= 4 else 2
    lower = name.lower()
    letters = sorted(lower)
    found: dict[str, tuple[int, bool, bool, str]] = {}
    for other in islice(names, _MAX_NAMES):
        if abs(len(other) - len(name)) > most or other == name or other in found or not _ORDINARY.match(other):
            continue
        distance = edit_distance(lower, other.lower(), most)
        if distance is not None:
            found[other] = (distance, sorted(other.lower()) != letters, other[:1].lower() != lower[:1], other)
    return sorted(found, key=found.__getitem__)[:limit]


def edit_distance(one: str, other: str, most: int) -> int | None:
    """Count insertions, deletions, replacements and swaps of neighbours between two words; None above `most`."""
    if abs(len(one) - len(other)) > most:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, start=1):
        previous, before = before, row
        row = [i] + [most + 1] * len(other)
        # Cells farther from the diagonal than `most` cannot lead to an answer.
        for j in range(max(1, i - most), min(len(other), i + most) + 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != other[j - 1]))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == other[j - 1]:
                best = min(best, previous[j - 2] + 1)
            row[j] = best
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None
