"""What the program in front of a terminal is doing, as the kernel tells it.

Linux shows the system call a process is blocked in (`/proc/PID/syscall`) and its descriptors. A program that reads from
its terminal waits for somebody to type: that is a fact, where matching prompts would be a guess. Other systems do not
tell, and neither does Linux for processes of other users; the answer is then `Waiting.UNKNOWN`.
"""

import os
import platform
import sys
import termios

from hermitty.pty.proc import contents
from hermitty.pty.processes import HAS_PROC, process_table, read_process

_SYSCALLS: dict[str, tuple[frozenset[int], frozenset[int]]] = {
    # machine: (read, readv), (poll, ppoll, select, pselect6, epoll_wait, epoll_pwait, epoll_pwait2)
    "x86_64": (frozenset({0, 19}), frozenset({7, 271, 23, 270, 232, 281, 441})),
    "aarch64": (frozenset({63, 65}), frozenset({73, 72, 22, 441})),
    "riscv64": (frozenset({63, 65}), frozenset({73, 72, 22, 441})),
}
_READS, _POLLS = _SYSCALLS.get(platform.machine(), (frozenset[int](), frozenset[int]()))

# /dev/tty stands for the terminal of whoever opens it; passwords are asked for there.
_CONTROLLING_TERMINAL = os.makedev(5, 0)

# A foreground group can be a pipeline with helpers; more than this is no dialogue with a person.
_MAX_MEMBERS = 64


def terminal_modes(descriptor: int) -> tuple[bool, bool]:
    """Return (echo, canonical) of a PTY."""
    flags: int = termios.tcgetattr(descriptor)[3]
    return bool(flags & termios.ECHO), bool(flags & termios.ICANON)


def foreground_group(descriptor: int) -> int | None:
    """Return the process group that holds the terminal, or None when nobody does."""
    try:
        group = os.tcgetpgrp(descriptor)
    except OSError:
        return None
    return group if group > 0 else None


def blocked_in(group: int, terminal: int) -> tuple[bool, bool] | None:
    """Tell whether members of a group are blocked (in read on the device `terminal`, in poll); None when unknown."""
    if not HAS_PROC or not _READS:
        return None
    members = _members(group)
    reading = polling = readable = False
    for pid in members:
        call = _system_call(pid)
        if call is None:
            continue
        readable = True
        number, descriptor = call
        if number in _READS and _is_device(pid, descriptor, terminal):
            reading = True
        elif number in _POLLS:
            polling = True
    return (reading, polling) if readable else None


def _members(group: int) -> list[int]:
    """Return the processes of a group: its leader's family; without its leader, by looking at all processes."""
    found: list[int] = []
    leader = read_process(group)
    # The members of a pipeline are children of the same shell, and the first of them leads.
    frontier = [] if leader is None else [pid for pid in children(leader.parent) if _group_of(pid) == group] or [group]
    while frontier and len(found) < _MAX_MEMBERS:
        pid = frontier.pop()
        process = read_process(pid)
        if process is None:
            continue
        if process.group == group:
            found.append(pid)
        frontier.extend(children(pid))
    if found:
        return found
    return [process.pid for process in process_table().values() if process.group == group]


def _group_of(pid: int) -> int | None:
    process = read_process(pid)
    return None if process is None else process.group


def children(pid: int) -> list[int]:
    """Return a process's children, where the kernel tells them."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, contents(f"/proc/{pid}/task/{thread}/children").split())
    except OSError:
        pass  # gone, or a kernel without this list: the leader alone is looked at
    return found


def _system_call(pid: int) -> tuple[int, int] | None:
    """Return the number and first argument of the system call that any thread of a process is blocked in."""
    best: tuple[int, int] | None = None
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return None
    for thread in threads[:_MAX_MEMBERS]:
        try:
            fields = contents(f"/proc/{pid}/task/{thread}/syscall").split()
        except OSError:
            continue
        if fields[0] in (b"running", b"-1"):
            best = best or (-1, 0)
            continue
        call = (int(fields[0]), int(fields[1], 16))
        if call[0] in _READS:
            return call
        if call[0] in _POLLS or best is None:
            best = call
    return best


def _is_device(pid: int, descriptor: int, device: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}/fd/{descriptor}").st_rdev in (device, _CONTROLLING_TERMINAL)
    except OSError:
        return False


def working_directory(pid: int) -> str | None:
    """Return a process's current directory, where the system tells it."""
    if sys.platform != "linux":
        return None
    try:
        path = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None
    # So the kernel names a directory that was removed; there may also be one of that very name.
    return None if path.endswith(" (deleted)") and not os.path.isdir(path) else path


def command_line(pid: int) -> bytes | None:
    """Return a process's arguments, where the system tells them."""
    try:
        return contents(f"/proc/{pid}/cmdline")
    except OSError:
        return None
