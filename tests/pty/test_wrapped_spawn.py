"""Starting a program that sets itself up: limits come from outside, its group from the thread that starts it."""

import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.pty import processes
from hermitty.pty.foreground import children
from hermitty.pty.spawn import FileAction, limit_tree, spawn_wrapper
from hermitty.sandbox.groups import Hierarchies, Hierarchy, find_hierarchies, make_group
from hermitty.sandbox.spec import Confinement, Mode
from tests.support.kernel import so

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

BRAND = processes.brand_of("0123456789abcdef.t_1")


@pytest.fixture
def silence() -> Iterator[list[FileAction]]:
    """The action that gives a program an input on which nothing comes."""
    read, write = os.pipe()
    yield [(os.POSIX_SPAWN_DUP2, read, 0)]
    os.close(read)
    os.close(write)


def end(pid: int) -> None:
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def own_groups() -> str:
    return Path("/proc/thread-self/cgroup").read_text()


def hierarchies() -> Hierarchies:
    found = find_hierarchies(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    return Hierarchies(found.limits, None)


def limits_of(pid: int) -> tuple[int, int | None]:
    return resource.prlimit(pid, resource.RLIMIT_NOFILE)[0], processes.process_table().brand(pid)


async def test_its_limits_are_lowered_and_handed_on(silence: list[FileAction]) -> None:
    env = {"PATH": os.environ["PATH"]}
    pid = spawn_wrapper(
        ["/bin/sh", "-c", "sleep 1000 & read x"], env=env, actions=silence, descriptor_limit=77, brand=BRAND
    )
    try:
        await so(lambda: len(children(pid)) == 1)
        (child,) = children(pid)

        assert [limits_of(each) for each in (pid, child)] == [(77, BRAND)] * 2
        assert os.getsid(pid) == pid
    finally:
        end(pid)


async def test_what_it_started_before_has_the_limits_too() -> None:
    script = "sh -c 'sleep 1000 & wait' & wait"
    pid = spawn_wrapper(["/bin/sh", "-c", script], env={"PATH": os.environ["PATH"]}, actions=[])
    try:
        await so(lambda: len(tree(pid)) == 3)
        assert BRAND not in [limits_of(each)[1] for each in tree(pid)]

        limit_tree(pid, descriptor_limit=78, brand=BRAND)

        assert [limits_of(each) for each in tree(pid)] == [(78, BRAND)] * 3
    finally:
        end(pid)


def tree(pid: int) -> list[int]:
    return [pid, *(each for child in children(pid) for each in tree(child))]


def test_nobody_is_limited_who_is_gone() -> None:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(pid, 0)
    limit_tree(pid, descriptor_limit=78, brand=BRAND)


async def test_what_a_thread_starts_in_a_lent_group_is_born_there(silence: list[FileAction]) -> None:
    order = Confinement(Mode.WORKSPACE, "/w", pids=50)
    group = make_group(order, hierarchies(), to_kill=False)
    if not group.directories:
        pytest.skip(f"no control group of version 1 counts processes here: {group.missing['pids']}")
    before = own_groups()
    assert group.can_be_lent
    with group.lent():
        assert own_groups() != before
        pid = spawn_wrapper(["/bin/sh", "-c", "read x"], env={}, actions=silence)
    try:
        assert own_groups() == before
        assert group.members() == {pid}
        assert not group.remove()
    finally:
        end(pid)
    await so(group.remove)


def test_groups_that_do_more_than_count_are_not_lent(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids")
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory pids")
    second = make_group(
        Confinement(Mode.WORKSPACE, "/w", pids=5), Hierarchies({}, Hierarchy(2, tmp_path)), to_kill=False
    )
    assert not second.can_be_lent
    assert [os.path.basename(each) for each in second.members_files] == ["cgroup.procs"]
    limits = {name: Hierarchy(1, tmp_path / name) for name in ("pids", "memory")}
    for each in limits.values():
        each.here.mkdir()
    order = Confinement(Mode.WORKSPACE, "/w", pids=5, memory_bytes=1 << 20)
    first = make_group(order, Hierarchies(limits, None), to_kill=False)
    assert not first.can_be_lent
    assert [os.path.basename(each) for each in first.members_files] == ["tasks", "tasks"]
