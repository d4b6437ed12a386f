"""Functions that call themselves: a fork bomb, or an endless one.

Told from the shape alone: which functions of the line a body calls, and whether that happens in the background, in a
pipe, in a substitution, or only under a condition.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from hermitty.policy.syntax.commands import (
    AndOr,
    Case,
    Coproc,
    For,
    Function,
    If,
    Pipeline,
    Simple,
    Statement,
    Subshell,
    While,
)
from hermitty.policy.syntax.tree import Node, children, walk
from hermitty.policy.syntax.words import ProcessSubstitution, Substitution

# Builtins that run the word behind them in the same shell.
_PREFIXES = frozenset(("eval", "exec", "builtin", "command", "time", "nohup", "noglob", "env", "sudo", "setsid"))


# The name of a function in its own body.
SELF = "$0"


class Recursion(Enum):
    """What happens if a function is called."""

    NONE = "none"
    ENDLESS = "calls itself"
    BOMB = "starts copies of itself without end"


@dataclass(frozen=True, slots=True)
class Site:
    """A call, and how it happens."""

    name: str
    is_background: bool = False
    is_concurrent: bool = False
    is_conditional: bool = False


# The calls in each function, by its identity.
Sites = dict[int, tuple[Function, tuple[Site, ...]]]


def recursion(name: str, functions: Mapping[str, tuple[Function, ...]], known: Sites) -> Recursion:
    """Tell whether a function reaches itself through functions of the line. `known` are the calls found before."""
    sites = {one: [site for body in bodies for site in _all_sites(body, known)] for one, bodies in functions.items()}
    paths = list(_ways_back(name, sites))
    if not paths:
        return Recursion.NONE
    concurrent = [path for path in paths if path.is_concurrent]
    if any(path.is_background for path in paths) or any(not path.is_conditional for path in concurrent):
        return Recursion.BOMB
    return Recursion.BOMB if concurrent and len(paths) > 1 else Recursion.ENDLESS


def _ways_back(name: str, sites: Mapping[str, list[Site]]) -> Iterator[Site]:
    """Iterate over the calls in a function from which it is reached again, each with all that happens on the way."""
    for site in sites.get(name, ()):
        seen: set[str] = set()
        pending = [site]
        while pending:
            now = pending.pop()
            if now.name in (name, SELF):
                yield now
                break
            if now.name in seen:
                continue
            seen.add(now.name)
            pending += [
                replace(
                    following,
                    is_background=now.is_background or following.is_background,
                    is_concurrent=now.is_concurrent or following.is_concurrent,
                    is_conditional=now.is_conditional or following.is_conditional,
                )
                for following in sites.get(now.name, ())
            ]


def _all_sites(function: Function, known: Sites) -> tuple[Site, ...]:
    kept = known.get(id(function))
    if kept is None or kept[0] is not function:
        # A function that may return before it calls itself is no bomb by that call alone.
        found = _sites(function.body, Site("", is_conditional=_may_return(function.body)))
        kept = known[id(function)] = function, tuple(found)
    return kept[1]


def _may_return(node: Node) -> bool:
    return any(
        isinstance(one, Simple) and one.words and one.words[0].literal in ("return", "exit") for one in walk(node)
    )


def _sites(node: Node, at: Site) -> Iterator[Site]:
    match node:
        case Function():
            return
        case Simple(words=words) if words:
            texts = [word.literal or word.source for word in words]
            while len(texts) > 1 and texts[0] in _PREFIXES:
                del texts[0]
            called = texts[0].split()[0] if texts[0].split() else ""
            # The function itself, or the script that it stands in.
            is_self = called in ("$0", "$FUNCNAME", "${FUNCNAME[0]}", '"$0"', "${FUNCNAME}")
            yield replace(at, name=SELF if is_self else called)
        case Pipeline(commands=commands) if len(commands) > 1:
            at = replace(at, is_concurrent=True)
        case Statement(is_background=True) | Coproc():
            at = replace(at, is_background=True, is_concurrent=True)
        case Subshell() | Substitution() | ProcessSubstitution():
            at = replace(at, is_concurrent=True)
        case AndOr(commands=commands):
            yield from _sites(commands[0], at)
            for command in commands[1:]:
                yield from _sites(command, replace(at, is_conditional=True))
            return
        case If() | Case() | For() | While():
            at = replace(at, is_conditional=True)
    for child in children(node):
        yield from _sites(child, at)
