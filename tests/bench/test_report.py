import json

import pytest

from bench.report import (
    Measurement,
    Target,
    at_least,
    at_most,
    count,
    json_line,
    median,
    percentile,
    ratio,
    table,
    verdict,
)

TIME = Measurement(
    "warm",
    0.25,
    "ms",
    floor=0.1,
    ratio=2.5,
    peers={"slow": 50.0, "quick": 8.0},
    target=at_most(3, of="ratio"),
    details={"samples": 7},
)
RATE = Measurement("drain", 50.0, "MB/s", floor=100.0, ratio=0.5, peers={"a": 10.0, "b": 20.0}, target=at_least(60))


def test_a_median_is_taken_over_the_samples_of_all_rounds() -> None:
    assert median([[1.0, 2.0], [100.0]]) == 2.0


@pytest.mark.parametrize(("percent", "expected"), [(50, 2.0), (75, 3.0), (76, 4.0), (99, 4.0), (100, 4.0), (0, 1.0)])
def test_a_percentile_is_one_of_the_samples(percent: float, expected: float) -> None:
    assert percentile([[4.0, 1.0], [3.0, 2.0]], percent) == expected


def test_samples_are_counted_over_all_rounds() -> None:
    assert count([[1.0, 2.0], [3.0]]) == 3


def test_a_ratio_is_made_inside_each_round() -> None:
    # The second round met a busy machine, which slowed both down ten times.
    assert ratio([[2.0], [20.0], [2.0]], [[1.0], [10.0], [1.0]]) == 2.0


def test_rounds_without_a_partner_have_no_ratio() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ratio([[1.0], [1.0]], [[1.0]])


@pytest.mark.parametrize(
    ("target", "met"),
    [
        (None, None),
        (at_most(10), True),
        (at_most(9), False),
        (at_least(10), True),
        (at_least(11), False),
        (at_most(2, of="ratio"), True),
        (at_least(3, of="ratio"), False),
    ],
)
def test_a_target_is_met_at_its_limit(target: Target | None, met: bool | None) -> None:
    assert Measurement("m", 10.0, "ms", ratio=2.0, target=target).met is met


def test_a_target_for_a_ratio_that_is_unknown_is_missed() -> None:
    assert Measurement("m", 10.0, "ms", target=at_most(3, of="ratio")).met is False


def test_the_best_peer_has_the_highest_rate_or_the_lowest_time() -> None:
    assert (TIME.best_peer, RATE.best_peer, Measurement("m", 1.0, "ms").best_peer) == (8.0, 20.0, None)


def test_a_line_holds_one_object_with_the_details_in_it() -> None:
    line = json_line(TIME, load=1.234)
    assert "\n" not in line
    assert json.loads(line) == {
        "metric": "warm",
        "value": 0.25,
        "unit": "ms",
        "floor": 0.1,
        "ratio": 2.5,
        "peer": 8.0,
        "peers": {"slow": 50.0, "quick": 8.0},
        "target": "ratio <= 3",
        "met": True,
        "load": 1.23,
        "samples": 7,
    }


def test_the_table_says_what_was_missed() -> None:
    assert table([TIME, RATE]).splitlines() == [
        "metric  value  unit  floor  ratio  best peer  target",
        "warm     0.25  ms      0.1    2.5          8  ratio <= 3   met",
        "drain      50  MB/s    100    0.5         20  value >= 60  MISSED",
    ]


@pytest.mark.parametrize(
    ("measurements", "expected"),
    [
        ([], "0 of 0 targets met"),
        ([TIME, Measurement("m", 1.0, "ms")], "1 of 1 targets met"),
        ([TIME, RATE], "1 of 2 targets met; missed: drain"),
        ([RATE, RATE], "0 of 2 targets met; missed: drain, drain"),
    ],
)
def test_the_verdict_names_what_was_missed(measurements: list[Measurement], expected: str) -> None:
    assert verdict(measurements) == expected
