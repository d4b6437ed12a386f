"""Loops: what their variables may be, and the worlds after any number of rounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hermitty.policy.arguments import MAX_TOTAL, Arg
from hermitty.policy.numeric import prints_numbers
from hermitty.policy.syntax.commands import For
from hermitty.policy.syntax.words import Substitution, Word
from hermitty.policy.unfold import arguments, stored
from hermitty.policy.world import World, Worlds, bounded, merged

_ROUNDS = 3
# With more values, one round is made for all of them.
_MAX_VALUES = 200
_MAX_NUMBERS = 20
_MAX_FOUND = 20_000


@dataclass(frozen=True, slots=True)
class LoopValue:
    """A value that a loop variable takes; unknown ones (None) may stand for many."""

    text: str | None
    shape: str = ""
    is_number: bool = False

    def put(self, name: str, world: World) -> World:
        """Return the world in which the variable has this value."""
        return world.with_variable(name, self.text, is_number=self.is_number, shape=self.shape)


def values(command: For, world: World, shell: str) -> list[LoopValue]:
    """Return the values of the variable of `for` and `select`, in their order."""
    if command.is_select:
        return [LoopValue(None)]
    if command.words is None:
        given = world.arguments
        return [LoopValue(None)] if given is None else [_value(arg, world.home) for arg in given]
    found: list[LoopValue] = []
    length = 0
    for word in command.words:
        more = _values(word, world, shell)
        found += more
        length += sum(len(value.text or "") for value in more)
        if len(found) > _MAX_FOUND or length > MAX_TOTAL:
            return [LoopValue(None)]
    numbers = all(value.text is not None and value.text.isdecimal() for value in found)
    if numbers and len(found) > _MAX_NUMBERS:
        return [LoopValue(None, is_number=True)]
    return found if len(found) <= _MAX_VALUES else [LoopValue(None)]


def _values(word: Word, world: World, shell: str) -> list[LoopValue]:
    match word.parts:
        case (Substitution(script=script),) if prints_numbers(script, world):
            return [LoopValue(None, is_number=True)]
    return [_value(arg, world.home) for arg in arguments(word, world, shell)]


def _value(arg: Arg, home: str) -> LoopValue:
    if arg.text is not None:
        return LoopValue(stored(arg, home))
    if arg.may_split:
        return LoopValue(None, "")
    return LoopValue(None, home + arg.prefix[1:] if arg.is_home and arg.prefix.startswith("~/") else arg.prefix)


def repeated(worlds: Worlds, run: Callable[[Worlds], Worlds]) -> Worlds:
    """Return the worlds after no, one or more rounds of a loop.

    After a few rounds that still change something, what changes is taken for unknown until nothing new comes of it.
    """
    seen: Worlds = worlds
    now: Worlds = worlds
    for _ in range(_ROUNDS):
        now = tuple(world for world in run(now) if world not in seen)
        if not now:
            return seen
        seen = bounded((*seen, *now))
    wide = merged(list(seen))
    while True:
        wider = merged([wide, *run((wide,))])
        if wider == wide:
            return bounded((*_few(seen), wide))
        wide = wider


def _few(worlds: Sequence[World]) -> Sequence[World]:
    return worlds[:2]
