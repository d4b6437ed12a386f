"""Words of a command line, and the parts that they are made of."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermitty.policy.syntax.script import Script


class Quote(StrEnum):
    """How a piece of text was quoted."""

    SINGLE = "'"
    DOUBLE = '"'
    ANSI_C = "$'"
    LOCALE = '$"'
    ESCAPE = "\\"  # one character after a backslash (pwsh: a backtick)


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that stands for itself."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Quoted:
    """Quoted text. `text` is decoded, or None when `parts` (of double quotes) hold more than text."""

    style: Quote
    text: str | None
    parts: "tuple[Part, ...]"
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """A variable or special parameter: `$x`, `${x:-word}`, `${!x}`, `${#x}`, `${x[i]}`.

    `operation` is "" for a plain value, else the operator as it is written (":-", "##", "//", "@P", ":" for a
    substring, "*" and "@" for the names of `${!x*}`, ".Name" for a property in pwsh); `words` are its operands.
    """

    name: str
    operation: str
    words: "tuple[Word, ...]"
    subscript: "Word | None"
    is_indirect: bool
    is_length: bool
    quoted: bool
    start: int
    end: int

    @property
    def is_plain(self) -> bool:
        """Tell whether it is the value of a variable, unchanged."""
        return not (self.operation or self.subscript or self.is_indirect or self.is_length)


@dataclass(frozen=True, slots=True)
class Substitution:
    """The output of a script. `kind` is its opening: "$(", "`", "(" of fish and pwsh; "{" for a block of pwsh."""

    kind: str
    script: "Script"
    quoted: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ProcessSubstitution:
    """A file name for the input or output of a script. `kind` is "<(", ">(", or "=(" of zsh."""

    kind: str
    script: "Script"
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An arithmetic expression as written, with the expansions found in it.

    `is_plain`: only numbers, operators and names. The shell evaluates the *value* of every name in `names` as an
    expression too. `assigned` are the names that it changes.
    """

    text: str
    parts: "tuple[Part, ...]"
    names: tuple[str, ...]
    assigned: tuple[str, ...]
    is_plain: bool
    quoted: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Glob:
    """An unquoted `*`, `?` or `[`; a whole `<1-9>` or `(.)` qualifier of zsh."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Extglob:
    """`@(a|b)` and its like: the operator, and everything between the parentheses."""

    operator: str
    parts: "tuple[Part, ...]"
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Brace:
    """`{a,b}`: one list of parts for every alternative."""

    alternatives: "tuple[tuple[Part, ...], ...]"
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BraceRange:
    """`{1..9..2}`, `{a..e}`: the bounds as written."""

    first: str
    last: str
    step: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Tilde:
    """`~` or `~name` at the front of a path."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Array:
    """`(a b c)` as the value of an assignment."""

    elements: "tuple[Word, ...]"
    start: int
    end: int


Part = (
    Literal
    | Quoted
    | Parameter
    | Substitution
    | ProcessSubstitution
    | Arithmetic
    | Glob
    | Extglob
    | Brace
    | BraceRange
    | Tilde
    | Array
)


@dataclass(frozen=True, slots=True)
class Word:
    """One word, as written in `source`. It may become no, one or several arguments."""

    parts: tuple[Part, ...]
    source: str
    start: int
    end: int

    @property
    def literal(self) -> str | None:
        """Return the text if it is known without evaluation: literal and quoted text only."""
        return literal_text(self.parts)

    @property
    def is_quoted(self) -> bool:
        """Tell whether any of it is quoted."""
        return any(isinstance(part, Quoted) for part in self.parts)


def literal_text(parts: tuple[Part, ...]) -> str | None:
    """Join parts that are all text; None if one is not."""
    texts = []
    for part in parts:
        if not isinstance(part, Literal | Quoted) or part.text is None:
            return None
        texts.append(part.text)
    return "".join(texts)
