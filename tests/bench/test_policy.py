"""The benchmark of the policy: it counts what is wrong, and regular expressions are wrong more often."""

import pytest

from bench.plan import Plan
from bench.policy import measure_policy
from bench.regexes import judge_by_regexes


async def test_mistakes_and_times_are_measured_next_to_the_baseline() -> None:
    found = {each.metric: each for each in await measure_policy(Plan(text_rounds=1))}
    assert set(found) == {
        *("policy_decision", "policy_decision_p99", "policy_long_line", "policy_rate"),
        *("policy_unsafe_allowed", "policy_blocks_missed", "policy_safe_asked"),
    }
    for metric in ("policy_unsafe_allowed", "policy_blocks_missed", "policy_safe_asked"):
        assert found[metric].met
        assert found[metric].peers["regexes"] > found[metric].value
    counts = found["policy_unsafe_allowed"].details
    assert sum(int(number) for number in counts.values()) == found["policy_decision"].details["lines"]


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("ls -l", "allow"),
        ("lsof", "ask"),
        ("git status", "allow"),
        ("git push", "ask"),
        ("rm -rf x", "ask"),
        ("rm -rf /", "block"),
        ("dd if=a of=/dev/sda", "block"),
        ("ls ; reboot", "allow"),
        ("echo 'rm -rf x'", "ask"),
    ],
)
def test_the_baseline_looks_at_text(line: str, decision: str) -> None:
    assert judge_by_regexes(line) == decision
