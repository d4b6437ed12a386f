"""Brace expansion: which braces of a word belong together. The expansion itself is part of evaluation."""

import re
from collections.abc import Container
from dataclasses import dataclass, field
from itertools import groupby

from hermitty.policy.lexing import MAX_DEPTH, Unparsable
from hermitty.policy.syntax.words import Brace, BraceRange, Literal, Part, literal_text

_RANGE = re.compile(r"([+-]?[0-9]+|[A-Za-z])\.\.([+-]?[0-9]+|[A-Za-z])(?:\.\.([+-]?[0-9]+))?")


@dataclass(slots=True)
class _Open:
    """A brace that is not closed yet. The alternatives so far, and the commas between them."""

    brace: Part | None
    alternatives: list[list[Part]] = field(default_factory=lambda: [[]])
    commas: list[Part] = field(default_factory=list)

    def add(self, *parts: Part) -> None:
        """Append to the alternative being read."""
        self.alternatives[-1] += parts

    def as_text(self) -> list[Part]:
        """Return everything in it, read as ordinary text."""
        parts: list[Part] = [] if self.brace is None else [self.brace]
        parts += self.alternatives[0]
        for comma, alternative in zip(self.commas, self.alternatives[1:], strict=True):
            parts += [comma, *alternative]
        return parts


def fold(parts: list[Part], marks: Container[int]) -> list[Part]:
    """Join braces that belong together; `marks` are the indices of the unquoted `{`, `,` and `}`, one literal each."""
    stack = [_Open(None)]
    for index, part in enumerate(parts):
        mark = part.text if index in marks and isinstance(part, Literal) else None
        if mark == "{":
            stack.append(_Open(part))
            if len(stack) > MAX_DEPTH:
                raise Unparsable("braces nested too deeply", part.start)
        elif mark == "," and len(stack) > 1:
            stack[-1].commas.append(part)
            stack[-1].alternatives.append([])
        elif mark == "}" and len(stack) > 1:
            closed = stack.pop()
            stack[-1].add(*_closed(closed, part))
        else:
            stack[-1].add(part)
    while len(stack) > 1:
        left_open = stack.pop()
        stack[-1].add(*left_open.as_text())
    folded = stack[0].as_text()
    if _is_doubtful(parts, marks, folded):
        raise Unparsable("braces that do not belong together", parts[0].start)
    return folded


def _is_doubtful(parts: list[Part], marks: Container[int], folded: list[Part]) -> bool:
    """Tell whether some braces are text while others, or commas, could make a list: shells then find odd ones."""
    text = "".join(
        part.text if index in marks and isinstance(part, Literal) else "." for index, part in enumerate(parts)
    )
    first, last = text.find("{"), text.rfind("}")
    if not 0 <= first < last:
        return False
    used = sum(_braces(part) for part in folded)
    left = text.count("{") + text.count("}") - used
    return left > 0 and (used > 0 or "," in text[first:last])


def _braces(part: Part) -> int:
    if isinstance(part, Brace):
        return 2 + sum(_braces(inner) for one in part.alternatives for inner in one)
    return 2 if isinstance(part, BraceRange) else 0


def _closed(group: _Open, closing: Part) -> list[Part]:
    assert group.brace is not None
    start, end = group.brace.start, closing.end
    if group.commas:
        return [Brace(tuple(tuple(merged(one)) for one in group.alternatives), start, end)]
    inside = tuple(group.alternatives[0])
    text = literal_text(inside) if all(isinstance(part, Literal) for part in inside) else None
    match = _RANGE.fullmatch(text) if text else None
    if match and match[1].lstrip("+-").isdigit() == match[2].lstrip("+-").isdigit():
        return [BraceRange(match[1], match[2], match[3] or "", start, end)]
    return [*group.as_text(), closing]


def merged(parts: list[Part]) -> list[Part]:
    """Join neighbouring literals."""
    result: list[Part] = []
    for is_text, group in groupby(parts, lambda part: isinstance(part, Literal)):
        found = list(group)
        if is_text and len(found) > 1:
            text = "".join(part.text for part in found if isinstance(part, Literal))
            result.append(Literal(text, found[0].start, found[-1].end))
        else:
            result += found
    return result
