"""The type of the tables of programs."""

import re
from collections.abc import Callable, Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Finding
from hermitty.policy.findings import unclear
from hermitty.policy.options import Grammar

Handler = Callable[[str, Sequence[Arg], Judge], list[Finding]]
Program = Grammar | Handler


NUMBER = re.compile(r"[0-9]+")


def with_numbers(grammar: Grammar, *options: str) -> Handler:
    """Make the judge of a program whose options take the next word only if it is a number, at least on some systems."""

    def judge_numbers(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        parsed = grammar.parse(args, name)
        values = [value for value in parsed.values(*options) if not NUMBER.fullmatch(value.text or "")]
        found = [unclear(f"{value.shown} may be an option of {name}", at=value) for value in values]
        return found + grammar.findings(parsed, name, judge.here)

    return judge_numbers


def named(names: str, program: Program) -> dict[str, Program]:
    """Make a table of several names for one program."""
    return dict.fromkeys(names.split(), program)
