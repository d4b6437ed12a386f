"""The benchmarks themselves, with counts so small that the numbers mean nothing."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.crowd import measure_crowd
from bench.drain import measure_drain, read_asyncio, read_blocking
from bench.machine import processor_seconds
from bench.plan import Plan
from bench.report import Measurement
from bench.round_trip import measure_other_shells
from bench.start import measure_start
from bench.text import measure_text

ROOT = Path(__file__).parents[2]
SMALL = Plan(
    rounds=2,
    shell_commands_per_turn=2,
    drain_rounds=1,
    drain_bytes=1_500_000,
    terminals=3,
    process_rounds=1,
    text_rounds=1,
    text_bytes=50_000,
)


def by_metric(measurements: list[Measurement]) -> dict[str, Measurement]:
    found = {each.metric: each for each in measurements}
    assert len(found) == len(measurements)
    return found


@pytest.mark.parametrize("read", [read_asyncio, read_blocking])
async def test_a_raw_reader_gets_every_byte_and_notices_a_missing_one(read: object, tmp_path: Path) -> None:
    assert callable(read)
    path = tmp_path / "lines"
    path.write_bytes(b"line\n" * 40_000)
    await read(path, 6 * 40_000)
    with pytest.raises(AssertionError, match="240000 of 240001 bytes"):
        await read(path, 240_001)


async def test_rates_of_a_flood_are_ours_by_the_floors() -> None:
    found = by_metric(await measure_drain(SMALL))
    kinds = ("log", "text", "coloured")
    assert set(found) == {f"drain_{kind}{kept}" for kind in kinds for kept in ("", "_kept")}
    for each in found.values():
        assert each.floor is not None
        assert each.details["bytes"] > 1_500_000  # type: ignore[operator]
        # One round: the ratio of the medians is the median of the ratios.
        assert each.ratio == pytest.approx(each.value / each.floor)


async def test_many_terminals_all_answer_and_leave_nothing() -> None:
    found = by_metric(await measure_crowd(SMALL))
    assert (found["wrong_results"].value, found["left_behind"].value) == (0, 0)
    assert found["open_many"].details["terminals"] == 3
    if sys.platform == "linux":
        assert {"memory_per_idle_terminal", "memory_per_used_terminal", "memory_per_long_used_terminal"} <= set(found)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the time of another process exactly")
def test_processor_time_grows_with_work() -> None:
    before = processor_seconds(os.getpid())
    sum(range(1_000_000))
    after = processor_seconds(os.getpid())
    assert before is not None
    assert after is not None
    assert before < after
    assert processor_seconds(2**30) is None  # more than any process has


async def test_other_shells_are_compared_with_their_own_kind() -> None:
    found = await measure_other_shells(SMALL)
    assert "warm_true_sh" in by_metric(found)
    for each in found:
        assert each.floor is not None
        assert each.details == {"samples": 4}  # too few for a p99


async def test_the_start_of_a_process_is_measured() -> None:
    found = by_metric(await measure_start(SMALL))
    assert list(found) == ["import_hermitty", "import_all_for_a_terminal", "command_line_help", "command_line_run_true"]


async def test_the_pure_parts_are_measured() -> None:
    found = by_metric(await measure_text(SMALL))
    assert set(found) == {
        f"{part}_{kind}"
        for part in ("markers", "plain_text", "model_text", "screen")
        for kind in ("text", "coloured", "commands")
    }


def test_results_go_to_standard_output_and_the_table_to_standard_error(tmp_path: Path) -> None:
    arguments = ["--quick", "--only", "text", "--json", str(tmp_path / "lines"), "--strict"]
    done = subprocess.run(
        [sys.executable, "-m", "bench", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert all({"metric", "value", "unit", "floor", "ratio", "peer", "target", "met"} <= set(each) for each in records)
    assert (tmp_path / "lines").read_text() == done.stdout
    assert re.search(r"^metric +value +unit", done.stderr, re.MULTILINE)
    assert done.stderr.endswith("\n0 of 0 targets met\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_ends_its_processes(number: signal.Signals, code: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "bench", "--only", "crowd"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        text=True,
    ) as process:
        assert process.stderr is not None
        while "bench: crowd" not in process.stderr.readline():
            pass
        # Like a Ctrl-C: to the whole group at once.
        os.killpg(process.pid, number)
        # Whoever still runs holds the pipe open, and this would never return.
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (code, "")
    assert "Traceback" not in errors
