"""What is known about the shell at one point of a line: directory, variables, functions, arguments.

A line can reach a point in several ways (`cd x || cd y`), so there may be several worlds there. Each is a value; few
are kept, and when there are more, what they differ in becomes unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hermitty.policy.arguments import MAX_TOTAL, Arg
from hermitty.policy.syntax.commands import Function

MAX_WORLDS = 6
# A home directory that is not known; it looks like one.
UNKNOWN_HOME = "/home/~"

# Shells set these themselves, whatever the line gives them.
_NEVER_KNOWN = frozenset(
    (
        *("_", "?", "REPLY", "reply", "OPTARG", "OPTIND", "MAPFILE", "COPROC", "PIPESTATUS", "pipestatus", "status"),
        *("MATCH", "match", "mbegin", "mend", "MBEGIN", "MEND", "FUNCNAME", "DIRSTACK", "dirstack", "GROUPS", "argv"),
        *("ARGC", "PWD", "OLDPWD", "RANDOM", "LINENO", "SECONDS", "COLUMNS", "LINES", "HISTCMD", "EPOCHSECONDS"),
        *("matches", "args", "input", "psitem", "foreach", "switch", "error", "lastexitcode", "pid", "null"),
    )
)

_ARRAYS_OF_THE_SHELL = frozenset(("DIRSTACK", "GROUPS", "FUNCNAME", "PIPESTATUS", "MAPFILE", "COPROC", "COMPREPLY"))
_ARRAYS_OF_THE_SHELL |= {"COMP_WORDS", "BASH_ALIASES", "BASH_ARGC", "BASH_ARGV", "BASH_CMDS", "BASH_LINENO"}
_ARRAYS_OF_THE_SHELL |= {"BASH_REMATCH", "BASH_SOURCE", "BASH_VERSINFO"}

# Longer arrays are not remembered.
_MAX_ELEMENTS = 50
_MAX_LIST = 4000

Worlds = tuple["World", ...]


@dataclass(frozen=True, slots=True)
class World:
    """One way in which a point can be reached."""

    cwd: str | None
    home: str = UNKNOWN_HOME
    previous: str | None = None  # the directory before the last `cd`
    variables: Mapping[str, str | None] = field(default_factory=dict)  # None: was given an unknown value
    shapes: Mapping[str, str] = field(default_factory=dict)  # of an unknown value, the certain beginning
    numbers: frozenset[str] = frozenset()  # variables that hold a number, whatever it is
    functions: Mapping[str, tuple[Function, ...]] = field(default_factory=dict)
    unsure: frozenset[str] = frozenset()  # functions that may not be there
    arguments: tuple[Arg, ...] | None = None  # `$@`
    is_inside: bool = False  # a function is being followed
    locals: frozenset[str] = frozenset()  # variables of the function that is being followed
    fixed: frozenset[str] = frozenset()  # variables that do not simply take the values they are given
    is_unlikely: bool = False  # reached only if a command failed that should not
    arrays: frozenset[str] = frozenset()  # variables that the line made arrays
    lists: Mapping[str, tuple[Arg, ...]] = field(default_factory=dict)  # what arrays were given, if it is short
    length: int = field(default=0, compare=False)  # of all texts of variables
    is_new: bool = False  # in a shell that the line starts: nobody else made arrays there

    def with_variable(self, name: str, text: str | None, *, is_number: bool = False, shape: str = "") -> "World":
        """Return the world after an assignment."""
        if name in self.fixed or name in _NEVER_KNOWN:
            text, is_number, shape = None, False, ""
        length = self.length - len(self.variables.get(name) or "") + len(text or "")
        if text is not None and length > MAX_TOTAL:
            length, text = length - len(text), None
        is_number = is_number or (text is not None and text.isascii() and text.isdecimal())
        shapes = self.shapes
        if name in shapes or shape:
            shapes = {key: known for key, known in shapes.items() if key != name}
            if shape and text is None:
                shapes[name] = shape
        return replace(
            self,
            variables={**self.variables, name: text},
            length=length,
            lists={key: given for key, given in self.lists.items() if key != name}
            if name in self.lists
            else self.lists,
            shapes=shapes,
            numbers=self.numbers | {name} if is_number else self.numbers - {name},
            arguments=None if name in ("argv", "ARGC") else self.arguments,
        )

    def without(self, names: Iterable[str]) -> "World":
        """Return the world in which some variables are no longer known."""
        world = self
        for name in names:
            world = world.with_variable(name, None)
        return world

    def without_variables(self) -> "World":
        """Return the world after code that may have set any variable and function."""
        return replace(
            self,
            variables=dict.fromkeys(self.variables),
            length=0,
            lists={},
            shapes={},
            numbers=frozenset(),
            unsure=frozenset(self.functions),
            arguments=None,
        )

    def with_arrays(self, names: Iterable[str]) -> "World":
        """Return the world in which some variables are arrays."""
        return replace(self, arrays=self.arrays.union(names))

    def with_list(self, name: str, args: Sequence[Arg]) -> "World":
        """Return the world in which an array was given these elements."""
        is_short = len(args) <= _MAX_ELEMENTS and sum(len(arg.prefix) for arg in args) <= _MAX_LIST
        return replace(self, lists={**self.lists, name: tuple(args)}) if is_short else self

    def may_be_array(self, name: str) -> bool:
        """Tell whether a variable may be an array: a plain value in this line does not make it anything else."""
        return not self.is_new or self.may_be_local_array(name)

    def may_be_local_array(self, name: str) -> bool:
        """Tell whether a variable may be an array after a function made it its own."""
        return name in self.arrays or name in _ARRAYS_OF_THE_SHELL

    def at(self, cwd: str | None) -> "World":
        """Return the world after a change of the directory."""
        return replace(self, cwd=cwd, previous=self.cwd)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The worlds after a command that succeeded, and after one that failed."""

    success: Worlds
    failure: Worlds

    @property
    def both(self) -> Worlds:
        """Return the worlds for what follows in any case."""
        if self.success is self.failure:
            return self.success
        missing = [world for world in self.failure if world not in self.success]
        return bounded((*self.success, *(replace(world, is_unlikely=True) for world in missing)))


def same(worlds: Worlds) -> Outcome:
    """Make the outcome of a command of which success tells nothing."""
    return Outcome(worlds, worlds)


def bounded(worlds: Iterable[World]) -> Worlds:
    """Drop equal worlds; merge them into one when there are too many."""
    distinct: list[World] = []
    for world in worlds:
        if world not in distinct:
            distinct.append(world)
    if len(distinct) <= MAX_WORLDS:
        return tuple(distinct)
    likely = [world for world in distinct if not world.is_unlikely]
    unlikely = [world for world in distinct if world.is_unlikely]
    if 0 < len(likely) < MAX_WORLDS:
        return (*likely, merged(unlikely))
    return (merged(distinct),)


def merged(worlds: list[World]) -> World:
    """Return the world of what is true in all of these."""
    first = worlds[0]
    names = {name for world in worlds for name in world.variables}
    functions: dict[str, tuple[Function, ...]] = {}
    for world in worlds:
        for name, bodies in world.functions.items():
            functions[name] = tuple(dict.fromkeys((*functions.get(name, ()), *bodies)))
    unsure = {name for name in functions if any(name not in world.functions for world in worlds)}
    variables = {name: _agreed([world.variables.get(name) for world in worlds]) for name in names}
    return World(
        home=first.home,
        cwd=first.cwd if all(world.cwd == first.cwd for world in worlds) else None,
        previous=first.previous if all(world.previous == first.previous for world in worlds) else None,
        variables=variables,
        length=length_of(variables),
        shapes={
            name: known for name, known in first.shapes.items() if all(w.shapes.get(name) == known for w in worlds)
        },
        numbers=frozenset.intersection(*(world.numbers for world in worlds)),
        functions=functions,
        unsure=frozenset(unsure).union(*(world.unsure for world in worlds)),
        locals=frozenset().union(*(world.locals for world in worlds)),
        fixed=frozenset().union(*(world.fixed for world in worlds)),
        arguments=first.arguments if all(world.arguments == first.arguments for world in worlds) else None,
        is_inside=any(world.is_inside for world in worlds),
        is_unlikely=all(world.is_unlikely for world in worlds),
        arrays=frozenset().union(*(world.arrays for world in worlds)),
        lists={name: given for name, given in first.lists.items() if all(w.lists.get(name) == given for w in worlds)},
        is_new=all(world.is_new for world in worlds),
    )


def length_of(variables: Mapping[str, str | None]) -> int:
    """Return how long the texts are together."""
    return sum(len(text) for text in variables.values() if text is not None)


def _agreed(texts: list[str | None]) -> str | None:
    return texts[0] if all(text == texts[0] for text in texts) else None
