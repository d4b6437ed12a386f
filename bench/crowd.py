"""Many terminals at once: what each costs, that all of them work, and that nothing is left of them.

Run as a process of its own (`python -m bench.crowd COUNT`), so that memory freed by other benchmarks hides nothing.
"""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import hermitty
from bench.machine import children, open_descriptors, proportional_bytes
from bench.plan import Plan
from bench.report import Measurement, at_most

# As many start at a time; the rest waits its turn, as with any pool.
_AT_A_TIME = 16
_KB = 1000.0


async def measure_crowd(plan: Plan) -> list[Measurement]:
    """Open many terminals, use each, and close them."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.crowd", str(plan.terminals), stdout=asyncio.subprocess.PIPE
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise RuntimeError(f"the crowd of {plan.terminals} terminals failed")
    seen: dict[str, Any] = json.loads(output)
    count: int = seen["count"]
    shell = {"terminals": count, "shell_kb": seen["shell_bytes"] / count / _KB}
    return [
        Measurement(
            "memory_per_idle_terminal", seen["idle_bytes"] / count / _KB, "KB", target=at_most(150), details=shell
        ),
        Measurement(
            "memory_per_used_terminal", seen["used_bytes"] / count / _KB, "KB", target=at_most(150), details=shell
        ),
        Measurement("wrong_results", seen["wrong"], "terminals", target=at_most(0), details={"terminals": count}),
        Measurement(
            "open_many", seen["open_s"], "s", details={"terminals": count, "each_ms": seen["open_s"] / count * 1e3}
        ),
        Measurement(
            "run_in_many", seen["run_s"], "s", details={"terminals": count, "each_ms": seen["run_s"] / count * 1e3}
        ),
        Measurement(
            "close_many", seen["close_s"], "s", details={"terminals": count, "each_ms": seen["close_s"] / count * 1e3}
        ),
        Measurement("left_behind", seen["left"], "things", target=at_most(0), details={"terminals": count}),
    ]


async def _live(count: int) -> dict[str, float]:
    # The first terminal loads and fills what all of them share.
    async with hermitty.open() as first:
        await first.run("echo warm")
    descriptors = open_descriptors()
    gate = asyncio.Semaphore(_AT_A_TIME)
    empty = _memory()

    async def open_one() -> hermitty.Terminal:
        async with gate:
            return await runtime.open_terminal(shell="bash")

    async with hermitty.open() as runtime:
        started = time.perf_counter()
        terminals = await asyncio.gather(*(open_one() for _ in range(count)))
        opened = time.perf_counter()
        idle = _memory()
        running = time.perf_counter()
        results = await asyncio.gather(*(each.run(f"echo {number}") for number, each in enumerate(terminals)))
        ran = time.perf_counter()
        wrong = sum((each.exit_code, each.text) != (0, f"{number}\n") for number, each in enumerate(results))
        del results
        used = _memory()
        shells = _shell_bytes(each.pty.pid for each in terminals)
        directories = {each.pty.pid: Path(f"/proc/{each.pty.pid}") for each in terminals}
        closing = time.perf_counter()
    closed = time.perf_counter()
    alive = sum(directory.exists() for directory in directories.values())
    return {
        "count": count,
        "idle_bytes": idle - empty,
        "used_bytes": used - empty,
        "shell_bytes": shells,
        "wrong": wrong,
        "open_s": opened - started,
        "run_s": ran - running,
        "close_s": closed - closing,
        "left": alive + len(children()) + abs(open_descriptors() - descriptors),
    }


def _memory() -> int:
    gc.collect()
    return proportional_bytes() or 0


def _shell_bytes(pids: Iterable[int]) -> int:
    return sum(proportional_bytes(pid) or 0 for pid in pids)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_live(int(sys.argv[1])))))
