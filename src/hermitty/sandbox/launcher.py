"""Confines itself with Landlock and seccomp, then becomes the program.

A program of its own, which imports nothing of hermitty, and little else: every module delays every terminal, and so
does compiling. It is handed over compiled, together with its order, through a descriptor (`probe.launched`); and as
`ctypes` takes 3 ms to make types that are not needed here, only what lies below it is used. It never becomes the
program unconfined: whatever fails ends it, with a reason on standard error and exit code 125.
"""

import posix
import sys
from _ctypes import (
    FUNCFLAG_CDECL,
    FUNCFLAG_USE_ERRNO,
    Array,
    CFuncPtr,
    _SimpleCData,
    addressof,
    dlopen,
    dlsym,
    get_errno,
)

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_SET_PDEATHSIG, _PR_CAPBSET_DROP = 38, 22, 1, 24
_MOST_CAPABILITIES = 64
_SECCOMP_MODE_FILTER = 2
_ABI_QUESTION = 1
_RULE_BELOW = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_CHANGES = sum(1 << bit for bit in range(4, 13))  # remove, and make of every kind
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2

_PATH_ONLY = posix.O_PATH | posix.O_CLOEXEC | posix.O_NOFOLLOW


class _Long(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "l"


class _Byte(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "c"


class _Function(CFuncPtr):
    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO
    _restype_ = _Long


_library = dlopen(None, 0)  # type: ignore[arg-type]
_syscall = _Function(dlsym(_library, "syscall"))
_prctl = _Function(dlsym(_library, "prctl"))


def _call(function: CFuncPtr, *arguments: int | bytes | None) -> int:
    """Call a function of the C library. A number is as wide as a register, bytes are where they are."""
    result: int = function(*[_Long(each) if isinstance(each, int) else each for each in arguments])
    return result


def landlock_version() -> int:
    """Return the version of Landlock that the kernel has; 0: none."""
    return max(0, _call(_syscall, _CREATE_RULESET, None, 0, _ABI_QUESTION))


def _checked(result: int, what: str) -> int:
    if result < 0:
        raise OSError(get_errno(), f"{what}: {posix.strerror(get_errno())}")
    return result


def _words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, sys.byteorder) for number in numbers)


def _handled(version: int) -> int:
    files = _EXECUTE | _WRITE_FILE | _READ_FILE | _READ_DIRECTORY | _CHANGES
    if version >= 2:
        files |= _REFER
    if version >= 3:
        files |= _TRUNCATE
    if version >= 5:
        files |= _IOCTL_DEVICE
    return files


def _confine_files(rules: list[tuple[str, bool, str]], version: int, *, is_offline: bool) -> None:
    handled = _handled(version)
    network = _BIND_TCP | _CONNECT_TCP if version >= 4 and is_offline else 0
    scoped = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if version >= 6 else 0
    wanted = _words(handled, network, scoped)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _checked(_call(_syscall, _CREATE_RULESET, wanted, size, 0), "Landlock")
    access = {
        "read": _EXECUTE | _READ_FILE | _READ_DIRECTORY,
        "write": handled & ~_IOCTL_DEVICE,
        "device": (_READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE) & handled,
    }
    own = [("device", False, posix.ttyname(0))] if posix.isatty(0) else []
    add, below, no_flags, target = _Long(_ADD_RULE), _Long(_RULE_BELOW), _Long(0), _Long(ruleset)
    for kind, is_directory, path in [*rules, *own]:
        # What was a directory is one, or gets no leave. What was a file, and is a directory now, gets that of a file.
        try:
            descriptor = posix.open(path, _PATH_ONLY | posix.O_DIRECTORY if is_directory else _PATH_ONLY)
        except OSError:
            continue  # it went away, or cannot be reached: then nobody needs leave for it
        allowed = access[kind] if is_directory else access[kind] & _OF_FILES
        rule = allowed.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)
        result = _syscall(add, target, below, rule, no_flags)
        posix.close(descriptor)
        if result < 0:
            _checked(result, f"Landlock, {path}")
    _checked(_call(_syscall, _RESTRICT_SELF, ruleset, 0), "Landlock")
    posix.close(ruleset)


def _filter_calls(steps: bytes) -> None:
    class Steps(Array):  # type: ignore[type-arg]
        _type_ = _Byte
        _length_ = len(steps)

    held = Steps.from_buffer_copy(steps)
    # The number of steps is a short one, in front of an address: both begin at a word.
    count = (len(steps) // 8).to_bytes(2, sys.byteorder) + bytes(6)
    program = count + _words(addressof(held))
    _checked(_call(_prctl, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0), "seccomp")


def confine(rules: list[tuple[str, bool, str]], steps: bytes, *, is_offline: bool, started_by: int | None) -> int:
    """Confine this process, for good. Return the version of Landlock."""
    version = landlock_version()
    if version < 1:
        raise OSError("this kernel has no Landlock, or it is switched off")
    _checked(_call(_prctl, _PR_SET_PDEATHSIG, 9, 0, 0, 0), "prctl")
    if started_by not in (None, posix.getppid()):
        raise OSError("whoever started this is gone")
    _checked(_call(_prctl, _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if posix.geteuid() == 0:
        # Root's next program would have every capability that is left. Numbers that the kernel does not know fail.
        for capability in range(_MOST_CAPABILITIES):
            _call(_prctl, _PR_CAPBSET_DROP, capability, 0, 0, 0)
    _confine_files(rules, version, is_offline=is_offline)
    _filter_calls(steps)
    return version


def main(order: dict[str, object], argv: list[str]) -> None:
    """Confine, and become the program; with `probe` in its order, only print the version of Landlock."""
    try:
        version = confine(
            order["rules"],  # type: ignore[arg-type]
            order["filter"],  # type: ignore[arg-type]
            is_offline=order["network"] == "none",
            started_by=order.get("parent"),  # type: ignore[arg-type]
        )
        if "probe" in order:
            print(version)
            return
        if "data" in order:
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (order["data"], order["data"]))  # type: ignore[arg-type]
        posix.execv(argv[0], argv)
    except (OSError, ValueError, KeyError, IndexError, TypeError, ImportError) as problem:
        sys.stderr.write(f"hermitty: the sandbox could not be set up: {problem}\r\n")
        sys.exit(125)
