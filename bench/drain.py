"""A flood of output: `cat` of a large file through all that a terminal does with it, next to readers that drop it.

The raw readers start `cat` on a PTY of its own and count bytes. The floor is woken by asyncio, as a terminal is, and
takes all that is there; the other blocks in `read`. The terminal driver makes CRLF of every newline for all of them,
and rates count the bytes that come out of it. A terminal whose complete output is kept on the disk is measured apart.
"""

import asyncio
import math
import os
import tempfile
from functools import partial
from pathlib import Path

import hermitty
from bench.floor import end_child, spawn_on_pty
from bench.plan import Plan
from bench.report import Measurement, at_least, count, median, ratio
from bench.samples import coloured_lines, log_lines, text_lines
from bench.turns import time_calls
from hermitty.config import OutputSettings, Settings

_READ_BYTES = 64 * 1024
_BLOCK_BYTES = 1_000_000


async def measure_drain(plan: Plan) -> list[Measurement]:
    """Measure the rate for ASCII logs, for text in several scripts, and for coloured lines."""
    found = []
    with tempfile.TemporaryDirectory(prefix="bench-drain-") as directory:
        for kind, make in (("log", log_lines), ("text", text_lines), ("coloured", coloured_lines)):
            path = Path(directory) / kind
            expected = write_repeatedly(path, make(_BLOCK_BYTES), plan.drain_bytes)
            found += await _measure(kind, path, expected, plan)
    return found


async def _measure(kind: str, path: Path, expected: int, plan: Plan) -> list[Measurement]:
    nothing_kept = Settings(output=OutputSettings(artifact_max_bytes=0))
    async with hermitty.open(nothing_kept) as in_memory, hermitty.open() as keeping:
        calls = {
            "floor": partial(read_asyncio, path, expected),
            "floor_blocking": partial(read_blocking, path, expected),
            "hermitty": partial(read_by_terminal, await in_memory.open_terminal(shell="bash"), path, expected),
            "hermitty_kept": partial(read_by_terminal, await keeping.open_terminal(shell="bash"), path, expected),
        }
        times = await time_calls(calls, rounds=plan.drain_rounds)
    rates = {name: [[expected / 1e6 / sample for sample in turn] for turn in rounds] for name, rounds in times.items()}
    ours, kept = rates["hermitty"], rates["hermitty_kept"]
    floor, blocking = rates["floor"], rates["floor_blocking"]
    in_memory_only = Measurement(
        f"drain_{kind}",
        median(ours),
        "MB/s",
        floor=median(floor),
        ratio=ratio(ours, floor),
        target=at_least(0.7, of="ratio"),
        details={
            "bytes": expected,
            "samples": count(ours),
            "floor_blocking": median(blocking),
            "ratio_blocking": ratio(ours, blocking),
        },
    )
    on_disk_too = Measurement(
        f"drain_{kind}_kept",
        median(kept),
        "MB/s",
        floor=median(floor),
        ratio=ratio(kept, floor),
        details={"bytes": expected, "samples": count(kept)},
    )
    return [in_memory_only, on_disk_too]


async def read_by_terminal(terminal: hermitty.Terminal, path: Path, expected: int) -> None:
    """Print a file in a terminal, and check that it is as much as expected."""
    result = await terminal.run(f"cat {path}")
    if result.exit_code != 0 or result.total_bytes != expected or not result.truncated:
        raise AssertionError(f"cat of {expected} bytes gave exit code {result.exit_code}, {result.total_bytes} bytes")


async def read_blocking(path: Path, expected: int) -> None:
    """Read what `cat` prints on a PTY, and check that it is as much as expected."""
    pid, master = spawn_on_pty(["cat", str(path)])
    try:
        total = 0
        while data := _read(master):
            total += len(data)
    finally:
        end_child(pid, master)
    _check_count(total, expected)


async def read_asyncio(path: Path, expected: int) -> None:
    """Read the same from an event loop, up to a turn's worth whenever there is something."""
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    total = 0

    def readable() -> None:
        nonlocal total
        turn = 0
        while turn < _READ_BYTES:
            try:
                data = _read(master)
            except BlockingIOError:
                break
            if not data:
                loop.remove_reader(master)
                ended.set_result(None)
                break
            turn += len(data)
        total += turn

    pid, master = spawn_on_pty(["cat", str(path)])
    os.set_blocking(master, False)
    loop.add_reader(master, readable)
    try:
        await ended
    finally:
        loop.remove_reader(master)
        end_child(pid, master)
    _check_count(total, expected)


def _read(master: int) -> bytes:
    try:
        return os.read(master, _READ_BYTES)
    except BlockingIOError:
        raise
    except OSError:
        # Linux reports the end of a PTY as EIO.
        return b""


def _check_count(total: int, expected: int) -> None:
    if total != expected:
        raise AssertionError(f"a raw reader got {total} of {expected} bytes")


def write_repeatedly(path: Path, block: bytes, size: int) -> int:
    """Write a file of at least `size` bytes; return how many bytes a terminal makes of it."""
    times = math.ceil(size / len(block))
    with path.open("wb") as file:
        for _ in range(times):
            file.write(block)
    return times * (len(block) + block.count(b"\n"))
