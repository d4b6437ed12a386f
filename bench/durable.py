"""What it costs that terminals outlive the process that uses them: the durable host next to one in this process."""

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import hermitty
from bench.drain import read_by_terminal, write_repeatedly
from bench.plan import Plan
from bench.report import Measurement, at_least, at_most, count, median, percentile, ratio
from bench.samples import log_lines
from bench.turns import Samples, time_calls
from hermitty.config import HistorySettings, OutputSettings, RecordingSettings, Settings
from hermitty.host.control import stop_host
from hermitty.runtime.durable import open_durable

_MS = 1000.0
_BLOCK_BYTES = 1_000_000

Timed = Callable[[], Awaitable[float]]


async def measure_durable(plan: Plan) -> list[Measurement]:
    """Measure the rate of a flood, `true`, and the echo of a key, through both hosts in turn."""
    # Neither host records: that is another feature, with its own price.
    settings = Settings(
        output=OutputSettings(artifact_max_bytes=0),
        history=HistorySettings(enabled=False),
        recording=RecordingSettings(enabled=False),
    )
    async with hermitty.open(settings) as here, _durable(settings) as there:
        local = await here.open_terminal(shell="bash")
        durable = await there.open_terminal(shell="bash")
        with tempfile.TemporaryDirectory(prefix="bench-durable-") as directory:
            path = Path(directory) / "log"
            expected = write_repeatedly(path, log_lines(_BLOCK_BYTES), plan.drain_bytes)
            drained = await time_calls(
                {
                    "local": partial(read_by_terminal, local, path, expected),
                    "durable": partial(read_by_terminal, durable, path, expected),
                },
                rounds=plan.drain_rounds,
            )
        commands = await _interleaved(plan, partial(_true, local), partial(_true, durable))
        await local.start("cat")
        await durable.start("cat")
        echoes = await _interleaved(plan, partial(_echo, local), partial(_echo, durable))
    rates = {name: [[expected / 1e6 / each for each in turn] for turn in rounds] for name, rounds in drained.items()}
    return [
        Measurement(
            "durable_drain",
            median(rates["durable"]),
            "MB/s",
            floor=median(rates["local"]),
            ratio=ratio(rates["durable"], rates["local"]),
            target=at_least(0.9, of="ratio"),
            details={"bytes": expected, "samples": count(rates["durable"])},
        ),
        # A command's state is kept before it is typed, and its result before it is told: that is in it, too.
        _added("durable_true", commands),
        _added("durable_echo", echoes, most=0.1),
    ]


def _added(metric: str, times: Samples, *, most: float | None = None) -> Measurement:
    """Say how much longer something takes, in the median."""
    local, durable = times["local"], times["durable"]
    return Measurement(
        f"{metric}_added",
        (median(durable) - median(local)) * _MS,
        "ms",
        target=None if most is None else at_most(most),
        details={
            "local": median(local) * _MS,
            "durable": median(durable) * _MS,
            "durable_p99": percentile(durable, 99) * _MS,
            "samples": count(durable),
        },
    )


async def _interleaved(plan: Plan, local: Timed, durable: Timed) -> Samples:
    found: Samples = {"local": [], "durable": []}
    for _ in range(plan.rounds):
        for name, call in (("local", local), ("durable", durable)):
            found[name].append([await call() for _ in range(plan.commands_per_turn)])
    return found


async def _true(terminal: hermitty.Terminal) -> float:
    started = time.perf_counter()
    result = await terminal.run("true")
    if result.exit_code != 0:
        raise AssertionError(f"`true` gave {result.exit_code}")
    return time.perf_counter() - started


async def _echo(terminal: hermitty.Terminal) -> float:
    """Type a key, and wait until it is on its way to a viewer."""
    grown = asyncio.get_running_loop().create_future()
    stop = terminal.watch(lambda: None if grown.done() else grown.set_result(None))
    started = time.perf_counter()
    terminal.write("x")
    try:
        await grown
    finally:
        stop()
    return time.perf_counter() - started


@contextlib.asynccontextmanager
async def _durable(settings: Settings) -> AsyncIterator[hermitty.Runtime]:
    with tempfile.TemporaryDirectory(prefix="bench-state-") as state:
        before = os.environ.get("HERMITTY_STATE_DIR")
        os.environ["HERMITTY_STATE_DIR"] = state
        try:
            runtime = await open_durable(settings)
            try:
                yield runtime
            finally:
                await runtime.close()
                await asyncio.to_thread(stop_host, Path(state))
        finally:
            os.environ.pop("HERMITTY_STATE_DIR")
            if before is not None:
                os.environ["HERMITTY_STATE_DIR"] = before
