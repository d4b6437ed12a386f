"""The rules of Landlock for a layout. Pure: what it cannot do is in the answer to whoever asked.

Landlock only allows: what is hidden is what no rule names. So everything around a secret is named, directory by
directory; those that hold a secret can be passed through, but not listed. It has no private /tmp and /proc, and inside
of a writable directory nothing can be excepted.
"""

import posixpath
from dataclasses import dataclass
from typing import Literal

from hermitty.sandbox import hidden
from hermitty.sandbox.layout import Facts, Layout, within

Access = Literal["read", "write", "device"]

# What terminals and pipes need of /dev. Its own terminal is added when the program starts.
_DEVICES = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts/ptmx"),
)
_NEVER = ("/dev", "/run", "/tmp", "/sys/fs/cgroup")
_MOST_NAMES = 4096


@dataclass(frozen=True, slots=True)
class Rule:
    """What may be done with a file, or with everything in a directory."""

    access: Access
    path: str


def rules(made: Layout, facts: Facts) -> tuple[Rule, ...]:
    """Return what is allowed; everything else is not."""
    secrets = [*made.hidden, *_NEVER]
    roots = ["/"] if made.readable is None else [facts.real(path) or path for path in made.readable]
    found = [Rule("read", path) for root in roots for path in _around(root, secrets, facts)]
    found += [Rule("read", path) for path in hidden.NAME_SERVICE if facts.real(path) is not None]
    found += [Rule("read", path) for root in made.listed for path in _around(root, _inside(root, secrets), facts)]
    if made.readable is not None:
        found.append(Rule("read", "/proc"))
    # Leave to write in a directory is leave for all that is in it: nothing in a workspace can be sealed or hidden.
    found += [Rule("write", root) for root in made.writable]
    found += [Rule("device", path) for path in _DEVICES]
    found.append(Rule("write", made.directory))
    return tuple(dict.fromkeys(found))


def _inside(root: str, holes: list[str]) -> list[str]:
    return [hole for hole in holes if within(hole, root) and hole != root]


def _around(root: str, holes: list[str], facts: Facts) -> list[str]:
    """Return paths that cover a directory, but for the holes in it."""
    if any(within(root, hole) for hole in holes):
        return []
    if not any(within(hole, root) for hole in holes):
        return [root]
    found: list[str] = []
    for name in facts.names(root)[:_MOST_NAMES]:
        path = posixpath.join(root, name)
        real = facts.real(path)
        if real == path:  # where a link leads is covered by its own name
            found += _around(path, holes, facts)
    return found
