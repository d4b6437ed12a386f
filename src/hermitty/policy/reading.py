"""A position in a text, for parsers that read forward only."""

from dataclasses import dataclass

from hermitty.policy.lexing import MAX_DEPTH, Unparsable


@dataclass(slots=True)
class Position:
    """Where a parser stands, and how deep in brackets."""

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

    def enter(self) -> None:
        """Go one level down."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail("nested too deeply")

    def leave(self) -> None:
        """Come one level up."""
        self.depth -= 1
