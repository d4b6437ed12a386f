"""From an order to a program that can be started: which mechanism, its arguments, and what it really enforces.

Never less than was asked for without saying so: what this machine cannot do raises SandboxUnavailable, unless the order
allows less; then the answer says what is missing, and why.
"""

import contextlib
import itertools
import os
import platform
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from hermitty.errors import SandboxRefused, SandboxUnavailable
from hermitty.sandbox import bubblewrap, groups, landlock, seccomp
from hermitty.sandbox.advice import advise, look_around
from hermitty.sandbox.layout import Facts, Layout, layout, within
from hermitty.sandbox.probe import Abilities, abilities, filter_descriptor, launch_order, launched, order_descriptor
from hermitty.sandbox.spec import EACH_PROCESS, Confinement, Effective

# Where the child finds what it is handed.
_FIRST_DESCRIPTOR = 3
_TEMPORARY = "tmp"


@dataclass(slots=True)
class Prepared:
    """A program that will be confined. Whoever starts it calls `started` then; whoever ends it, `group.kill`."""

    argv: tuple[str, ...]
    env: dict[str, str]
    effective: Effective
    wraps: bool = False  # the program is not the process that is started, but a grandchild of it
    descriptors: dict[int, int] = field(default_factory=dict)  # the child's number: ours
    group: groups.Group | None = None

    def started(self) -> None:
        """Free what only the start needed."""
        for descriptor in self.descriptors.values():
            os.close(descriptor)
        self.descriptors.clear()

    def abandon(self) -> None:
        """Free everything: it was not started."""
        self.started()
        if self.group is not None:
            self.group.remove()


def prepare(order: Confinement, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], directory: str) -> Prepared:
    """Choose how, and say what will hold. Raises SandboxUnavailable or SandboxRefused; then nothing is left behind."""
    found = abilities()
    facts = disk_facts(env.get("HOME") or os.path.expanduser("~"))
    made = layout(order, facts, cwd=cwd, directory=directory)
    mechanism = choose(order, found)
    if mechanism == "none":
        effective = describe(order, mechanism, found, groups.Group())
        return Prepared(tuple(argv), dict(env), effective)
    there = groups.our_hierarchies()
    group = groups.make_group(order, there, to_kill=mechanism == "landlock")
    try:
        effective = describe(order, mechanism, found, group)
        prepared = Prepared((), _environment(env, order, directory, mechanism), effective, group=group)
        if mechanism == "bubblewrap":
            _wrap(prepared, order, made, argv, found)
        else:
            _launch(prepared, order, made, argv, facts)
    except BaseException:
        group.remove()
        raise
    return prepared


def choose(order: Confinement, found: Abilities) -> str:
    """Return the mechanism to use. Raises SandboxUnavailable when it would be less than was asked for."""
    if found.bubblewrap.works:
        return "bubblewrap"
    if not order.allow_weaker:
        raise SandboxUnavailable(_why_not(found))
    return "landlock" if found.landlock.works else "none"


def describe(order: Confinement, mechanism: str, found: Abilities, group: groups.Group) -> Effective:
    """Say what holds. The limits are those of the group, or of the kernel's older means."""
    enforced: dict[str, str] = {}
    missing: list[tuple[str, str]] = []
    network = order.network
    if mechanism == "bubblewrap":
        enforced = {"write": "mount namespace", "read": "mount namespace", "processes": "process namespace"}
        if order.network == "none":
            enforced["network"] = "network namespace"
    elif mechanism == "landlock":
        version = found.landlock.version
        enforced = {"read": "Landlock", "write": "Landlock"}
        if order.network == "none":
            enforced["network"] = "seccomp" if version < 4 else "Landlock and seccomp"
        missing.append(("write", "Landlock cannot except .git/hooks and .git/config from a writable workspace"))
        missing.append(("read", "sockets of other programs can be reached through files, and /tmp is not private"))
        how = "and signalled" if version < 6 else "but not signalled"
        missing.append(("processes", f"other processes of this user can be seen, {how}"))
    else:
        network = "host"
        why = found.landlock.problem or "no mechanism works here"
        missing += [(what, why) for what in ("write", "read", "processes")]
        if order.network == "none":
            missing.append(("network", why))
    enforced |= group.enforced
    for what, amount in (("pids", order.pids), ("memory", order.memory_bytes), ("cpu", order.cpu)):
        if amount is None or what in enforced:
            continue
        if what == "pids" and mechanism == "bubblewrap" and os.getuid() != 0:
            enforced["pids"] = "resource limit of the user namespace"
        elif what == "memory" and mechanism != "none":
            enforced["memory"] = EACH_PROCESS
        else:
            missing.append((what, group.missing.get(what, "there is no control group for it")))
    return Effective(order.mode, mechanism, network, tuple(enforced.items()), tuple(missing))  # type: ignore[arg-type]


def foresee(order: Confinement) -> Effective:
    """Say what would hold here, without making anything. Raises SandboxUnavailable."""
    found = abilities()
    return describe(order, choose(order, found), found, groups.Group())


def disk_facts(home: str) -> Facts:
    """Return the facts of this machine, each as it is when it is first asked for."""

    modes: dict[str, int] = {}  # of real paths

    @cache
    def real(path: str) -> str | None:
        # About fifty are asked for, and most are not there: that is quickly told. Many of the others share directories,
        # and what is no link has the real path of its directory before its name.
        try:
            if not os.access(path, os.F_OK):
                return None
            above, _, name = path.rpartition("/")
            if not path.startswith("/") or name in ("", ".", ".."):
                return _followed(path)
            directory = real(above) if above else ""
            if directory is None:
                return None
            found = f"{directory.rstrip('/')}/{name}"
            modes[found] = os.lstat(found).st_mode
        except (OSError, ValueError):
            return None
        return _followed(path) if stat.S_ISLNK(modes[found]) else found

    def is_directory(path: str) -> bool:
        mode = modes.get(path)
        return os.path.isdir(path) if mode is None or stat.S_ISLNK(mode) else stat.S_ISDIR(mode)

    def names(path: str) -> list[str] | None:
        return _names_in_proc(path) if path.startswith("/proc/") else _names(path)

    def entries(path: str) -> list[tuple[str, bool]]:
        with contextlib.suppress(OSError), os.scandir(path) as found:
            return sorted((each.name, each.is_dir()) for each in found if not each.is_symlink())
        return []

    return Facts(
        home=home,
        real=real,
        is_directory=is_directory,
        names=names,
        entries=entries,
        has_to_read=_has_to_read,
        is_root=os.getuid() == 0,
    )


def _has_to_read(path: str) -> bool:
    """Tell whether this user can read it, and it is no empty file. Directories fill, and sockets have no size."""
    try:
        if not os.access(path, os.R_OK):
            return False
        found = os.stat(path)
    except OSError:
        return False  # gone meanwhile
    return found.st_size > 0 or not stat.S_ISREG(found.st_mode)


def _names(path: str) -> list[str] | None:
    with contextlib.suppress(OSError):
        return os.listdir(path)
    return None


# Which settings a kernel has stays as it is.
_names_in_proc = cache(_names)


def _followed(path: str) -> str | None:
    """Return where a path leads. The kernel knows it of what was opened, and is ten times as quick as we are."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        found = os.readlink(f"/proc/self/fd/{descriptor}")
        return found if found.startswith("/") else None
    except OSError:
        return os.path.realpath(path)
    finally:
        os.close(descriptor)


def _wrap(prepared: Prepared, order: Confinement, made: Layout, argv: Sequence[str], found: Abilities) -> None:
    steps = seccomp.program(seccomp.Filter(), platform.machine()) if found.bubblewrap.seccomp else None
    program = found.bubblewrap.program
    assert program is not None
    ours: dict[str, int] = {}
    try:
        for mount in made.mounts:
            if mount.how == "made":
                make_empty(mount.path)
        if steps is not None:
            ours[""] = filter_descriptor(steps)
        if found.bubblewrap.takes_descriptors:
            for path in exchangeable(made):
                ours[path] = open_real(path)
    except BaseException:
        for descriptor in ours.values():
            os.close(descriptor)
        raise
    # None of the child's numbers is one of ours: the one would be gone before the other is handed down.
    free = (number for number in itertools.count(_FIRST_DESCRIPTOR) if number not in set(ours.values()))
    theirs = dict(zip(ours, free, strict=False))
    prepared.descriptors = {theirs[path]: descriptor for path, descriptor in ours.items()}
    filtered = theirs.pop("", None)
    prepared.argv = bubblewrap.arguments(
        program,
        order,
        made,
        argv,
        cwd=made.cwd,
        seccomp=filtered,
        limits_processes=os.getuid() != 0,
        limits_memory=_is_limited_by_process(prepared),
        opened=theirs,
    )
    prepared.wraps = True


def exchangeable(made: Layout) -> list[str]:
    """Return what is mounted of places that other sandboxes may write to.

    Between the plan and the mount, a program in one of them could put a link to anywhere in the place of a directory.
    """
    names = (mount.path for mount in made.mounts if mount.how in ("ro", "rw", "made"))
    return list(dict.fromkeys(path for path in names if any(within(path, root) for root in made.writable)))


def make_empty(path: str) -> None:
    """Make an empty file, unless something is there."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    except FileExistsError:
        pass
    except OSError as exc:
        raise SandboxRefused(f"{path!r} is not there, and cannot be made: {exc.strerror or exc}") from exc


def open_real(path: str) -> int:
    """Open what is at a path now, and no link; the caller closes it. Raises SandboxRefused when it is another path."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as exc:
        raise SandboxRefused(f"{path!r} has changed meanwhile: {exc.strerror or exc}") from exc
    if os.readlink(f"/proc/self/fd/{descriptor}") != path:
        os.close(descriptor)
        raise SandboxRefused(f"{path!r} has changed meanwhile, and leads elsewhere")
    return descriptor


def _launch(prepared: Prepared, order: Confinement, made: Layout, argv: Sequence[str], facts: Facts) -> None:
    wanted = seccomp.Filter(network=order.network == "none", namespaces=True)
    steps = seccomp.program(wanted, platform.machine())
    assert steps is not None  # it was tried
    allowed = [(rule.access, rule.is_directory, rule.path) for rule in landlock.rules(made, facts)]
    data_bytes = order.memory_bytes if _is_limited_by_process(prepared) else None
    os.makedirs(os.path.join(made.directory, _TEMPORARY), mode=0o700, exist_ok=True)
    ours = order_descriptor(launch_order(allowed, steps, network=order.network, data_bytes=data_bytes))
    # A shell comes first: beyond 9 it could not hand a descriptor on, and it has some above that for itself.
    theirs = next(number for number in range(_FIRST_DESCRIPTOR, _FIRST_DESCRIPTOR + 2) if number != ours)
    prepared.descriptors = {theirs: ours}
    prepared.argv = (*launched(theirs), *argv)


def _is_limited_by_process(prepared: Prepared) -> bool:
    return ("memory", EACH_PROCESS) in prepared.effective.enforced


def _environment(env: Mapping[str, str], order: Confinement, directory: str, mechanism: str) -> dict[str, str]:
    """Name a place for temporary files that is there."""
    if mechanism == "bubblewrap":
        wanted = env.get("TMPDIR")
        return dict(env) if wanted is None or within(wanted, order.workspace) else {**env, "TMPDIR": "/tmp"}
    return {**env, "TMPDIR": os.path.join(directory, _TEMPORARY)}


def _why_not(found: Abilities) -> str:
    problem = found.bubblewrap.problem or "it does not work"
    advice = "; ".join(advise(found, look_around()))
    return (
        f"this machine cannot confine terminals as asked: {problem}. {advice}. "
        "Or allow less with the setting sandbox.allow_weaker; `hermitty doctor` tells more"
    )
