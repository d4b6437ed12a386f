"""Starting programs: never by fork from Python.

`posix_spawn` takes the same 1.6 ms whatever the size of this process, where a fork of a gigabyte takes 39. It cannot
change directory, so a tiny `sh` does that and then becomes the program; its process id stays.
"""

import contextlib
import os
import resource
import signal
from collections.abc import Mapping, Sequence

from hermitty.errors import HostUnavailable
from hermitty.pty.foreground import children

# "cd" keeps the path as it was given, symbolic links included, and hands it on in PWD. The brand (see `processes`) is a
# limit that shells name differently, and that may not be raised. Whoever cannot join its control groups does not start.
_MOST_GROUPS = 4
_ENTER = (
    'cd -- "$1" && { [ -z "$2" ] || ulimit -Sn "$2"; } && '
    '{ [ -z "$3" ] || ulimit -w "$3" 2>/dev/null || ulimit -x "$3" 2>/dev/null || :; } && '
    + "".join(f'{{ [ -z "${{{4 + each}}}" ] || echo 0 >"${{{4 + each}}}"; }} && ' for each in range(_MOST_GROUPS))
    + f'shift {3 + _MOST_GROUPS} && exec "$@"'
)

# A number of Linux, which the module does not name.
_RLIMIT_LOCKS = 10

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
    brand: int | None = None,
    groups: Sequence[str] = (),
) -> int:
    """Start a program in its own session and return its process id. Descriptors of ours are not inherited.

    `groups` are files of control groups that it joins first, four at most.
    """
    limit = str(descriptor_limit) if descriptor_limit else ""
    joined = [*groups, *[""] * (_MOST_GROUPS - len(groups))]
    words = ["/bin/sh", "-c", _ENTER, "sh", cwd, limit, str(brand or ""), *joined, *argv]
    return _start(argv[0], words, env, actions)


def spawn_wrapper(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    actions: Sequence[FileAction],
    descriptor_limit: int | None = None,
    brand: int | None = None,
) -> int:
    """Start a program that enters the directory itself, in its own session: no shell is needed in between.

    Its limits are lowered from outside. It needs milliseconds for its set-up, and what it has started by then is found.
    """
    pid = _start(argv[0], argv, env, actions)
    limit_tree(pid, descriptor_limit=descriptor_limit, brand=brand)
    return pid


def limit_tree(pid: int, *, descriptor_limit: int | None, brand: int | None) -> None:
    """Lower the limits of a process, and of those that it started before it had them; all later ones inherit."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it ended, or is another one by now
        if descriptor_limit is not None:
            hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptor_limit, hard))
        if brand is not None:
            resource.prlimit(pid, _RLIMIT_LOCKS, (brand, brand))
        for child in children(pid):
            limit_tree(child, descriptor_limit=descriptor_limit, brand=brand)


def inherited_descriptors() -> tuple[int, ...]:
    """Return the descriptors that children would inherit: Python opens none such, but may be given some at any time."""
    found = []
    for entry in os.listdir("/dev/fd"):
        descriptor = int(entry)
        with contextlib.suppress(OSError):
            if descriptor > 2 and os.get_inheritable(descriptor):
                found.append(descriptor)
    return tuple(found)


def _start(name: str, words: Sequence[str], env: Mapping[str, str], actions: Sequence[FileAction]) -> int:
    # What an action makes is the child's own, whatever had that number here.
    made = {action[-1] if action[0] == os.POSIX_SPAWN_DUP2 else action[1] for action in actions}
    try:
        closes = [(os.POSIX_SPAWN_CLOSE, number) for number in inherited_descriptors() if number not in made]
        return os.posix_spawn(
            words[0],
            tuple(words),
            env,
            file_actions=[*actions, *closes],
            setsid=True,
            setsigmask=(),
            setsigdef=_DEFAULT_SIGNALS,
        )
    except OSError as exc:
        raise HostUnavailable(f"cannot start {name!r}: {exc.strerror or exc}") from exc


def handed_down(descriptors: Mapping[int, int]) -> list[FileAction]:
    """Return the actions that give a child descriptors of ours, by the numbers it knows them by."""
    return [(os.POSIX_SPAWN_DUP2, ours, number) for number, ours in descriptors.items()]


def open_terminal_actions(path: str) -> list[FileAction]:
    """Return the actions that make the terminal at `path` standard input, output and error of a session leader.

    Opening it makes it the controlling terminal of the new session.
    """
    return [
        (os.POSIX_SPAWN_OPEN, 0, path, os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 0, 1),
        (os.POSIX_SPAWN_DUP2, 0, 2),
    ]
