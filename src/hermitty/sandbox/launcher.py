"""Confines itself with Landlock and seccomp, then becomes the program: `python -I -S launcher.py ORDER ARGV...`.

A program of its own, which imports nothing of hermitty, and little else: every module delays every terminal. It never
becomes the program unconfined: whatever fails ends it, with a reason on standard error and exit code 125. `ORDER` is
what `probe.encoded` made of a dictionary; with `probe` it only tries, and prints the version of Landlock.
"""

import ctypes
import marshal
import os
import resource
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_SET_PDEATHSIG, _PR_CAPBSET_DROP = 38, 22, 1, 24
_MOST_CAPABILITIES = 64
_SECCOMP_MODE_FILTER = 2
_ABI_QUESTION = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_CHANGES = sum(1 << bit for bit in range(4, 13))  # remove, and make of every kind
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Below(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


def landlock_version() -> int:
    """Return the version of Landlock that the kernel has; 0: none."""
    version: int = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ABI_QUESTION))
    return max(0, version)


def _checked(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _handled(version: int) -> int:
    files = _EXECUTE | _WRITE_FILE | _READ_FILE | _READ_DIRECTORY | _CHANGES
    if version >= 2:
        files |= _REFER
    if version >= 3:
        files |= _TRUNCATE
    if version >= 5:
        files |= _IOCTL_DEVICE
    return files


def _confine_files(rules: list[tuple[str, str]], version: int, *, is_offline: bool) -> None:
    handled = _handled(version)
    network = _BIND_TCP | _CONNECT_TCP if version >= 4 and is_offline else 0
    scoped = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if version >= 6 else 0
    wanted = _Ruleset(handled, network, scoped)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _checked(
        _libc.syscall(_CREATE_RULESET, ctypes.byref(wanted), ctypes.c_size_t(size), ctypes.c_uint32(0)), "Landlock"
    )
    access = {
        "read": _EXECUTE | _READ_FILE | _READ_DIRECTORY,
        "write": _handled(version) & ~_IOCTL_DEVICE,
        "device": _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE,
    }
    own = [("device", os.ttyname(0))] if os.isatty(0) else []
    for kind, path in [*rules, *own]:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # it went away, or cannot be reached: then nobody needs leave for it
        allowed = access[kind] & handled
        if not os.path.isdir(f"/proc/self/fd/{descriptor}"):
            allowed &= _OF_FILES
        below = _Below(allowed, descriptor)
        result = _libc.syscall(
            _ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), ctypes.byref(below), ctypes.c_uint32(0)
        )
        os.close(descriptor)
        _checked(result, f"Landlock, {path}")
    _checked(_libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)), "Landlock")
    os.close(ruleset)


def _filter_calls(steps: bytes) -> None:
    buffer = ctypes.create_string_buffer(steps, len(steps))
    program = _Program(len(steps) // 8, ctypes.cast(buffer, ctypes.c_void_p).value)
    _checked(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0), "seccomp")


def confine(rules: list[tuple[str, str]], steps: bytes, *, is_offline: bool, started_by: int | None) -> int:
    """Confine this process, for good. Return the version of Landlock."""
    version = landlock_version()
    if version < 1:
        raise OSError("this kernel has no Landlock, or it is switched off")
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0), "prctl")
    if started_by not in (None, os.getppid()):
        raise OSError("whoever started this is gone")
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if os.geteuid() == 0:
        # Root's next program would have every capability that is left. Numbers that the kernel does not know fail.
        for capability in range(_MOST_CAPABILITIES):
            _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _confine_files(rules, version, is_offline=is_offline)
    _filter_calls(steps)
    return version


def main() -> None:
    """Confine, and become the program."""
    try:
        order = marshal.loads(bytes.fromhex(sys.argv[1]))
        version = confine(
            order["rules"],
            order["filter"],
            is_offline=order["network"] == "none",
            started_by=order.get("parent"),
        )
        if order.get("probe"):
            print(version)
            return
        if "data" in order:
            resource.setrlimit(resource.RLIMIT_DATA, (order["data"], order["data"]))
        os.execv(sys.argv[2], sys.argv[2:])
    except (OSError, ValueError, KeyError, IndexError, EOFError, TypeError) as problem:
        sys.stderr.write(f"hermitty: the sandbox could not be set up: {problem}\r\n")
        sys.exit(125)


if __name__ == "__main__":
    main()
