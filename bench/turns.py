"""Letting contenders take turns, so that each of them meets the same state of the machine."""

import contextlib
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

# Seconds of each sample, in rounds, by the name of the contender.
Samples = dict[str, list[list[float]]]


class Shell(Protocol):
    """A shell that runs a command and learns its exit code."""

    async def run_true(self) -> None:
        """Run `true` to its end. Raises unless its exit code is known to be 0."""


@dataclass(frozen=True, slots=True)
class Contender:
    """Somebody who takes part. A turn of theirs has `samples` samples."""

    name: str
    open: Callable[[], AbstractAsyncContextManager[Shell]]
    samples: int


async def time_commands(contenders: Iterable[Contender], *, rounds: int, warm_up: int = 20) -> Samples:
    """Time `true` in a warm shell of each contender."""
    found: Samples = {}
    async with contextlib.AsyncExitStack() as stack:
        shells: list[tuple[Contender, Shell]] = []
        for contender in contenders:
            with _left_out_if_it_fails(contender):
                shell = await stack.enter_async_context(contender.open())
                for _ in range(min(warm_up, contender.samples)):
                    await shell.run_true()
                shells.append((contender, shell))
        for _ in range(rounds):
            for contender, shell in shells:
                turn = [await _seconds(shell.run_true) for _ in range(contender.samples)]
                found.setdefault(contender.name, []).append(turn)
    return found


async def time_openings(contenders: Iterable[Contender], *, rounds: int) -> Samples:
    """Time a new shell up to the result of its first `true`. Closing it is not counted."""
    found: Samples = {}
    ready: list[Contender] = []
    for contender in contenders:
        with _left_out_if_it_fails(contender):
            await _opening_seconds(contender)
            ready.append(contender)
    for _ in range(rounds):
        for contender in ready:
            turn = [await _opening_seconds(contender) for _ in range(contender.samples)]
            found.setdefault(contender.name, []).append(turn)
    return found


async def time_calls(calls: Mapping[str, Callable[[], Awaitable[None]]], *, rounds: int) -> Samples:
    """Time calls, one of each in a round."""
    found: Samples = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            found[name].append([await _seconds(call)])
    return found


async def _seconds(call: Callable[[], Awaitable[None]]) -> float:
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


async def _opening_seconds(contender: Contender) -> float:
    started = time.perf_counter()
    async with contender.open() as shell:
        await shell.run_true()
        return time.perf_counter() - started


@contextlib.contextmanager
def _left_out_if_it_fails(contender: Contender) -> Iterator[None]:
    # Peers fail in their own ways, and a benchmark of ours does not end with them. Ours and the floor are needed.
    try:
        yield
    except Exception as exc:
        if contender.name.startswith(("hermitty", "floor")):
            raise
        print(f"bench: {contender.name} is left out: {type(exc).__name__}: {exc}", file=sys.stderr)
