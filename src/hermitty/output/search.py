"""Looking for a pattern in output: line by line, with bounded memory, and in time linear in the output.

A pattern comes from a caller and may be hostile. Python's `re` takes time exponential in the line for `(a+)+$`,
holds the interpreter's lock meanwhile and cannot be interrupted, not even in a thread; no bound on the length of a
line helps. So expressions run on RE2: automata without backtracking, within a fixed memory, with the lock released.
RE2 has no look-around and no back-references. What it does not understand is searched for literally, as is every
expression where RE2 is not installed; `Pattern.problem` says why. Words without special characters do not need it.

Matches are within lines. Escape sequences and the carriage returns before a newline are skipped, so a coloured word
is found and `$` is the end of the line; offsets are those of the output as it is. Each line counts once, and once
more for each 64 KB of it. A line of any length is held 64 KB at a time: in longer ones, `^`, `$` and words are
right everywhere, but of a match of more than 4 KB only a part may be seen.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

from hermitty.errors import InvalidPattern

try:
    import re2
except ImportError:  # there are no wheels for some platforms
    re2 = None

DEFAULT_MATCHES = 100
DEFAULT_CHARS = 20_000

_MAX_PATTERN_CHARS = 1000
# For a compiled expression and its automata. Where that is too little, RE2 gets slower, but stays linear.
_RE2_BYTES = 2 * 1024 * 1024
_WINDOW_BYTES = 64 * 1024
_OVERLAP_BYTES = 4 * 1024
_EXCERPT_BYTES = 240
_EXCERPT_BEFORE = 80
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
_NOISE = re.compile(
    rb"\r++(?=\n)|\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]{0,4096}+(?:\x07|\x1b\\)|[ -/]*+[0-Z\\^-~])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")

# Where a match is between two positions; what is around them is seen by `^`, `$` and `\b`.
Find = Callable[[bytes, int, int], tuple[int, int] | None]


class _Expression(Protocol):
    def search(self, text: bytes, pos: int, endpos: int) -> re.Match[bytes] | None: ...


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that can be searched for. When it is taken literally against the caller's wish, `problem` says why."""

    source: str
    literal: bool
    problem: str | None
    ignore_case: bool
    find: Find

    def prepared(self, data: bytes) -> bytes:
        """Return what `find` expects to look in, of the same length as the data."""
        return data.lower() if self.literal and self.ignore_case else data


@dataclass(frozen=True, slots=True)
class Match:
    """A place where a pattern was found. `text` is its line, or what is around it in a long one."""

    line: int
    offset: int
    text: str


def compile_pattern(pattern: str, *, ignore_case: bool = True, literal: bool = False) -> Pattern:
    """Make a pattern of a regular expression, or of plain text if it is none.

    Letters outside ASCII match in both cases only in expressions. Raises InvalidPattern for one that is empty or
    too long.
    """
    if not pattern or len(pattern) > _MAX_PATTERN_CHARS:
        raise InvalidPattern(pattern[:80], f"use 1 to {_MAX_PATTERN_CHARS} characters")
    problem: str | None = None
    if not literal and not (pattern.isascii() and not _SPECIAL.search(pattern)):
        if re2 is None:
            problem = "regular expressions need the package google-re2, which is not installed"
        else:
            try:
                return Pattern(pattern, False, None, ignore_case, _expression(pattern, ignore_case))
            except re2.error as exc:
                reason = exc.args[0] if exc.args else "not understood"
                problem = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    text = pattern.encode("utf-8", "replace")
    return Pattern(pattern, True, problem, ignore_case, _literal(text.lower() if ignore_case else text))


def _literal(text: bytes) -> Find:
    def find(data: bytes, start: int, stop: int) -> tuple[int, int] | None:
        at = data.find(text, start, stop)
        return None if at < 0 else (at, at + len(text))

    return find


def _expression(pattern: str, ignore_case: bool) -> Find:
    options = re2.Options()
    options.max_mem = _RE2_BYTES
    options.case_sensitive = not ignore_case
    options.log_errors = False
    options.never_capture = True  # where the match is can then be told by automata alone
    options.never_nl = True  # [^x] and \s stay within the line
    compiled: _Expression = re2.compile(b"(?m)" + pattern.encode("utf-8", "replace"), options)

    def find(data: bytes, start: int, stop: int) -> tuple[int, int] | None:
        found = compiled.search(data, start, stop)
        return None if found is None else found.span()

    return find


class LineSearch:
    """Is fed output and returns the matches in it, up to its limits."""

    def __init__(
        self,
        pattern: Pattern,
        *,
        max_matches: int = DEFAULT_MATCHES,
        max_chars: int = DEFAULT_CHARS,
        offset: int = 0,
        line: int = 1,
        before: bytes = b"",
    ) -> None:
        """`offset` and `line` are where the output begins; `before` is the byte before it, if there is one."""
        self._pattern = pattern
        self._matches_left = max_matches
        self._chars_left = max_chars
        self.full: Literal["matches", "characters"] | None = None if max_matches > 0 else "matches"
        self._line = line
        self._line_at = offset  # where the line begins that `_held` begins with, or is inside of
        # The output that is not searched to its end, and context of up to _OVERLAP_BYTES before it.
        self._held = b"" if before == b"\n" else before
        self._held_at = offset - len(self._held)
        self._next = offset
        self._is_first = True

    @property
    def next(self) -> int:
        """The offset from which a further search would find what this one has not."""
        return self._next

    def feed(self, data: bytes) -> list[Match]:
        """Search the next bytes of the output."""
        if self.full:
            return []
        held = self._held + data
        end = held.rfind(b"\n") + 1
        matches: list[Match] = []
        if end:
            matches += self._search(held[:end], ends=True)
            held = held[end:]
        while len(held) >= _WINDOW_BYTES + _OVERLAP_BYTES and not self.full:
            matches += self._search(held[: _WINDOW_BYTES + _OVERLAP_BYTES], ends=False)
            held = held[_WINDOW_BYTES:]
        self._held = held
        return matches

    def finish(self) -> list[Match]:
        """Search the unterminated last line."""
        held, self._held = self._held, b""
        return self._search(held, ends=True) if held and not self.full else []

    def _search(self, data: bytes, *, ends: bool) -> list[Match]:
        """Search whole lines, or with `ends=False` a window of a long line, whose end is searched again."""
        block = _Block(data)
        text, haystack = block.text, self._pattern.prepared(block.text)
        matches: list[Match] = []
        counted = 0
        until = len(text) if ends else len(text) - 1  # the last byte shows that the line goes on
        while not self.full:
            pos = block.clean(self._next - self._held_at)
            found = self._pattern.find(haystack, pos, until) if pos < until else None
            if found is None or found[0] == len(text):  # an empty match behind the last newline is in no line
                break
            start, stop = found
            if not ends and stop == until and block.raw(start) > _WINDOW_BYTES:
                break  # the next window sees all of it
            line_start = text.rfind(b"\n", 0, start) + 1
            line_end = text.find(b"\n", start)
            newlines = text.count(b"\n", counted, start)
            counted = start
            if newlines:
                self._line += newlines
                self._line_at = self._held_at + block.raw(line_start)
            offset = self._held_at + block.raw(start)
            shown = _excerpt(text, line_start, line_end if line_end >= 0 else len(text), start)
            if not self._take(Match(self._line, offset, shown), matches):
                break
            # Once more in the same line only behind the next 64 KB of it.
            again = self._line_at + ((offset - self._line_at) // _WINDOW_BYTES + 1) * _WINDOW_BYTES
            if line_end >= 0:
                again = min(again, self._held_at + block.raw(line_end) + 1)
            elif ends:
                again = min(again, self._held_at + len(data))
            self._next = again
        if not self.full:
            self._advance(text.count(b"\n", counted), len(data) if ends else _WINDOW_BYTES, inside=not ends)
        return matches

    def _take(self, match: Match, matches: list[Match]) -> bool:
        """Add a match if there is room for it; the first is cut rather than refused."""
        if self._is_first:
            self._is_first = False
            match = Match(match.line, match.offset, match.text[: max(1, self._chars_left)])
        elif len(match.text) > self._chars_left:
            self.full = "characters"
            self._next = match.offset
            return False
        matches.append(match)
        self._chars_left -= len(match.text)
        self._matches_left -= 1
        if not self._matches_left:
            self.full = "matches"
        return True

    def _advance(self, newlines: int, length: int, *, inside: bool) -> None:
        self._held_at += length
        if newlines:
            self._line += newlines
            self._line_at = self._held_at
        # Inside a line one byte stays as context, so that this is not taken for its beginning.
        self._next = max(self._next, self._held_at + inside)


class _Block:
    """A piece of output without the noise, and the way back to where each byte stood."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._is_noisy = b"\x1b" in data or b"\r" in data
        # The same as removing all noise at once, but most output has no other than \r\n.
        while b"\r\n" in data:
            data = data.replace(b"\r\n", b"\n")
        self.text = _NOISE.sub(b"", data) if b"\x1b" in data else data

    @cached_property
    def _removed(self) -> tuple[list[int], list[int], list[int]]:
        """Where noise began, in the data and in the text, and how much was removed up to the end of each."""
        starts, texts, totals, total = [], [], [0], 0
        for noise in _NOISE.finditer(self._data):
            starts.append(noise.start())
            texts.append(noise.start() - total)
            total += noise.end() - noise.start()
            totals.append(total)
        return starts, texts, totals

    def raw(self, at: int) -> int:
        """Return where the byte at `at` of the text is in the data."""
        if not self._is_noisy:
            return at
        _, texts, totals = self._removed
        return at + totals[bisect_right(texts, at)]

    def clean(self, at: int) -> int:
        """Return where the byte at `at` of the data is in the text, or the first one after it that is."""
        if not self._is_noisy or at <= 0:
            return max(0, at)
        starts, texts, totals = self._removed
        count = bisect_right(starts, at)
        return max(at - totals[count], texts[count - 1] if count else 0)


def _excerpt(text: bytes, line_start: int, line_end: int, at: int) -> str:
    first = max(line_start, min(at - _EXCERPT_BEFORE, line_end - _EXCERPT_BYTES))
    last = min(line_end, first + _EXCERPT_BYTES)
    shown = text[first:last].decode("utf-8", "ignore" if last - first < line_end - line_start else "replace")
    return ("…" if first > line_start else "") + _CONTROL.sub("", shown) + ("…" if last < line_end else "")
