"""Control groups: limits that hold for all processes of a terminal together, and an end that none of them escapes.

Groups are made below the one that this process is in, so whatever limits us goes on to limit them, and only where that
one is ours: whoever made it may count, limit or end what is in it, and would miss what was moved. Ours is the top of a
hierarchy; a group that was delegated to us (version 2); and one whose owner is this user, who is not root (version 1,
where that is what handing over means). A group's name tells the process that made it; what a dead one left is removed
by the next.

Version 2 hands controllers on only from a group without processes of its own. So, in a delegated group, this process
moves to a leaf of it, once; other processes of hermitty that are started from there find their way back up.

To move another process into a group, or a whole one, the kernel waits until all processors agree: 5 to 15 ms. A thread
that moves itself alone waits for nothing. Version 1 has a file for that (`tasks`), and there it is used.
"""

import contextlib
import itertools
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hermitty.sandbox.spec import Confinement

_PREFIX = "hermitty-"
# The leaf of a delegated group where processes of hermitty itself are. A service can be started in it right away
# (`DelegateSubgroup=` of systemd).
OWN_LEAF = "hermitty"
_numbers = itertools.count(1)
_PERIOD_US = 100_000

# Where whoever writes 0 joins, by version; in the first one as a thread.
_JOINED = {1: "tasks", 2: "cgroup.procs"}
_OPTIONAL = ("memory.swap.max", "memory.memsw.limit_in_bytes")
_CONTROLLERS = {"pids": "pids", "memory": "memory", "cpu": "cpu"}


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A tree of groups, and our place in it. `problem` says why no group can be made there."""

    version: int
    here: Path
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """Where groups for each kind of limit can be made, and where one that can be killed."""

    limits: Mapping[str, Hierarchy]
    unified: Hierarchy | None


@dataclass(slots=True)
class Group:
    """The groups of one terminal: one directory in each hierarchy that is needed."""

    directories: dict[Path, int] = field(default_factory=dict)  # with the version
    enforced: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def members_files(self) -> tuple[str, ...]:
        """Return the files into which a process of one thread writes 0 to join."""
        return tuple(str(directory / _JOINED[version]) for directory, version in self.directories.items())

    @property
    def can_be_lent(self) -> bool:
        """Tell whether `lent` works: for groups of version 1 that count processes, and do nothing else to a visitor."""
        counts_only = set(self.enforced) <= {"pids"} and len(self.directories) == len(self.enforced)
        return counts_only and all(version == 1 for version in self.directories.values())

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Have this thread in the group for a moment: what it starts meanwhile is born there, and nobody waits."""
        entered: list[Path] = []
        try:
            for directory in self.directories:
                _join(directory)
                entered.append(directory)
            yield
        finally:
            for directory in entered:
                _join(directory.parent)

    @property
    def can_kill(self) -> bool:
        """Tell whether `kill` reaches everybody, whatever they do meanwhile."""
        return "pids" in self.enforced or any(
            version == 2 and (directory / "cgroup.kill").exists() for directory, version in self.directories.items()
        )

    def members(self) -> set[int]:
        """Return the processes in it."""
        found: set[int] = set()
        for directory in self.directories:
            with contextlib.suppress(OSError, ValueError):
                found |= {int(line) for line in (directory / "cgroup.procs").read_text().split()}
        return found

    def kill(self) -> None:
        """Kill every process in it."""
        for directory, version in self.directories.items():
            with contextlib.suppress(OSError):
                if version == 2:
                    (directory / "cgroup.kill").write_text("1")
                elif "pids" in self.enforced:
                    # Whoever may not fork cannot outrun somebody who kills one after the other. Of several groups, only
                    # the one that counts processes has this file.
                    _write(directory / "pids.max", b"0")
        for pid in self.members():
            if pid > 0:  # of another namespace, which this process cannot see
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    def remove(self) -> bool:
        """Remove it, and tell whether that was possible: nobody may be in it."""
        for directory in list(self.directories):
            try:
                directory.rmdir()
            except FileNotFoundError:
                pass
            except OSError:
                return False
            del self.directories[directory]
        return True


def find_hierarchies(mounts: str, own: str, *, is_handed_over: Callable[[Path], bool] | None = None) -> Hierarchies:
    """Read /proc/self/mountinfo and /proc/self/cgroup.

    `is_handed_over` tells whether a group of version 1 that is not the top is ours all the same.
    """
    is_handed_over = is_handed_over or _is_own_group
    places = {}  # controller, or "" for version 2: where it is mounted, and which part of it
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2":
            places[""] = (fields[4], fields[3])
        elif kind[0] == "cgroup":
            for option in kind[2].split(","):
                places[option] = (fields[4], fields[3])
    limits: dict[str, Hierarchy] = {}
    unified: Hierarchy | None = None
    for line in own.splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        for name in names.split(",") if number != "0" else [""]:
            if name not in places:
                continue
            mounted, part = places[name]
            inner = os.path.relpath(path, part) if path.startswith(part) else "."
            here = Path(os.path.normpath(os.path.join(mounted, inner)))
            if number == "0":
                unified = Hierarchy(2, here.parent if path != "/" and here.name == OWN_LEAF else here)
            elif name in _CONTROLLERS:
                is_ours = path == "/" or is_handed_over(here)
                problem = None if is_ours else f"its control group {path} belongs to whoever started hermitty"
                limits[name] = Hierarchy(1, here, problem)
    return Hierarchies(limits, unified)


def _is_own_group(here: Path) -> bool:
    """Tell whether a group of version 1 is this user's. As root, every group is, and that tells nothing."""
    user = os.getuid()
    try:
        return user != 0 and os.stat(here).st_uid == user and os.access(here, os.W_OK)
    except OSError:
        return False


@cache
def our_hierarchies() -> Hierarchies:
    """Look at this process, once, and remove what dead ones left there."""
    try:
        found = find_hierarchies(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    except OSError:
        return Hierarchies({}, None)
    remove_abandoned(found)
    return found


@cache
def settle() -> None:
    """Move to the leaf if the group of this process was delegated to it, so that another one can make groups there.

    A durable host makes them, and whoever started it is usually in the same group.
    """
    unified = our_hierarchies().unified
    if unified is not None and _is_delegated(unified.here):
        with contextlib.suppress(OSError):  # then limits are reported as not enforced
            _move_to_leaf(unified.here)


def make_group(order: Confinement, there: Hierarchies, *, to_kill: bool) -> Group:
    """Make what an order asks for, as far as this process may; the rest is in `missing`, with the reason."""
    group = Group()
    name = f"{_maker(os.getpid())}-{next(_numbers)}"
    wanted = {"pids": order.pids, "memory": order.memory_bytes, "cpu": order.cpu}
    for what, amount in wanted.items():
        if amount is not None:
            _limit(group, what, amount, there, name)
    # To join a group of version 2 takes milliseconds, and one that counts processes does as well.
    if to_kill and "pids" not in group.enforced and there.unified is not None:
        with contextlib.suppress(OSError):
            _made(group, there.unified, name)
    return group


def remove_abandoned(there: Hierarchies) -> None:
    """Remove the groups of processes that are gone, if nobody is in them any more."""
    for hierarchy in {id(each): each for each in (*there.limits.values(), there.unified) if each}.values():
        with contextlib.suppress(OSError):
            for path in hierarchy.here.glob(f"{_PREFIX}*"):
                parts = path.name.split("-")
                if len(parts) == 4 and parts[1].isdigit() and str(_started(int(parts[1]))) != parts[2]:
                    with contextlib.suppress(OSError):
                        path.rmdir()


def _limit(group: Group, what: str, amount: float, there: Hierarchies, name: str) -> None:
    hierarchy = there.limits.get(what)
    if hierarchy is None and there.unified is not None:
        hierarchy = _with_controller(there.unified, _CONTROLLERS[what])
    if hierarchy is None:
        group.missing[what] = "there is no control group for it"
        return
    if hierarchy.problem is not None:
        group.missing[what] = hierarchy.problem
        return
    try:
        directory = _made(group, hierarchy, name)
        for file, text in _settings(what, amount, hierarchy.version):
            # Swap is not always counted. The kernel does not say that a file is missing to whoever would make it.
            if file not in _OPTIONAL or os.path.exists(directory / file):
                _write(directory / file, text.encode(), make=True)
    except OSError as exc:
        group.missing[what] = f"its control group cannot be used: {exc.strerror or exc}"
        return
    group.enforced[what] = "control group"


def _settings(what: str, amount: float, version: int) -> list[tuple[str, str]]:
    if what == "pids":
        return [("pids.max", str(int(amount)))]
    if what == "memory":
        size = str(int(amount))
        if version == 2:
            return [("memory.max", size), ("memory.swap.max", "0")]
        return [("memory.limit_in_bytes", size), ("memory.memsw.limit_in_bytes", size)]
    quota = max(1000, int(amount * _PERIOD_US))
    if version == 2:
        return [("cpu.max", f"{quota} {_PERIOD_US}")]
    return [("cpu.cfs_period_us", str(_PERIOD_US)), ("cpu.cfs_quota_us", str(quota))]


def _with_controller(unified: Hierarchy, controller: str) -> Hierarchy:
    """Return the tree if groups in it can have a controller; else the reason."""
    here = unified.here
    try:
        if controller not in (here / "cgroup.controllers").read_text().split():
            return Hierarchy(2, here, f"no {controller} controller was handed to the control group of this process")
        if controller not in (here / "cgroup.subtree_control").read_text().split():
            if not _is_delegated(here):
                return Hierarchy(2, here, "the control group of this process was not delegated to it")
            _move_to_leaf(here)
            _write(here / "cgroup.subtree_control", f"+{controller}".encode())
    except OSError as exc:
        why = exc.strerror or exc
        return Hierarchy(2, here, f"the control group of this process hands no {controller} controller on: {why}")
    return unified


def _move_to_leaf(here: Path) -> None:
    """Take this process out of a delegated group. Whoever else is in it stays: then the kernel hands nothing on."""
    pid = os.getpid()
    if pid in {int(line) for line in (here / "cgroup.procs").read_text().split()}:
        leaf = here / OWN_LEAF
        leaf.mkdir(mode=0o755, exist_ok=True)
        _write(leaf / "cgroup.procs", str(pid).encode())


def _is_delegated(here: Path) -> bool:
    """Tell whether the service manager handed this part of the tree over: nobody else may rearrange it."""
    for name in ("user.delegate", "trusted.delegate"):
        with contextlib.suppress(OSError):
            return os.getxattr(here, name) == b"1"
    return False


def _made(group: Group, hierarchy: Hierarchy, name: str) -> Path:
    directory = hierarchy.here / name
    if directory not in group.directories:
        directory.mkdir(mode=0o700)
        group.directories[directory] = hierarchy.version
    return directory


def _join(directory: Path) -> None:
    """Move this thread into a group of version 1."""
    _write(directory / _JOINED[1], b"0")


def _write(file: Path, data: bytes, *, make: bool = False) -> None:
    """Write to a file that the kernel has made. A file object costs three times as much."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC | (os.O_CREAT if make else 0))
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


@cache
def _maker(pid: int) -> str:
    """Return the part of a group's name that tells which process made it."""
    return f"{_PREFIX}{pid}-{_started(pid)}"


def _started(pid: int) -> int:
    """Return when a process started, in the kernel's ticks; 0 when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    return int(stat[stat.rfind(b")") + 2 :].split()[19])
