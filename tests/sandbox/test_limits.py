"""Limits that are really reached: processes, memory and processors, by control groups and by the older means."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.model import State
from hermitty.sandbox import bubblewrap, groups
from hermitty.sandbox.groups import Hierarchies, Hierarchy, find_hierarchies, make_group
from hermitty.sandbox.layout import layout
from hermitty.sandbox.plan import disk_facts
from hermitty.sandbox.probe import Abilities
from hermitty.sandbox.spec import EACH_PROCESS, Confinement, Mode
from tests.sandbox.conftest import OpenConfined
from tests.support.shells import PATIENCE_S

_BOMB = "i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i+1)); done; echo all"


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that any user can use."""
    directory = Path(tempfile.mkdtemp(prefix="hermitty-test-", dir="/tmp"))
    directory.chmod(0o777)
    for name in ("work", "home", "private"):
        (directory / name).mkdir()
        (directory / name).chmod(0o777)
    yield directory
    shutil.rmtree(directory)


@pytest.mark.parametrize(("pids", "fits"), [(20, False), (200, True)])
def test_the_namespace_of_an_ordinary_user_counts_its_own(
    abilities: Abilities, shared: Path, pids: int, fits: bool
) -> None:
    if not abilities.bubblewrap.works:
        pytest.skip(f"bubblewrap does not work here: {abilities.bubblewrap.problem}")
    order = Confinement(Mode.WORKSPACE, str(shared / "work"), pids=pids)
    facts = disk_facts(str(shared / "home"))
    made = layout(order, facts, cwd=str(shared / "work"), directory=str(shared / "private"))
    argv = bubblewrap.arguments(
        abilities.bubblewrap.program or "", order, made, ["/bin/sh", "-c", _BOMB], cwd=str(shared / "work")
    )
    other = {"user": 12345, "group": 12345, "extra_groups": []} if os.getuid() == 0 else {}
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **other)  # type: ignore[call-overload]

    # What it left behind ended with it: the pipes are closed.
    assert ("all" in done.stdout) is fits, done.stderr
    assert ("fork" in done.stderr.lower()) is not fits


_LIMIT = 128 * 1024 * 1024
# Takes memory for good and writes to it, 16 MB at a time.
_TAKES = (
    "held = []\nfor _ in range({count}):\n    held.append(bytearray(b'x' * (16 << 20)))\nprint('held', len(held))\n"
)


@pytest.fixture
def own_groups(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """Groups below the one that this process is in, for one kind of limit; skips where none can be made."""
    what: str = request.param
    found = find_hierarchies(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    # Who runs these tests may make groups below its own, whoever made that.
    limits = {name: Hierarchy(each.version, each.here) for name, each in found.limits.items()}
    there = Hierarchies(limits, found.unified)
    asked = {"memory": {"memory_bytes": _LIMIT}, "cpu": {"cpu": 0.5}}[what]
    tried = make_group(Confinement(Mode.WORKSPACE, "/w", **asked), there, to_kill=False)  # type: ignore[arg-type]
    tried.remove()
    if what not in tried.enforced:
        pytest.skip(f"no control group can limit {what} here: {tried.missing[what]}")
    monkeypatch.setattr(groups, "our_hierarchies", lambda: there)
    return what


@pytest.fixture
def no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without control groups."""
    monkeypatch.setattr(groups, "our_hierarchies", lambda: Hierarchies({}, None))


@pytest.mark.parametrize("own_groups", ["memory"], indirect=True)
async def test_a_group_stops_one_that_takes_too_much_memory(
    own_groups: str, confined: OpenConfined, work: Path
) -> None:
    (work / "takes.py").write_text(_TAKES.format(count=20))
    terminal = await confined(memory_bytes=_LIMIT)
    assert terminal.sandbox_effective is not None
    assert dict(terminal.sandbox_effective.enforced)["memory"] == "control group"

    result = await terminal.run(f"{sys.executable} -I -S takes.py", wait_s=PATIENCE_S)

    assert (result.state, result.exit_code) == (State.DONE, 137)
    assert "held" not in result.text
    assert f"this terminal may use {_LIMIT} bytes of memory (sandbox); what needs more is killed" in result.warnings
    assert (await terminal.run("echo goes on", wait_s=PATIENCE_S)).text == "goes on\n"


@pytest.mark.parametrize("own_groups", ["memory"], indirect=True)
async def test_a_group_stops_many_that_take_too_much_together(
    own_groups: str, confined: OpenConfined, work: Path
) -> None:
    # Each of them would fit, and holds what it has while the next one runs.
    (work / "nested.py").write_text(
        "import subprocess, sys\n"
        "held = bytearray(b'x' * (48 << 20))\n"
        "left = int(sys.argv[1])\n"
        "code = subprocess.call([sys.executable, '-I', '-S', __file__, str(left - 1)]) if left else 0\n"
        "sys.exit(3 if code else 0)\n"
    )
    terminal = await confined(memory_bytes=_LIMIT)

    alone = await terminal.run(f"{sys.executable} -I nested.py 0", wait_s=PATIENCE_S)
    many = await terminal.run(f"{sys.executable} -I nested.py 7", wait_s=PATIENCE_S)

    assert alone.exit_code == 0
    assert many.exit_code in (3, 137)


@pytest.mark.parametrize("own_groups", ["cpu"], indirect=True)
async def test_a_group_holds_back_one_that_takes_too_much_of_the_processors(
    own_groups: str, confined: OpenConfined, work: Path
) -> None:
    terminal = await confined(cpu=0.02)  # less than one turn on a processor, however busy that is
    assert terminal.sandbox_effective is not None
    assert dict(terminal.sandbox_effective.enforced)["cpu"] == "control group"
    made = terminal.pty._pty._group.directories  # type: ignore[attr-defined]
    (directory,) = (each for each in made if {"cpu.cfs_quota_us", "cpu.max"} & set(os.listdir(each)))

    line = f"{sys.executable} -I -S -c 'import time\nwhile time.process_time() < 0.03: pass'"
    assert (await terminal.run(line, wait_s=PATIENCE_S)).exit_code == 0

    told = dict(line.split() for line in (directory / "cpu.stat").read_text().splitlines())
    assert int(told["nr_throttled"]) > 0


async def test_without_groups_each_process_is_stopped_that_takes_too_much_memory(
    no_groups: None, confined: OpenConfined, work: Path
) -> None:
    (work / "takes.py").write_text(_TAKES.format(count=20))
    (work / "fits.py").write_text(_TAKES.format(count=3))
    terminal = await confined(memory_bytes=_LIMIT)
    effective = terminal.sandbox_effective
    assert effective is not None
    assert dict(effective.enforced)["memory"] == EACH_PROCESS

    fits = await terminal.run(f"{sys.executable} -I -S fits.py", wait_s=PATIENCE_S)
    result = await terminal.run(f"{sys.executable} -I -S takes.py", wait_s=PATIENCE_S)
    raised = await terminal.run("ulimit -d unlimited", wait_s=PATIENCE_S)

    assert (fits.exit_code, fits.text) == (0, "held 3\n")
    assert result.exit_code == 1
    assert "MemoryError" in result.text
    assert f"each process of this terminal may use {_LIMIT} bytes of memory (sandbox)" in result.warnings
    assert raised.exit_code != 0


async def test_without_groups_processors_are_said_not_to_be_limited(no_groups: None, confined: OpenConfined) -> None:
    effective = (await confined(cpu=0.1)).sandbox_effective
    assert effective is not None
    assert "cpu" in dict(effective.not_enforced)
    assert not effective.is_weaker or effective.mechanism == "landlock"
