"""The judge of the soak: it lets pass what is clean, and nothing that leaks."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soak.judge import LEAST_SAMPLES, Bounds, Held, Line, Remains, Sample, Series, growth, is_good, judge, series_of
from soak.ledger import WRONGS

MB = 1024 * 1024
BOUNDS = Bounds(growth_bytes=8 * MB, growth_part=0.1, threads=4, caches_bytes=20 * MB)
CLEAN = Held(
    server_descriptors=21,
    server_threads=3,
    host_descriptors=10,
    host_threads=2,
    terminals=0,
    directories=0,
    processes=0,
)
NOTHING_WRONG: dict[str, int] = {kind: 0 for kind in WRONGS}  # noqa: C420  # of any text, not of these only


def noisy(count: int, level: float, per_sample: float = 0.0, noise: float = 2 * MB) -> list[float]:
    """Make up a process: a warm-up, noise, now and then a flood, and perhaps a leak."""
    dice = random.Random(7)
    return [
        level * min(1.0, 0.5 + at / (count / 4)) + at * per_sample + dice.uniform(0, noise) + 30 * MB * (at % 17 == 0)
        for at in range(count)
    ]


def wrong(
    counts: Mapping[str, int] = NOTHING_WRONG,
    end: Held = CLEAN,
    remains: Remains = Remains(),  # noqa: B008  # frozen
    memory: Mapping[str, Sequence[float]] | None = None,
) -> list[str]:
    series = {name: Series(tuple(samples)) for name, samples in (memory or {}).items()}
    lines = judge(counts, CLEAN, end, remains, series, BOUNDS)
    assert is_good(lines) == all(line.is_good for line in lines)
    return [line.name for line in lines if not line.is_good]


def test_a_clean_soak_is_good() -> None:
    memory = {"server_memory": noisy(900, 60 * MB), "host_memory": noisy(900, 16 * MB)}
    assert wrong(memory=memory) == []


@pytest.mark.parametrize("kind", WRONGS)
def test_one_mistake_is_one_too_many(kind: str) -> None:
    assert wrong(NOTHING_WRONG | {kind: 1}) == [kind]


@pytest.mark.parametrize(
    "name", ["server_descriptors", "host_descriptors", "host_threads", "terminals", "directories", "processes"]
)
def test_one_more_of_anything_than_before_is_a_leak(name: str) -> None:
    assert wrong(end=replace(CLEAN, **{name: getattr(CLEAN, name) + 1})) == [f"leaked_{name}"]


def test_a_pool_may_start_its_threads_and_no_more() -> None:
    assert wrong(end=replace(CLEAN, server_threads=3 + 4)) == []
    assert wrong(end=replace(CLEAN, server_threads=3 + 5)) == ["leaked_server_threads"]


def test_less_than_before_is_no_leak() -> None:
    assert wrong(end=replace(CLEAN, server_descriptors=20, host_descriptors=9, server_threads=2)) == []


def test_what_is_left_after_the_stop_is_named() -> None:
    remains = Remains(processes=("77 sleep 1000",), directories=("/dev/shm/hermitty-0-x",))
    assert wrong(remains=remains) == ["left_after_stop", "left_directories"]
    lines = judge(NOTHING_WRONG, CLEAN, CLEAN, remains, {}, BOUNDS)
    assert [line.detail for line in lines if not line.is_good] == ["77 sleep 1000", "/dev/shm/hermitty-0-x"]


@pytest.mark.parametrize("per_sample", [50_000, 200_000, 1_000_000])
def test_memory_that_leaks_is_found_below_noise_and_floods(per_sample: float) -> None:
    assert wrong(memory={"server_memory": noisy(900, 60 * MB, per_sample)}) == ["server_memory_growth_bytes"]


def test_memory_that_grows_while_warming_up_is_no_leak() -> None:
    series = [float(min(at, 200)) * MB for at in range(900)]
    assert wrong(memory={"server_memory": series}) == []


def test_a_large_process_may_grow_by_its_part() -> None:
    assert wrong(memory={"server_memory": [1000.0 * MB] * 450 + [1090.0 * MB] * 450}) == []
    assert wrong(memory={"server_memory": [1000.0 * MB] * 450 + [1110.0 * MB] * 450}) == ["server_memory_growth_bytes"]


def test_a_series_too_short_to_tell_is_not_judged() -> None:
    assert growth([1.0] * (LEAST_SAMPLES - 1)) is None
    assert wrong(memory={"server_memory": [0.0, 1e12]}) == []


@given(st.lists(st.integers(1, 10**9), min_size=LEAST_SAMPLES, max_size=200), st.integers(1, 10**9))
def test_a_level_does_not_matter_and_the_reverse_of_a_leak_is_none(samples: list[int], level: int) -> None:
    found, moved = growth(samples), growth([each + level for each in samples])
    assert found is not None
    assert moved is not None
    assert (moved.bytes, moved.after - level) == (found.bytes, found.after)
    leaking = growth(sorted(samples))
    assert leaking is not None
    assert leaking.bytes >= 0
    shrinking = growth(sorted(samples, reverse=True))
    assert shrinking is not None
    assert shrinking.bytes <= 0


def test_a_line_is_good_up_to_what_is_allowed() -> None:
    assert Line("x", 5, 5).is_good
    assert not Line("x", 5.1, 5).is_good


def filling(count: int, per_sample: float, full_after: int) -> list[Sample]:
    """Make up a server that fills its caches with 5 commands and 100 KB a second, and perhaps leaks."""
    return [
        Sample(60.0 * MB + 100_000 * min(at, full_after // 5) + per_sample * at, commands=5 * at) for at in range(count)
    ]


def judged(series: Series) -> list[str]:
    lines = judge(NOTHING_WRONG, CLEAN, CLEAN, Remains(), {"server_memory": series}, BOUNDS)
    return [line.name for line in lines if not line.is_good]


def test_a_server_is_judged_from_when_its_caches_are_full() -> None:
    clean = series_of(filling(400, 0, 1000), 1000)
    assert (clean.is_warm, len(clean.samples), set(clean.samples)) == (True, 200, {60.0 * MB + 100_000 * 200})
    assert judged(clean) == []
    # What fills them would look like a leak.
    assert judged(Series(tuple(each.bytes for each in filling(250, 0, 1000)))) == ["server_memory_growth_bytes"]
    assert judged(series_of(filling(400, 300_000, 1000), 1000)) == ["server_memory_growth_bytes"]


def test_a_server_that_did_not_live_so_long_may_still_fill_them_and_no_more() -> None:
    cold = series_of(filling(180, 0, 1000), 1000)
    assert (cold.is_warm, len(cold.samples)) == (False, 180)
    assert judged(cold) == []
    assert judged(series_of(filling(180, 300_000, 1000), 1000)) == ["server_memory_growth_bytes"]
