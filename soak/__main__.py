"""`python -m soak`: mixed load for minutes, and exit status 1 if anything is wrong."""

import argparse
import asyncio
import json
import secrets
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from bench.ending import ended_by_signals
from soak.judge import is_good
from soak.load import Soak
from soak.plan import Plan, short_plan
from soak.report import minute, summary, verdict
from soak.scenarios.table import SCENARIOS


def main() -> int:
    """Run the command line."""
    arguments = _parse()
    if sys.platform != "linux":
        print("soak: needs /proc", file=sys.stderr)
        return 2
    seconds = arguments.seconds if arguments.seconds is not None else arguments.minutes * 60
    seed = arguments.seed if arguments.seed is not None else secrets.randbelow(10**9)
    plan = short_plan(seconds, seed) if arguments.light else Plan(seconds=seconds, seed=seed)
    patience_s = arguments.patience or plan.patience_s
    plan = replace(plan, workers=arguments.workers or plan.workers, patience_s=patience_s)
    plan = replace(plan, kill_every_s=arguments.kill_every or plan.kill_every_s)
    print(f"soak: {seconds:g} s, seed {seed}", file=sys.stderr, flush=True)
    with ended_by_signals():
        try:
            return asyncio.run(_soak(plan, arguments.only))
        except KeyboardInterrupt:
            return 130


async def _soak(plan: Plan, only: list[str]) -> int:
    began = time.monotonic()
    scenarios = [each for each in SCENARIOS if not only or each.name in only]
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as directory:
        soak = Soak(
            plan,
            Path(directory),
            scenarios=scenarios,
            tell=lambda soak: print(json.dumps(minute(soak, began)), flush=True),
        )
        soaked = await soak.run()
        lines = verdict(plan, soaked)
        print(json.dumps(minute(soak, began) | {"is_good": is_good(lines)}), flush=True)
        print(summary(plan, soaked, lines), file=sys.stderr, flush=True)
        if soaked.ledger.wrong["server_errors"]:
            print(soak.server.log_end(), file=sys.stderr)
    return 0 if is_good(lines) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=15.0, help="how long the load takes (15)")
    parser.add_argument("--seconds", type=float, help="the same in seconds")
    parser.add_argument("--seed", type=int, help="that of an earlier soak, for the same choices")
    parser.add_argument("--workers", type=int, help="how many do something at a time (6)")
    names = [scenario.name for scenario in SCENARIOS]
    parser.add_argument("--only", action="append", default=[], choices=names, help="this scenario; may be repeated")
    parser.add_argument("--kill-every", type=float, help="a server is killed about every so many seconds (30)")
    parser.add_argument("--patience", type=float, help="after so many seconds a scenario hangs (300)")
    parser.add_argument("--light", action="store_true", help="less load, as in the test suite")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
