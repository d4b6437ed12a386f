"""What is said when no node has room: what was asked for, and what there is."""

from collections.abc import Iterable

from hermitty.cluster.placement import Capacity, NodeInfo, PlaceSpec
from hermitty.errors import HostUnavailable

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_MOST_NODES = 8


def no_room(spec: PlaceSpec, nodes: Iterable[NodeInfo], free: Capacity) -> HostUnavailable:
    """Return the error for a workspace that fits nowhere. `free` is what is left of all nodes together."""
    whose = f"workspace {spec.workspace!r}, which wants" if spec.workspace else "terminals of no workspace, which want"
    known = list(nodes)
    there = [_node(node) for node in known[:_MOST_NODES]]
    if len(known) > _MOST_NODES:
        there.append(f"and {len(known) - _MOST_NODES} more")
    left = _size(free)
    return HostUnavailable(
        f"no node has room for {whose} {_wanted(spec)}; "
        f"there {'is' if len(known) == 1 else 'are'} {', '.join(there) or 'no nodes'}"
        + (f"; free in all: {left}" if left else "")
    )


def _wanted(spec: PlaceSpec) -> str:
    wanted = _size(Capacity(spec.cpu or None, spec.memory_bytes or None)) or "a place"
    return f"{wanted} with {_labels(spec.labels.items())}" if spec.labels else wanted


def _node(node: NodeInfo) -> str:
    facts = [fact for fact in (_size(node.capacity), _labels(node.labels.items())) if fact]
    return f"{node.name} ({', '.join(facts)})" if facts else node.name


def _size(capacity: Capacity) -> str:
    parts = []
    if capacity.cpus is not None:
        parts.append(f"{capacity.cpus:g} CPU")
    if capacity.memory_bytes is not None:
        parts.append(_bytes(capacity.memory_bytes))
    return " and ".join(parts)


def _labels(labels: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(labels))


def _bytes(count: int) -> str:
    amount, unit = float(count), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.3g} {_UNITS[unit]}" if amount < 1000 else f"{amount:.0f} {_UNITS[unit]}"
