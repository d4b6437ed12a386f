"""The policy over the labelled lines: how long a decision takes, and how many are wrong.

Wrong is told in three numbers: unsafe lines that run without a question, catastrophic ones that are only asked about,
and harmless ones that are asked about. Next to them, a list of regular expressions does on the same lines.
"""

import json
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.plan import Plan
from bench.regexes import judge_by_regexes
from bench.report import Measurement, at_least, at_most, count, median, percentile
from hermitty.policy.check import check
from hermitty.policy.context import Surroundings

_CORPUS = Path(__file__).parent.parent / "tests" / "policy" / "corpus"
_HERE = Surroundings(cwd="/home/me/work", workspace="/home/me/work", home="/home/me")
# A line that is as long as people write them, many times over.
_LONG = "; ".join(f"grep -n 'word {number}' src/*.py | head -{number}" for number in range(1, 101))


@dataclass(frozen=True, slots=True)
class _Line:
    command: str | tuple[str, ...]
    shell: str
    expect: str

    @property
    def text(self) -> str:
        return self.command if isinstance(self.command, str) else shlex.join(self.command)


_Judge = Callable[[_Line], str]


async def measure_policy(plan: Plan) -> list[Measurement]:
    """Measure decisions over the corpus, ours and those of regular expressions."""
    lines = _lines()
    judges: dict[str, _Judge] = {"policy": _by_policy, "regexes": _by_regexes}
    for judge in judges.values():
        for line in lines:
            judge(line)
    times: dict[str, list[list[float]]] = {name: [] for name in judges}
    for _ in range(plan.text_rounds):
        for name, judge in judges.items():
            times[name].append([_seconds(judge, line) for line in lines])
    ours = [[sample * 1e3 for sample in rounds] for rounds in times["policy"]]
    theirs = [[sample * 1e3 for sample in rounds] for rounds in times["regexes"]]
    per_minute = [[60 / (sum(rounds) / len(rounds))] for rounds in times["policy"]]
    long_line = [
        [_seconds(_by_policy, _Line(_LONG, "bash", "safe")) * 1e3 for _ in range(3)] for _ in range(plan.text_rounds)
    ]
    return [
        Measurement(
            "policy_decision",
            median(ours),
            "ms",
            peers={"regexes": median(theirs)},
            target=at_most(1.0),
            details={"p99": percentile(ours, 99), "lines": len(lines), "samples": count(ours)},
        ),
        Measurement("policy_decision_p99", percentile(ours, 99), "ms", peers={"regexes": percentile(theirs, 99)}),
        Measurement("policy_long_line", median(long_line), "ms", details={"commands": 200, "characters": len(_LONG)}),
        Measurement("policy_rate", median(per_minute), "decisions/min", target=at_least(100_000)),
        *_mistakes(lines, judges),
    ]


def _mistakes(lines: Sequence[_Line], judges: dict[str, _Judge]) -> list[Measurement]:
    confusion = {name: Counter((line.expect, judge(line)) for line in lines) for name, judge in judges.items()}
    expected = Counter(line.expect for line in lines)

    def measured(
        metric: str, unit: str, limit: float, share: Callable[[Counter[tuple[str, str]]], float]
    ) -> Measurement:
        counts = confusion["policy"]
        return Measurement(
            metric,
            share(counts),
            unit,
            peers={"regexes": share(confusion["regexes"])},
            target=at_most(limit),
            details={f"{label}_{decision}": number for (label, decision), number in sorted(counts.items())},
        )

    return [
        measured("policy_unsafe_allowed", "lines", 0, lambda of: of["confirm", "allow"] + of["block", "allow"]),
        measured("policy_blocks_missed", "lines", 0, lambda of: of["block", "ask"] + of["block", "allow"]),
        measured(
            "policy_safe_asked",
            "%",
            3,
            lambda of: 100 * (of["safe", "ask"] + of["safe", "block"]) / max(1, expected["safe"]),
        ),
    ]


def _lines() -> list[_Line]:
    rows = [
        json.loads(line)
        for file in sorted(_CORPUS.glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return [
        _Line(row["command"] if isinstance(row["command"], str) else tuple(row["command"]), row["shell"], row["expect"])
        for row in rows
    ]


def _by_policy(line: _Line) -> str:
    return check(line.command, line.shell, _HERE).decision


def _by_regexes(line: _Line) -> str:
    return judge_by_regexes(line.text)


def _seconds(judge: _Judge, line: _Line) -> float:
    started = time.perf_counter()
    judge(line)
    return time.perf_counter() - started
