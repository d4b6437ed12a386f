"""What a server of terminals takes: a request, coming to a terminal, many terminals at once, memory of each."""

import asyncio
import contextlib
import json
import tempfile
import time
from pathlib import Path

from bench.flood import Flood
from bench.machine import proportional_bytes, say
from bench.plan import Plan
from bench.report import Measurement, at_most, count, median, percentile
from bench.samples import coloured_lines
from bench.serving import (
    Server,
    Viewers,
    contenders,
    ending_with,
    hermitty_server,
    http_request,
    resident_bytes,
)

_MS = 1000.0
_KB = 1000.0
_MB = 1e6
_WARM_UP = 20
_COLUMNS, _ROWS = 120, 40
_HISTORY_BYTES = 2_000_000
_PRINTED_BYTES = 5_000_000
# The first few take memory that imports have left free. Only what comes after them is growth.
_FIRST_TERMINALS = 4
# As many are opened at a time.
_AT_A_TIME = 16


async def measure_api(plan: Plan) -> list[Measurement]:
    """Measure `true` by a request, with the policy, over a connection that stays."""
    # A token may ask as often as it can.
    async with hermitty_server(SERVER__REQUESTS_PER_S="1000000") as server, Viewers() as viewers:
        run = {
            "port": server.port,
            "request": http_request(server, "POST", "/api/run", json.dumps({"command": "true"})),
            "expected": '"exit_code":0',
        }
        health = {"port": server.port, "request": http_request(server, "GET", "/healthz"), "expected": '"ok"'}
        await viewers.order("request", **run, count=_WARM_UP)
        times, floor = [], []
        for _ in range(plan.rounds):
            times.append(await viewers.order("request", **run, count=plan.requests_per_turn))
            floor.append(await viewers.order("request", **health, count=plan.requests_per_turn))
    details = {"samples": count(times), "p99": percentile(times, 99) * _MS, "healthz": median(floor) * _MS}
    return [Measurement("api_run_true", median(times) * _MS, "ms", target=at_most(2), details=details)]


async def measure_attach(plan: Plan) -> list[Measurement]:
    """Measure how long a viewer waits for a full screen with colours, and for one with history."""
    found = []
    async with contextlib.AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-attach-")))
        server = await stack.enter_async_context(hermitty_server(SERVER__REQUESTS_PER_S="1000000"))
        viewers = await stack.enter_async_context(Viewers())
        screens = {
            "attach_full_screen": colourful_screen(_COLUMNS, _ROWS - 2),
            "attach_with_history": coloured_lines(_HISTORY_BYTES) + colourful_screen(_COLUMNS, _ROWS - 2),
        }
        for metric, data in screens.items():
            path = await server.open_terminal(metric, cols=_COLUMNS, rows=_ROWS)
            file = directory / metric
            file.write_bytes(data)
            await viewers.join(metric, server, [path])
            # Cleared first: lines of the prompt would push the first ones off.
            await viewers.let_echo(metric, f"clear; cat {file}")
            asked = {"group": metric, "port": server.port, "path": path, "token": server.token}
            await viewers.order("attach", **asked, count=_WARM_UP)
            seen = await viewers.order("attach", **asked, count=plan.attaches)
            times = [seen["seconds"]]
            found.append(
                Measurement(
                    metric,
                    median(times) * _MS,
                    "ms",
                    target=at_most(20),
                    details={
                        "samples": count(times),
                        "p99": percentile(times, 99) * _MS,
                        "snapshot_bytes": seen["bytes"],
                    },
                )
            )
    return found


def colourful_screen(columns: int, rows: int) -> bytes:
    """Make rows that are full, with another colour every four columns."""
    lines = (
        "".join(f"\x1b[38;5;{(row * 7 + column) % 256}m{column:4}" for column in range(0, columns, 4)) + "\x1b[0m\n"
        for row in range(rows)
    )
    return "".join(lines).encode()


async def measure_many(plan: Plan) -> list[Measurement]:
    """Open many terminals with a viewer each, all at once; every one prints a line that its viewer gets."""
    limits = {"REUSE__TERMINALS_PER_WORKSPACE": "4096", "SERVER__CONNECTIONS": "4096"}
    async with hermitty_server(**limits) as server, Viewers() as viewers:
        await viewers.join("first", server, await _open(server, "first", _FIRST_TERMINALS))
        before = _memory(server)
        started = time.perf_counter()
        paths = await _open(server, "many", plan.terminals)
        opened = time.perf_counter()
        await viewers.join("many", server, paths)
        attached = time.perf_counter()
        typed, markers = zip(*(ending_with("true", number) for number in range(plan.terminals)), strict=True)
        printed_s = await viewers.order("each_types", group="many", typed=typed, markers=markers)
        after = _memory(server)
    details: dict[str, float | int | str] = {"terminals": plan.terminals}
    found = [
        Measurement(f"many_{what}", seconds, "s", details=details | {"each_ms": seconds / plan.terminals * _MS})
        for what, seconds in (
            ("opened", opened - started),
            ("attached", attached - opened),
            ("printed", printed_s),
        )
    ]
    for name, most in after.items():
        if most is not None and (least := before[name]) is not None:
            each = (most - least) / plan.terminals / _KB
            sizes = {"before_mb": least / _MB, "after_mb": most / _MB}
            found.append(Measurement(f"many_{name}_memory_each", each, "KB", details=details | sizes))
    return found


def _memory(server: Server) -> dict[str, int | None]:
    host = server.host
    return {"server": resident_bytes(server.pid), "host": None if host is None else proportional_bytes(host)}


async def _open(server: Server, name: str, amount: int) -> list[str]:
    gate = asyncio.Semaphore(_AT_A_TIME)

    async def open_one(number: int) -> str:
        async with gate:
            return await server.open_terminal(f"{name}{number}")

    return await asyncio.gather(*(open_one(number) for number in range(amount)))


async def measure_memory(plan: Plan) -> list[Measurement]:
    """Measure what a terminal takes that has printed 5 MB, with its screen."""
    grown: dict[str, float] = {}
    async with contextlib.AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-memory-")))
        flood = Flood(directory / "flood", _PRINTED_BYTES)
        for name, start in contenders().items():
            if name == "floor":
                continue  # it keeps nothing
            async with start() as server, Viewers() as viewers:
                await _print_in(server, viewers, flood, "first", _FIRST_TERMINALS)
                before = server.memory_bytes()
                await _print_in(server, viewers, flood, "other", plan.printing_terminals)
                after = server.memory_bytes()
            if before is not None and after is not None:
                grown[name] = (after - before) / plan.printing_terminals / _MB
    if "hermitty" not in grown:
        say("bench: memory_per_printing_terminal is left out: the system does not tell")
        return []
    return [
        Measurement(
            "memory_per_printing_terminal",
            grown.pop("hermitty"),
            "MB",
            peers=grown,
            target=at_most(1.5),
            details={"terminals": plan.printing_terminals, "bytes": flood.expected},
        )
    ]


async def _print_in(server: Server, viewers: Viewers, flood: Flood, name: str, amount: int) -> None:
    for number in range(amount):
        await viewers.join("one", server, [await server.open_terminal(f"{name}{number}")])
        await flood.to(viewers, "one")
        await viewers.leave("one")
