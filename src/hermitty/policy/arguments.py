"""Words as a program will get them, as far as that can be known before the shell runs."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# A text that is made of others may be as long as a line; what would be longer is unknown.
MAX_TEXT = 100_000
# More than a line has, unless it multiplies its words.
MAX_TOTAL = 1_000_000
MAX_ARGUMENTS = 60_000

_NO_EXPANSION = re.compile(r"[^$`()]*")


@dataclass(frozen=True, slots=True)
class Arg:
    """One word of a command.

    `text` is exact, or None when it depends on something that is only known when the shell runs: then `prefix` is the
    part at the front that is known ("./", "--output=", or nothing).
    """

    text: str | None
    shown: str  # as it was written
    prefix: str = ""
    is_many: bool = False  # a glob or an unquoted expansion: may become none, one or several words
    is_glob: bool = False  # an unquoted pattern: names that exist in a directory
    start: int = 0  # where it stands in the line
    end: int = 0
    is_home: bool = False  # the `~` or `~name` at the front was not quoted, or is `$HOME`: a home directory
    is_stream: bool = False  # `<(...)` and its like: the input or output of commands, not a file of anybody

    @classmethod
    def literal(cls, text: str, shown: str | None = None, start: int = 0, end: int = 0) -> "Arg":
        """Make a word that is known exactly."""
        return cls(text, text if shown is None else shown, text, start=start, end=end)

    @property
    def may_split(self) -> bool:
        """Tell whether a later word that it becomes may be anything. Of a glob, all begin with the prefix."""
        return self.text is None and self.is_many and not (self.is_glob and _NO_EXPANSION.fullmatch(self.shown))

    @property
    def may_be_option(self) -> bool:
        """Tell whether the program could take it, or a word that it becomes, for an option."""
        if self.may_split:
            return True
        known = self.prefix if self.text is None else self.text
        return known.startswith("-") if known else self.text is None


def joined(texts: Sequence[str], separator: str = "") -> str | None:
    """Join texts; None if that would be too long."""
    length = sum(map(len, texts)) + len(separator) * len(texts)
    return separator.join(texts) if length <= MAX_TEXT else None


def limited(lists: Iterable[Sequence[Arg] | None]) -> list[Arg]:
    """Return the arguments of several words; when they become too many (or None), the rest is one that is unknown."""
    found: list[Arg] = []
    total = 0
    for args in lists:
        total += sum(len(arg.prefix) for arg in args or ())
        if args is None or total > MAX_TOTAL or len(found) + len(args) > MAX_ARGUMENTS:
            return [*found, Arg(None, "...", is_many=True)]
        found += args
    return found
