"""A judged line as rules see it: its commands one by one, each with what it does itself."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Finding, Level, Verdict


@dataclass(frozen=True, slots=True)
class Judged:
    """One simple command: its words, where it would run, and what its program does with them.

    What a wrapper such as `env` runs is a command of its own. `end` is 0 for one that stands in a text of the line,
    such as the one behind `sh -c`.
    """

    argv: tuple[Arg, ...]
    here: Surroundings
    findings: tuple[Finding, ...]
    start: int = 0
    end: int = 0

    @property
    def verdict(self) -> Verdict:
        """Return the gravest verdict about it."""
        return max((one.verdict for one in self.findings), default=Verdict.ALLOW)

    @property
    def level(self) -> Level:
        """Return how grave it is."""
        return max((one.level for one in self.findings), default=Level.LOW)

    def contains(self, other: "Judged") -> bool:
        """Tell whether the other command is among its words."""
        return self is not other and 0 < other.end <= self.end and self.start < other.start


@dataclass(frozen=True, slots=True)
class JudgedLine:
    """A whole line.

    `around` is what no command does itself: redirections, assignments, expansions. `spans` are the places of the
    commands with their redirections.
    """

    commands: tuple[Judged, ...]
    around: tuple[Finding, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    is_understood: bool = True
    is_blocked: bool = False

    @property
    def worrying(self) -> list[Finding]:
        """Return everything that is not simply allowed."""
        every = (*self.around, *(one for command in self.commands for one in command.findings))
        return [one for one in every if one.verdict is not Verdict.ALLOW]


_Key = tuple[Verdict, Level, str, Effect | None, str | None]


def key_of(finding: Finding) -> _Key:
    """Return what a finding says, wherever in the line it does."""
    return finding.verdict, finding.level, finding.reason, finding.effect, finding.path


def left_over(found: Iterable[Finding], commands: Sequence[Judged]) -> tuple[Finding, ...]:
    """Return what was found without what belongs to these commands: each finding is counted."""
    theirs = Counter(key_of(one) for command in commands for one in command.findings)
    rest: list[Finding] = []
    for one in found:
        key = key_of(one)
        if theirs[key] > 0:
            theirs[key] -= 1
        else:
            rest.append(one)
    return tuple(rest)
