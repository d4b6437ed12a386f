"""What a benchmark says: statistics over rounds, one JSON object for each metric, and a table for people.

Contenders take turns, block by block (A B C A B C), so a round sees one state of the machine. A ratio is made inside
each round and the median of the rounds is told: a load that comes and goes then changes both sides of it.
"""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Rounds = Sequence[Sequence[float]]


def median(rounds: Rounds) -> float:
    """Return the median of all samples, whatever their round."""
    return statistics.median([sample for samples in rounds for sample in samples])


def percentile(rounds: Rounds, percent: float) -> float:
    """Return the smallest sample that at least `percent` of all samples do not exceed (nearest rank)."""
    samples = sorted(sample for samples in rounds for sample in samples)
    return samples[max(0, math.ceil(percent / 100 * len(samples)) - 1)]


def count(rounds: Rounds) -> int:
    """Return the number of samples."""
    return sum(map(len, rounds))


def ratio(ours: Rounds, other: Rounds) -> float:
    """Return the median over the rounds of the ratio of their medians."""
    return statistics.median(
        statistics.median(mine) / statistics.median(theirs) for mine, theirs in zip(ours, other, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Target:
    """What a measurement should reach: a limit for its value, or for its ratio to the floor."""

    of: Literal["value", "ratio"]
    is_most: bool  # a limit from above; otherwise from below
    limit: float

    def __str__(self) -> str:
        return f"{self.of} {'<=' if self.is_most else '>='} {self.limit:g}"


def at_most(limit: float, *, of: Literal["value", "ratio"] = "value") -> Target:
    """Make a limit from above."""
    return Target(of, True, limit)


def at_least(limit: float, *, of: Literal["value", "ratio"] = "value") -> Target:
    """Make a limit from below."""
    return Target(of, False, limit)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One metric of ours, next to the floor and to the peers that are installed, all in the same unit."""

    metric: str
    value: float
    unit: str
    floor: float | None = None
    ratio: float | None = None
    peers: Mapping[str, float] = field(default_factory=dict)
    target: Target | None = None
    details: Mapping[str, float | int | str] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Tell whether the target is reached; None without one."""
        if self.target is None:
            return None
        reached = self.value if self.target.of == "value" else self.ratio
        if reached is None:
            return False
        return reached <= self.target.limit if self.target.is_most else reached >= self.target.limit

    @property
    def best_peer(self) -> float | None:
        """Return the value of the best peer: the highest rate, or the lowest of anything else."""
        best = max if self.unit.endswith("/s") else min
        return best(self.peers.values()) if self.peers else None


def json_line(measurement: Measurement, *, load: float) -> str:
    """Write one measurement as one line of JSON. `load` is the machine's load average at the time."""
    record: dict[str, object] = {
        "metric": measurement.metric,
        "value": _short(measurement.value),
        "unit": measurement.unit,
        "floor": _short(measurement.floor),
        "ratio": _short(measurement.ratio),
        "peer": _short(measurement.best_peer),
        "peers": {name: _short(value) for name, value in measurement.peers.items()},
        "target": str(measurement.target) if measurement.target else None,
        "met": measurement.met,
        "load": round(load, 2),
    }
    details = {
        name: _short(value) if isinstance(value, float) else value for name, value in measurement.details.items()
    }
    return json.dumps(record | details, allow_nan=False)


def table(measurements: Sequence[Measurement]) -> str:
    """Write measurements for people."""
    rows = [("metric", "value", "unit", "floor", "ratio", "best peer", "target", "")]
    rows += [
        (
            each.metric,
            _cell(each.value),
            each.unit,
            _cell(each.floor),
            _cell(each.ratio),
            _cell(each.best_peer),
            str(each.target or ""),
            {True: "met", False: "MISSED", None: ""}[each.met],
        )
        for each in measurements
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    to_the_right = (1, 3, 4, 5)
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in to_the_right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def verdict(measurements: Sequence[Measurement]) -> str:
    """Say in one line how many targets were reached, and which were not."""
    judged = [each for each in measurements if each.met is not None]
    missed = [each.metric for each in judged if not each.met]
    told = f"{len(judged) - len(missed)} of {len(judged)} targets met"
    return f"{told}; missed: {', '.join(missed)}" if missed else told


def _short(value: float | None) -> float | None:
    """Round to four digits that count: more would only be noise."""
    return None if value is None else float(f"{value:.4g}")


def _cell(value: float | None) -> str:
    return "" if value is None else f"{_short(value):g}"
