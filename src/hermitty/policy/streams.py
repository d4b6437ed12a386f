"""Redirections: what is read and written through them, and what a command gets as its input."""

import re
from collections.abc import Sequence

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.programs.variables import dangerous_variable
from hermitty.policy.syntax.commands import Redirect
from hermitty.policy.syntax.words import Parameter
from hermitty.policy.unfold import arguments, text_of
from hermitty.policy.world import World

_DESCRIPTOR = re.compile(r"[0-9]*-?|p")
_WRITES = frozenset((">", ">>", ">|", "&>", "&>>", ">!", ">>|", ">>!", "&>|", "&>!", "&>>|", "&>>!", ">?", "^", "^^"))
_BOTH = frozenset((">&", ">>&", ">&|", ">&!", ">>&|", ">>&!"))


def judged(redirect: Redirect, world: World, here: Surroundings) -> list[Finding]:
    """Judge one redirection. What is inside of its words is judged by others."""
    found: list[Finding] = []
    if redirect.variable is not None and (reason := dangerous_variable(redirect.variable, None, here.shell)):
        found.append(ask(reason, Level.HIGH, Effect.SESSION))
    operator = redirect.operator
    if redirect.heredoc is not None or operator == "<<<":
        return found
    targets = arguments(redirect.target, world, here.shell)
    if here.shell == "pwsh" and _is_null(redirect):
        return found
    for target in targets:
        if operator == "<":
            found += places.read(target, here)
        elif operator == "<&":
            found += _descriptor(target)
        elif operator in _BOTH and _is_descriptor(target):
            continue
        elif operator in _WRITES or operator in _BOTH:
            found += places.write(target, here)
        elif operator == "<>":
            found += places.write(target, here) + places.read(target, here)
        else:
            found.append(unclear(f"the redirection {operator} is not analysed", at=target))
    return found


def typed_text(redirects: Sequence[Redirect], world: World, shell: str) -> str | None:
    """Return what a command reads from a here-document or a here-string, if that is known."""
    for redirect in reversed(redirects):
        if redirect.fd not in (None, 0):
            continue
        if redirect.heredoc is not None:
            return text_of(redirect.heredoc.body, world, shell).text
        if redirect.operator == "<<<":
            return text_of(redirect.target, world, shell).text
        if redirect.operator.startswith("<"):
            return None
    return None


def reads_elsewhere(redirects: Sequence[Redirect]) -> bool:
    """Tell whether the input does not come from the pipe in front of the command."""
    return any(one.operator.startswith("<") and one.fd in (None, 0) for one in redirects)


def _descriptor(target: Arg) -> list[Finding]:
    if _is_descriptor(target):
        return []
    return [unclear(f"what {target.shown} stands for is only known when it runs", at=target)]


def _is_descriptor(target: Arg) -> bool:
    return target.text is not None and bool(_DESCRIPTOR.fullmatch(target.text))


def _is_null(redirect: Redirect) -> bool:
    match redirect.target.parts:
        case (Parameter(name=name),):
            return name.casefold() == "null"
    return False
