"""The rules of Landlock for a layout. Pure: what it cannot do is in the answer to whoever asked.

Landlock only allows: what is hidden is what no rule names. So everything around a secret is named, directory by
directory; those that hold a secret can be passed through, but not listed. It has no private /tmp and /proc, and inside
of a writable directory nothing can be excepted.
"""

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
    is_directory: bool = True


def rules(made: Layout, facts: Facts) -> tuple[Rule, ...]:
    """Return what is allowed; everything else is not."""
    secrets = [*made.hidden, *_NEVER]
    roots = ["/"] if made.readable is None else [facts.real(path) or path for path in made.readable]
    found = [each for root in roots for each in _read_around(root, secrets, facts)]
    found += [_read(real, facts) for path in hidden.NAME_SERVICE if (real := facts.real(path)) is not None]
    found += [each for root in made.listed for each in _read_around(root, _inside(root, secrets), facts)]
    if made.readable is not None:
        found.append(Rule("read", "/proc"))
    # Leave to write in a directory is leave for all that is in it: nothing in a workspace can be sealed or hidden.
    found += [Rule("write", root) for root in made.writable]
    found += [Rule("device", path, is_directory=False) for path in _DEVICES]
    found.append(Rule("write", made.directory))
    return tuple(dict.fromkeys(found))


def _inside(root: str, holes: list[str]) -> list[str]:
    return [hole for hole in holes if within(hole, root) and hole != root]


def _read(path: str, facts: Facts) -> Rule:
    return Rule("read", path, facts.is_directory(path))


def _read_around(root: str, holes: list[str], facts: Facts) -> list[Rule]:
    """Return rules that cover a file or directory, but for the holes in it."""
    if any(within(root, hole) for hole in holes):
        return []
    inside = _inside(root, holes)
    return _in_directory(root, inside, facts) if inside else [_read(root, facts)]


def _in_directory(root: str, holes: list[str], facts: Facts) -> list[Rule]:
    """Return rules for what is in a directory, but for the holes, which all lie in it."""
    start = 1 if root == "/" else len(root) + 1
    holes_of: dict[str, list[str]] = {}
    for hole in holes:
        holes_of.setdefault(hole[start:].partition("/")[0], []).append(hole)
    found: list[Rule] = []
    for name, is_directory in facts.entries(root)[:_MOST_NAMES]:
        path = root[:start] + name if start == 1 else f"{root}/{name}"
        below = holes_of.get(name)
        if below is None:
            found.append(Rule("read", path, is_directory))
        elif path not in below:
            found += _in_directory(path, below, facts)
    return found
