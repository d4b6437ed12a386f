"""From an order to a program that can be started: which mechanism, its arguments, and what it really enforces.

Never less than was asked for without saying so: what this machine cannot do raises SandboxUnavailable, unless the order
allows less; then the answer says what is missing, and why.
"""

import contextlib
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hermitty.errors import SandboxUnavailable
from hermitty.sandbox import bubblewrap, groups, landlock, seccomp
from hermitty.sandbox.advice import advise, look_around
from hermitty.sandbox.layout import Facts, Layout, layout, within
from hermitty.sandbox.probe import LAUNCHER, Abilities, abilities, filter_descriptor, launch_order
from hermitty.sandbox.spec import Confinement, Effective

# Where the child finds its filter.
_FILTER_DESCRIPTOR = 3
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
        else:
            missing.append((what, group.missing.get(what, "there is no control group for it")))
    return Effective(order.mode, mechanism, network, tuple(enforced.items()), tuple(missing))  # type: ignore[arg-type]


def foresee(order: Confinement) -> Effective:
    """Say what would hold here, without making anything. Raises SandboxUnavailable."""
    found = abilities()
    return describe(order, choose(order, found), found, groups.Group())


def disk_facts(home: str) -> Facts:
    """Return the facts of this machine."""

    def real(path: str) -> str | None:
        # Most of what is asked for is not there, and that is quickly told.
        with contextlib.suppress(OSError, ValueError):
            return os.path.realpath(path, strict=True) if os.path.exists(path) else None
        return None

    def names(path: str) -> list[str]:
        with contextlib.suppress(OSError):
            return sorted(os.listdir(path))
        return []

    return Facts(home, real, os.path.isdir, names, lambda path: os.access(path, os.R_OK), os.getuid() == 0)


def _wrap(prepared: Prepared, order: Confinement, made: Layout, argv: Sequence[str], found: Abilities) -> None:
    steps = seccomp.program(seccomp.Filter(), platform.machine()) if found.bubblewrap.seccomp else None
    if steps is not None:
        prepared.descriptors[_FILTER_DESCRIPTOR] = filter_descriptor(steps)
    program = found.bubblewrap.program
    assert program is not None
    filtered = _FILTER_DESCRIPTOR if steps is not None else None
    prepared.argv = bubblewrap.arguments(
        program, order, made, argv, cwd=made.cwd, seccomp=filtered, limits_processes=os.getuid() != 0
    )
    prepared.wraps = True


def _launch(prepared: Prepared, order: Confinement, made: Layout, argv: Sequence[str], facts: Facts) -> None:
    wanted = seccomp.Filter(network=order.network == "none", namespaces=True)
    steps = seccomp.program(wanted, platform.machine())
    assert steps is not None  # it was tried
    allowed = [(rule.access, rule.path) for rule in landlock.rules(made, facts)]
    told = json.dumps(launch_order(allowed, steps, network=order.network))
    os.makedirs(os.path.join(made.directory, _TEMPORARY), mode=0o700, exist_ok=True)
    prepared.argv = (sys.executable, "-I", "-S", LAUNCHER, told, *argv)


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
