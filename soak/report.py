"""A soak in words and in JSON."""

import time
from typing import Any

from soak.judge import Bounds, Line, judge
from soak.load import Soak, Soaked
from soak.plan import Plan

# A pool of the server's event loop starts at most so many threads, each when it is needed first.
_POOL_THREADS = 36


def verdict(plan: Plan, soaked: Soaked) -> list[Line]:
    """Judge a soak that is over."""
    assert soaked.end is not None
    bounds = Bounds(plan.growth_bytes, plan.growth_part, _POOL_THREADS, plan.caches_bytes)
    memory = soaked.series(plan.known_commands)
    return judge(soaked.ledger.counts(), soaked.start, soaked.end, soaked.remains, memory, bounds)


def minute(soak: Soak, began: float) -> dict[str, Any]:
    """Return how a soak stands."""
    ledger, soaked = soak.ledger, soak.soaked
    server = soaked.server_memory.get(soak.server.pid, [])
    return {
        "elapsed_s": round(time.monotonic() - began),
        "scenarios": sum(ledger.done.values()),
        "checked_commands": ledger.checked_commands,
        "checked_bytes": ledger.checked_bytes,
        "playing": sorted(soak.playing),
        "kills": soak.server.kills,
        "server_bytes": server[-1].memory.anonymous if server else None,
        "server_resident_bytes": server[-1].memory.resident if server else None,
        "server_commands": server[-1].commands if server else None,
        "host_bytes": soaked.host_memory[-1].anonymous if soaked.host_memory else None,
        "wrong": {kind: count for kind, count in ledger.counts().items() if count},
    }


def summary(plan: Plan, soaked: Soaked, lines: list[Line]) -> str:
    """Write what a person wants to read."""
    ledger = soaked.ledger
    megabytes = ledger.checked_bytes / 1e6
    texts = [
        f"soak: {plan.seconds:g} s with {plan.workers} workers, seed {plan.seed}",
        f"  {sum(ledger.done.values())} scenarios, {ledger.checked_commands} exit codes, {megabytes:.0f} MB compared",
        f"  {soaked.kills} servers killed, away for {soaked.longest_outage_s:.1f} s at most",
        "  " + ", ".join(f"{name} {count}" for name, count in sorted(ledger.done.items())),
    ]
    texts += [f"  left out: {name}: {why}" for name, why in ledger.skipped.items()]
    texts += [f"  noted: {what}: {count}" for what, count in sorted(ledger.notes.items())]
    for line in lines:
        detail = f"  ({line.detail})" if line.detail else ""
        verdict = "ok   " if line.is_good else "WRONG"
        texts.append(f"  {verdict} {line.name:<28} {line.value:>12.0f}  allowed {line.allowed:.0f}{detail}")
    texts += [f"  ! {text}" for text in ledger.texts]
    return "\n".join(texts)
