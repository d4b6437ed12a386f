"""Files of a terminal's private directory.

With a sandbox, programs see and write only a part of it, through which terminal and shell exchange files. What they put
there is theirs: a link is never followed, a pipe never waited for, and no more is read than a file of ours has.
"""

import contextlib
import errno
import os
import stat
from pathlib import Path

from hermitty.errors import HostUnavailable
from hermitty.host.ring import RING_FILE
from hermitty.sandbox.spec import SHELL_DIRECTORY

_OURS = "kept."
_MOST_BYTES = 64 * 1024 * 1024
_CAREFUL = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
# What the kernel says when no file of ours has the name: nothing has it, or a link, a socket or a device.
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)


def private_path(directory: Path, name: str) -> str:
    """Return where a file of that name is."""
    if name.startswith(_OURS) or name == RING_FILE:
        return f"{directory}/{name}"
    confined = f"{directory}/{SHELL_DIRECTORY}"
    return f"{confined}/{name}" if os.path.isdir(confined) else f"{directory}/{name}"


def replace_private(path: str, data: bytes) -> None:
    """Write a file that only this user can read, all of it or nothing."""
    directory, name = os.path.split(path)
    new = f"{directory}/.{name}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(new, flags, 0o600)
    except FileExistsError:
        # Somebody was killed before he could give it its name, or a program has put it there.
        os.unlink(new)
        descriptor = os.open(new, flags, 0o600)
    try:
        try:
            _write_all(descriptor, data)
        finally:
            os.close(descriptor)
        os.replace(new, path)
    except OSError:
        with contextlib.suppress(OSError):  # the first problem is the one to tell
            os.unlink(new)
        raise


def write_private(path: str, data: bytes) -> None:
    """Write a file that only this user can read."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | _CAREFUL, 0o600)
    except OSError as exc:
        if exc.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        # A link or a pipe has its name.
        os.unlink(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CAREFUL, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{os.path.basename(path)} is no file")
        os.ftruncate(descriptor, 0)
        _write_all(descriptor, data)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])


def read_private(path: str) -> bytes | None:
    """Read a file, or None when it is not there. Raises HostUnavailable when nobody can tell."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _CAREFUL)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(_MOST_BYTES)
        finally:
            os.close(descriptor)
    except OSError as exc:
        if exc.errno in _NOT_THERE:
            return None
        # Whoever took this for a file that is not there would close a terminal that somebody owns.
        raise HostUnavailable(f"cannot read {os.path.basename(path)}: {exc.strerror or exc}") from exc
