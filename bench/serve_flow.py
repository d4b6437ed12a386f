"""Output and keys through servers of terminals: floods to many viewers, echoes, and a viewer that never reads.

The floor is the bare relay, the peer is terminado. A flood is `cat` of a file, typed into the terminal by a viewer; its
time ends when the last viewer has the end of it. Rates count what the terminal prints, not what all viewers get.
"""

import asyncio
import contextlib
import tempfile
from pathlib import Path

from bench.flood import BLOCK_BYTES, Flood, Flooded, Noise
from bench.plan import Plan
from bench.report import Measurement, Rounds, at_least, at_most, count, median, percentile, ratio
from bench.serving import Server, Viewers, contenders, hermitty_server, resident_bytes

_MS = 1000.0
_MB = 1e6
_WARM_UP_BYTES = 1_000_000
_WARM_UP_KEYS = 20
# How many times terminado's rate is wanted, by viewers.
_TIMES_TERMINADO = {1: 1.0, 10: 4.0, 50: 8.0}
_OF_RELAY = {1: 0.8}
_UNRECORDED = "hermitty_unrecorded"


async def measure_relay(plan: Plan) -> list[Measurement]:
    """Measure the rate of a flood to one viewer and to many."""
    found = []
    async with contextlib.AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-relay-")))
        servers = {name: await stack.enter_async_context(start()) for name, start in contenders().items()}
        servers[_UNRECORDED] = await stack.enter_async_context(hermitty_server(RECORDING__ENABLED="false"))
        viewers = await stack.enter_async_context(Viewers())
        paths = {name: await server.open_terminal("flood") for name, server in servers.items()}
        small = Flood(directory / "small", min(plan.flood_bytes, _WARM_UP_BYTES))
        for each in plan.viewers:
            flood = Flood(directory / "flood", plan.flood_bytes // max(1, each // 5))
            taking_part = {name: server for name, server in servers.items() if each == 1 or name != _UNRECORDED}
            for name, server in taking_part.items():
                await viewers.join(name, server, [paths[name]] * each)
                _check(server, await small.to(viewers, name, frames=not server.speaks_json))
            samples: dict[str, list[Flooded]] = {name: [] for name in taking_part}
            for number in range(plan.flood_rounds):
                for name in _in_turn(list(taking_part), number):
                    samples[name].append(flooded := await flood.to(viewers, name, by=servers[name]))
                    if servers[name].name != "hermitty":
                        _check(servers[name], flooded)
            for name in taking_part:
                await viewers.leave(name)
            found += _rates(each, flood.expected, samples)
    return found


def _check(server: Server, flooded: Flooded) -> None:
    """Raise unless everybody got everything, or was told that something is missing."""
    if flooded.skipping and not flooded.resets:
        raise AssertionError(f"a viewer of {server.name} got only {min(flooded.shares):.4f} of the output")


def _rates(viewers: int, expected: int, samples: dict[str, list[Flooded]]) -> list[Measurement]:
    rates = {name: [[expected / _MB / each.seconds] for each in floods] for name, floods in samples.items()}
    ours, floor = rates["hermitty"], rates["floor"]
    metric = f"relay_{viewers}_viewer{'s' if viewers > 1 else ''}"
    of_relay, of_terminado = _OF_RELAY.get(viewers), _TIMES_TERMINADO.get(viewers)
    details: dict[str, float | int | str] = {
        "bytes": expected,
        "samples": count(ours),
        "delivered": min(1.0, *(share for each in samples["hermitty"] for share in each.shares)),
        "viewers_that_skipped": sum(each.skipping for each in samples["hermitty"]),
    }
    if _UNRECORDED in rates:
        details |= {"unrecorded": median(rates[_UNRECORDED]), "unrecorded_ratio": ratio(rates[_UNRECORDED], floor)}
    for name, detail in (("hermitty", "processor_ms_per_mb"), ("floor", "floor_processor_ms_per_mb")):
        spent = [each.processor_s for each in samples[name] if each.processor_s is not None]
        if spent:
            details[detail] = median([spent]) * _MS / (expected / _MB)
    peers = {"terminado": median(rates["terminado"])} if "terminado" in rates else {}
    found = [
        Measurement(
            metric,
            median(ours),
            "MB/s",
            floor=median(floor),
            ratio=ratio(ours, floor),
            peers=peers,
            target=at_least(of_relay, of="ratio") if of_relay else None,
            details=details,
        )
    ]
    if "terminado" in rates:
        times = ratio(ours, rates["terminado"])
        target = at_least(of_terminado) if of_terminado else None
        found.append(Measurement(f"{metric}_to_terminado", times, "times", target=target))
    return found


async def measure_echo(plan: Plan) -> list[Measurement]:
    """Measure how long a key takes to come back, alone and while another terminal of the server floods."""
    async with contextlib.AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-echo-")))
        flood = Flood(directory / "noise", min(plan.flood_bytes, BLOCK_BYTES))
        servers = {name: await stack.enter_async_context(start()) for name, start in contenders().items()}
        typing = await stack.enter_async_context(Viewers())
        # In another process: what it reads must not delay the keys.
        watching = await stack.enter_async_context(Viewers())
        for name, server in servers.items():
            await typing.join(name, server, [await server.open_terminal("keys")])
            await typing.let_echo(name, "true")
            await typing.order("keys", group=name, count=_WARM_UP_KEYS)
        alone = await _keys(plan, typing, list(servers))
        flooded: dict[str, dict[str, Rounds]] = {}
        noises: dict[str, dict[str, Noise]] = {}
        for state, is_watched in (("unwatched", False), ("watched", True)):
            flooded[state], noises[state] = {}, {}
            for name in ("hermitty", "floor"):
                noise = noises[state][name] = Noise(flood)
                async with noise.to(watching, servers[name], is_watched=is_watched):
                    flooded[state] |= await _keys(plan, typing, [name])
    ours, floor = alone["hermitty"], alone["floor"]
    found = [
        Measurement(
            "echo",
            median(ours) * _MS,
            "ms",
            floor=median(floor) * _MS,
            ratio=ratio(ours, floor),
            peers={"terminado": median(alone["terminado"]) * _MS} if "terminado" in alone else {},
            target=at_most(2, of="ratio"),
            details={
                "samples": count(ours),
                "p99": percentile(ours, 99) * _MS,
                "floor_p99": percentile(floor, 99) * _MS,
            },
        )
    ]
    for state, times in flooded.items():
        ours, floor = times["hermitty"], times["floor"]
        found.append(
            Measurement(
                f"echo_p99_during_{state}_flood",
                percentile(ours, 99) * _MS,
                "ms",
                floor=percentile(floor, 99) * _MS,
                target=at_most(10),
                details={
                    "samples": count(ours),
                    "p50": median(ours) * _MS,
                    "floor_p50": median(floor) * _MS,
                    "flood_mb_per_s": median(noises[state]["hermitty"].rates),
                    "floor_flood_mb_per_s": median(noises[state]["floor"].rates),
                },
            )
        )
    return found


async def _keys(plan: Plan, viewers: Viewers, groups: list[str]) -> dict[str, Rounds]:
    found: dict[str, list[list[float]]] = {group: [] for group in groups}
    for number in range(plan.rounds):
        for group in _in_turn(groups, number):
            found[group].append(await viewers.order("keys", group=group, count=plan.keys_per_turn))
    return dict(found)


async def measure_stuck(plan: Plan) -> list[Measurement]:
    """Measure a flood to a viewer that reads, alone and next to one that never does."""
    times: dict[str, list[list[float]]] = {"alone": [], "next_to_stuck": []}
    grown: dict[str, list[int]] = {name: [] for name in times}
    async with contextlib.AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-stuck-")))
        flood = Flood(directory / "flood", plan.flood_bytes)
        server = await stack.enter_async_context(hermitty_server())
        viewers = await stack.enter_async_context(Viewers())
        path = await server.open_terminal("flood")
        await viewers.join("reader", server, [path])
        await flood.to(viewers, "reader")  # what one flood leaves in memory is there before anything is counted
        for number in range(plan.flood_rounds):
            for name in _in_turn(list(times), number):
                before = resident_bytes(server.pid)
                if name == "next_to_stuck":
                    await viewers.join("stuck", server, [path], reads=False)
                flooding = asyncio.ensure_future(flood.to(viewers, "reader"))
                peak = await _peak(server.pid, flooding)
                times[name].append([(await flooding).seconds])
                await viewers.leave("stuck")
                if before is not None and peak is not None:
                    grown[name].append(peak - before)
    details: dict[str, float | int | str] = {"bytes": flood.expected, "samples": count(times["alone"])}
    found = [
        Measurement(
            "stuck_viewer_time",
            median(times["next_to_stuck"]),
            "s",
            floor=median(times["alone"]),
            ratio=ratio(times["next_to_stuck"], times["alone"]),
            target=at_most(1.2, of="ratio"),
            details=details,
        )
    ]
    if grown["next_to_stuck"]:
        most = {name: max(each) / _MB for name, each in grown.items()}
        found.append(
            Measurement(
                "stuck_viewer_memory",
                most["next_to_stuck"],
                "MB",
                target=at_most(10),
                details=details | {"alone": most["alone"]},
            )
        )
    return found


async def _peak(process: int, until: "asyncio.Future[Flooded]") -> int | None:
    """Return the most memory that a process has until something is done."""
    most = resident_bytes(process)
    while most is not None and not until.done():
        await asyncio.wait([until], timeout=0.01)
        most = max(most, resident_bytes(process) or 0)
    return most


def _in_turn(names: list[str], number: int) -> list[str]:
    return names[::-1] if number % 2 else names
