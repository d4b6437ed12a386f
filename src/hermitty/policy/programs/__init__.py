"""What single programs do, by name and arguments.

A module of programs has a table `PROGRAMS: dict[str, Program]`, from names to one of:

- a `Grammar` (see `hermitty.policy.options`), when options and roles of operands say all there is to say;
- a function `(name, args, judge) -> list[Finding]`, when they do not. Most such functions call `GRAMMAR.parse`, look
  at `parsed.options` and `parsed.operands`, and start from `GRAMMAR.option_findings`, which has what was not
  understood. A grammar whose operands are dangerous must say so (`operands="ask*"`), or unknown words pass.

No findings means: nothing happens that anybody would mind. A program that is not in a table is asked about. A function
hands what runs in turn to `judge.command` (a program with its arguments) or `judge.script` (text for a shell), and
paths to `hermitty.policy.places`. Words may be unknown (`arg.text is None`): what is not proved harmless is asked
about.

To add a module: import it below and add its table, to `_ANYWHERE` for programs, to `_BUILTINS` for what is part of a
shell. What a shell has of its own comes first; with a path in front of the name, only programs count.
"""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Final

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Finding
from hermitty.policy.findings import unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs import (
    archives,
    awk,
    builds,
    builtins,
    cloud,
    clusters,
    containers,
    databases,
    disks,
    files,
    find,
    fish,
    git,
    interpreters,
    keys,
    network,
    packages,
    powershell,
    processes,
    readers,
    searchers,
    sed,
    shells,
    system,
    system_packages,
    viewers,
    wrappers,
    zsh,
)
from hermitty.policy.programs.tables import Program

__all__ = ["Program", "find_program", "judge_program"]

TRUSTED: Final = frozenset(
    {
        *("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"),
        *("/opt/homebrew/bin", "/opt/homebrew/sbin", "/opt/local/bin", "/run/current-system/sw/bin", "/snap/bin"),
    }
)

_ANYWHERE: Final[tuple[Mapping[str, Program], ...]] = (
    readers.PROGRAMS,
    searchers.PROGRAMS,
    viewers.PROGRAMS,
    system.PROGRAMS,
    sed.PROGRAMS,
    awk.PROGRAMS,
    find.PROGRAMS,
    files.PROGRAMS,
    archives.PROGRAMS,
    disks.PROGRAMS,
    processes.PROGRAMS,
    wrappers.PROGRAMS,
    shells.PROGRAMS,
    git.PROGRAMS,
    packages.PROGRAMS,
    system_packages.PROGRAMS,
    containers.PROGRAMS,
    clusters.PROGRAMS,
    network.PROGRAMS,
    keys.PROGRAMS,
    interpreters.PROGRAMS,
    databases.PROGRAMS,
    builds.PROGRAMS,
    cloud.PROGRAMS,
    powershell.PROGRAMS,
)
_POSIX: Final[Mapping[str, Program]] = {**builtins.PROGRAMS, **wrappers.BUILTINS}
_BUILTINS: Final[Mapping[str, Mapping[str, Program]]] = {
    "bash": _POSIX,
    "zsh": {**_POSIX, **zsh.PROGRAMS},
    "fish": fish.PROGRAMS,
    "pwsh": powershell.CMDLETS,
}
_SHELL_OF: Final = {"sh": "bash", "dash": "bash", "ksh": "bash", "ash": "bash", "powershell": "pwsh"}


def find_program(name: str, shell: str) -> Program | None:
    """Look a command's name up, as a shell would find it: without a path, the shell's own commands come first."""
    directory, slash, base = name.rpartition("/")
    if slash:
        # No `..`: where it leads depends on links.
        is_trusted = directory in TRUSTED and posixpath.normpath(name) == name
        return _anywhere(base) if is_trusted else None
    shell = _SHELL_OF.get(shell, shell)
    own = _BUILTINS.get(shell, {})
    return own.get(name.casefold() if shell == "pwsh" else name) or _anywhere(name)


def _anywhere(name: str) -> Program | None:
    return next((table[name] for table in _ANYWHERE if name in table), None)


def judge_program(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge one program, called with these arguments (without its name)."""
    program = find_program(name, judge.here.shell)
    if program is None:
        return [unclear(f"what {name} does is not known")]
    base = name.rpartition("/")[2]
    if isinstance(program, Grammar):
        return program.judge(base, args, judge.here)
    return program(base, args, judge)
