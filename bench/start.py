"""What a fresh process pays: `import hermitty`, and one command from the command line."""

import asyncio
import sys
from functools import partial

from bench.plan import Plan
from bench.report import Measurement, at_most, median, ratio
from bench.turns import time_calls

_MS = 1000.0
_TIMED_IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


async def measure_start(plan: Plan) -> list[Measurement]:
    """Measure imports inside fresh interpreters, and whole runs of the command line."""
    imports = {"hermitty": [], "hermitty.runtime.api": []}  # type: dict[str, list[float]]
    for _ in range(plan.process_rounds):
        for module, samples in imports.items():
            samples.append(float(await _output("-c", _TIMED_IMPORT.format(module))))
    calls = {
        "floor": partial(_run, "-c", "pass"),
        "hermitty": partial(_run, "-m", "hermitty.cli.main", "run", "--", "true"),
    }
    times = await time_calls(calls, rounds=plan.process_rounds)
    details = {"samples": plan.process_rounds}
    return [
        Measurement("import_hermitty", median([imports["hermitty"]]) * _MS, "ms", target=at_most(100), details=details),
        Measurement(
            "import_all_for_a_terminal", median([imports["hermitty.runtime.api"]]) * _MS, "ms", details=details
        ),
        Measurement(
            "command_line_run_true",
            median(times["hermitty"]) * _MS,
            "ms",
            floor=median(times["floor"]) * _MS,
            ratio=ratio(times["hermitty"], times["floor"]),
            details=details | {"floor_is": "python -c pass"},
        ),
    ]


async def _run(*arguments: str) -> None:
    await _output(*arguments)


async def _output(*arguments: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise RuntimeError(f"python {' '.join(arguments)} ended with {process.returncode}")
    return output
