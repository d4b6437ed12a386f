"""How the nodes of a cluster are, as their gateway sees them: for people, and for numbers."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from hermitty.cluster.placement import Capacity
from hermitty.cluster.presence import NodeState

ShownState = Literal["connecting", "live", "draining", "unreachable", "lost"]


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node. `key` and `incarnation` are empty until it was reached; `since` is in seconds since 1970."""

    id: str
    name: str
    key: str
    incarnation: str
    state: ShownState
    since: float
    terminals: int  # that are used from here
    problem: str
    capacity: Capacity
    labels: Mapping[str, str]


def shown_state(state: NodeState, *, is_draining: bool) -> ShownState:
    """Return the one word for people: a node that drains is live, but not for what is new."""
    return "draining" if state is NodeState.LIVE and is_draining else state.value


def known_capacity(engine: Capacity, machine: Capacity) -> Capacity:
    """Return what is known of a machine: what the engine gives away counts, else what the machine has."""
    return Capacity(
        machine.cpus if engine.cpus is None else engine.cpus,
        machine.memory_bytes if engine.memory_bytes is None else engine.memory_bytes,
    )


def count_states(nodes: Iterable[NodeStatus]) -> dict[str, int]:
    """Count the nodes in each state; a state that no node is in counts 0, so that nobody takes it for unknown."""
    counts = Counter(node.state for node in nodes)
    return {state: counts[state] for state in get_args(ShownState)}


class Since:
    """Notes when the state of each node became what it is."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._noted: dict[str, tuple[ShownState, float]] = {}

    def note(self, node: str, state: ShownState) -> float:
        """Note the state of a node; return since when it has it."""
        before = self._noted.get(node)
        if before is None or before[0] != state:
            before = self._noted[node] = (state, self._now())
        return before[1]

    def forget(self, node: str) -> None:
        """Forget a node that is gone."""
        self._noted.pop(node, None)
