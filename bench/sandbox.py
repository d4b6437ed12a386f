"""What a sandbox costs: a new terminal up to its first result, and `true` in a warm one, each next to one without.

And what bubblewrap alone takes to start a program with the mounts and namespaces of `workspace`, without hermitty: the
part of `sandbox_workspace_start` that is not ours.
"""

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial

import hermitty
from bench.machine import say
from bench.plan import Plan
from bench.report import Measurement, at_most, count, median, ratio
from bench.round_trip import OurTerminal
from bench.turns import Contender, Samples, time_commands, time_openings
from hermitty.config import HistorySettings, PolicySettings, ReuseSettings, SandboxSettings, Settings
from hermitty.pty.spawn import FileAction, handed_down, spawn_wrapper
from hermitty.sandbox import probe
from hermitty.sandbox.plan import prepare
from hermitty.sandbox.probe import Abilities, Bubblewrap
from hermitty.sandbox.spec import Confinement, Mode

_MS = 1000.0
_OFF = "off"
_ALONE = "bubblewrap_alone"
_PROGRAM = ("/bin/echo", "x")
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
        # A warm spare would be no start, and opening one meanwhile would slow down whoever is measured.
        reuse=ReuseSettings(spares=0),
        history=HistorySettings(enabled=False),
        policy=PolicySettings(mode="off"),
        sandbox=SandboxSettings(allow_weaker=True),
    )
    with tempfile.TemporaryDirectory(prefix="hermitty-bench-") as workspace:
        alone = await asyncio.to_thread(_time_alone, workspace, plan) if found.bubblewrap.works else None
        async with hermitty.open(settings) as runtime:
            opened, ran = [
                await measure(contenders, rounds=plan.rounds)
                for measure, contenders in (
                    (time_openings, _contenders(runtime, workspace, modes, found, plan.openings_per_turn)),
                    (time_commands, _contenders(runtime, workspace, modes, found, plan.shell_commands_per_turn)),
                )
            ]
    return [
        *([] if alone is None else [_overhead(f"sandbox_{_ALONE}", alone, _ALONE, None)]),
        *(
            _overhead(f"sandbox_{mode}_start", opened, mode, _MOST_MS if mode == "workspace" else None)
            for mode in modes
        ),
        *(_overhead(f"sandbox_{mode}_command", ran, mode, None) for mode in modes),
    ]


def _time_alone(workspace: str, plan: Plan) -> Samples:
    """Time a program up to its first byte, started by bubblewrap and by itself, in turns."""
    order = Confinement(Mode.WORKSPACE, workspace, pids=SandboxSettings().pids)
    env = dict(os.environ)
    found: Samples = {_OFF: [], _ALONE: []}
    with tempfile.TemporaryDirectory(prefix="hermitty-bench-") as directory:
        for _ in range(plan.rounds * plan.openings_per_turn):
            prepared = prepare(order, _PROGRAM, cwd=workspace, env=env, directory=directory)
            try:
                found[_ALONE].append([_first_byte_s(prepared.argv, env, prepared.descriptors)])
            finally:
                prepared.abandon()
            found[_OFF].append([_first_byte_s(_PROGRAM, env, {})])
    return found


def _first_byte_s(argv: Sequence[str], env: Mapping[str, str], descriptors: Mapping[int, int]) -> float:
    """Start a program and return after how long it has printed something. Its end is waited for, and not counted."""
    reader, writer = os.pipe()
    try:
        started = time.perf_counter()
        output: FileAction = (os.POSIX_SPAWN_DUP2, writer, 1)
        pid = spawn_wrapper(argv, env=env, actions=[output, *handed_down(descriptors)])
        os.close(writer)
        printed = os.read(reader, 1)
        took = time.perf_counter() - started
    finally:
        os.close(reader)
    _, status = os.waitpid(pid, 0)
    if not printed or status != 0:
        raise RuntimeError(f"{argv[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return took


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
