"""What was expected and what was seen: counts of everything, and a text for each thing that is wrong."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, get_args

from soak.lines import difference

Wrong = Literal[
    "lost_bytes",
    "doubled_bytes",
    "wrong_bytes",
    "wrong_exit_codes",
    "wrong_answers",
    "lost_commands",
    "doubled_commands",
    "server_errors",
    "left_processes",
    "hung",
    "crashed",
]
WRONGS: tuple[Wrong, ...] = get_args(Wrong)
# Enough to find the cause; the counts tell how often.
_MOST_TEXTS = 40


@dataclass(slots=True)
class Ledger:
    """Everything that was compared. Nothing here waits."""

    done: Counter[str] = field(default_factory=Counter)  # scenarios that went through
    skipped: dict[str, str] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)  # what may happen, and how often it did
    wrong: Counter[str] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    checked_bytes: int = 0
    checked_commands: int = 0

    def problem(self, kind: Wrong, text: str, count: int = 1) -> None:
        """Note that something is wrong."""
        self.wrong[kind] += count
        if len(self.texts) < _MOST_TEXTS:
            self.texts.append(f"{kind} ({count}): {text}")

    def note(self, what: str) -> None:
        """Note something that is no mistake."""
        self.notes[what] += 1

    def skip(self, scenario: str, why: str) -> None:
        """Note that a scenario cannot run here."""
        self.skipped[scenario] = why

    def compare_bytes(self, what: str, expected: bytes, seen: bytes) -> None:
        """Expect these numbered lines, each once."""
        self.checked_bytes += len(expected)
        found = difference(expected, seen)
        if found.lost:
            self.problem("lost_bytes", what, found.lost)
        if found.doubled:
            self.problem("doubled_bytes", what, found.doubled)
        if found.foreign:
            self.problem("wrong_bytes", what, found.foreign)
        if found.disordered:
            self.problem("wrong_bytes", f"{what}: not in order")

    def compare_code(self, what: str, expected: object, seen: object) -> None:
        """Expect this exit code, or code and signal."""
        self.checked_commands += 1
        if expected != seen:
            self.problem("wrong_exit_codes", f"{what}: {seen!r} instead of {expected!r}")

    def expect(self, what: str, expected: object, seen: object) -> None:
        """Expect any other fact."""
        if expected != seen:
            self.problem("wrong_answers", f"{what}: {_short(seen)} instead of {_short(expected)}")

    def compare_runs(self, what: str, times: int, *, is_known: bool) -> None:
        """Expect a command that the server knows to have run once, and one that it does not know not at all."""
        if times > 1:
            self.problem("doubled_commands", f"{what} ran {times} times", times - 1)
        elif is_known and times == 0:
            self.problem("lost_commands", f"{what} has a result and never ran")
        elif not is_known and times == 1:
            self.problem("lost_commands", f"{what} ran, and the server does not know it")

    def counts(self) -> dict[str, int]:
        """Return how often each kind of thing was wrong."""
        return {kind: self.wrong[kind] for kind in WRONGS}


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:150]} … {text[-150:]}"
