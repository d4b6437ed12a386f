"""What a command costs by the Model Context Protocol: `run` of `true` over the standard streams of `hermitty mcp`.

Twice: with terminals of its own, and as a relay to a server that runs, with its durable host. The client writes and
reads lines itself, so that no library of a client is counted. The floor is the same command in a runtime of this
process.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

from bench.plan import Plan
from bench.report import Measurement, at_most, count, median, percentile, ratio
from bench.serving import hermitty_server
from bench.turns import Contender, time_commands
from hermitty.runtime.api import Runtime, build_runtime

_MS = 1000.0
_FLOOR = "runtime of this process"
_METRICS = {"own": "mcp_stdio_run_true", "relay": "mcp_stdio_relay_run_true"}
_END_S = 30.0


async def measure_mcp(plan: Plan) -> list[Measurement]:
    """Measure both ways next to the floor, in turns."""
    # A token may ask as often as it can.
    async with hermitty_server(SERVER__REQUESTS_PER_S="1000000") as server:
        relay = {"HERMITTY_URL": f"http://127.0.0.1:{server.port}", "HERMITTY_TOKEN": server.token or ""}
        times = await time_commands(
            [
                Contender("own", lambda: _client("--own"), plan.requests_per_turn),
                Contender("relay", lambda: _client(**relay), plan.requests_per_turn),
                Contender(_FLOOR, _runtime, plan.requests_per_turn),
            ],
            rounds=plan.rounds,
        )
    floor = times[_FLOOR]
    return [
        Measurement(
            metric,
            median(times[name]) * _MS,
            "ms",
            floor=median(floor) * _MS,
            ratio=ratio(times[name], floor),
            target=at_most(5),
            details={
                "samples": count(times[name]),
                "p99": percentile(times[name], 99) * _MS,
                "floor_is": f"`true` in a warm terminal of a {_FLOOR}",
            },
        )
        for name, metric in _METRICS.items()
    ]


class _Client:
    """A client of the older protocol, as most are."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._writer = process.stdin
        self._reader = process.stdout
        self._last = 0

    async def shake_hands(self) -> None:
        """Say hello."""
        about = {"name": "bench", "version": "1"}
        await self._ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about})
        self._write({"method": "notifications/initialized"})

    async def run_true(self) -> None:
        """Call the tool."""
        answer = await self._ask("tools/call", {"name": "run", "arguments": {"command": "true"}})
        if answer["result"]["structuredContent"]["exit_code"] != 0:
            raise RuntimeError(f"`true` ended otherwise: {answer}")

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._write({"id": self._last, "method": method, "params": params})
        while line := await self._reader.readline():
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._last:
                return answer
        raise RuntimeError(f"`hermitty mcp` has ended before it answered {method}")

    def _write(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


@contextlib.asynccontextmanager
async def _client(*arguments: str, **variables: str) -> AsyncIterator[_Client]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hermitty.cli.main", "mcp", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **variables},
    )
    try:
        client = _Client(process)
        await client.shake_hands()
        yield client
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(_END_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


@contextlib.asynccontextmanager
async def _runtime() -> AsyncIterator["_Floor"]:
    async with build_runtime() as runtime:
        yield _Floor(runtime)


class _Floor:
    """Runs it here."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def run_true(self) -> None:
        """Run it, in the same session each time."""
        if (await self._runtime.run("true", session="bench")).exit_code != 0:
            raise RuntimeError("`true` ended otherwise")
