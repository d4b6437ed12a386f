"""What is on the machine: processes that the soak has started, and what the server and its host hold. Linux only.

Processes are known by a variable of the soak's own, which everything started by its server inherits; by the marks of
the host; and by their parents. A program would have to lose all of them to stay unseen.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hermitty.host.control import HostStatus
from hermitty.pty import processes

VARIABLE = "HERMITTY_SOAK"
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Memory:
    """What a process has of the machine's memory."""

    resident: int
    anonymous: int  # without files, of which the rings of output are the most


def memory_of(pid: int) -> Memory | None:
    """Return the memory of a process, or None when it is gone."""
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return None
    values = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
    return Memory(values["Rss"], values["Anonymous"]) if "Rss" in values else None


def descriptors_of(pid: int) -> list[str]:
    """Return what the open descriptors of a process refer to, but for its database.

    The thread that writes the history has a connection of its own, and opens it when there is something to write.
    """
    found = []
    for name in os.listdir(_PROC / str(pid) / "fd"):
        try:
            found.append(os.readlink(_PROC / str(pid) / "fd" / name))
        except OSError:  # closed meanwhile
            continue
    return [target for target in found if not os.path.basename(target).startswith("history.db")]


def threads_of(pid: int) -> int:
    """Return how many threads a process has."""
    return len(os.listdir(_PROC / str(pid) / "task"))


def own_processes(mark: str, token: str | None) -> dict[int, str]:
    """Return the processes of this soak, by id, with what they run; those that have ended do not count."""
    table = processes.process_table()
    own: set[int] = set()
    frontier = [pid for pid in table if _is_own(table, pid, mark.encode(), token)]
    while frontier:
        pid = frontier.pop()
        if pid not in own:
            own.add(pid)
            frontier.extend(table.children.get(pid, ()))
    return {pid: command_of(pid) for pid in sorted(own) if not table[pid].is_zombie and pid != os.getpid()}


def is_alive(pid: int, started: int | None = None) -> bool:
    """Tell whether a process is there; with `started`, whether it is still the same one."""
    process = processes.read_process(pid)
    return process is not None and not process.is_zombie and started in (None, process.started)


def started_at(pid: int) -> int | None:
    """Return when a process was started, in the kernel's ticks."""
    process = processes.read_process(pid)
    return None if process is None else process.started


def command_of(pid: int) -> str:
    """Return what a process runs."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return f"{pid}"
    return f"{pid} {words.decode(errors='replace').strip()}"


def private_roots(token: str) -> Iterator[Path]:
    """Yield the private directories of a host."""
    for base in (Path("/dev/shm"), Path("/tmp")):
        for root in base.glob(f"hermitty-{os.getuid()}-*"):
            try:
                if (root / "lock").read_text() == token:
                    yield root
            except OSError:  # somebody else's, or just gone
                continue


def private_directories(token: str) -> int:
    """Count the private directories of a host's terminals."""
    return sum(entry.is_dir() for root in private_roots(token) for entry in root.iterdir())


def terminals_of(status: HostStatus) -> int:
    """Count the terminals of a host."""
    return len(status.report.terminals)


def _is_own(table: processes.ProcessTable, pid: int, mark: bytes, token: str | None) -> bool:
    try:
        if mark in (_PROC / str(pid) / "environ").read_bytes():
            return True
    except OSError:  # gone, or somebody else's
        return False
    return token is not None and processes.is_branded(table.brand(pid), token)


def command_lines(text: str) -> list[str]:
    """Return all processes of the machine whose command line ends with a text."""
    found = (command_of(int(name)) for name in os.listdir(_PROC) if name.isdigit())
    return [command for command in found if command.endswith(text)]
