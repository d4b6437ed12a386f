"""Brace expansion: the words that one with `{a,b}` or `{1..3}` becomes, bounded."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from hermitty.policy.syntax.words import Brace, BraceRange, Literal, Part

# Enough for what people write; `{1..1000000}` is unknown instead.
MAX_WORDS = 1000

# With so many, the shell may run out of memory.
MANY = 100_001

_SMALL = re.compile(r"[+-]?[0-9]{1,9}")


def count_words(parts: Sequence[Part], shell: str) -> int:
    """Return how many words the shell makes of one, without making them; from `MANY` on, any number."""
    count = 1
    for part in parts:
        match part:
            case Brace(alternatives=alternatives):
                count *= sum(count_words(one, shell) for one in alternatives)
            case BraceRange() if shell not in ("fish", "pwsh"):
                count *= _length(part)
        count = min(count, MANY)
    return count


def _length(part: BraceRange) -> int:
    bounds = (part.first, part.last)
    if any(len(text) > 18 for text in (*bounds, part.step)):
        return MANY
    first, last = (int(bound) if bound[-1].isdigit() else ord(bound) for bound in bounds)
    return abs(last - first) // (abs(int(part.step or 1)) or 1) + 1


def expand_braces(parts: Sequence[Part], shell: str = "bash") -> list[tuple[Part, ...]] | None:
    """Return one list of parts for every word; None if there are too many, or shells differ."""
    if not any(isinstance(part, Brace | BraceRange) for part in parts):
        return [tuple(parts)]
    results: list[tuple[Part, ...]] = [()]
    for part in parts:
        choices = _choices(part, shell)
        if choices is None or len(results) * len(choices) > MAX_WORDS:
            return None
        results = [(*before, *choice) for before in results for choice in choices]
    return results


def _choices(part: Part, shell: str) -> list[tuple[Part, ...]] | None:
    match part:
        case Brace(alternatives=alternatives):
            found = [expand_braces(one, shell) for one in alternatives]
            known = [one for one in found if one is not None]
            return list(chain.from_iterable(known)) if len(known) == len(found) else None
        case BraceRange():
            texts = _range(part)
            # zsh knows fewer forms; fish and pwsh none.
            if texts is None or (shell != "bash" and (part.step or not part.first.isdigit())):
                return None
            return [(Literal(text, part.start, part.end),) for text in texts]
        case _:
            return [(part,)]


def _range(part: BraceRange) -> list[str] | None:
    bounds = (part.first, part.last)
    if part.step and not _SMALL.fullmatch(part.step):
        return None
    step = abs(int(part.step or 1)) or 1
    if all(map(_SMALL.fullmatch, bounds)):
        first, last = map(int, bounds)
        width = max(map(len, bounds)) if any(_is_padded(bound) for bound in bounds) else 0
        return _bounded(f"{number:0{width}d}" for number in _steps(first, last, step))
    if all(bound.islower() for bound in bounds) or all(bound.isupper() for bound in bounds):
        return _bounded(chr(code) for code in _steps(ord(bounds[0]), ord(bounds[1]), step))
    # `{A..z}` contains backslashes and backquotes, whose meaning is then open.
    return None


def _is_padded(bound: str) -> bool:
    digits = bound.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0"


def _steps(first: int, last: int, step: int) -> range:
    return range(first, last + 1, step) if first <= last else range(first, last - 1, -step)


def _bounded(texts: Iterable[str]) -> list[str] | None:
    found = [text for _, text in zip(range(MAX_WORDS + 1), texts, strict=False)]
    return found if len(found) <= MAX_WORDS else None
