"""Starting programs: never by fork from Python.

`posix_spawn` takes the same 1.6 ms whatever the size of this process, where a fork of a gigabyte takes 39. It cannot
change directory, so a tiny `sh` does that and then becomes the program; its process id stays.
"""

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence

from hermitty.errors import HostUnavailable

# "cd" keeps the path as it was given, symbolic links included, and hands it on in PWD.
_ENTER = 'cd -- "$1" && { [ -z "$2" ] || ulimit -Sn "$2"; } && shift 2 && exec "$@"'

# What this process ignores or blocks must not reach the child: Python ignores SIGPIPE, job runners block SIGINT.
_DEFAULT_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}

FileAction = tuple[int, int, str, int, int] | tuple[int, int, int] | tuple[int, int]


def spawn(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    actions: Sequence[FileAction],
    descriptor_limit: int | None = None,
) -> int:
    """Start a program in its own session and return its process id. Descriptors of ours are not inherited."""
    limit = str(descriptor_limit) if descriptor_limit else ""
    try:
        return os.posix_spawn(
            "/bin/sh",
            ["/bin/sh", "-c", _ENTER, "sh", cwd, limit, *argv],
            env,
            file_actions=[*actions, *((os.POSIX_SPAWN_CLOSE, number) for number in inherited_descriptors())],
            setsid=True,
            setsigmask=(),
            setsigdef=_DEFAULT_SIGNALS,
        )
    except OSError as exc:
        raise HostUnavailable(f"cannot start {argv[0]!r}: {exc.strerror or exc}") from exc


def inherited_descriptors() -> tuple[int, ...]:
    """Return the descriptors that children would inherit: Python opens none such, but may be given some at any time."""
    found = []
    for entry in os.listdir("/dev/fd"):
        descriptor = int(entry)
        with contextlib.suppress(OSError):
            if descriptor > 2 and os.get_inheritable(descriptor):
                found.append(descriptor)
    return tuple(found)


def open_terminal_actions(path: str) -> list[FileAction]:
    """Return the actions that make the terminal at `path` standard input, output and error of a session leader.

    Opening it makes it the controlling terminal of the new session.
    """
    return [
        (os.POSIX_SPAWN_OPEN, 0, path, os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 0, 1),
        (os.POSIX_SPAWN_DUP2, 0, 2),
    ]
