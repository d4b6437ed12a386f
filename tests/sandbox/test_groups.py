"""Control groups: where they may be made, told from what the kernel lists; and groups in a directory that stands in."""

import os
from pathlib import Path

import pytest

from hermitty.sandbox.groups import Group, Hierarchies, Hierarchy, find_hierarchies, make_group, remove_abandoned
from hermitty.sandbox.spec import Confinement, Mode

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


def test_limits_are_written_and_groups_removed(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids")
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory pids")
    wanted = order(pids=9, memory_bytes=1 << 20, cpu=0.5)
    group = make_group(wanted, Hierarchies({}, Hierarchy(2, tmp_path)), to_kill=True)
    (directory,) = group.directories
    assert {path.name: path.read_text() for path in directory.iterdir()} == {
        "pids.max": "9",
        "memory.max": str(1 << 20),
        "memory.swap.max": "0",
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
