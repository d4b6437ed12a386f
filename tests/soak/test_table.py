"""The table of scenarios, and the dice: the same seed makes the same choices."""

from collections import Counter

from soak.plan import Plan, short_plan
from soak.scenarios.table import SCENARIOS, choose


def test_names_are_unique_and_every_scenario_is_chosen_in_the_end() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names)
    dice = Plan(seed=1).dice("worker 1")
    chosen = Counter(choose(dice, SCENARIOS).name for _ in range(5000))
    assert set(chosen) == set(names)
    weights = {scenario.name: scenario.weight for scenario in SCENARIOS}
    assert chosen["count"] > 2 * chosen["deluge"]
    assert weights["count"] > weights["deluge"]


def test_the_same_seed_makes_the_same_choices_and_workers_differ() -> None:
    def choices(seed: int, worker: int) -> list[str]:
        dice = Plan(seed=seed).dice(f"worker {worker}")
        return [choose(dice, SCENARIOS).name for _ in range(50)]

    assert choices(1, 1) == choices(1, 1)
    assert choices(1, 1) != choices(1, 2)
    assert choices(1, 1) != choices(2, 1)


def test_what_cannot_run_here_is_never_chosen() -> None:
    dice = Plan().dice("any")
    skipped = frozenset({"sandbox", "count"})
    assert skipped.isdisjoint(choose(dice, SCENARIOS, skipped).name for _ in range(1000))


def test_floods_fit_into_what_is_held_and_deluges_do_not() -> None:
    for plan in (Plan(), short_plan(45, 1)):
        # The prompt, the command line and a rounded last line come on top.
        assert plan.flood_bytes[1] + 64 * 1024 < plan.log_bytes * 3 // 8
        assert plan.deluge_bytes[0] > plan.log_bytes
