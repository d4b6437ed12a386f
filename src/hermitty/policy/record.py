"""All that is found while a line is judged, with the scripts inside of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hermitty.policy.arguments import Arg
from hermitty.policy.call_graph import Sites
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Finding, Level, Verdict
from hermitty.policy.judged import Judged, JudgedLine, left_over

# More commands than people write; loops and functions are gone through again and again up to here.
MAX_STEPS = 5000
_WORDS_OF_A_STEP = 20
_STEPS_OF_A_REDIRECT = 2
# Scripts inside of a line, all of them together: no line has more, unless each is in another.
_MAX_NESTED = 150_000


class TooMuch(Exception):
    """The line does too many things to look at all of them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the line, and what is said about it."""

    start: int
    end: int
    verdict: Verdict
    level: Level


@dataclass(slots=True)
class Record:
    """What was found so far. `found` has all of it; `around` what is not the doing of a program in `calls`."""

    found: list[Finding] = field(default_factory=list)
    around: list[Finding] = field(default_factory=list)
    calls: list[Judged] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    downloaded: set[str] = field(default_factory=set)  # files that the line gets from the network
    sites: Sites = field(default_factory=dict)
    is_understood: bool = True
    steps: int = 0
    nested: int = 0  # the length of all scripts in texts of the line

    @property
    def line(self) -> JudgedLine:
        """Return the line as rules see it."""
        return JudgedLine(
            tuple(dict.fromkeys(self.calls)),
            tuple(dict.fromkeys(self.around)),
            tuple(dict.fromkeys((piece.start, piece.end) for piece in self.pieces)),
            self.is_understood,
            any(one.verdict is Verdict.BLOCK for one in self.found),
        )

    def step(self, words: int = 0) -> None:
        """Count one command; many words make it several."""
        self._count(1 + words // _WORDS_OF_A_STEP)

    def count_redirects(self, number: int) -> None:
        """Count redirections: each may become many words."""
        self._count(number * _STEPS_OF_A_REDIRECT)

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise TooMuch

    def has_room(self, length: int) -> bool:
        """Count a text inside of the line that is read as a script; tell whether it may be."""
        self.nested += length
        return self.nested <= _MAX_NESTED

    def download(self, found: Sequence[Finding]) -> None:
        """Note files that are written with what comes from the network."""
        self.downloaded |= {one.path for one in found if one.effect is Effect.WRITE and one.path is not None}

    def begin(self, args: Sequence[Arg], here: Surroundings, *, is_visible: bool) -> int:
        """Note a command with its words; return its number for `end`."""
        start, end = (args[0].start, args[-1].end) if is_visible else (0, 0)
        self.calls.append(Judged(tuple(args), here, (), start, end))
        return len(self.calls) - 1

    def end(self, number: int, found: Sequence[Finding]) -> None:
        """Note what a command does, with what it runs in turn: that belongs to commands of their own."""
        if found:
            own = left_over(found, self.calls[number + 1 :])
            self.calls[number] = replace(self.calls[number], findings=own)

    def add(
        self, around: Sequence[Finding], start: int, end: int, *, is_visible: bool, done: Sequence[Finding] = ()
    ) -> None:
        """Add what was found about a piece of the line: `around` it, and `done` by a command that is among the calls.

        `is_visible`: it stands in the line, not in a text of the line.
        """
        around = [_placed(one, start, end, is_visible=is_visible) for one in around]
        self.around += around
        found = [*around, *(_placed(one, start, end, is_visible=is_visible) for one in done)]
        self.found += found
        if is_visible:
            verdict = max((one.verdict for one in found), default=Verdict.ALLOW)
            level = max((one.level for one in found), default=Level.LOW)
            self.pieces.append(Piece(start, end, verdict, level))


def uses_network(found: Sequence[Finding]) -> bool:
    """Tell whether something comes from, or goes to, the network."""
    return any(one.effect is Effect.NETWORK for one in found)


def _placed(finding: Finding, start: int, end: int, *, is_visible: bool) -> Finding:
    return finding if is_visible and finding.end > 0 else replace(finding, start=start, end=end)
