"""What a sandbox costs: a new terminal up to its first result, and `true` in a warm one, each next to one without."""

import contextlib
import tempfile
from collections.abc import AsyncIterator
from functools import partial

import hermitty
from bench.machine import say
from bench.plan import Plan
from bench.report import Measurement, at_most, count, median, ratio
from bench.round_trip import OurTerminal
from bench.turns import Contender, Samples, time_commands, time_openings
from hermitty.config import HistorySettings, PolicySettings, SandboxSettings, Settings
from hermitty.sandbox import probe
from hermitty.sandbox.probe import Abilities, Bubblewrap

_MS = 1000.0
_OFF = "off"
# What bubblewrap may add to a new terminal: two processes, their namespaces and mounts.
_MOST_MS = 6.0


async def measure_sandbox(plan: Plan) -> list[Measurement]:
    """Measure every mode that works here."""
    found = probe.abilities()
    modes = ["workspace", "strict"] if found.bubblewrap.works else []
    if found.landlock.works:
        modes.append("landlock")
    for name, ability in (("bubblewrap", found.bubblewrap), ("landlock", found.landlock)):
        if not ability.works:
            say(f"bench: sandboxes by {name} are left out: {ability.problem}")
    if not modes:
        return []
    settings = Settings(
        history=HistorySettings(enabled=False),
        policy=PolicySettings(mode="off"),
        sandbox=SandboxSettings(allow_weaker=True),
    )
    with tempfile.TemporaryDirectory(prefix="hermitty-bench-") as workspace:
        async with hermitty.open(settings) as runtime:
            opened, ran = [
                await time(contenders, rounds=plan.rounds)
                for time, contenders in (
                    (time_openings, _contenders(runtime, workspace, modes, found, plan.openings_per_turn)),
                    (time_commands, _contenders(runtime, workspace, modes, found, plan.shell_commands_per_turn)),
                )
            ]
    return [
        *(
            _overhead(f"sandbox_{mode}_start", opened, mode, _MOST_MS if mode == "workspace" else None)
            for mode in modes
        ),
        *(_overhead(f"sandbox_{mode}_command", ran, mode, None) for mode in modes),
    ]


def _overhead(metric: str, found: Samples, mode: str, most: float | None) -> Measurement:
    ours, floor = found[mode], found[_OFF]
    return Measurement(
        metric,
        (median(ours) - median(floor)) * _MS,
        "ms",
        floor=median(floor) * _MS,
        ratio=ratio(ours, floor),
        target=None if most is None else at_most(most),
        details={"samples": count(ours), "all": median(ours) * _MS},
    )


def _contenders(
    runtime: hermitty.Runtime, workspace: str, modes: list[str], found: Abilities, samples: int
) -> list[Contender]:
    return [Contender(mode, partial(_terminal, runtime, workspace, mode, found), samples) for mode in (_OFF, *modes)]


@contextlib.asynccontextmanager
async def _terminal(
    runtime: hermitty.Runtime, workspace: str, mode: str, found: Abilities
) -> AsyncIterator[OurTerminal]:
    # The second mechanism is used as if the first were not there.
    absent = Bubblewrap(None, "left out by the benchmark")
    probe._known = Abilities(absent, found.landlock) if mode == "landlock" else found
    try:
        wanted = "workspace" if mode == "landlock" else mode
        terminal = await runtime.open_terminal(shell="bash", cwd=workspace, sandbox=wanted)
    finally:
        probe._known = found
    try:
        yield OurTerminal(terminal)
    finally:
        await terminal.close()
