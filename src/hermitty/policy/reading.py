"""A position in a text, for parsers that read forward only, and what such parsers read alike."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from hermitty.policy.lexing import MAX_DEPTH, Unparsable
from hermitty.policy.syntax.commands import AndOr, Command

_COMMENT = re.compile(r"#[^\n]*")


@dataclass(slots=True)
class Position:
    """Where a parser stands, and how deep in brackets. `BLANKS` are those of its shell, with lines that go on."""

    BLANKS: ClassVar[re.Pattern[str]]

    text: str
    pos: int = 0
    depth: int = 0

    @property
    def char(self) -> str:
        """Return the character here, "" at the end."""
        return self.text[self.pos] if self.pos < len(self.text) else ""

    def at(self, token: str) -> bool:
        """Tell whether `token` stands here."""
        return self.text.startswith(token, self.pos)

    def fail(self, reason: str) -> Unparsable:
        """Make the error for what stands here."""
        return Unparsable(reason, self.pos)

    def skip_blanks(self, *, comments: bool = True) -> None:
        """Go to the next token on the line."""
        match = self.BLANKS.match(self.text, self.pos)
        assert match
        self.pos = match.end()
        if comments and (comment := _COMMENT.match(self.text, self.pos)):
            self.pos = comment.end()

    def skip_newlines(self) -> None:
        """Go to the next token."""
        self.skip_blanks()
        while self.char == "\n":
            self.pos += 1
            self.skip_blanks()

    def enter(self) -> None:
        """Go one level down."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail("nested too deeply")

    def leave(self) -> None:
        """Come one level up."""
        self.depth -= 1


def read_and_or(r: Position, read_pipeline: Callable[[], Command]) -> Command:
    """Read pipelines joined by `&&` and `||`, or the single one that stands here."""
    start = r.pos
    commands = [read_pipeline()]
    operators: list[str] = []
    while True:
        at = r.pos
        r.skip_blanks()
        operator = r.text[r.pos : r.pos + 2]
        if operator not in ("&&", "||"):
            r.pos = at
            break
        operators.append(operator)
        r.pos += 2
        r.skip_newlines()
        commands.append(read_pipeline())
    return commands[0] if len(commands) == 1 else AndOr(tuple(commands), tuple(operators), start, r.pos)
