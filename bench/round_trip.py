"""`true` in a warm terminal, and a new terminal up to its first result: ours, the floor's and the peers'."""

import contextlib
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial

import hermitty
from bench.floor import bare_bash
from bench.machine import say
from bench.peers import installed_peers
from bench.plan import Plan
from bench.report import Measurement, Rounds, at_most, median, percentile, ratio
from bench.turns import Contender, Samples, time_commands, time_openings

_MS = 1000.0
_SHELLS = ("zsh", "fish", "sh")


class OurTerminal:
    """`true` in a given terminal."""

    def __init__(self, terminal: hermitty.Terminal) -> None:
        self._terminal = terminal

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
    async with hermitty.open() as runtime:
        contenders = [
            Contender("floor", bare_bash, turn),
            Contender("floor_without_line_editing", partial(bare_bash, line_editing=False), turn),
            Contender("hermitty", partial(_our_terminal, runtime, "bash"), turn),
            Contender("hermitty_run", _our_runtime, turn),
            *installed_peers(samples=max(1, turn // 4)),
        ]
        found = await time_commands(contenders, rounds=plan.rounds)
    ours, floor, bare = found["hermitty"], found["floor"], found["floor_without_line_editing"]
    details = {"samples": sum(map(len, ours)), "rounds": len(ours)}
    return [
        Measurement(
            "warm_true",
            median(ours) * _MS,
            "ms",
            floor=median(floor) * _MS,
            ratio=ratio(ours, floor),
            peers=_of_peers(found, median),
            target=at_most(3, of="ratio"),
            details=details
            | {"floor_without_line_editing": median(bare) * _MS, "ratio_without_line_editing": ratio(ours, bare)},
        ),
        Measurement(
            "warm_true_p99",
            percentile(ours, 99) * _MS,
            "ms",
            floor=percentile(floor, 99) * _MS,
            ratio=percentile(ours, 99) / percentile(floor, 99),
            peers=_of_peers(found, partial(percentile, percent=99)),
            target=at_most(5),
            details=details,
        ),
        Measurement(
            "warm_true_by_runtime",
            median(found["hermitty_run"]) * _MS,
            "ms",
            floor=median(floor) * _MS,
            ratio=ratio(found["hermitty_run"], floor),
            details=details,
        ),
    ]


async def measure_opening(plan: Plan) -> list[Measurement]:
    """Measure a new terminal up to the result of its first command."""
    async with hermitty.open() as runtime:
        contenders = [
            Contender("floor", bare_bash, plan.openings_per_turn),
            Contender("hermitty", partial(_our_terminal, runtime, "bash"), plan.openings_per_turn),
            *installed_peers(samples=1),
        ]
        found = await time_openings(contenders, rounds=plan.rounds)
    ours, floor = found["hermitty"], found["floor"]
    return [
        Measurement(
            "new_terminal_first_result",
            median(ours) * _MS,
            "ms",
            floor=median(floor) * _MS,
            ratio=ratio(ours, floor),
            peers=_of_peers(found, median),
            target=at_most(3, of="ratio"),
            details={"samples": sum(map(len, ours)), "p99": percentile(ours, 99) * _MS},
        )
    ]


async def measure_other_shells(plan: Plan) -> list[Measurement]:
    """Measure `true` in the other shells, for information; the floor is the same bare bash."""
    shells = [name for name in _SHELLS if shutil.which(name)]
    for name in set(_SHELLS) - set(shells):
        say(f"bench: {name} is left out: it is not installed")
    turn = max(1, plan.commands_per_turn // 4)
    async with hermitty.open() as runtime:
        contenders = [
            Contender("floor", bare_bash, turn),
            *(Contender(f"hermitty_{name}", partial(_our_terminal, runtime, name), turn) for name in shells),
        ]
        found = await time_commands(contenders, rounds=plan.rounds)
    return [
        Measurement(
            f"warm_true_{name}",
            median(found[f"hermitty_{name}"]) * _MS,
            "ms",
            floor=median(found["floor"]) * _MS,
            ratio=ratio(found[f"hermitty_{name}"], found["floor"]),
            details={"p99": percentile(found[f"hermitty_{name}"], 99) * _MS},
        )
        for name in shells
    ]


@contextlib.asynccontextmanager
async def _our_terminal(runtime: hermitty.Runtime, shell: str) -> AsyncIterator[OurTerminal]:
    terminal = await runtime.open_terminal(shell=shell)
    try:
        yield OurTerminal(terminal)
    finally:
        await terminal.close()


@contextlib.asynccontextmanager
async def _our_runtime() -> AsyncIterator[OurRuntime]:
    async with hermitty.open() as runtime:
        yield OurRuntime(runtime)


def _check(result: hermitty.CommandResult) -> None:
    if result.exit_code != 0 or result.text:
        raise AssertionError(f"`true` gave {result!r}")


def _of_peers(found: Samples, statistic: Callable[[Rounds], float]) -> Mapping[str, float]:
    return {
        name: statistic(samples) * _MS for name, samples in found.items() if not name.startswith(("hermitty", "floor"))
    }
