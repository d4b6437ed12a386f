"""The type of the tables of programs."""

from collections.abc import Callable, Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Finding
from hermitty.policy.options import Grammar

Handler = Callable[[str, Sequence[Arg], Judge], list[Finding]]
Program = Grammar | Handler


def named(names: str, program: Program) -> dict[str, Program]:
    """Make a table of several names for one program."""
    return dict.fromkeys(names.split(), program)
