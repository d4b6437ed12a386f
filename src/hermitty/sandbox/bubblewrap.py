"""The arguments of bubblewrap for a layout. Pure: the whole sandbox can be read off the list.

`--new-session` is never among them: it would take the terminal away from the shell, and Ctrl-C with it. What it is for,
programs that type into a terminal shared with the outside (TIOCSTI), cannot happen: every reader of the PTY is inside.
"""

from collections.abc import Mapping, Sequence

from hermitty.sandbox.layout import Layout, Mount
from hermitty.sandbox.spec import Confinement

# Own namespaces for users, processes, network, hostname and IPC; none can be made inside; all of it ends with us.
NAMESPACES = ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--cap-drop", "ALL")

# A limit on processes counts those of one user namespace when it is set inside of it. dash and bash name it
# differently. Where it cannot be set, it is not, and nobody was told that it would be. The second one is of kilobytes.
_LIMITED = (
    '[ -z "$1" ] || ulimit -u "$1" 2>/dev/null || ulimit -p "$1" 2>/dev/null; '
    '[ -z "$2" ] || ulimit -d "$2" || exit 125; shift 2; exec "$@"'
)

_OPTIONS = {
    "ro": "--ro-bind",
    "made": "--ro-bind",
    "rw": "--bind",
    "dev": "--dev",
    "proc": "--proc",
    "tmpfs": "--tmpfs",
}


def arguments(
    program: str,
    order: Confinement,
    made: Layout,
    argv: Sequence[str],
    *,
    cwd: str,
    seccomp: int | None = None,
    limits_processes: bool = True,
    limits_memory: bool = False,
    opened: Mapping[str, int] | None = None,
) -> tuple[str, ...]:
    """Return the program with its arguments. `seccomp` is the descriptor of a filter, as the child has it.

    Root need not limit processes inside: the kernel would not hold him to it. Memory is limited for each process.
    `opened` are the child's descriptors of paths that somebody could exchange before they are mounted.
    """
    words = [program, *NAMESPACES]
    if order.network == "host":
        words.append("--share-net")
    for mount in made.mounts:
        words += _words(mount, opened or {})
    words += ["--chdir", cwd]
    if seccomp is not None:
        words += ["--seccomp", str(seccomp)]
    words.append("--")
    pids = "" if order.pids is None or not limits_processes else str(order.pids)
    kilobytes = "" if order.memory_bytes is None or not limits_memory else str(order.memory_bytes // 1024)
    if pids or kilobytes:
        words += ["/bin/sh", "-c", _LIMITED, "sh", pids, kilobytes]
    return (*words, *argv)


def _words(mount: Mount, opened: Mapping[str, int]) -> list[str]:
    path = mount.path
    match mount.how:
        case "ro" | "rw" | "made" if path in opened:
            return [f"{_OPTIONS[mount.how]}-fd", str(opened[path]), path]
        case "ro" | "rw" | "made":
            return [_OPTIONS[mount.how], path, path]
        case "dev" | "proc" | "tmpfs":
            return [_OPTIONS[mount.how], path]
        case "empty":
            return ["--perms", "0555", "--tmpfs", path]
        case "null":
            return ["--ro-bind", "/dev/null", path]
        case "link":
            return ["--symlink", mount.target, path]
        case "seal":
            return ["--remount-ro", path]
