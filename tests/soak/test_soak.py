"""The soak, short: mixed load against a real server that is killed again and again. Only facts are judged."""

import sys
from pathlib import Path

import pytest

from soak.judge import is_good
from soak.load import Soak
from soak.plan import short_plan
from soak.report import minute, summary, verdict
from soak.scenarios.table import SCENARIOS, Scenario
from soak.world import Hand

LOAD_S = 45.0
SEED = 20_260_101

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


async def test_mixed_load_loses_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    plan = short_plan(LOAD_S, SEED)
    soak = Soak(plan, tmp_path)
    soaked = await soak.run()
    lines = verdict(plan, soaked)
    text = summary(plan, soaked, lines)
    assert is_good(lines), f"{text}\n{soak.server.log_end()}"
    # The warm-up alone has every scenario once.
    played = set(soaked.ledger.done) | set(soaked.ledger.skipped)
    assert played == {scenario.name for scenario in SCENARIOS}
    assert soaked.ledger.checked_bytes > 0
    assert minute(soak, 0.0)["wrong"] == {}


async def test_a_soak_tells_of_what_is_wrong(tmp_path: Path) -> None:
    async def lie(hand: Hand) -> None:
        result = await hand.run("count.sh", "%.0f", 3, 4)
        if result is not None:
            hand.ledger.compare_code(hand.name, 5, result.exit_code)
            hand.ledger.compare_bytes(hand.name, b"1\n2\n3\n4\n", result.text.encode())

    async def crash(hand: Hand) -> None:
        raise LookupError("no")

    async def leave(hand: Hand) -> None:
        await hand.open_terminal()

    plan = short_plan(0.0, SEED)
    scenarios = [Scenario("lie", 1, lie), Scenario("crash", 1, crash), Scenario("leave", 1, leave)]
    soak = Soak(plan, tmp_path, scenarios=scenarios)
    soaked = await soak.run()
    wrong = {line.name: line.value for line in verdict(plan, soaked) if not line.is_good}
    assert wrong == {"wrong_exit_codes": 1, "lost_bytes": 2, "crashed": 1}
    assert "instead of 5" in summary(plan, soaked, verdict(plan, soaked))
