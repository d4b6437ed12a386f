"""What a terminal of the Agent Client Protocol costs: from the request for it to the answer that its command ended.

A real agent, a process of its own, asks for terminals over its standard streams and takes the times; messages both
ways, the policy, the start and the end are counted. In between it starts the same program itself, by asyncio: the
floor. `python -m bench.acp` is that agent.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acp.stdio import stdio_streams

from bench.plan import Plan
from bench.report import Measurement, at_most, count, median, ratio
from hermitty.adapters.acp.audience import NoListener
from hermitty.adapters.acp.client import running_agent
from hermitty.adapters.acp.connection import AcpConnection
from hermitty.adapters.acp.frames import FrameTransport
from hermitty.adapters.acp.updates import Change, Said
from hermitty.runtime.api import build_runtime
from hermitty.runtime.approvals import Approval, Question

_MS = 1000.0
_ROOT = str(Path(__file__).resolve().parent.parent)
_SESSION = "bench"
_WARM_UP = 5


async def measure_acp(plan: Plan) -> list[Measurement]:
    """Measure `true` as a program with an argument, and as a line for the shell."""
    listener = _Listener()
    async with (
        build_runtime(approver=_say_no) as runtime,
        running_agent(runtime, [sys.executable, "-m", "bench.acp"], cwd=_ROOT, listener=listener) as client,
    ):
        await client.prompt(await client.new_session("/"), str(plan.rounds * plan.openings_per_turn))
    times: dict[str, list[list[float]]] = json.loads(listener.text)
    floor = times.pop("floor")
    return [
        Measurement(
            f"acp_terminal_{name}_over_bare_spawn",
            statistics.median(mine[0] - bare[0] for mine, bare in zip(rounds, floor, strict=True)) * _MS,
            "ms",
            floor=median(floor) * _MS,
            ratio=ratio(rounds, floor),
            target=at_most(5),
            details={
                "samples": count(rounds),
                "create_to_exit_ms": median(rounds) * _MS,
                "floor_is": "asyncio.create_subprocess_exec('true') to its end",
            },
        )
        for name, rounds in times.items()
    ]


class _Listener(NoListener):
    """Keeps what the agent says."""

    text = ""

    def on_update(self, session_id: str, raw: Mapping[str, Any], change: Change) -> None:
        if isinstance(change, Said):
            self.text += change.text


async def _say_no(question: Question) -> Approval:
    return Approval("deny")


# The agent.


class _Agent:
    """Takes times as often as its prompt says, and tells them."""

    def __init__(self, transport: FrameTransport) -> None:
        self.connection = AcpConnection(self._answer, transport)

    async def _answer(self, method: str, params: Any, is_notification: bool) -> Any:
        match method:
            case "initialize":
                return {"protocolVersion": 1}
            case "session/new":
                return {"sessionId": _SESSION}
            case "session/prompt":
                times = await self._measure(int(params["prompt"][0]["text"]))
                content = {"type": "text", "text": json.dumps(times)}
                update = {"sessionUpdate": "agent_message_chunk", "content": content}
                await self.connection.send_notification("session/update", {"sessionId": _SESSION, "update": update})
                return {"stopReason": "end_turn"}
        return {}

    async def _measure(self, rounds: int) -> dict[str, list[list[float]]]:
        times: dict[str, list[list[float]]] = {"floor": [], "program": [], "line": []}
        for number in range(_WARM_UP + rounds):
            found = {
                "floor": await _bare(),
                "program": await self._terminal(command="true", args=["x"]),
                "line": await self._terminal(command="true"),
            }
            if number >= _WARM_UP:
                for name, seconds in found.items():
                    times[name].append([seconds])
        return times

    async def _terminal(self, **command: Any) -> float:
        began = time.perf_counter()
        created = await self.connection.send_request("terminal/create", {"sessionId": _SESSION, **command})
        at = {"sessionId": _SESSION, "terminalId": created["terminalId"]}
        ended = await self.connection.send_request("terminal/wait_for_exit", at)
        took = time.perf_counter() - began
        if ended != {"exitCode": 0}:
            raise RuntimeError(f"`true` ended otherwise: {ended}")
        await self.connection.send_request("terminal/release", at)
        return took


async def _bare() -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        "true",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    await process.communicate()
    return time.perf_counter() - began


async def _run_agent() -> None:
    agent = _Agent(FrameTransport(*await stdio_streams()))
    await agent.connection.ended.wait()
    await agent.connection.close()


if __name__ == "__main__":
    asyncio.run(_run_agent())
