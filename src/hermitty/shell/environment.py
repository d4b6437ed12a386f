"""Variables of a shell: what changed, the line that undoes it, and what others add to PATH."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hermitty.shell.dialect import Dialect

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# The shell sets these itself, with every directory and every command.
_OF_THE_SHELL = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})


@dataclass(frozen=True, slots=True)
class Difference:
    """What happened to the variables between two moments. Names that no shell can assign are left out."""

    added: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)  # with the values they had
    changed: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # before and after

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> Difference:
    """Compare the exported variables of two moments."""
    return Difference(
        added={name: value for name, value in after.items() if name not in before and _is_ours(name)},
        removed={name: value for name, value in before.items() if name not in after and _is_ours(name)},
        changed={
            name: (value, after[name])
            for name, value in before.items()
            if name in after and after[name] != value and _is_ours(name)
        },
    )


def restore_line(dialect: Dialect, before: Mapping[str, str], after: Mapping[str, str]) -> str | None:
    """Write the line that leads from the variables `after` back to those `before`; None when nothing is to be done."""
    found = difference(before, after)
    if not found:
        return None
    unset = sorted(found.added)
    export = {**found.removed, **{name: was for name, (was, _) in found.changed.items()}}
    assigned = [(name, dialect.quote(export[name])) for name in sorted(export)]
    match dialect.name:
        case "fish":
            steps = [f"builtin set -eg {name}" for name in unset]
            steps += [f"builtin set -gx {name} {value}" for name, value in assigned]
        case "pwsh":
            steps = [f"Microsoft.PowerShell.Management\\Remove-Item -LiteralPath 'Env:{name}'" for name in unset]
            steps += [f"${{env:{name}}} = {value}" for name, value in assigned]
        case name:
            # Functions of these names are passed by. `command` would keep a shell without `builtin` from its own.
            how = "command" if name == "sh" else "builtin"
            steps = [f"{how} unset -v {' '.join(unset)}"] if unset else []
            steps += [f"{how} export " + " ".join(f"{name}={value}" for name, value in assigned)] if assigned else []
    return "; ".join(steps)


class PathContributions:
    """Directories that contributors add to PATH. Each contributor has one place; a new one replaces it."""

    def __init__(self) -> None:
        self._given: dict[str, tuple[str, bool]] = {}

    def contribute(self, contributor: str, path: str | None, *, prepend: bool = False) -> bool:
        """Set what a contributor adds, or remove it with None. Tell whether that changed anything."""
        before = dict(self._given)
        self._given.pop(contributor, None)
        if path:
            self._given[contributor] = (path, prepend)
        return list(before.items()) != list(self._given.items())

    def apply(self, path: str, *, separator: str = ":") -> str:
        """Return PATH with all additions: the last one to prepend stands first, the last one to append last."""
        front = [added for added, prepend in reversed(self._given.values()) if prepend]
        back = [added for added, prepend in self._given.values() if not prepend]
        return separator.join([*front, *([path] if path else []), *back])


def _is_ours(name: str) -> bool:
    return name not in _OF_THE_SHELL and _IDENTIFIER.match(name) is not None
