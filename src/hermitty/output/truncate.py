"""Text that is too long, cut in the middle: a fifth of the room for its beginning, the rest for its end.

The end of output says how it went, the beginning what it was; what is between them is named by one line,
`[... 15 lines omitted ...]`. That line, and the line breaks that set it apart, are all that may exceed a limit.
"""

import unicodedata
from dataclasses import dataclass

_ZERO_WIDTH_JOINER = "\u200d"
# Characters that people write are shorter; a row of marks without an end is cut anywhere.
_MAX_CLUSTER = 32


@dataclass(frozen=True, slots=True)
class Fitted:
    """Text within its limits, and how much of the original is not in it.

    `omitted_lines` counts lines of which nothing is left; `omitted_bytes` is the length of the omitted
    characters in UTF-8.
    """

    text: str
    omitted_lines: int
    omitted_chars: int
    omitted_bytes: int


def omission(count: int, unit: str) -> str:
    """Word the note that stands for what is missing; `unit` is a plural."""
    return f"[... {count} {unit[:-1] if count == 1 else unit} omitted ...]"


def fit(text: str, *, max_lines: int | None = 500, max_chars: int | None = 50_000) -> Fitted:
    """Cut the middle out of text with too many lines or characters. None or 0 is no limit.

    The note counts characters when there are too many of them, and otherwise lines. When there are too many of
    both, both limits hold.
    """
    char_room = max_chars if max_chars and len(text) > max_chars else None
    lines_to_show = count_lines(text) + (char_room is not None)  # cutting characters makes two lines of one
    line_room = max_lines if max_lines and lines_to_show > max_lines else None
    if line_room is None and char_room is None:
        return Fitted(text, 0, 0, 0)
    head = take_head(text, max_lines=head_share(line_room), max_chars=head_share(char_room))
    tail = take_tail(text, max_lines=tail_share(line_room), max_chars=tail_share(char_room))
    omitted = text[len(head) : len(text) - len(tail)]
    lines = omitted.count("\n")
    if lines and head and not head.endswith("\n"):
        lines -= 1  # the first newline ends a line whose beginning is shown
    note = omission(lines, "lines") if char_room is None else omission(len(omitted), "characters")
    return Fitted(_around(head, note, tail), lines, len(omitted), utf8_length(omitted))


def join_head_tail(head: str, tail: str, omitted_bytes: int) -> str:
    """Join the ends of output of which `omitted_bytes` between them are missing."""
    if not omitted_bytes:
        return head + tail
    return _around(head, omission(omitted_bytes, "bytes"), tail)


def head_share(limit: int | None) -> int | None:
    """Return the part of a limit that is for the beginning: a fifth, but one if there is room for two."""
    if limit is None:
        return None
    return max(limit // 5, min(1, limit - 1))


def tail_share(limit: int | None) -> int | None:
    """Return the part of a limit that is for the end."""
    return None if limit is None else limit - (head_share(limit) or 0)


def take_head(text: str, *, max_lines: int | None, max_chars: int | None) -> str:
    """Return the beginning of text, within limits that may be 0; None is no limit."""
    end = len(text) if max_chars is None else min(max_chars, len(text))
    if max_lines is not None:
        at = 0
        for _ in range(max_lines):
            at = text.find("\n", at, end) + 1
            if not at:
                break
        else:
            end = at
    start = end
    while 0 < end < len(text) and start - end < _MAX_CLUSTER and _joins(text[end - 1], text[end]):
        end -= 1
    return text[: start if start - end == _MAX_CLUSTER else end]


def take_tail(text: str, *, max_lines: int | None, max_chars: int | None) -> str:
    """Return the end of text, within limits that may be 0; None is no limit."""
    start = 0 if max_chars is None else max(0, len(text) - max_chars)
    if max_lines is not None:
        # The newline at the very end belongs to the last line.
        at = len(text) - text.endswith("\n")
        for _ in range(max_lines):
            at = text.rfind("\n", start, at)
            if at < 0:
                break
        else:
            start = at + 1 if max_lines else len(text)
    end = start
    while 0 < start < len(text) and start - end < _MAX_CLUSTER and _joins(text[start - 1], text[start]):
        start += 1
    return text[end if start - end == _MAX_CLUSTER else start :]


def count_lines(text: str) -> int:
    """Count lines; one without a newline at the end of the text counts."""
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


def utf8_length(text: str) -> int:
    """Return how many bytes text has in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _around(head: str, note: str, tail: str) -> str:
    """Put a note on a line of its own between the ends of a text."""
    before = "\n" if head and not head.endswith("\n") else ""
    after = "\n" if tail else ""
    return f"{head}{before}{note}{after}{tail}"


def _joins(left: str, right: str) -> bool:
    """Tell whether a cut between two characters would tear one that people see as one (roughly UAX 29)."""
    if right.isascii() or left == "\n":
        return False
    return (
        _ZERO_WIDTH_JOINER in (left, right)
        or unicodedata.category(right) in ("Mn", "Mc", "Me")
        or "\U0001f3fb" <= right <= "\U0001f3ff"  # skin tones
        or ("\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff")
    )
