"""A Ray cluster on one machine, in a process of its own: one raylet for each node, told on standard input what to do.

Lines in: add NAME, kill NAME (its raylet, at once), quit. Lines out: JSON.
"""

import json
import os
import sys
from typing import Any

from ray.cluster_utils import Cluster

# A dead node is noticed within seconds instead of a minute.
TUNED = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1000,
    # A machine that is busy with tests may keep a living one waiting.
    "health_check_timeout_ms": 20_000,
    "health_check_failure_threshold": 5,
}


# Ray prints what it likes.
OUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def say(**facts: object) -> None:
    print(json.dumps(facts), file=OUT, flush=True)


def main() -> None:
    nodes: dict[str, Any] = {}
    cluster: Any = Cluster()
    for line in sys.stdin:
        what, _, name = line.strip().partition(" ")
        if what == "add":
            first = {"include_dashboard": False, "_system_config": TUNED} if not nodes else {}
            nodes[name] = cluster.add_node(
                wait=True, num_cpus=1, object_store_memory=80 * 1024 * 1024, labels={"hermitty-node": name}, **first
            )
            say(address=cluster.address, node=nodes[name].unique_id)
        elif what == "kill":
            cluster.remove_node(nodes.pop(name), allow_graceful=False)
            say(killed=name)
        else:
            break
    cluster.shutdown()
    say(over=True)


main()
