"""What a fresh process pays: imports, the command line's help, and one command from the command line."""

from functools import partial

from bench.ending import output_of_python
from bench.plan import Plan
from bench.report import Measurement, at_most, count, median, ratio
from bench.turns import time_calls

_MS = 1000.0
_TIMED_IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
# What the installed `hermitty` does, wherever it is installed.
_COMMAND_LINE = "import sys; from hermitty.cli.main import main; sys.exit(main())"


async def measure_start(plan: Plan) -> list[Measurement]:
    """Measure imports inside fresh interpreters, and whole runs of the command line."""
    await _run("-c", _COMMAND_LINE, "run", "--", "true")  # compiles what is imported
    return [*await _imports(plan), *await _command_lines(plan)]


async def _imports(plan: Plan) -> list[Measurement]:
    # A library for asyncio cannot be loaded faster than asyncio.
    found: dict[str, list[list[float]]] = {"hermitty": [], "hermitty.runtime.api": [], "asyncio": []}
    for _ in range(plan.process_rounds):
        for module, rounds in found.items():
            rounds.append([float(await output_of_python("-c", _TIMED_IMPORT.format(module)))])
    ours, everything, floor = found.values()
    details = {"samples": count(ours)}
    return [
        Measurement("import_hermitty", median(ours) * _MS, "ms", target=at_most(100), details=details),
        Measurement(
            "import_all_for_a_terminal",
            median(everything) * _MS,
            "ms",
            floor=median(floor) * _MS,
            ratio=ratio(everything, floor),
            details=details | {"floor_is": "import asyncio"},
        ),
    ]


async def _command_lines(plan: Plan) -> list[Measurement]:
    calls = {
        "floor": partial(_run, "-c", "pass"),
        "help": partial(_run, "-c", _COMMAND_LINE, "--help"),
        "run_true": partial(_run, "-c", _COMMAND_LINE, "run", "--", "true"),
    }
    times = await time_calls(calls, rounds=plan.process_rounds)
    floor = times.pop("floor")
    return [
        Measurement(
            f"command_line_{name}",
            median(rounds) * _MS,
            "ms",
            floor=median(floor) * _MS,
            ratio=ratio(rounds, floor),
            details={"samples": count(rounds), "floor_is": "python -c pass"},
        )
        for name, rounds in times.items()
    ]


async def _run(*arguments: str) -> None:
    await output_of_python(*arguments)
