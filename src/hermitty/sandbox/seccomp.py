"""System call filters, as the kernel takes them: classic BPF, built from tables. Pure.

A filter takes away what no build or test needs and what has broken sandboxes before. Where no namespace confines the
programs, it takes away the network and new namespaces, too, and the way to get rid of the brand by which the processes
of a terminal are found (`pty.processes`).
"""

import errno
import struct
from dataclasses import dataclass
from functools import cache

# number by machine: x86_64, aarch64 (riscv64 has the same numbers). None: that machine has no such call.
_CALLS: dict[str, tuple[int | None, int]] = {
    "ioctl": (16, 29),
    "setrlimit": (160, 164),
    "prlimit64": (302, 261),
    "socket": (41, 198),
    "clone": (56, 220),
    "unshare": (272, 97),
    "setns": (308, 268),
    "clone3": (435, 435),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "fsconfig": (431, 431),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "open_by_handle_at": (304, 265),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "riscv64": (0xC00000F3, 1)}

_ALWAYS = (
    *("keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load"),
    *("init_module", "finit_module", "delete_module", "open_by_handle_at"),
)
# Programs that try these do without them when they are not there. io_uring opens sockets past every filter.
_MISSING = ("io_uring_setup", "io_uring_enter", "io_uring_register")
_NAMESPACES = (
    *("unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsmount"),
    *("fsconfig", "fspick", "mount_setattr"),
)
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_RLIMIT_LOCKS = 10
_AF_UNIX = 1
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
_CLONE_NEW = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
_X32_BIT = 0x40000000

_LOAD, _JUMP_EQUAL, _JUMP_ANY_BIT, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
# Where the kernel's description of a call has what; of the arguments the lower halves (little-endian).
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16


@dataclass(frozen=True, slots=True)
class Filter:
    """What to take away besides what is always taken."""

    network: bool = False
    namespaces: bool = False


@cache
def program(wanted: Filter, machine: str) -> bytes | None:
    """Return the filter as an array of BPF instructions; None for a machine whose calls are not known here."""
    if machine not in _MACHINES:
        return None
    code, column = _MACHINES[machine]
    steps = [_step(_LOAD, _MACHINE), _step(_JUMP_EQUAL, code, 1, 0), _fail(errno.EPERM), _step(_LOAD, _NUMBER)]
    if machine == "x86_64":
        steps += [_step(_JUMP_AT_LEAST, _X32_BIT, 0, 1), _fail(errno.ENOSYS)]

    def number(name: str) -> int | None:
        return _CALLS[name][column]

    refused = dict.fromkeys(_ALWAYS, errno.EPERM) | dict.fromkeys(_MISSING, errno.ENOSYS)
    if wanted.namespaces:
        refused |= dict.fromkeys(_NAMESPACES, errno.EPERM)
        # Its flags are in memory, where a filter cannot look; the C library then uses clone.
        refused["clone3"] = errno.ENOSYS
        steps += _when(
            number("clone"), [_step(_LOAD, _argument(0)), _step(_JUMP_ANY_BIT, _CLONE_NEW, 0, 1)], errno.EPERM
        )
        steps += _when(
            number("setrlimit"), [_step(_LOAD, _argument(0)), _step(_JUMP_EQUAL, _RLIMIT_LOCKS, 0, 1)], errno.EPERM
        )
        steps += _when(number("prlimit64"), _sets_limit(_RLIMIT_LOCKS), errno.EPERM)
    if wanted.network:
        steps += _when(number("socket"), [_step(_LOAD, _argument(0)), _step(_JUMP_EQUAL, _AF_UNIX, 1, 0)], errno.EPERM)
    for request in (_TIOCSTI, _TIOCLINUX):
        steps += _when(number("ioctl"), [_step(_LOAD, _argument(1)), _step(_JUMP_EQUAL, request, 0, 1)], errno.EPERM)
    for name, reason in refused.items():
        if (call := number(name)) is not None:
            steps += [_step(_JUMP_EQUAL, call, 0, 1), _fail(reason)]
    steps.append(_step(_RETURN, _ALLOW))
    return b"".join(steps)


def _when(call: int | None, test: list[bytes], reason: int) -> list[bytes]:
    """Refuse a call whose test goes on to the next step; the number is loaded again afterwards."""
    if call is None:
        return []
    body = [*test, _fail(reason), _step(_LOAD, _NUMBER)]
    return [_step(_JUMP_EQUAL, call, 0, len(body)), *body]


def _sets_limit(limit: int) -> list[bytes]:
    """Test for a call of prlimit64 that is about a limit and has an address to read the new one from."""
    return [
        _step(_LOAD, _argument(1)),
        _step(_JUMP_EQUAL, limit, 0, 5),
        _step(_LOAD, _argument(2)),
        _step(_JUMP_EQUAL, 0, 0, 2),
        _step(_LOAD, _argument(2) + 4),
        _step(_JUMP_EQUAL, 0, 1, 0),
    ]


def _argument(index: int) -> int:
    return _ARGUMENTS + 8 * index


def _fail(reason: int) -> bytes:
    return _step(_RETURN, _FAIL | reason)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
