"""From what was counted to a verdict. Pure: made-up numbers give the verdict that real ones would."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

# Fewer samples say nothing about growth.
LEAST_SAMPLES = 16


@dataclass(frozen=True, slots=True)
class Held:
    """What a server and its host hold at a quiet moment, with every terminal closed."""

    server_descriptors: int
    server_threads: int
    host_descriptors: int
    host_threads: int
    terminals: int  # of the host
    directories: int  # of terminals, private ones
    processes: int  # besides the server and the host


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left when the host has stopped."""

    processes: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much memory may grow: the larger one of both counts. `threads` are those that pools may still start.

    A process whose caches are not full yet may grow by `caches_bytes` more.
    """

    growth_bytes: int
    growth_part: float
    threads: int
    caches_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """The memory of a server at a moment, and how many commands had ended in it by then."""

    bytes: float
    commands: int


@dataclass(frozen=True, slots=True)
class Series:
    """The memory of one process, in bytes. `is_warm`: its caches were full all the time."""

    samples: tuple[float, ...]
    is_warm: bool = True


@dataclass(frozen=True, slots=True)
class Growth:
    """The memory of one process: medians of the second and the last quarter of its samples, and the usual slope."""

    before: float
    after: float
    slope_per_sample: float
    samples: int

    @property
    def bytes(self) -> float:
        """Return by how much it grew; less than nothing if it shrank."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was judged."""

    name: str
    value: float
    allowed: float
    detail: str = ""

    @property
    def is_good(self) -> bool:
        """Tell whether it is within what is allowed."""
        return self.value <= self.allowed


def growth(samples: Sequence[float]) -> Growth | None:
    """Measure how a series grew, the first quarter taken as warm-up; None: too short to tell.

    Medians of quarters do not see single floods. The slope is the median of those between points half a series apart.
    """
    count = len(samples)
    if count < LEAST_SAMPLES:
        return None
    quarter, half = count // 4, count // 2
    before, after = median(samples[quarter : 2 * quarter]), median(samples[count - quarter :])
    slope = median((samples[each + half] - samples[each]) / half for each in range(count - half))
    return Growth(before, after, slope, count)


def series_of(samples: Sequence[Sample], full_after: int) -> Series:
    """Return what is judged of a server that remembers so many commands: what came after that many, if it is enough."""
    warm = tuple(each.bytes for each in samples if each.commands >= full_after)
    if len(warm) >= LEAST_SAMPLES:
        return Series(warm)
    return Series(tuple(each.bytes for each in samples), is_warm=False)


def judge(
    wrong: Mapping[str, int],
    start: Held,
    end: Held,
    remains: Remains,
    memory: Mapping[str, Series],
    bounds: Bounds,
) -> list[Line]:
    """Return everything that was judged, the mistakes of the load first."""
    lines = [Line(kind, count, 0) for kind, count in wrong.items()]
    for name in ("server_descriptors", "host_descriptors", "terminals", "directories", "processes"):
        before, after = getattr(start, name), getattr(end, name)
        lines.append(Line(f"leaked_{name}", max(0, after - before), 0, f"{before} before, {after} after"))
    for name in ("server_threads", "host_threads"):
        before, after = getattr(start, name), getattr(end, name)
        # A pool starts its threads when they are needed first, and keeps them.
        allowed = bounds.threads if name == "server_threads" else 0
        lines.append(Line(f"leaked_{name}", max(0, after - before), allowed, f"{before} before, {after} after"))
    lines.append(Line("left_after_stop", len(remains.processes), 0, "; ".join(remains.processes)))
    lines.append(Line("left_directories", len(remains.directories), 0, "; ".join(remains.directories)))
    lines += [line for name, series in memory.items() if (line := _memory(name, series, bounds)) is not None]
    return lines


def _memory(name: str, series: Series, bounds: Bounds) -> Line | None:
    found = growth(series.samples)
    if found is None:
        return None
    allowed = max(bounds.growth_bytes, found.before * bounds.growth_part)
    detail = f"{found.before / 1e6:.1f} MB, then {found.after / 1e6:.1f} MB; {found.samples} samples, slope "
    detail += f"{found.slope_per_sample / 1e3:+.2f} KB each"
    if not series.is_warm:
        allowed += bounds.caches_bytes
        detail += "; its caches were not full yet"
    return Line(f"{name}_growth_bytes", found.bytes, allowed, detail)


def is_good(lines: Sequence[Line]) -> bool:
    """Tell whether everything is as it should be."""
    return all(line.is_good for line in lines)
