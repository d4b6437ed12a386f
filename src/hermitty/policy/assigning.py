"""Assignments: what they set, and whether that makes later programs do something else."""

from collections.abc import Sequence

from hermitty.policy.arguments import Arg, joined
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask
from hermitty.policy.numeric import is_number
from hermitty.policy.programs.names import may_be_list, read_again
from hermitty.policy.programs.variables import dangerous_variable
from hermitty.policy.syntax.commands import Assignment
from hermitty.policy.syntax.words import Array
from hermitty.policy.unfold import all_arguments, stored, text_of
from hermitty.policy.world import World

# Variables of PowerShell that change how its commands work.
_PWSH_SETTINGS = frozenset(
    ("psdefaultparametervalues", "psmoduleautoloadingpreference", "outputencoding", "profile", "executioncontext")
)
_DECLARING = frozenset(("declare", "typeset", "local", "readonly", "export"))
_PWSH_SCOPES = frozenset(("global", "script", "local", "private", "using", "variable"))


def assigned(
    assignments: Sequence[Assignment], world: World, here: Surroundings, *, before: str | None
) -> tuple[list[Finding], World]:
    """Judge assignments `before` a command ("" if its name is not known), or of the session (None).

    Return what was found, and the world after them.
    """
    found: list[Finding] = []
    effect = Effect.SESSION if before is None else Effect.EXEC
    for one in assignments:
        given = text_of(one.value, world, here.shell)
        text = stored(given, world.home)
        if one.operator == "+=":
            so_far = world.variables.get(one.name)
            text = None if so_far is None or text is None else joined((so_far, text))
        elif one.operator != "=":
            text = None
        if one.subscript is not None or any(isinstance(part, Array) for part in one.value.parts):
            text = None
            world = world.with_arrays((one.name,))
        reason, level = _reason(one, text, here.shell)
        if reason and not (one.name == "IFS" and before == "read"):
            found.append(ask(reason, level, effect, at=Arg(None, one.name, start=one.start, end=one.end)))
        is_plain = one.operator == "=" and one.subscript is None
        shape = given.prefix if given.text is None and is_plain and not given.is_home else ""
        is_numeric = is_plain and bool(one.value.parts) and is_number(one.value, world)
        for name in _names(one.name, world, here.shell):
            world = world.with_variable(name, text, is_number=is_numeric, shape=shape)
        match one.value.parts:
            case (Array(elements=elements),) if is_plain and before is None:
                world = world.with_list(one.name, all_arguments(elements, world, here.shell))
    return found, world


def lists_in_quotes(name: str, args: Sequence[Arg], world: World, shell: str) -> list[Finding]:
    """Judge values of `declare` and its like for variables that may be arrays: a list in quotes is read again."""
    if name not in _DECLARING or shell in ("zsh", "fish", "pwsh"):
        return []
    options = "".join(arg.text or "" for arg in args if (arg.text or "").startswith("-"))
    is_local = name == "local" or (world.is_inside and name in ("declare", "typeset") and "g" not in options)
    found: list[Finding] = []
    for arg in args:
        variable = may_be_list(arg)
        if variable is None:
            continue
        # A local variable that was not there before is no array.
        is_array = world.may_be_local_array(variable) if is_local else world.may_be_array(variable)
        found += [read_again(arg)] if is_array else []
    return found


def forgotten(assignments: Sequence[Assignment], world: World) -> World:
    """Return the world after a command with assignments in front of it, which may or may not last."""
    for one in assignments:
        world = world.with_variable(one.name, None)
    return world


def _reason(one: Assignment, text: str | None, shell: str) -> tuple[str | None, Level]:
    if shell != "pwsh":
        return dangerous_variable(one.name, text, shell), Level.HIGH
    scope, colon, name = one.name.rpartition(":")
    if scope.casefold() == "env":
        reason = dangerous_variable(name, text) or dangerous_variable(name.upper(), text)
        return reason or f"sets {name} for later programs", Level.HIGH if reason else Level.LOW
    if (colon and scope.casefold() not in _PWSH_SCOPES) or name.casefold() in _PWSH_SETTINGS:
        return f"{one.name} is set, which changes how later commands work", Level.HIGH
    return None, Level.LOW


def _names(name: str, world: World, shell: str) -> list[str]:
    """Return the spellings under which the variable is known: in PowerShell, case does not count."""
    if shell != "pwsh":
        return [name]
    return [name, *(other for other in world.variables if other != name and _plain(other) == _plain(name))]


def _plain(name: str) -> str:
    return name.rpartition(":")[2].casefold()
