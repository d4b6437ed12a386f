"""`python -m bench`: one JSON object a line on standard output; progress and a table on standard error."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack

from bench.crowd import measure_crowd
from bench.drain import measure_drain
from bench.machine import deadline, is_busy, load, plain_surroundings, say
from bench.plan import QUICK, Plan
from bench.report import Measurement, json_line, table
from bench.round_trip import measure_opening, measure_other_shells, measure_warm
from bench.start import measure_start
from bench.text import measure_text

BENCHMARKS: dict[str, Callable[[Plan], Awaitable[list[Measurement]]]] = {
    "warm": measure_warm,
    "open": measure_opening,
    "drain": measure_drain,
    "crowd": measure_crowd,
    "start": measure_start,
    "text": measure_text,
    "shells": measure_other_shells,
}

# Nothing here takes a minute on a quiet machine. What takes three hangs.
_LIMIT_S = 180


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure hermitty, the floor and the peers.")
    parser.add_argument("--quick", action="store_true", help="smaller counts: under 30 seconds, more noise")
    parser.add_argument("--only", action="append", choices=BENCHMARKS, help="run only this one (may be repeated)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--json", metavar="FILE", help="write the lines to this file too")
    options = parser.parse_args(arguments)
    plan = QUICK if options.quick else Plan()
    if is_busy():
        say(f"bench: the machine is busy (load {load():.1f}): trust ratios, not times")
    found: list[Measurement] = []
    with ExitStack() as stack:
        file = stack.enter_context(open(options.json, "w", encoding="utf-8")) if options.json else None
        stack.enter_context(plain_surroundings())
        for name in options.only or BENCHMARKS:
            say(f"bench: {name}")
            with deadline(_LIMIT_S):
                measured = asyncio.run(_measure(name, plan))
            for each in measured:
                line = json_line(each, load=load())
                print(line, flush=True)
                if file:
                    print(line, file=file, flush=True)
            found += measured
    say(table(found))
    return 1 if options.strict and any(each.met is False for each in found) else 0


async def _measure(name: str, plan: Plan) -> list[Measurement]:
    return await BENCHMARKS[name](plan)


if __name__ == "__main__":
    sys.exit(main())
