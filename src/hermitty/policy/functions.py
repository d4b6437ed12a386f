"""Functions that the line defines: they are followed when they are called, and asked about because they stay."""

from dataclasses import replace
from typing import TYPE_CHECKING

from hermitty.policy.call_graph import Recursion, recursion
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, block
from hermitty.policy.programs import find_program
from hermitty.policy.session_state import called_with, like_before
from hermitty.policy.syntax.commands import Function
from hermitty.policy.unfold import all_arguments
from hermitty.policy.world import Outcome, Worlds, bounded, same

if TYPE_CHECKING:
    from hermitty.policy.judge import Walker


def define(walker: "Walker", command: Function, worlds: Worlds) -> Outcome:
    """Judge a definition; without a name it is a call."""
    worlds = walker.inside(worlds, command.arguments, command)
    if not command.names:
        return _called(walker, command, worlds)
    names = [name.literal or name.source for name in command.names]
    worlds = tuple(
        replace(
            world,
            functions={**world.functions, **dict.fromkeys(names, (command,))},
            unsure=world.unsure - set(names),
        )
        for world in worlds
    )
    walker.add([one for name in names for one in _found(walker, name, worlds)], command)
    # What it does counts when it is called; but it may be called later.
    new = set(names) - walker.active
    walker.active |= new
    walker.command(command.body, tuple(called_with(world, None) for world in worlds))
    walker.active -= new
    return same(worlds)


def _called(walker: "Walker", command: Function, worlds: Worlds) -> Outcome:
    results = []
    for world in worlds:
        args = all_arguments(command.arguments, world, walker.shell)
        outcome = walker.command(command.body, (called_with(world, args),))
        results += [like_before(after, world) for after in outcome.both]
    return same(bounded(results))


def _found(walker: "Walker", name: str, worlds: Worlds) -> list[Finding]:
    found: list[Finding] = []
    ends = {recursion(name, world.functions, walker.record.sites) for world in worlds}
    if Recursion.BOMB in ends:
        found.append(block(f"{name} {Recursion.BOMB.value}: a fork bomb", Effect.PROCESS))
    elif Recursion.ENDLESS in ends:
        found.append(ask(f"{name} {Recursion.ENDLESS.value}", Level.MEDIUM, Effect.PROCESS))
    if not walker.is_apart:
        level = Level.MEDIUM if find_program(name, walker.shell) is None else Level.HIGH
        found.append(ask(f"defines {name}, which changes what later commands mean", level, Effect.SESSION))
    return found
