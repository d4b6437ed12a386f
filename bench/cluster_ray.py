"""Reservations on a Ray cluster of two nodes on this machine, in a process of its own; prints one JSON object."""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ray.cluster_utils import Cluster

from hermitty.cluster.host import ClusterHost
from hermitty.cluster.placement import PlaceSpec
from hermitty.cluster.ray import RayOptions, RayPlacement
from hermitty.host.control import stop_host


async def measure(address: str, state: str, count: int) -> dict[str, float]:
    """Reserve room for so many workspaces, one after the other."""
    placement = RayPlacement(RayOptions(address=address, state=f"{state}/{{name}}"))
    host = ClusterHost(placement, programs=("bash",), wanted=PlaceSpec("", cpu=0.001))
    started = time.perf_counter()
    await host.connect()
    connect_s = time.perf_counter() - started
    samples = []
    try:
        for number in range(count):
            started = time.perf_counter()
            await host.at(f"w{number}")
            samples.append(time.perf_counter() - started)
        await placement.stop_agents()
    finally:
        await host.aclose()
    return {"per_s": count / sum(samples), "p50_ms": statistics.median(samples) * 1000, "connect_s": connect_s}


def main() -> None:
    """Start the cluster, measure, and end it."""
    with tempfile.TemporaryDirectory(prefix="br-", ignore_cleanup_errors=True) as state:
        small = {"num_cpus": 2, "object_store_memory": 80 * 1024 * 1024}
        cluster: Any = Cluster()
        try:
            cluster.add_node(include_dashboard=False, labels={"hermitty-node": "a"}, **small)
            cluster.add_node(labels={"hermitty-node": "b"}, **small)
            told = asyncio.run(measure(cluster.address, state, int(sys.argv[1])))
        finally:
            cluster.shutdown()
            for name in ("a", "b"):
                stop_host(Path(state, name))
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
