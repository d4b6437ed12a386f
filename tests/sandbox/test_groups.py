"""Control groups: where they may be made, told from what the kernel lists; and groups in a directory that stands in."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.sandbox.groups import (
    OWN_LEAF,
    Group,
    Hierarchies,
    Hierarchy,
    find_hierarchies,
    make_group,
    remove_abandoned,
)
from hermitty.sandbox.spec import Confinement, Mode
from tests.support.kernel import so

HYBRID = """\
30 25 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
31 25 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
32 25 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
"""


def test_in_version_1_only_the_top_is_ours() -> None:
    found = find_hierarchies(HYBRID, "3:pids:/\n2:memory:/others/group\n1:cpu,cpuacct:/\n0::/\n")
    assert found.limits["pids"] == Hierarchy(1, Path("/sys/fs/cgroup/pids"))
    assert found.limits["cpu"] == Hierarchy(1, Path("/sys/fs/cgroup/cpu,cpuacct"))
    assert found.limits["memory"].problem == "its control group /others/group belongs to whoever started hermitty"
    assert found.unified == Hierarchy(2, Path("/sys/fs/cgroup/unified"))


def test_in_version_1_a_group_that_was_handed_over_is_ours() -> None:
    asked: list[Path] = []

    def is_handed_over(here: Path) -> bool:
        asked.append(here)
        return here.name == "mine"

    own = "3:pids:/some/mine\n2:memory:/others\n1:cpu,cpuacct:/\n"
    found = find_hierarchies(HYBRID, own, is_handed_over=is_handed_over)
    assert found.limits["pids"] == Hierarchy(1, Path("/sys/fs/cgroup/pids/some/mine"))
    assert found.limits["memory"].problem is not None
    assert asked == [Path("/sys/fs/cgroup/pids/some/mine"), Path("/sys/fs/cgroup/memory/others")]


@pytest.mark.skipif(os.getuid() != 0, reason="an ordinary user's directory would be his group")
def test_root_owns_every_group_and_that_tells_nothing(tmp_path: Path) -> None:
    mounts = f"31 25 0:27 / {tmp_path} rw - cgroup cgroup rw,pids\n"
    (tmp_path / "others").mkdir()
    assert find_hierarchies(mounts, "3:pids:/others\n").limits["pids"].problem is not None


def test_who_is_in_the_leaf_finds_the_group_around_it() -> None:
    mounts = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    for own in (f"0::/a.service/{OWN_LEAF}\n", "0::/a.service\n"):
        assert find_hierarchies(mounts, own).unified == Hierarchy(2, Path("/sys/fs/cgroup/a.service"))


def test_in_version_2_it_is_below_our_own() -> None:
    mounts = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    found = find_hierarchies(mounts, "0::/user.slice/app.scope\n")
    assert found == Hierarchies({}, Hierarchy(2, Path("/sys/fs/cgroup/user.slice/app.scope")))


@pytest.mark.parametrize("noise", ["", "x", "1 2 3\n", "a - b\n", "30 25 0:26 / /m rw - cgroup2\n", "::::\n"])
def test_noise_finds_nothing(noise: str) -> None:
    assert find_hierarchies(noise, noise) == Hierarchies({}, None)


def order(**limits: object) -> Confinement:
    return Confinement(Mode.WORKSPACE, "/w", **limits)  # type: ignore[arg-type]


def test_what_is_not_there_is_missing_with_its_reason(tmp_path: Path) -> None:
    there = Hierarchies({"memory": Hierarchy(1, tmp_path, "it belongs to others")}, None)
    group = make_group(order(pids=5, memory_bytes=1 << 20), there, to_kill=True)
    assert group.enforced == {}
    assert group.missing == {"pids": "there is no control group for it", "memory": "it belongs to others"}
    assert list(tmp_path.iterdir()) == []


def test_a_tree_that_was_not_delegated_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids")
    (tmp_path / "cgroup.subtree_control").write_text("cpu")
    group = make_group(order(memory_bytes=1 << 20), Hierarchies({}, Hierarchy(2, tmp_path)), to_kill=False)
    assert "not delegated" in group.missing["memory"]
    assert (tmp_path / "cgroup.subtree_control").read_text() == "cpu"


def delegated(tmp_path: Path, *members: int) -> Path:
    """A directory that stands in for a delegated group with members, and has a leaf."""
    try:
        os.setxattr(tmp_path, "user.delegate", b"1")
    except OSError as exc:
        pytest.skip(f"files here have no attributes: {exc}")
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids")
    (tmp_path / "cgroup.subtree_control").write_text("")
    (tmp_path / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in members))
    (tmp_path / OWN_LEAF).mkdir()
    (tmp_path / OWN_LEAF / "cgroup.procs").write_text("")
    return tmp_path


def test_a_delegated_tree_hands_its_controllers_on_and_we_move_to_a_leaf(tmp_path: Path) -> None:
    here = delegated(tmp_path, os.getpid())
    group = make_group(order(pids=9), Hierarchies({}, Hierarchy(2, here)), to_kill=False)
    assert group.enforced == {"pids": "control group"}
    assert (here / "cgroup.subtree_control").read_text() == "+pids"
    assert (here / OWN_LEAF / "cgroup.procs").read_text() == str(os.getpid())


def test_nobody_is_moved_who_is_not_there(tmp_path: Path) -> None:
    here = delegated(tmp_path, os.getpid() + 1)
    make_group(order(pids=9), Hierarchies({}, Hierarchy(2, here)), to_kill=False)
    assert (here / OWN_LEAF / "cgroup.procs").read_text() == ""


# Moves itself to the leaf of the group that it is in, starts a process there, and prints where each of them then is.
_MOVES = """
import subprocess, sys
from pathlib import Path
from hermitty.sandbox import groups
def found():
    return groups.find_hierarchies(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
before = found().unified.here
if sys.argv[1:] == ["again"]:
    print(before)
else:
    groups._move_to_leaf(before)
    subprocess.run([sys.executable, "-c", sys.stdin.read(), "again"], check=True)
    own = Path("/proc/self/cgroup").read_text().splitlines()
    print(before, next(line for line in own if line.startswith("0::")).rpartition("/")[2], found().unified.here)
"""


@pytest.fixture
def real_group() -> Iterator[Path]:
    """A group of version 2 at the top of the real hierarchy, removed with its leaf."""
    there = find_hierarchies(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text()).unified
    if there is None:
        pytest.skip("there is no version 2 of control groups")
    directory = there.here / f"hermitty-test-{os.getpid()}"
    try:
        directory.mkdir()
    except OSError as exc:
        pytest.skip(f"no control group can be made: {exc}")
    yield directory
    for each in (directory / OWN_LEAF, directory):
        with contextlib.suppress(FileNotFoundError):
            each.rmdir()


def test_the_kernel_moves_us_to_the_leaf_and_our_children_find_back(real_group: Path) -> None:
    join = f'echo $$ > "{real_group}/cgroup.procs" && exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", join, "sh", sys.executable, "-c", _MOVES],
        input=_MOVES,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "cgroup.procs" in done.stderr and "sh:" in done.stderr:
        pytest.skip(f"no control group can be joined: {done.stderr}")
    assert done.stdout.split() == [str(real_group), str(real_group), OWN_LEAF, str(real_group)], done.stderr


# Is never the same process for long: whoever is seen has a child, and is gone.
_HOPS = """
import os
while True:
    try:
        if os.fork():
            os._exit(0)
    except BlockingIOError:
        pass  # those before it are still counted
"""


@pytest.fixture
def hopping() -> Iterator[Group]:
    """A real group that counts processes, with such a program in it."""
    there = find_hierarchies(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    group = make_group(order(pids=20), there, to_kill=False)
    if not group.can_be_lent or not group.enforced:
        group.remove()
        pytest.skip(f"no group of version 1 counts processes here: {group.missing}")
    try:
        with group.lent():
            subprocess.run([sys.executable, "-I", "-S", "-c", _HOPS], check=True, timeout=60)
        yield group
    finally:
        group.kill()


async def test_nobody_outruns_the_end_of_a_group_that_counts(hopping: Group) -> None:
    assert hopping.can_kill
    assert not hopping.remove()  # somebody is in it
    hopping.kill()
    await so(hopping.remove)


def test_limits_are_written_and_groups_removed(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids")
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory pids")
    wanted = order(pids=9, memory_bytes=1 << 20, cpu=0.5)
    group = make_group(wanted, Hierarchies({}, Hierarchy(2, tmp_path)), to_kill=True)
    (directory,) = group.directories
    assert {path.name: path.read_text() for path in directory.iterdir()} == {
        "pids.max": "9",
        "memory.max": str(1 << 20),  # swap is limited where the kernel has a file for it
        "cpu.max": "50000 100000",
    }
    assert group.enforced == dict.fromkeys(("pids", "memory", "cpu"), "control group")
    assert group.members_files == (str(directory / "cgroup.procs"),)
    assert not group.remove()  # somebody is in it
    for file in directory.iterdir():
        file.unlink()
    assert group.remove()
    assert not directory.exists()


def test_only_the_groups_of_the_dead_are_removed(tmp_path: Path) -> None:
    dead, others = tmp_path / "hermitty-999999999-5-1", tmp_path / "hermitty-notes"
    mine = make_group(order(), Hierarchies({}, Hierarchy(2, tmp_path)), to_kill=True)
    for directory in (dead, others):
        directory.mkdir()
    remove_abandoned(Hierarchies({}, Hierarchy(2, tmp_path)))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*(d.name for d in mine.directories), others.name]
    )


def test_an_empty_group_kills_nobody() -> None:
    group = Group()
    group.kill()
    assert group.remove()
    assert os.getpid() not in group.members()
