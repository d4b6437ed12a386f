"""Which processes there are, and which of them belong to a terminal.

Children are found by parentage, by session, by a variable in their environment, and on Linux by a brand: a number in a
resource limit that the kernel hands down to every child and otherwise ignores (RLIMIT_LOCKS). A program that made a
session of its own, lost its parent and cleared its environment still carries the brand. Only one that changes that very
limit escapes; control groups and process namespaces, which sandboxes use, hold it too.
"""

import asyncio
import contextlib
import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hermitty.pty.proc import contents

OWNER_VARIABLE = "HERMITTY_OWNER"

# The line of /proc/PID/status: a bit for each signal.
_IGNORED_LINE = re.compile(rb"^SigIgn:\s*([0-9a-f]+)", re.MULTILINE)
# The line of /proc/PID/limits: soft and hard limit.
_BRAND_LINE = re.compile(rb"^Max file locks +(\d+) +(\d+) ", re.MULTILINE)
_BRAND_OF_NAME_BITS = 31

HAS_PROC = sys.platform == "linux" and os.path.exists("/proc/self/stat")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """One line of the process table. `started` counts clock ticks since boot, and tells reused ids apart."""

    pid: int
    parent: int
    group: int
    session: int
    state: str
    started: int

    @property
    def is_zombie(self) -> bool:
        """Tell whether only its exit status is left."""
        return self.state in "ZX"


def ticks_now() -> int:
    """Return the time in the unit of `ProcessInfo.started`."""
    if HAS_PROC:
        return int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS_PER_SECOND)
    return int(time.time() * _TICKS_PER_SECOND)


def read_process(pid: int) -> ProcessInfo | None:
    """Read one process from /proc, or None when it is gone."""
    try:
        stat = contents(f"/proc/{pid}/stat")
    except OSError:
        return None
    # The name is in brackets and may contain anything, brackets too.
    fields = stat[stat.rfind(b")") + 2 :].split()
    return ProcessInfo(pid, int(fields[1]), int(fields[2]), int(fields[3]), fields[0].decode(), int(fields[19]))


class ProcessTable(dict[int, ProcessInfo]):
    """All processes by id, at one moment. Who owns them is read when it is asked for, and once."""

    def __init__(self, processes: Iterable[ProcessInfo]) -> None:
        super().__init__((process.pid, process) for process in processes)
        self._owners: dict[int, bytes | None] = {}
        self._brands: dict[int, int | None] = {}
        self.children: dict[int, list[int]] = {}
        for process in self.values():
            self.children.setdefault(process.parent, []).append(process.pid)

    def owner(self, pid: int) -> bytes | None:
        """Return the mark in a process's environment that tells which terminal it was started from."""
        if pid not in self._owners:
            self._owners[pid] = _owner(pid)
        return self._owners[pid]

    def brand(self, pid: int) -> int | None:
        """Return the number that a process was branded with, or inherited."""
        if pid not in self._brands:
            self._brands[pid] = _brand(pid)
        return self._brands[pid]


def process_table() -> ProcessTable:
    """Return all processes by id."""
    if HAS_PROC:
        found = (read_process(int(entry)) for entry in os.listdir("/proc") if entry.isdigit())
        return ProcessTable(process for process in found if process is not None)
    return ProcessTable(_table_from_ps())


_shared: ProcessTable | None = None


def shared_table() -> ProcessTable:
    """Return the table of this turn of the event loop: when many terminals close at once, one look serves all."""
    global _shared
    if _shared is None:
        _shared = process_table()
        asyncio.get_running_loop().call_soon(_forget_shared)
    return _shared


def _forget_shared() -> None:
    global _shared
    _shared = None


def _table_from_ps() -> Iterator[ProcessInfo]:
    # macOS has no /proc; its ps gives no session ids, so groups stand in for them.
    listing = subprocess.run(
        ["/bin/ps", "-axo", "pid=,ppid=,pgid=,state=,etime="], capture_output=True, text=True, check=False
    ).stdout
    now = ticks_now()
    for line in listing.splitlines():
        pid, parent, group, state, elapsed = line.split()
        started = now - _elapsed_seconds(elapsed) * _TICKS_PER_SECOND
        yield ProcessInfo(int(pid), int(parent), int(group), int(group), state[0], started)


def _elapsed_seconds(text: str) -> int:
    days, _, clock = text.rpartition("-")
    seconds = 0
    for part in clock.split(":"):
        seconds = seconds * 60 + int(part)
    return seconds + int(days or 0) * 86_400


def brand_of(owner: str) -> int | None:
    """Return the brand of an owner (`token.name`), in which that of the token can be recognised; None without /proc."""
    if not HAS_PROC:
        return None
    token, _, name = owner.partition(".")
    return brand_of_token(token) << _BRAND_OF_NAME_BITS | _digest(name) >> 1


def brand_of_token(token: str) -> int:
    """Return the part of a brand that all processes of one host have."""
    return _digest(token) >> 1 | 1 << 30


def own_brand() -> int | None:
    """Return the brand of this process: it was started from a terminal of ours."""
    return _brand(os.getpid())


def is_branded(brand: int | None, token: str) -> bool:
    """Tell whether a brand is one of a host's."""
    return brand is not None and brand >> _BRAND_OF_NAME_BITS == brand_of_token(token)


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def belongs_to(table: ProcessTable, root: int, owner: str, *, root_ended: bool, since: int = 0) -> set[int]:
    """Return the processes started from `root`, without itself: descendants, its session, and marked orphans.

    None of them started before `since`, which spares looking closely at those that did.

    The id of a root that ended, and was waited for, may have gone to a stranger: his children and session are his.
    """
    found: set[int] = set()

    def add(frontier: list[int]) -> None:
        while frontier:
            pid = frontier.pop()
            if pid not in found:
                found.add(pid)
                frontier.extend(table.children.get(pid, ()))

    if not root_ended:
        add([root])
    if not (root_ended and root in table):
        # A session that has members keeps its number from being given away.
        add([process.pid for process in table.values() if process.session == root])
    mark = owner.encode()
    brand = brand_of(owner)
    for pid, process in table.items():
        if pid in found or pid == root or process.started < since:
            continue
        if table.owner(pid) == mark or (brand is not None and table.brand(pid) == brand):
            add([pid])
    found.discard(root)
    return found


def _brand(pid: int) -> int | None:
    if not HAS_PROC:
        return None
    try:
        limits = contents(f"/proc/{pid}/limits")
    except OSError:
        return None
    found = _BRAND_LINE.search(limits)
    return int(found[2]) if found else None


def _owner(pid: int) -> bytes | None:
    if not HAS_PROC:
        return None
    try:
        environ = b"\0" + contents(f"/proc/{pid}/environ")
    except OSError:
        return None
    _, found, rest = environ.partition(f"\0{OWNER_VARIABLE}=".encode())
    return rest.partition(b"\0")[0] if found else None


def ignores(pid: int, number: int) -> bool:
    """Tell whether a process is known to ignore a signal."""
    if not HAS_PROC:
        return False
    try:
        found = _IGNORED_LINE.search(contents(f"/proc/{pid}/status"))
    except OSError:
        return False
    return found is not None and bool(int(found[1], 16) >> (number - 1) & 1)


def send(table: dict[int, ProcessInfo], pids: Iterable[int], number: int) -> int:
    """Signal those of the processes that are still the same ones; return how many are alive."""
    alive = 0
    # The oldest first: a shell whose child is killed before itself goes on with the next command.
    for known in sorted(
        (table[pid] for pid in pids if pid in table), key=lambda process: (process.started, process.pid)
    ):
        pid = known.pid
        now = read_process(pid) if HAS_PROC else known
        if now is None or now.started != known.started or now.is_zombie:
            continue
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            alive += 1
            if number not in (signal.SIGKILL, signal.SIGCONT, 0):
                # A stopped process does not see a signal until it continues.
                os.kill(pid, signal.SIGCONT)
    return alive


def end_unwatched(pid: int) -> None:
    """Kill and reap a child of ours that cannot be watched."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):  # somebody else was quicker
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
