"""Many terminals at once: what each costs, that all of them work, and that nothing is left of them.

Run as a process of its own (`python -m bench.crowd COUNT`), so that memory freed by other benchmarks hides nothing.
"""

import asyncio
import gc
import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hermitty
from bench.ending import ended_by_signals, output_of_python
from bench.machine import children, open_descriptors, proportional_bytes, resident_bytes, say
from bench.plan import Plan
from bench.report import Measurement, Target, at_most

# As many start at a time; the rest waits its turn, as with any pool.
_AT_A_TIME = 16
_KB = 1000.0


async def measure_crowd(plan: Plan) -> list[Measurement]:
    """Open many terminals, use each, and close them."""
    seen: dict[str, Any] = json.loads(await output_of_python("-m", "bench.crowd", str(plan.terminals)))
    details: dict[str, float | int | str] = {"terminals": plan.terminals}
    found = []
    # History costs what it holds; the target is for terminals that wait.
    targets = {"idle": at_most(150), "used": at_most(150), "long_used": None}
    for state, target in targets.items():
        if (grown := seen[f"{state}_bytes"]) is None:
            say(f"bench: memory_per_{state}_terminal is left out: the system does not tell")
            continue
        shell = {} if seen["shell_bytes"] is None else {"shell_kb": seen["shell_bytes"] / plan.terminals / _KB}
        each = grown / plan.terminals / _KB
        found.append(Measurement(f"memory_per_{state}_terminal", each, "KB", target=target, details=details | shell))
    for metric in ("open", "run_in", "close"):
        duration: float = seen[f"{metric}_s"]
        per_terminal = {"each_ms": duration / plan.terminals * 1000}
        found.append(Measurement(f"{metric}_many", duration, "s", details=details | per_terminal))
    none = at_most(0)
    found += [_count(metric, seen[metric], none, details) for metric in ("wrong_results", "left_behind")]
    return found


def _count(metric: str, value: int, target: Target, details: dict[str, float | int | str]) -> Measurement:
    return Measurement(metric, value, "", target=target, details=details)


async def _live(count: int) -> dict[str, float | None]:
    # What is loaded by the first terminal is there before anything is counted.
    async with hermitty.open() as first:
        await first.run("echo warm")
    descriptors = open_descriptors()
    async with hermitty.open() as runtime:
        # The first few take memory that imports have left free. Only what comes after them is growth.
        terminals = await _open(runtime, _AT_A_TIME)
        before = _memory()
        started = time.perf_counter()
        terminals += await _open(runtime, count)
        opened = time.perf_counter()
        idle = _memory()
        running = time.perf_counter()
        wrong = await _wrong_results(terminals)
        ran = time.perf_counter()
        used = _memory()
        shells = [proportional_bytes(each.pty.pid) for each in terminals[-count:]]
        await _in_all(terminals, "seq 2000")
        long_used = _memory()
        wrong += await _wrong_results(terminals)
        directories = [Path(f"/proc/{each.pty.pid}") for each in terminals]
        closing = time.perf_counter()
    closed = time.perf_counter()
    alive = sum(directory.exists() for directory in directories)
    return {
        "idle_bytes": _growth(before, idle),
        "used_bytes": _growth(before, used),
        "long_used_bytes": _growth(before, long_used),
        "shell_bytes": None if None in shells else sum(each or 0 for each in shells),
        "open_s": opened - started,
        "run_in_s": ran - running,
        "close_s": closed - closing,
        "wrong_results": wrong,
        "left_behind": alive + len(children()) + abs(open_descriptors() - descriptors),
    }


async def _open(runtime: hermitty.Runtime, count: int) -> list[hermitty.Terminal]:
    gate = asyncio.Semaphore(_AT_A_TIME)

    async def open_one() -> hermitty.Terminal:
        async with gate:
            return await runtime.open_terminal(shell="bash")

    return await asyncio.gather(*(open_one() for _ in range(count)))


async def _in_all(terminals: Sequence[hermitty.Terminal], command: str) -> None:
    await asyncio.gather(*(each.run(command) for each in terminals))


async def _wrong_results(terminals: Sequence[hermitty.Terminal]) -> int:
    """Let every terminal print a number of its own, all at once; count those that do not come back with it."""
    results = await asyncio.gather(*(each.run(f"echo {number}") for number, each in enumerate(terminals)))
    return sum((each.exit_code, each.text) != (0, f"{number}\n") for number, each in enumerate(results))


def _growth(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _memory() -> int | None:
    gc.collect()
    return resident_bytes()


def _main() -> int:
    with ended_by_signals() as told:
        try:
            print(json.dumps(asyncio.run(_live(int(sys.argv[1])))))
        except KeyboardInterrupt:
            return 128 + (told or [signal.SIGINT])[0]
    return 0


if __name__ == "__main__":
    sys.exit(_main())
