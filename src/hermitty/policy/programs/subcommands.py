"""Programs with sub-commands, and tables of what is always asked about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Program

_HELP = frozenset({"--help", "-h"})


def is_help(args: Sequence[Arg]) -> bool:
    """Tell whether the only argument asks for help."""
    return len(args) == 1 and args[0].text in _HELP


def run(program: Program, name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge a program, whatever kind of judge it has."""
    if isinstance(program, Grammar):
        return program.judge(name, args, judge.here)
    return program(name, args, judge)


def mentions(args: Sequence[Arg], *names: str) -> bool:
    """Tell whether one of the options may be among the words, alone, abbreviated or in a cluster.

    It errs on the side of yes: only to raise a level, never to allow something.
    """
    return any(_mentions(arg.prefix if arg.text is None else arg.text, name) for arg in args for name in names)


def _mentions(text: str, name: str) -> bool:
    if name.startswith("--"):
        word = text.partition("=")[0]
        return word == name or (len(word) > 4 and name.startswith(word))
    if len(name) > 2:
        return text.partition("=")[0] in (name, "-" + name)
    return text.startswith("-") and not text.startswith("--") and name[1] in text


@dataclass(frozen=True)
class Asked:
    """A program or sub-command that is always asked about, but for its help. Its name begins the reason."""

    level: Level
    effects: tuple[Effect, ...]
    reason: str
    harmless: frozenset[str] = _HELP  # as the only argument

    def __call__(self, name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        """Judge a call."""
        if len(args) == 1 and args[0].text in self.harmless:
            return []
        return [ask(f"{name} {self.reason}", self.level, effect) for effect in self.effects]


def asked(table: str, harmless: str = "--help -h") -> dict[str, Program]:
    """Read a table of what is always asked about, a line each: `names: level effect[,effect] reason`."""
    programs: dict[str, Program] = {}
    for line in table.strip().splitlines():
        names, _, rest = line.strip().partition(": ")
        level, effects, reason = rest.split(maxsplit=2)
        judged = Asked(
            Level[level.upper()],
            tuple(Effect(one) for one in effects.split(",")),
            reason,
            frozenset(harmless.split()),
        )
        programs |= dict.fromkeys(names.split(), judged)
    return programs


@dataclass(frozen=True)
class Worse:
    """A call that is graver with some options."""

    program: Program
    options: tuple[str, ...]
    level: Level
    effect: Effect
    reason: str

    def __call__(self, name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        """Judge a call."""
        found = run(self.program, name, args, judge)
        if found and mentions(args, *self.options):
            found.append(ask(f"{name} {self.reason}", self.level, self.effect))
        return found


def worse(program: Program, options: str, level: Level, effect: Effect, reason: str) -> Worse:
    """Add a graver finding for calls with one of the options."""
    return Worse(program, tuple(options.split()), level, effect, reason)


OTHER = Asked(Level.MEDIUM, (Effect.UNKNOWN,), "is not a known sub-command", frozenset())


@dataclass(frozen=True)
class Tool:
    """A program whose first operand says what it does; what it says may be a tool again."""

    commands: Mapping[str, Program]
    options: str = "--help --version -h"  # those in front of the sub-command
    alone: Program = field(default=Grammar("", "ask*", any_options=True))  # without a sub-command
    other: Program = OTHER  # a sub-command that is not in the table
    single_dash: bool = False

    @cached_property
    def grammar(self) -> Grammar:
        """Return the grammar of the options in front."""
        return Grammar(self.options, "ask*", permutes=False, single_dash=self.single_dash)

    def __call__(self, name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        """Judge a call."""
        parsed = self.grammar.parse(args, name)
        found = self.grammar.option_findings(parsed, name, judge.here)
        if not parsed.operands:
            return found + run(self.alone, name, args, judge)
        verb = parsed.operands[0]
        if verb.text is None:
            return [*found, unclear(f"which sub-command of {name} {verb.shown} is, is not known", at=verb)]
        program = self.commands.get(verb.text, self.other)
        return found + run(program, f"{name} {verb.text}", parsed.operands[1:], judge)
