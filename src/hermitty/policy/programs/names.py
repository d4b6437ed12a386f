"""Names of variables as words: a shell evaluates subscripts in them, and runs what is in there."""

import re

from hermitty.policy.arguments import Arg
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.programs.variables import dangerous_variable

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ELEMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[(?:-?[0-9]+|@|\*)\]", re.ASCII)
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=(.*)", re.ASCII | re.DOTALL)
_ARRAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=\(", re.ASCII)


def plain_name(arg: Arg) -> str | None:
    """Return the word if it is a name and nothing else."""
    return arg.text if arg.text is not None and _PLAIN.fullmatch(arg.text) else None


def looked_up(arg: Arg) -> list[Finding]:
    """Judge a name that is only looked up: `test -v NAME`, `unset NAME`."""
    if arg.text is not None and (_PLAIN.fullmatch(arg.text) or _ELEMENT.fullmatch(arg.text)):
        return []
    return [_hostile(arg)]


def set_by(arg: Arg, shell: str) -> list[Finding]:
    """Judge a name that gets a value: `read NAME`, `printf -v NAME`."""
    name = plain_name(arg)
    if name is None:
        return [_hostile(arg)]
    reason = dangerous_variable(name, None, shell)
    return [ask(reason, Level.HIGH, Effect.SESSION, at=arg)] if reason else []


def assigned(arg: Arg, shell: str) -> tuple[str, str | None] | Finding:
    """Return the name and the value of NAME=VALUE (None if it is not known), or what is wrong with the word."""
    match = _ASSIGNED.match(arg.prefix if arg.text is None else arg.text)
    if match is None or arg.may_split:
        return _hostile(arg)
    return match.group(1), match.group(2) if arg.text is not None else None


def is_list(arg: Arg) -> bool:
    """Tell whether a word is NAME=(...) as it is written."""
    return arg.text is None and _ARRAY.match(arg.shown) is not None


def may_be_list(arg: Arg) -> str | None:
    """Return the name in NAME=VALUE if the value may be a list in quotes: an array reads that again, and runs it."""
    match = _ASSIGNED.match(arg.prefix if arg.text is None else arg.text)
    if match is None or is_list(arg):
        # What is written as a list is read once.
        return None
    is_open = arg.text is None and not match.group(2)
    return match.group(1) if is_open or match.group(2).startswith("(") else None


def read_again(arg: Arg) -> Finding:
    """Tell that an array may get a list in quotes."""
    return unclear(f"{arg.shown} may be a list, and the shell runs what is in it", at=arg)


def _hostile(arg: Arg) -> Finding:
    return unclear(f"{arg.shown} is not a plain name, and the shell may run what is in it", at=arg)
