"""Simple commands: words, assignments and redirections together."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hermitty.policy import streams
from hermitty.policy.arguments import Arg, limited
from hermitty.policy.assigning import assigned, forgotten
from hermitty.policy.calls import Call, runs_foreign_code
from hermitty.policy.effects import Finding, Verdict
from hermitty.policy.inside import Inside
from hermitty.policy.record import uses_network
from hermitty.policy.syntax.commands import Redirect, Simple
from hermitty.policy.unfold import all_arguments, arguments, has_defaults, text_of
from hermitty.policy.world import Outcome, World, same

if TYPE_CHECKING:
    from hermitty.policy.judge import Walker

_DECLARING = frozenset(("declare", "typeset", "local", "export", "readonly"))
_ASSIGNING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=", re.ASCII)


def judge_simple(walker: "Walker", command: Simple, world: World) -> Outcome:
    """Judge one command in one world."""
    found = walker.record.found
    begin = len(found)
    walker.record.count_redirects(len(command.redirects))
    inside = Inside(world, walker.shell, walker.substituted)
    for assignment in command.assignments:
        inside.subscript(assignment.subscript)
        inside.parts(assignment.value.parts)
    inside.words(command.words)
    inside_redirects(inside, command.redirects)
    nested = found[begin:]
    calls = walker.record.calls
    number = len(calls)
    around, done, outcome = _performed(walker, command, inside.world, nested)
    if world.is_unlikely and _is_blocked(around + done):
        # Reached only if `cd` failed: what is destroyed must not depend on where it did not go.
        kept = len(calls)
        again = _performed(walker, command, replace(inside.world, cwd=None), nested)
        del calls[kept:]
        if not _is_blocked(again[0] + again[1]):
            around, done = _asking(around), _asking(done)
            calls[number:] = [replace(call, findings=tuple(_asking(call.findings))) for call in calls[number:]]
    walker.add(inside.found + around, command, done=done)
    return outcome


def _is_blocked(found: Sequence[Finding]) -> bool:
    return any(one.verdict is Verdict.BLOCK for one in found)


def _asking(found: Sequence[Finding]) -> list[Finding]:
    return [replace(one, verdict=min(one.verdict, Verdict.ASK)) for one in found]


def inside_redirects(inside: Inside, redirects: Sequence[Redirect]) -> None:
    """Judge what is in the words and the texts of redirections."""
    for redirect in redirects:
        inside.words((redirect.target,))
        if redirect.heredoc is not None:
            inside.parts(redirect.heredoc.body.parts)


def _arguments(command: Simple, world: World, shell: str) -> list[Arg]:
    words = command.words
    if shell not in ("bash", "zsh") or not words or words[0].source not in _DECLARING:
        return all_arguments(words, world, shell)
    # What looks like an assignment is one: nothing in it is split.
    return limited(
        [replace(text_of(word, world, shell), is_many=False)]
        if _ASSIGNING.match(word.source)
        else arguments(word, world, shell)
        for word in words
    )


def _performed(
    walker: "Walker", command: Simple, world: World, nested: Sequence[Finding]
) -> tuple[list[Finding], list[Finding], Outcome]:
    """Return what is found around the program, what the program does, and the worlds after it."""
    here = walker.here(world)
    shell = walker.shell
    around = [one for redirect in command.redirects for one in streams.judged(redirect, world, here)]
    changed = world
    if command.assignments:
        before = (command.words[0].literal or "") if command.words else None
        found, changed = assigned(command.assignments, world, here, before=before)
        around += found
    args = _arguments(command, world, shell)
    changed = changed.without(one.variable for one in command.redirects if one.variable is not None)
    if not args:
        return around, [], same((changed,))
    if shell in ("fish", "pwsh") and command.words[0].literal is None:
        # There, a variable may be another one than the line gave a value to.
        args[0] = replace(args[0], text=None)
    is_elsewhere = streams.reads_elsewhere(command.redirects)
    typed = streams.typed_text(command.redirects, world, shell) if is_elsewhere else walker.typed
    call = Call(walker, changed, typed)
    performed = call.perform(args)
    if has_defaults(command.words):
        other = all_arguments(command.words, world, shell, defaults=True)
        if other != args:
            performed += Call(walker, changed, None).perform(other)
    around += runs_foreign_code(args, performed, nested)
    if uses_network(performed):
        walker.record.download(around)
    outcome = call.outcome
    if command.assignments:
        outcome = Outcome(
            tuple(forgotten(command.assignments, one) for one in outcome.success),
            tuple(forgotten(command.assignments, one) for one in outcome.failure),
        )
    return around, performed, outcome
