"""The state of reading one line of bash, zsh or a plain POSIX shell, and the smallest steps of it.

Reading goes forward only. Where two readings are possible, `matching` looks ahead without building anything; it is
called at most once for every level of nesting at a place, and nesting is bounded, so the time is linear.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hermitty.policy.syntax.script import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermitty.policy.syntax.commands import Command, Redirect, Statement
    from hermitty.policy.syntax.script import Script
    from hermitty.policy.syntax.words import Arithmetic, Word

# Deeper lines are not written by people; each level costs about ten Python frames.
MAX_DEPTH = 30

BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
META = " \t\n|&;()<>"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = re.compile(r"(?:\[\[|[a-z]+|[{}!])(?=[ \t\n|&;()<>]|\Z)")
_COMMENT = re.compile(r"#[^\n]*")
_ACTIVE = re.compile(r"[^\w .,:!?#/'\"-]| -")
_PIECE = re.compile(r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*"|[][(){}]""", re.DOTALL)


class Unparsable(Exception):
    """Reading cannot go on: what stands at `start` was not understood."""

    def __init__(self, reason: str, start: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.start = start


@dataclass(frozen=True, slots=True)
class PendingHeredoc:
    """A here-document whose text comes after the next newline."""

    redirect: "Redirect"
    delimiter: str
    is_quoted: bool
    strips_tabs: bool


@dataclass(frozen=True, slots=True)
class Grammar:
    """The parser's entry points for whatever contains commands; here so that modules need not import each other."""

    script: "Callable[[Scanner, str], Script]"  # up to a closing character
    statements: "Callable[[Scanner, frozenset[str]], tuple[Statement, ...]]"  # up to a reserved word or closing token
    command: "Callable[[Scanner], Command]"
    # Of a parameter: closing characters, quoted, keeps quotes, names files.
    operand: "Callable[[Scanner, str, bool, bool, bool], Word]"
    arithmetic: "Callable[[Scanner, int, str, bool], Arithmetic]"  # its start, its closing, quoted


@dataclass(slots=True)
class Scanner:
    """A position in the text, and what was noticed on the way."""

    text: str
    shell: str
    grammar: Grammar
    pos: int = 0
    end: int = 0
    depth: int = 0
    steps: int = 0  # work done, for the tests: stays proportional to the length
    open_groups: int = 0  # `{` that wait for `}`: zsh takes that word as the end wherever it stands
    has_continuation: bool = False  # the word read last contained a backslash and a newline
    problems: list[Problem] = field(default_factory=list)
    pending: list[PendingHeredoc] = field(default_factory=list)

    @property
    def is_zsh(self) -> bool:
        """Tell whether the line is for zsh."""
        return self.shell == "zsh"

    @property
    def char(self) -> str:
        """Return the character here, "" at the end."""
        return self.text[self.pos] if self.pos < self.end else ""

    def at(self, token: str) -> bool:
        """Tell whether `token` stands here."""
        return self.text.startswith(token, self.pos, self.end)

    def fail(self, reason: str) -> Unparsable:
        """Make the error for what stands here."""
        return Unparsable(reason, self.pos)

    def note(self, reason: str, start: int) -> None:
        """Record a problem that does not stop reading."""
        self.problems.append(Problem(reason, start, max(start, min(self.pos, self.end))))

    def only_bash(self, what: str, start: int) -> None:
        """Record that a plain POSIX shell reads `what` in another way than bash does."""
        if self.shell == "sh":
            self.note(f"{what} is read differently by different sh programs", start)

    def enter(self) -> None:
        """Go one level down; every call is paired with `leave`, except after an error."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail("nested too deeply")

    def leave(self) -> None:
        """Come one level up."""
        self.depth -= 1

    def skip_blanks(self) -> None:
        """Go to the next token on the line; a comment ends the line."""
        match = BLANKS.match(self.text, self.pos, self.end)
        assert match
        self.pos = match.end()
        self.steps += 1
        if self.char == "#":
            comment = _COMMENT.match(self.text, self.pos, self.end)
            assert comment
            start, self.pos = self.pos, comment.end()
            # Only zsh with our integration treats comments on an interactive line as comments.
            if self.is_zsh and _ACTIVE.search(comment.group()):
                self.note("zsh may run what stands after `#`", start)

    def reserved(self) -> str:
        """Return the reserved word that stands here, or any word like one; "" if there is none."""
        match = RESERVED.match(self.text, self.pos, self.end)
        return match.group() if match else ""

    def expect(self, token: str) -> None:
        """Step over a token that must come next."""
        if not self.at(token):
            found = f"`{self.char}`".replace("\n", "newline") if self.char else "the end of the line"
            raise self.fail(f"expected `{token}`, found {found}")
        self.pos += len(token)

    def expect_reserved(self, word: str) -> None:
        """Step over a reserved word that must come next."""
        if self.reserved() != word:
            raise self.fail(f"expected `{word}`")
        self.pos += len(word)

    def matching(self, pos: int, opening: str, closing: str) -> int:
        """Find the offset of the bracket that closes the one before `pos`; -1 if there is none.

        Quotes and backslashes count, substitutions do not: whoever uses the answer compares it with what was read.
        """
        level = 1
        for match in _PIECE.finditer(self.text, pos, self.end):
            self.steps += 1
            token = match.group()
            if token == opening:
                level += 1
            elif token == closing:
                level -= 1
                if level == 0:
                    return match.start()
        return -1
