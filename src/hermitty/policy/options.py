"""How programs read their arguments: a table per program, and one engine that parses by it.

A table is text, one token an option, with all its spellings:

    -abc                       three flags (with `single_dash=True`: one option named `-abc`)
    -o,--output:write          an option with a value; the value is a path that is written
    --arg::                    an option with two values, of which the last has the role
    --color?                   an option with an optional value, which only counts when attached (`--color=never`)
    -i?change                  the option itself, with or without a value, has an effect
    -delete^change             a flag with an effect

Operands have roles too, in their order; `*` repeats the last one: "plain read*". What is not in the table is unknown,
and asked about. Any unique abbreviation of a long option counts: a program without abbreviations would refuse it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear


class Role(StrEnum):
    """What a program does with a value or an operand, or what an option makes it do."""

    PLAIN = "plain"  # text and numbers
    NAME = "name"  # a path of which only name, size and the like are shown
    READ = "read"  # a path; a directory is read with all below it
    WRITE = "write"  # a path
    OUTPUT = "output"  # a path that is written; `-` is the standard output
    DELETE = "delete"  # a path
    EXEC = "exec"  # code to run: a program, a script, a library
    NETWORK = "network"  # something to connect to
    CHANGE = "change"  # something is changed that the value does not name
    ASK = "ask"  # not harmless: the caller of `parse` looks at it, or a person


HARMLESS = frozenset({Role.PLAIN, Role.NAME, Role.READ})

_TOKEN = re.compile(r"([^:?^]+)(?:(::?|[?^])(\w*))?")
_NUMBER = re.compile(r"-\d+")


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a program. `names[0]` is the name that reasons use."""

    names: tuple[str, ...]
    arity: str = ""  # "", ":" (a value), "::" (two) or "?" (perhaps an attached value)
    role: Role = Role.PLAIN

    @property
    def name(self) -> str:
        """Return the first spelling."""
        return self.names[0]


@dataclass(frozen=True, slots=True)
class Given:
    """An option as it was given."""

    option: Option
    value: Arg | None
    word: Arg  # the word with the option's name


@dataclass(slots=True)
class Parsed:
    """The arguments of one program, understood."""

    options: list[Given] = field(default_factory=list)
    operands: list[Arg] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)  # what could not be understood

    def has(self, *names: str) -> bool:
        """Tell whether one of the options was given, under any of its spellings."""
        return any(name in given.option.names for given in self.options for name in names)

    def values(self, *names: str) -> list[Arg]:
        """Return the values of the options, in their order."""
        return [
            given.value
            for given in self.options
            if given.value is not None and any(name in given.option.names for name in names)
        ]


@dataclass(frozen=True)
class Grammar:
    """The arguments that a program takes, and what they do."""

    options: str = ""
    operands: str = "read*"  # roles; "" for a program without operands
    permutes: bool = True  # options may follow operands, as with GNU getopt; else the first operand ends them
    any_options: bool = False  # other options than those listed are harmless too
    single_dash: bool = False  # options are words with one dash, as those of find and java; no clusters
    numbers: bool = False  # `-3` is an option
    plus: bool = False  # `+3` and `+name` are plain options
    first_unless: tuple[str, ...] = ()  # options that replace the first operand, as `grep -e` does
    effect: str = ""  # a reason to ask about every call: what the program does in any case
    level: Level = Level.MEDIUM
    kind: Effect = Effect.WRITE

    @cached_property
    def table(self) -> dict[str, Option]:
        """Return every spelling with its option."""
        return {name: option for option in _options(self.options, self.single_dash) for name in option.names}

    @cached_property
    def roles(self) -> tuple[tuple[Role, ...], bool]:
        """Return the roles of operands and whether the last one repeats."""
        return tuple(Role(word.rstrip("*")) for word in self.operands.split()), self.operands.endswith("*")

    @cached_property
    def is_harmless(self) -> bool:
        """Tell whether no arguments whatever make the program do more than read."""
        roles = {option.role for option in self.table.values()} | set(self.roles[0])
        return not self.effect and roles <= HARMLESS

    def parse(self, args: Sequence[Arg], name: str) -> Parsed:
        """Sort arguments into options and operands. `name` is for reasons."""
        return _Parser(self, name).parse(args)

    def judge(self, name: str, args: Sequence[Arg], here: Surroundings) -> list[Finding]:
        """Judge a call by its table alone."""
        return self.findings(self.parse(args, name), name, here)

    def findings(self, parsed: Parsed, name: str, here: Surroundings) -> list[Finding]:
        """Judge parsed arguments by their roles."""
        found = self.option_findings(parsed, name, here)
        if self.effect:
            found.append(ask(self.effect, self.level, self.kind))
        return found + self.operand_findings(parsed, name, here)

    def option_findings(self, parsed: Parsed, name: str, here: Surroundings) -> list[Finding]:
        """Judge the options by their roles, and tell what could not be understood."""
        found = list(parsed.findings)
        for given in parsed.options:
            found += effects(given.option.role, given.value, f"{name} {given.option.name}", here, given.word)
        return found

    def operand_findings(self, parsed: Parsed, name: str, here: Surroundings) -> list[Finding]:
        """Judge the operands by their roles."""
        roles, repeats = self.roles
        if roles and self.first_unless and parsed.has(*self.first_unless):
            roles = roles[1:]
        found: list[Finding] = []
        is_shifted = False  # an operand before may have become none or several
        for index, arg in enumerate(parsed.operands):
            is_shifted = is_shifted or arg.is_many
            if index < len(roles):
                possible = roles[index:] if is_shifted else roles[index : index + 1]
            else:
                possible = roles[-1:] if repeats else ()
                if not possible:
                    found.append(unclear(f"{name} takes no operand such as {arg.shown}", at=arg))
            for role in dict.fromkeys(possible):
                found += effects(role, arg, name, here, arg)
        return found


def effects(role: Role, value: Arg | None, what: str, here: Surroundings, at: Arg) -> list[Finding]:
    """Judge one value, or an option without one (`what` names it), by its role."""
    match role:
        case Role.PLAIN | Role.NAME:
            return []
        case Role.CHANGE:
            return [ask(f"{what} changes files", Level.MEDIUM, Effect.WRITE, at=at)]
        case Role.EXEC:
            code = f"{what} runs {value.shown}" if value else f"{what} runs other programs"
            return [ask(code, Level.HIGH, Effect.EXEC, at=at)]
        case Role.NETWORK:
            return [ask(f"{what} uses the network", Level.MEDIUM, Effect.NETWORK, at=at)]
        case Role.ASK:
            return [unclear(f"{what} {at.shown} is not analysed", at=at)]
    if value is None:
        return [] if role == Role.READ else [unclear(f"{what} writes files", at=at)]
    match role:
        case Role.READ:
            return [] if value.text == "-" else places.read(value, here)
        case Role.OUTPUT:
            return [] if value.text == "-" else places.write(value, here)
        case Role.WRITE:
            return places.write(value, here)
        case Role.DELETE:
            return places.delete(value, here)


def rest(arg: Arg, length: int) -> Arg:
    """Return what follows the first `length` characters of a word, which must be known."""
    shown = arg.shown[length:] if arg.shown.startswith(arg.prefix[:length]) else (arg.text or arg.shown)[length:]
    text = None if arg.text is None else arg.text[length:]
    return replace(arg, text=text, shown=shown, prefix=arg.prefix[length:], is_home=False)


def _options(table: str, single_dash: bool) -> Iterable[Option]:
    for token in table.split():
        match = _TOKEN.fullmatch(token)
        assert match, token
        names, arity, role = match.group(1).split(","), match.group(2) or "", Role(match.group(3) or "plain")
        arity = "" if arity == "^" else arity
        first = names[0]
        if len(names) == 1 and not single_dash and len(first) > 2 and first[0] == "-" and first[1] != "-":
            yield from (Option(("-" + letter,), arity, role) for letter in first[1:])
        else:
            yield Option(tuple(names), arity, role)


class _Parser:
    """One pass over the arguments."""

    def __init__(self, grammar: Grammar, name: str) -> None:
        self.grammar = grammar
        self.name = name
        self.parsed = Parsed()
        self.waiting: tuple[Option, Arg, int] | None = None  # an option whose values are the next words

    def parse(self, args: Sequence[Arg]) -> Parsed:
        for index, arg in enumerate(args):
            if self.waiting:
                self._value(arg)
            elif arg.text == "--":
                self.parsed.operands += args[index + 1 :]
                break
            elif self._is_option(arg):
                self._option(arg)
            else:
                if arg.may_be_option and not (arg.text == "-" or arg.is_stream or self.grammar.is_harmless):
                    self._unclear(arg)
                self.parsed.operands.append(arg)
                if not self.grammar.permutes:
                    self.parsed.operands += args[index + 1 :]
                    break
        if self.waiting:
            self.parsed.options.append(Given(self.waiting[0], None, self.waiting[1]))
        return self.parsed

    def _value(self, arg: Arg) -> None:
        assert self.waiting
        option, word, missing = self.waiting
        self.waiting = (option, word, missing - 1) if missing > 1 else None
        # It may become none or several: then the next word is the value, or one of these is an option.
        if arg.is_many and not self.grammar.is_harmless:
            self._unclear(arg)
        if not self.waiting:
            self.parsed.options.append(Given(option, arg, word))

    def _is_option(self, arg: Arg) -> bool:
        known = _known(arg)
        return (known.startswith("-") and known != "-") or (self.grammar.plus and known.startswith("+"))

    def _option(self, arg: Arg) -> None:
        known = _known(arg)
        if arg.may_split and not self.grammar.is_harmless:
            self._unclear(arg)
        if known.startswith("--") or (self.grammar.single_dash and known.startswith("-")):
            self._long(arg, known)
        elif known.startswith("+"):
            self.parsed.options.append(Given(Option((known,)), None, arg))
        else:
            self._cluster(arg, known)

    def _long(self, arg: Arg, known: str) -> None:
        name, equals, _ = known.partition("=")
        option = self._named(name) if arg.text is not None or equals else None
        if option is None:
            if not (self.grammar.numbers and arg.text is not None and _NUMBER.fullmatch(known)):
                self._unknown(arg)
        elif equals and option.arity in (":", "?"):
            self.parsed.options.append(Given(option, rest(arg, len(name) + 1), arg))
        elif equals:
            self._unknown(arg)
        elif option.arity.startswith(":"):
            self.waiting = option, arg, len(option.arity)
        else:
            self.parsed.options.append(Given(option, None, arg))

    def _named(self, name: str) -> Option | None:
        table = self.grammar.table
        if name in table:
            return table[name]
        if self.grammar.single_dash:
            return table.get(name[1:]) if name.startswith("--") else None
        if name == "--":
            return None
        possible = {option.name: option for spelling, option in table.items() if spelling.startswith(name)}
        return possible.popitem()[1] if len(possible) == 1 else None

    def _cluster(self, arg: Arg, known: str) -> None:
        for index, letter in enumerate(known[1:], 1):
            option = self.grammar.table.get("-" + letter)
            if option is None:
                if self.grammar.numbers and letter.isdecimal():
                    continue
                return self._unknown(arg)
            if option.arity and known[1].isdecimal() and "-" + known[1] not in self.grammar.table:
                # `head -5c FILE` and `grep -5f FILE`: programs differ in what takes a value here.
                return self._unknown(arg)
            is_last = index == len(known) - 1 and arg.text is not None
            if option.arity.startswith(":") and is_last:
                self.waiting = option, arg, len(option.arity)
                return None
            if option.arity:
                value = None if is_last else rest(arg, index + 1)
                self.parsed.options.append(Given(option, value, arg))
                return None
            self.parsed.options.append(Given(option, None, arg))
        if arg.text is None:
            self._unknown(arg)
        return None

    def _unknown(self, arg: Arg) -> None:
        if arg.text is None:
            if not self.grammar.is_harmless:
                self._unclear(arg)
        elif not self.grammar.any_options:
            self.parsed.findings.append(unclear(f"{arg.shown} is not a known option of {self.name}", at=arg))

    def _unclear(self, arg: Arg) -> None:
        self.parsed.findings.append(unclear(f"{arg.shown} may be an option of {self.name}", at=arg))


def _known(arg: Arg) -> str:
    return arg.prefix if arg.text is None else arg.text
