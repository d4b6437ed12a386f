"""Floods of output in a terminal of a server: one that ends, and one that goes on while something else is measured."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

from bench.drain import write_repeatedly
from bench.samples import log_lines
from bench.serving import Server, Viewers

BLOCK_BYTES = 1_000_000
_MB = 1e6
_PATIENCE_S = 30.0


class Flood:
    """A file to be printed, and what a terminal makes of it."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.expected = write_repeatedly(path, log_lines(min(size, BLOCK_BYTES)), size)

    async def to(self, viewers: Viewers, group: str, *, frames: bool = False, by: Server | None = None) -> "Flooded":
        """Print it to a group of viewers; note the processor time of the server that it is printed by."""
        typed, marker = viewers.ending_with(f"cat {self.path}")
        before = by.processor_seconds() if by else None
        seen = await viewers.order("flood", group=group, typed=typed, marker=marker, frames=frames)
        got = seen["payload"] if frames else seen["received"]
        after = by.processor_seconds() if by else None
        spent = None if before is None or after is None else after - before
        return Flooded(seen["seconds"], [each / self.expected for each in got], seen["resets"], spent)


class Flooded:
    """What became of it: seconds, the share that each viewer got, and how often frames say that output was skipped."""

    def __init__(self, seconds: float, shares: list[float], resets: int, processor_s: float | None = None) -> None:
        self.seconds = seconds
        self.shares = shares
        self.resets = resets
        self.processor_s = processor_s  # of the server

    @property
    def skipping(self) -> int:
        """How many viewers did not get everything."""
        return sum(share < 1 for share in self.shares)


class Noise:
    """A terminal that prints a file again and again as long as its notes are there, and notes each time."""

    def __init__(self, flood: Flood) -> None:
        self._flood = flood
        self._notes = flood.path.with_suffix(".times")
        self.rates: list[list[float]] = []  # MB/s

    @contextlib.asynccontextmanager
    async def to(self, viewers: Viewers, server: Server, *, is_watched: bool) -> AsyncIterator[None]:
        """Print as long as the context is open, to one viewer or to nobody."""
        path = await server.open_terminal("noise")
        await viewers.join("noise", server, [path])
        await self._flood.to(viewers, "noise")
        self._notes.write_bytes(b"")
        notes = self._notes
        line = f"while [ -e {notes} ]; do cat {self._flood.path}; [ -e {notes} ] && printf . >> {notes}; done"
        await viewers.order("type", group="noise", typed=f"{line}\r")
        # A connection that is closed with unread output takes what was typed with it, unless that has arrived.
        await self._printed_once_more()
        if not is_watched:
            await viewers.leave("noise")
            await self._printed_once_more()
        started, before = time.perf_counter(), self._notes.stat().st_size
        yield
        times = self._notes.stat().st_size - before
        self.rates.append([times * self._flood.expected / _MB / (time.perf_counter() - started)])
        if not is_watched:
            await viewers.join("noise", server, [path])
        self._notes.unlink()
        await self._flood.to(viewers, "noise")
        await viewers.leave("noise")

    async def _printed_once_more(self) -> None:
        before = self._notes.stat().st_size
        async with asyncio.timeout(_PATIENCE_S):
            while self._notes.stat().st_size == before:
                await asyncio.sleep(0.005)
