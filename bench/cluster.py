"""What a cluster costs and brings: terminals and commands on 1, 2 and 4 nodes, echo and streaming against local.

The nodes are on this machine, so more of them bring no more processors: what is measured is the way through agents and
connections. Reservations are measured with Ray, too, where it is installed.
"""

import asyncio
import contextlib
import importlib.util
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import hermitty
from bench.drain import read_by_terminal, write_repeatedly
from bench.machine import say
from bench.plan import Plan
from bench.report import Measurement, at_least, count, median, percentile, ratio
from bench.samples import log_lines
from bench.turns import Samples, time_calls
from hermitty.cluster.host import ClusterHost
from hermitty.cluster.local import LocalPlacement, node_state
from hermitty.config import HistorySettings, OutputSettings, PolicySettings, Settings
from hermitty.host.control import stop_host
from hermitty.runtime.clustered import open_clustered

_MS = 1000.0
_BLOCK_BYTES = 1_000_000
_NODES = (1, 2, 4)
_PER_NODE = 4
_RESERVATIONS = 200
_RAY_LIMIT_S = 120.0


async def measure_cluster(plan: Plan) -> list[Measurement]:
    """Measure everything; the order is that of the table in docs/scale.md."""
    settings = Settings(
        output=OutputSettings(artifact_max_bytes=0),
        history=HistorySettings(enabled=False),
        policy=PolicySettings(mode="off"),
    )
    found = [await _reservations(), *await _ray()]
    for nodes in _NODES:
        found += await _throughput(plan, settings, nodes)
    return [*found, *await _against_local(plan, settings)]


async def _reservations() -> Measurement:
    with tempfile.TemporaryDirectory(prefix="bench-cluster-", ignore_cleanup_errors=True) as state:
        host = ClusterHost(LocalPlacement(Path(state), 2), programs=("bash",))
        try:
            await host.connect()
            started = time.perf_counter()
            for number in range(_RESERVATIONS):
                await host.at(f"w{number}")
            taken_s = time.perf_counter() - started
        finally:
            await host.aclose()
            _stop(Path(state), 2)
    return Measurement("cluster_reserve_local", _RESERVATIONS / taken_s, "1/s", details={"samples": _RESERVATIONS})


async def _ray() -> list[Measurement]:
    """Measure reservations with Ray, in a process of its own: what Ray leaves in a process ends with it."""
    if importlib.util.find_spec("ray") is None:
        say("bench: Ray is left out: it is not installed")
        return []
    try:
        told = json.loads((await _run_ray()).splitlines()[-1])
    except (TimeoutError, ValueError, IndexError):
        say("bench: Ray is left out: it did not start")
        return []
    return [
        Measurement(
            "cluster_reserve_ray",
            told["per_s"],
            "1/s",
            target=at_least(50),
            details={"samples": _RESERVATIONS, "p50_ms": told["p50_ms"], "connect_s": told["connect_s"]},
        )
    ]


async def _run_ray() -> bytes:
    script = Path(__file__).with_name("cluster_ray.py")
    # A short path: the kernel allows sockets 107 bytes, and Ray uses many of them.
    with tempfile.TemporaryDirectory(prefix="br-", ignore_cleanup_errors=True) as directory:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", str(script), str(_RESERVATIONS)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": directory},
        )
        try:
            async with asyncio.timeout(_RAY_LIMIT_S):
                return (await process.communicate())[0]
        finally:
            if process.returncode is None:
                # With everything that Ray has started.
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()


async def _throughput(plan: Plan, settings: Settings, nodes: int) -> list[Measurement]:
    """Open terminals, all at once, and let all of them run `true` again and again."""
    terminals = nodes * _PER_NODE
    each = max(10, plan.commands_per_turn // 4)
    async with _clustered(settings, nodes) as runtime:
        started = time.perf_counter()
        opened = await asyncio.gather(
            *(runtime.open_terminal(shell="bash", workspace=f"w{number}") for number in range(terminals))
        )
        opened_s = time.perf_counter() - started
        await asyncio.gather(*(_run(terminal, 5) for terminal in opened))
        started = time.perf_counter()
        await asyncio.gather(*(_run(terminal, each) for terminal in opened))
        ran_s = time.perf_counter() - started
    details = {"nodes": nodes, "terminals": terminals}
    return [
        Measurement(f"cluster_open_{nodes}", terminals / opened_s, "1/s", details=details),
        Measurement(f"cluster_commands_{nodes}", terminals * each / ran_s, "1/s", details=details),
    ]


async def _run(terminal: hermitty.Terminal, times: int) -> None:
    for _ in range(times):
        if (await terminal.run("true")).exit_code != 0:
            raise AssertionError("`true` failed")


async def _against_local(plan: Plan, settings: Settings) -> list[Measurement]:
    async with hermitty.open(settings) as here, _clustered(settings, 1) as there:
        local = await here.open_terminal(shell="bash")
        remote = await there.open_terminal(shell="bash")
        with tempfile.TemporaryDirectory(prefix="bench-cluster-") as directory:
            path = Path(directory) / "log"
            expected = write_repeatedly(path, log_lines(_BLOCK_BYTES), plan.drain_bytes)
            drained = await time_calls(
                {
                    "local": partial(read_by_terminal, local, path, expected),
                    "cluster": partial(read_by_terminal, remote, path, expected),
                },
                rounds=plan.drain_rounds,
            )
        commands = await _in_turn(plan, local, remote, echo=False)
        await local.start("cat")
        await remote.start("cat")
        echoes = await _in_turn(plan, local, remote, echo=True)
    rates = {name: [[expected / 1e6 / each for each in turn] for turn in rounds] for name, rounds in drained.items()}
    return [
        Measurement(
            "cluster_drain",
            median(rates["cluster"]),
            "MB/s",
            floor=median(rates["local"]),
            ratio=ratio(rates["cluster"], rates["local"]),
            target=at_least(0.5, of="ratio"),
            details={"bytes": expected, "samples": count(rates["cluster"])},
        ),
        _added("cluster_true", commands),
        _added("cluster_echo", echoes),
    ]


def _added(metric: str, times: Samples) -> Measurement:
    """Say how much longer something takes, in the median."""
    local, cluster = times["local"], times["cluster"]
    return Measurement(
        f"{metric}_added",
        (median(cluster) - median(local)) * _MS,
        "ms",
        details={
            "local": median(local) * _MS,
            "cluster": median(cluster) * _MS,
            "cluster_p99": percentile(cluster, 99) * _MS,
            "samples": count(cluster),
        },
    )


async def _in_turn(plan: Plan, local: hermitty.Terminal, remote: hermitty.Terminal, *, echo: bool) -> Samples:
    found: Samples = {"local": [], "cluster": []}
    for _ in range(plan.rounds):
        for name, terminal in (("local", local), ("cluster", remote)):
            samples = []
            for _ in range(plan.commands_per_turn // 2):
                started = time.perf_counter()
                await (_echo(terminal) if echo else _run(terminal, 1))
                samples.append(time.perf_counter() - started)
            found[name].append(samples)
    return found


async def _echo(terminal: hermitty.Terminal) -> None:
    """Type a key, and wait until it is on its way to a viewer."""
    grown = asyncio.get_running_loop().create_future()
    stop = terminal.watch(lambda: None if grown.done() else grown.set_result(None))
    terminal.write("x")
    try:
        await grown
    finally:
        stop()


@contextlib.asynccontextmanager
async def _clustered(settings: Settings, nodes: int) -> AsyncIterator[hermitty.Runtime]:
    with tempfile.TemporaryDirectory(prefix="bench-state-", ignore_cleanup_errors=True) as state:
        before = os.environ.get("HERMITTY_STATE_DIR")
        os.environ["HERMITTY_STATE_DIR"] = state
        try:
            runtime = await open_clustered(f"local:{nodes}", settings)
            try:
                yield runtime
            finally:
                await runtime.close()
        finally:
            _stop(Path(state), nodes)
            if before is None:
                del os.environ["HERMITTY_STATE_DIR"]
            else:
                os.environ["HERMITTY_STATE_DIR"] = before


def _stop(state: Path, nodes: int) -> None:
    for number in range(1, nodes + 1):
        stop_host(node_state(state, number))
