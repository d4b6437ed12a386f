"""`true` in a warm terminal, and a new terminal up to its first result: ours, the floor's and the peers'."""

import contextlib
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial

import hermitty
from bench.floor import BareShell, bare_shell
from bench.machine import processor_seconds, say
from bench.peers import installed_peers
from bench.plan import Plan
from bench.report import Measurement, Rounds, at_most, count, median, percentile, ratio
from bench.turns import Contender, Samples, time_commands, time_openings
from hermitty.config import HistorySettings, PolicySettings, Settings

_MS = 1000.0
_OTHER_SHELLS = ("zsh", "fish", "sh")
# The one percent above a p99 is then at least one sample.
_ENOUGH_FOR_P99 = 100


class OurTerminal:
    """`true` in a given terminal."""

    def __init__(self, terminal: hermitty.Terminal) -> None:
        self._terminal = terminal
        self.pid = terminal.pty.pid

    async def run_true(self) -> None:
        _check(await self._terminal.run("true"))


class OurRuntime:
    """`true` through the front door, which finds the terminal by itself."""

    def __init__(self, runtime: hermitty.Runtime) -> None:
        self._runtime = runtime

    async def run_true(self) -> None:
        _check(await self._runtime.run("true"))


async def measure_warm(plan: Plan) -> list[Measurement]:
    """Measure `true` in a warm bash."""
    turn = plan.commands_per_turn
    peers = installed_peers(samples=turn // 4, few=plan.slow_commands_per_turn)
    # The engine alone; what sessions, reuse, history and the policy add is measured apart.
    async with hermitty.open(Settings(history=HistorySettings(enabled=False))) as runtime:
        contenders = [
            Contender("floor", bare_shell, turn),
            Contender("floor_without_line_editing", partial(bare_shell, line_editing=False), turn),
            Contender("hermitty", partial(_our_terminal, runtime, "bash"), turn),
            Contender("hermitty_run", partial(_our_runtime, "off"), turn),
            Contender("hermitty_run_judged", partial(_our_runtime, "normal"), turn),
            *peers,
        ]
        found = await time_commands(contenders, rounds=plan.rounds)
    ours, floor, bare = (found[name] for name in ("hermitty", "floor", "floor_without_line_editing"))
    run, judged = found["hermitty_run"], found["hermitty_run_judged"]
    of_peers = {peer.name: found[peer.name] for peer in peers if peer.name in found}
    return [
        Measurement(
            "warm_true",
            median(ours) * _MS,
            "ms",
            floor=median(floor) * _MS,
            ratio=ratio(ours, floor),
            peers=_each(of_peers, median),
            target=at_most(3, of="ratio"),
            details={
                "samples": count(ours),
                "floor_without_line_editing": median(bare) * _MS,
                "ratio_without_line_editing": ratio(ours, bare),
            },
        ),
        Measurement(
            "warm_true_p99",
            percentile(ours, 99) * _MS,
            "ms",
            floor=percentile(floor, 99) * _MS,
            ratio=percentile(ours, 99) / percentile(floor, 99),
            peers=_each(
                {name: samples for name, samples in of_peers.items() if count(samples) >= _ENOUGH_FOR_P99},
                partial(percentile, percent=99),
            ),
            target=at_most(5),
            details={"samples": count(ours)},
        ),
        Measurement(
            "warm_true_by_runtime",
            median(run) * _MS,
            "ms",
            floor=median(floor) * _MS,
            ratio=ratio(run, floor),
            details={"samples": count(run), "p99": percentile(run, 99) * _MS},
        ),
        Measurement(
            "run_overhead",
            (median(run) - median(ours)) * _MS,
            "ms",
            target=at_most(0.15),
            details={"samples": count(run)},
        ),
        Measurement(
            "run_overhead_judged",
            (median(judged) - median(ours)) * _MS,
            "ms",
            details={"samples": count(judged)},
        ),
        *await _measure_processor_time(plan),
    ]


async def _measure_processor_time(plan: Plan) -> list[Measurement]:
    """Measure what a command takes of the processors, in this process and in the shell: waiting is not counted."""
    async with hermitty.open() as runtime, _our_terminal(runtime, "bash") as terminal, bare_shell() as bare:
        shells: dict[str, OurTerminal | BareShell] = {"floor": bare, "hermitty": terminal}
        found: dict[str, list[list[float]]] = {name: [] for name in shells}
        for _ in range(plan.rounds):
            for name, shell in shells.items():
                before = _processor_seconds(shell)
                for _ in range(plan.commands_per_turn):
                    await shell.run_true()
                after = _processor_seconds(shell)
                if before is None or after is None:
                    say("bench: warm_true_processor_time is left out: the system does not tell")
                    return []
                found[name].append([(after - before) / plan.commands_per_turn])
    ours, floor = found["hermitty"], found["floor"]
    return [
        Measurement(
            "warm_true_processor_time",
            median(ours) * _MS,
            "ms",
            floor=median(floor) * _MS,
            ratio=ratio(ours, floor),
            details={"samples": count(ours), "commands_per_sample": plan.commands_per_turn},
        )
    ]


def _processor_seconds(shell: OurTerminal | BareShell) -> float | None:
    of_shell = processor_seconds(shell.pid)
    return None if of_shell is None else time.process_time() + of_shell


async def measure_opening(plan: Plan) -> list[Measurement]:
    """Measure a new terminal up to the result of its first command."""
    peers = [peer for peer in installed_peers(samples=1, few=1) if peer.name != "pexpect_without_delay"]
    async with hermitty.open() as runtime:
        contenders = [
            Contender("floor", bare_shell, plan.openings_per_turn),
            Contender("hermitty", partial(_our_terminal, runtime, "bash"), plan.openings_per_turn),
            *peers,
        ]
        found = await time_openings(contenders, rounds=plan.rounds)
    ours, floor = found["hermitty"], found["floor"]
    of_peers = {peer.name: found[peer.name] for peer in peers if peer.name in found}
    return [
        Measurement(
            "new_terminal_first_result",
            median(ours) * _MS,
            "ms",
            floor=median(floor) * _MS,
            ratio=ratio(ours, floor),
            peers=_each(of_peers, median),
            target=at_most(3, of="ratio"),
            details=_counted(ours, floor),
        )
    ]


async def measure_other_shells(plan: Plan) -> list[Measurement]:
    """Measure `true` in the other shells, each next to a bare one of its kind."""
    shells = [name for name in _OTHER_SHELLS if shutil.which(name)]
    for name in _OTHER_SHELLS:
        if name not in shells:
            say(f"bench: {name} is left out: it is not installed")
    turn = plan.shell_commands_per_turn
    async with hermitty.open() as runtime:
        contenders = []
        for name in shells:
            contenders.append(Contender(f"floor_{name}", partial(bare_shell, name), turn))
            contenders.append(Contender(f"hermitty_{name}", partial(_our_terminal, runtime, name), turn))
        found = await time_commands(contenders, rounds=plan.rounds)
    return [_of_shell(name, found[f"hermitty_{name}"], found[f"floor_{name}"]) for name in shells]


def _of_shell(name: str, ours: Rounds, floor: Rounds) -> Measurement:
    return Measurement(
        f"warm_true_{name}",
        median(ours) * _MS,
        "ms",
        floor=median(floor) * _MS,
        ratio=ratio(ours, floor),
        details=_counted(ours, floor),
    )


def _counted(ours: Rounds, floor: Rounds) -> dict[str, float | int | str]:
    if count(ours) < _ENOUGH_FOR_P99:
        return {"samples": count(ours)}
    return {"samples": count(ours), "p99": percentile(ours, 99) * _MS, "floor_p99": percentile(floor, 99) * _MS}


@contextlib.asynccontextmanager
async def _our_terminal(runtime: hermitty.Runtime, shell: str) -> AsyncIterator[OurTerminal]:
    terminal = await runtime.open_terminal(shell=shell)
    try:
        yield OurTerminal(terminal)
    finally:
        await terminal.close()


@contextlib.asynccontextmanager
async def _our_runtime(mode: str) -> AsyncIterator[OurRuntime]:
    async with hermitty.open(Settings(policy=PolicySettings(mode=mode))) as runtime:
        yield OurRuntime(runtime)


def _check(result: hermitty.CommandResult) -> None:
    if result.exit_code != 0 or result.text:
        raise AssertionError(f"`true` gave {result!r}")


def _each(found: Samples, statistic: Callable[[Rounds], float]) -> Mapping[str, float]:
    return {name: statistic(samples) * _MS for name, samples in found.items()}
