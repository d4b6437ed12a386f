"""`python -m bench`: one JSON object a line on standard output; progress and a table on standard error."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import TextIO

from bench.acp import measure_acp
from bench.cluster import measure_cluster
from bench.crowd import measure_crowd
from bench.drain import measure_drain
from bench.durable import measure_durable
from bench.ending import deadline, ended_by_signals
from bench.machine import is_busy, load, plain_surroundings, say
from bench.mcp import measure_mcp
from bench.page import measure_page
from bench.plan import QUICK, Plan
from bench.policy import measure_policy
from bench.replay import measure_replay
from bench.report import Measurement, json_line, table, verdict
from bench.round_trip import measure_opening, measure_other_shells, measure_warm
from bench.sandbox import measure_sandbox
from bench.serve_costs import measure_api, measure_attach, measure_many, measure_memory
from bench.serve_flow import measure_echo, measure_relay, measure_stuck
from bench.start import measure_start
from bench.text import measure_text

BENCHMARKS: dict[str, Callable[[Plan], Awaitable[list[Measurement]]]] = {
    "warm": measure_warm,
    "open": measure_opening,
    "drain": measure_drain,
    "durable": measure_durable,
    "cluster": measure_cluster,
    "crowd": measure_crowd,
    "start": measure_start,
    "text": measure_text,
    "shells": measure_other_shells,
    "replay": measure_replay,
    "policy": measure_policy,
    "sandbox": measure_sandbox,
    "acp": measure_acp,
    "mcp": measure_mcp,
    "relay": measure_relay,
    "echo": measure_echo,
    "api": measure_api,
    "attach": measure_attach,
    "many": measure_many,
    "stuck": measure_stuck,
    "memory": measure_memory,
    "page": measure_page,
}
# Several under one name.
_GROUPS = {"serve": ("relay", "echo", "api", "attach", "many", "stuck", "memory")}

# Nothing here takes a minute on a quiet machine. What takes three hangs.
_LIMIT_S = 180


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure hermitty, the floor and the peers.")
    parser.add_argument("--quick", action="store_true", help="smaller counts: about a minute, more noise")
    names = [*BENCHMARKS, *_GROUPS]
    parser.add_argument("--only", action="append", choices=names, help="run only this one (may be repeated)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--json", metavar="FILE", help="write the lines to this file too")
    options = parser.parse_args(arguments)
    if is_busy():
        say(f"bench: the machine is busy (load {load():.1f}): trust ratios, not times")
    found: list[Measurement] = []
    told: list[int] = []
    try:
        with ExitStack() as stack:
            told = stack.enter_context(ended_by_signals())
            outputs = [sys.stdout]
            if options.json:
                outputs.append(stack.enter_context(open(options.json, "w", encoding="utf-8")))
            stack.enter_context(plain_surroundings())
            asked_for = [each for name in options.only or BENCHMARKS for each in _GROUPS.get(name, (name,))]
            for name in asked_for:
                found += _measure(name, QUICK if options.quick else Plan(), outputs)
    except KeyboardInterrupt:
        say("bench: interrupted")
        return 128 + (told or [signal.SIGINT])[0]
    finally:
        if found:
            say(f"{table(found)}\n{verdict(found)}")
    return 1 if options.strict and any(each.met is False for each in found) else 0


def _measure(name: str, plan: Plan, outputs: Sequence[TextIO]) -> list[Measurement]:
    async def run() -> list[Measurement]:
        say(f"bench: {name}")
        return await BENCHMARKS[name](plan)

    with deadline(_LIMIT_S, name):
        measured = asyncio.run(run())
    for each in measured:
        for output in outputs:
            print(json_line(each, load=load()), file=output, flush=True)
    return measured


if __name__ == "__main__":
    sys.exit(main())
