"""A gateway of a Ray cluster in a process of its own: whatever Ray leaves behind in a process ends with it.

Arguments: address of the cluster, state directory of the nodes, which nodes to wait for, options as JSON, and the body
of a coroutine, which has `host`, `placement`, `say(**facts)`, `told()` (the next line of standard input), `opened(...)`
and `Consumer`.
"""

import asyncio
import contextlib
import json
import os
import sys
import textwrap
from typing import Any

from hermitty.cluster.host import ClusterHost
from hermitty.cluster.link import LinkTimes
from hermitty.cluster.place import Place
from hermitty.cluster.ray import RayOptions, RayPlacement
from hermitty.errors import HermittyError
from hermitty.host.base import FoundPty, HostedPty, PtySpec
from hermitty.model import ExitStatus, Size, TerminalId

# Ray prints what it likes.
OUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def say(**facts: object) -> None:
    print(json.dumps(facts), file=OUT, flush=True)


async def told() -> str:
    return str(await asyncio.to_thread(sys.stdin.readline)).strip()


class Consumer:
    """Copies output to a file, acknowledges it, and says how it ended."""

    pty: HostedPty | None = None

    def __init__(self, path: str) -> None:
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - until this process is killed
        self.offset = self._file.tell()
        self.over = asyncio.Event()
        self.status: list[int | None] | None = None
        self.lost: str | None = None
        self._grown = asyncio.Event()

    def glance(self, data: bytes) -> None:
        """Ignore it."""

    def on_output(self, data: bytes) -> None:
        self._file.write(data)
        self.offset += len(data)
        assert self.pty is not None
        self.pty.acknowledge(self.offset)
        self._grown.set()

    def on_exit(self, status: ExitStatus) -> None:
        self.status = [status.code, status.signal]
        self.over.set()
        self._grown.set()

    def on_lost(self, reason: str) -> None:
        self.lost = reason
        self.over.set()
        self._grown.set()

    async def took(self, count: int) -> None:
        while self.offset < count and not self.over.is_set():
            self._grown.clear()
            await self._grown.wait()


async def opened(host: ClusterHost, workspace: str, script: str, path: str) -> tuple[Consumer, Place]:
    place = await host.at(workspace)
    assert isinstance(place, Place)
    terminal = place.name_terminal(TerminalId(f"t_{os.urandom(6).hex()}"))
    sink = Consumer(path)
    spec = PtySpec(
        terminal=terminal,
        program="/bin/sh",
        args=("-c", script),
        cwd="/",
        env=place.environment(),
        size=Size(),
        directory=await place.make_directory(terminal),
    )
    sink.pty = await place.open(spec, sink)
    return sink, place


async def taken_over(host: ClusterHost, found: FoundPty, path: str) -> Consumer:
    sink = Consumer(path)
    sink.pty = await host.take_over(found.terminal, sink, since=sink.offset)
    return sink


async def another_agent(placement: RayPlacement, node: str, seen: set[int]) -> dict[str, Any]:
    """Wait for an agent that was not seen before: Ray takes a moment to restart its actor."""
    while True:
        with contextlib.suppress(HermittyError):
            told = await placement.agent(node)
            if told["pid"] not in seen:
                seen.add(told["pid"])
                return told
        await asyncio.sleep(0.05)


async def main() -> None:
    address, state, nodes, options, body = sys.argv[1:]
    chosen: dict[str, Any] = json.loads(options)
    placement = RayPlacement(RayOptions(address=address, state=f"{state}/{{name}}", poll_s=0.2))
    host = ClusterHost(placement, programs=("sh",), times=LinkTimes(**chosen), release_s=0.1)
    await host.connect()
    wanted = set(nodes.split(","))
    await host.until(lambda seen: {node.name for node in seen if node.state == "live"} >= wanted)
    names: dict[str, Any] = {**globals(), "host": host, "placement": placement}
    exec("async def scenario():\n" + textwrap.indent(textwrap.dedent(body), "    "), names)
    await names["scenario"]()
    await host.leave()
    say(over=True)


asyncio.run(main())
