"""How a shell's own commands change what is known: the directory, variables, arguments."""

import re
from collections.abc import Sequence
from dataclasses import replace

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Surroundings
from hermitty.policy.programs.names import is_list
from hermitty.policy.unfold import stored
from hermitty.policy.world import Outcome, World, length_of, same

_CHANGES_DIRECTORY = frozenset(("cd", "chdir", "pushd", "set-location", "sl", "push-location"))
_LEAVES = frozenset(("exit", "logout", "return", "exec", "break", "continue"))
_DECLARES = frozenset(("declare", "typeset", "local", "readonly", "export", "integer", "float", "private"))
_MAX_KEPT = 1000  # arguments of a function or of `set`
_CD_OPTIONS = re.compile(r"-[LPeqs@]+|-(?:literal)?path", re.IGNORECASE)
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.ASCII | re.DOTALL)
_NAMED = re.compile(r"([A-Za-z_]\w*)(?:\[.*\])?", re.ASCII | re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def after(
    name: str,
    args: Sequence[Arg],
    world: World,
    here: Surroundings,
    *,
    typed: str | None = None,
    is_nested: bool = False,
) -> Outcome:
    """Return the worlds after a command of the shell.

    `typed` is what it reads, if that is known. `is_nested`: in a block, where fish has variables of its own.
    """
    shell = here.shell
    key = name.casefold() if shell == "pwsh" else name
    if key in _CHANGES_DIRECTORY:
        return _changed_directory(args, world, here)
    if key in ("popd", "pop-location", "prevd", "nextd"):
        return Outcome((world.at(None),), (world,))
    if key in _LEAVES:
        return same((replace(world, is_unlikely=True),)) if args or key != "exec" else same((world,))
    if shell == "fish":
        return same((_fish(name, args, world, is_nested=is_nested),))
    return same((_posix(name, args, world, typed),))


def _changed_directory(args: Sequence[Arg], world: World, here: Surroundings) -> Outcome:
    operands = [arg for arg in args if arg.text != "--" and not _CD_OPTIONS.fullmatch(arg.text or "")]
    if not operands:
        cwd = world.home
    elif len(operands) > 1 or operands[0].is_glob:
        cwd = None
    elif operands[0].text == "-":
        cwd = world.previous
    else:
        known = places.known_path(operands[0], here)
        is_absolute = known is not None and (known.startswith(("/", "~")) or known[1:2] == ":")
        cwd = known if is_absolute and not (operands[0].text or "").startswith(("-", "+")) else None
    return Outcome((world.at(cwd),), (world,))


def _posix(name: str, args: Sequence[Arg], world: World, typed: str | None) -> World:
    match name:
        case "read" | "mapfile" | "readarray" | "getopts" | "printf" | "print" | "vared" | "wait" | "zstat" | "sysread":
            return _filled(name, args, world, typed)
        case "let":
            for arg in args:
                for found in _NAME.findall(arg.text or ""):
                    world = world.with_variable(found, None, is_number=found in world.numbers)
            return world
        case "unset":
            for arg in args:
                if arg.text and _NAME.fullmatch(arg.text):
                    # In a function, a variable of the same name outside of it may become visible.
                    world = world.with_variable(arg.text, None if world.is_inside else "")
            return replace(world, unsure=frozenset(world.functions))
        case "set":
            return _set(args, world)
        case "shift":
            return _shifted(args, world)
        case "source" | ".":
            return world.without_variables()
    return _declared(name, args, world) if name in _DECLARES else world


def _filled(name: str, args: Sequence[Arg], world: World, typed: str | None) -> World:
    """Follow commands that put what they read or print into the variables that they are told.

    Whatever variable is named somewhere in the words may be meant: `printf -vx`, `read -ax`.
    """
    texts = [arg.text for arg in args]
    if None in texts and name not in ("printf", "print"):
        return world.without_variables()
    said = " ".join(text for text in texts if text is not None)
    if name in ("mapfile", "readarray") or (name == "read" and any("a" in (text or "") for text in texts)):
        world = world.with_arrays(_NAME.findall(said))
    world = world.without(known for known in world.variables if known in said)
    match texts:
        case ["-v", str(variable), str(text)] if name == "printf" and not re.search(r"[%\\]|^-", text):
            return world.with_variable(variable, text)
        case ["-v", str(variable), "%s", str(text)] if name == "printf":
            return world.with_variable(variable, text)
    names = [text for text in texts if text is not None and _NAME.fullmatch(text)]
    is_plain = name == "read" and (texts == names or texts[:1] == ["-r"]) and len(names) == 1 and len(texts) <= 2
    if not is_plain or typed is None or "IFS" in world.variables or "\n" in typed or "\\" in typed:
        return world.without(names)
    return world.with_variable(names[0], typed.strip())


def _set(args: Sequence[Arg], world: World) -> World:
    texts = [arg.text for arg in args]
    if not texts:
        return world
    if "--" in texts:
        return with_arguments(world, args[texts.index("--") + 1 :])
    if all(text is not None and text.startswith(("-", "+")) for text in texts):
        return world
    return with_arguments(world, None if (texts[0] or "-").startswith(("-", "+")) else args)


def _shifted(args: Sequence[Arg], world: World) -> World:
    count = args[0].text if args else "1"
    if world.arguments is None or count is None or not count.isdecimal():
        return with_arguments(world, None)
    return with_arguments(world, world.arguments[int(count) :])


def _declared(name: str, args: Sequence[Arg], world: World) -> World:
    # With an attribute such as -i, -l or -n, the value is not the text that was given.
    options = [arg.text for arg in args if arg.text and arg.text.startswith("-")]
    is_changed = name in ("integer", "float") or any(letter in one for one in options for letter in "ilucnAaEFTUZR")
    is_array = any(letter in one for one in options for letter in "aA")
    is_fixed = name == "readonly" or is_changed or any("r" in one for one in options)
    for arg in args:
        known = arg.prefix if arg.text is None else arg.text
        if match := _ASSIGNED.match(known):
            is_exact = arg.text is not None and not match[2] and not is_changed and not match[3].startswith("~")
            text = match[3] if is_exact else None
            world = _declared_as(match[1], text, world, is_fixed=is_fixed)
        elif match := _NAMED.match(known):
            world = _declared_as(match[1], None, world, is_fixed=is_fixed)
        if match and (is_array or known[match.end(1) :].startswith("[") or is_list(arg)):
            world = world.with_arrays((match[1],))
    return world


def _declared_as(name: str, text: str | None, world: World, *, is_fixed: bool) -> World:
    world = world.with_variable(name, None if is_fixed else text)
    return replace(
        world,
        locals=world.locals | {name} if world.is_inside else world.locals,
        fixed=world.fixed | {name} if is_fixed else world.fixed,
    )


def _fish(name: str, args: Sequence[Arg], world: World, *, is_nested: bool) -> World:
    if name == "read":
        return _filled(name, args, world, None)
    if name in ("source", "."):
        return world.without_variables()
    if name != "set":
        return world
    words = [arg for arg in args if not (arg.text or "").startswith("-")]
    options = "".join(arg.text or "" for arg in args if (arg.text or "").startswith("-"))
    if not words or words[0].text is None:
        return world.without_variables() if words else world
    # With a scope, the value may be hidden by another, or be gone where its block ends.
    has_scope = any(scope in options for scope in ("l", "g", "U", "f"))
    is_known = len(words) == 2 and not set("aepqSLn") & set(options)
    is_known = is_known and not (has_scope and (is_nested or words[0].text in world.variables))
    return world.with_variable(words[0].text, stored(words[1], world.home) if is_known else None)


def with_arguments(world: World, args: Sequence[Arg] | None) -> World:
    """Return the world in which these are the arguments; None if they are not known."""
    variables = dict(world.variables)
    shapes = {name: known for name, known in world.shapes.items() if not name.isdecimal()}
    if args is not None and (len(args) > _MAX_KEPT or any(arg.is_many for arg in args)):
        args = None
    for place in range(1, 10):
        given = args[place - 1] if args is not None and place <= len(args) else None
        variables[str(place)] = None if args is None else stored(given, world.home) if given is not None else ""
        if given is not None and given.text is None and given.prefix and not given.is_home:
            shapes[str(place)] = given.prefix
    return replace(
        world,
        variables=variables,
        length=length_of(variables),
        shapes=shapes,
        numbers=frozenset(name for name in world.numbers if not name.isdecimal()),
        arguments=None if args is None else tuple(args),
    )


def called_with(world: World, args: Sequence[Arg] | None) -> World:
    """Return the world in which a function begins."""
    return replace(with_arguments(world, args), is_inside=True, locals=frozenset())


def like_before(world: World, before: World) -> World:
    """Return the world after a call, with the arguments from before it."""
    world = world.without(world.locals)
    variables = {name: text for name, text in world.variables.items() if not name.isdecimal()}
    variables |= {name: text for name, text in before.variables.items() if name.isdecimal()}
    shapes = {name: known for name, known in world.shapes.items() if not name.isdecimal()}
    shapes |= {name: known for name, known in before.shapes.items() if name.isdecimal()}
    return replace(
        world,
        variables=variables,
        length=length_of(variables),
        shapes=shapes,
        arguments=before.arguments,
        locals=before.locals,
        is_inside=before.is_inside,
    )
