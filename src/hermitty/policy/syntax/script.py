"""A whole command line, and what of it was not understood."""

from dataclasses import dataclass

from hermitty.policy.syntax.commands import Body


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was not understood, or that no line should contain. A line with problems is not analysed."""

    reason: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Script:
    """A whole line, or the inside of a substitution.

    The script of the line has all problems, also those of the scripts inside of it, which have none of their own. After
    a problem, `body` holds what was understood before it.
    """

    shell: str
    body: Body
    problems: tuple[Problem, ...]
    start: int
    end: int
