"""Letting contenders take turns, so that each of them meets the same state of the machine.

The order is reversed in every other round: who comes after whom makes no difference in the end.
"""

import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from bench.machine import say

# Seconds of each sample, in rounds, by the name of the contender.
Samples = dict[str, list[list[float]]]
_T = TypeVar("_T")


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
    # Peers fail in their own ways, and a benchmark of ours does not end with them. Ours and the floor are needed.
    is_peer: bool = False


async def time_commands(contenders: Iterable[Contender], *, rounds: int, warm_up: int = 20) -> Samples:
    """Time `true` in a warm shell of each contender."""
    found: Samples = {}
    async with contextlib.AsyncExitStack() as stack:
        turns: dict[Contender, Callable[[], Awaitable[float]]] = {}
        for contender in contenders:
            try:
                shell = await stack.enter_async_context(contender.open())
                for _ in range(min(warm_up, contender.samples)):
                    await shell.run_true()
            except Exception as exc:
                _leave_out(contender, exc)
                continue
            turns[contender] = partial(_seconds, shell.run_true)
        found |= await _take_turns(turns, rounds=rounds)
    return found


async def time_openings(contenders: Iterable[Contender], *, rounds: int) -> Samples:
    """Time a new shell up to the result of its first `true`. Closing it is not counted."""
    turns: dict[Contender, Callable[[], Awaitable[float]]] = {}
    for contender in contenders:
        try:
            await _opening_seconds(contender)
        except Exception as exc:
            _leave_out(contender, exc)
            continue
        turns[contender] = partial(_opening_seconds, contender)
    return await _take_turns(turns, rounds=rounds)


async def time_calls(calls: Mapping[str, Callable[[], Awaitable[None]]], *, rounds: int) -> Samples:
    """Time calls, one of each in a round."""
    found: Samples = {name: [] for name in calls}
    for number in range(rounds):
        for name in _in_turn(calls, number):
            found[name].append([await _seconds(calls[name])])
    return found


async def _take_turns(turns: Mapping[Contender, Callable[[], Awaitable[float]]], *, rounds: int) -> Samples:
    found: dict[Contender, list[list[float]]] = {contender: [] for contender in turns}
    for number in range(rounds):
        for contender in _in_turn(found, number):
            try:
                found[contender].append([await turns[contender]() for _ in range(contender.samples)])
            except Exception as exc:
                _leave_out(contender, exc)
                del found[contender]
    return {contender.name: samples for contender, samples in found.items()}


def _in_turn(items: Iterable[_T], number: int) -> list[_T]:
    ordered = list(items)
    return ordered[::-1] if number % 2 else ordered


def _leave_out(contender: Contender, exc: Exception) -> None:
    if not contender.is_peer:
        raise exc
    say(f"bench: {contender.name} is left out: {type(exc).__name__}: {exc}")


async def _seconds(call: Callable[[], Awaitable[None]]) -> float:
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


async def _opening_seconds(contender: Contender) -> float:
    started = time.perf_counter()
    async with contender.open() as shell:
        await shell.run_true()
        return time.perf_counter() - started
