"""Lines that repeat, said once: the line, and a note of how many more there were.

    warning: unused variable `x` in the module that everybody knows
    [... the same line 5 more times ...]

A run is folded only when that makes the text shorter, so five times "y" stay as they are. Blank lines set things
apart and are left alone. Nothing is lost: a note stands for exactly the bytes it replaces.
"""

from dataclasses import dataclass
from itertools import groupby
from operator import eq

from hermitty.output.truncate import utf8_length


@dataclass(frozen=True, slots=True)
class Fold:
    """A note in a folded text: where it stands, and how many bytes and lines of the original it replaces."""

    start: int
    end: int
    bytes: int
    lines: int


@dataclass(frozen=True, slots=True)
class Folded:
    """Text with its runs folded. A fold covers its note and the newline after it, if there is one."""

    text: str
    folds: tuple[Fold, ...] = ()

    def original_bytes(self, start: int, stop: int) -> int:
        """Return the UTF-8 length of what `text[start:stop]` stands for; no end may be inside a note."""
        inside = [fold for fold in self.folds if start <= fold.start and fold.end <= stop]
        notes = sum(fold.end - fold.start for fold in inside)  # notes are ASCII
        return utf8_length(self.text[start:stop]) - notes + sum(fold.bytes for fold in inside)

    def whole_notes_head(self, length: int) -> int:
        """Return where to end a head of that length so that it shows no part of a note."""
        return next((fold.start for fold in self.folds if fold.start < length < fold.end), length)

    def whole_notes_tail(self, start: int) -> int:
        """Return where to begin a tail that would begin at `start`, so that it shows no note without its line."""
        return next((fold.end for fold in self.folds if fold.start <= start < fold.end), start)


def repeat_note(count: int) -> str:
    """Word the note that stands for `count` more of the line above."""
    return f"[... the same line {count} more {'time' if count == 1 else 'times'} ...]"


def fold_repeats(text: str) -> Folded:
    """Fold the runs of equal lines. Takes time in proportion to the text."""
    lines = text.split("\n")
    if not any(map(eq, lines, lines[1:])):
        return Folded(text)
    parts: list[str] = []
    folds: list[Fold] = []
    at = 0
    left = len(lines)
    for line, run in groupby(lines):
        count = len(list(run))
        left -= count
        # What follows the last newline is no line when it is empty, and has no newline of its own when it is not.
        newline = "\n" if left else ""
        repeated = (len(line) + 1) * (count - 1)
        note = repeat_note(count - 1) if count > 1 and line.strip() else ""
        if note and len(note) + 1 < repeated:
            first = f"{line}\n"
            note += newline
            start = at + len(first)
            at = start + len(note)
            replaced = (utf8_length(line) + 1) * (count - 1) - (not newline)
            folds.append(Fold(start, at, replaced, count - 1))
            parts += (first, note)
        else:
            same = "\n".join([line] * count) + newline
            at += len(same)
            parts.append(same)
    return Folded("".join(parts), tuple(folds))
