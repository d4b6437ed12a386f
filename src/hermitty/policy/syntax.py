"""The tree of a command line, whatever shell it is for.

Every node has `start` and `end`, offsets into the line. Nodes are values; nothing here knows how they were read. Text
in backquotes and in here-documents that lose their tabs is read on its own and put back in place with `relocate`.
"""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was not understood, or that no line should contain. A line with problems is not analysed."""

    reason: str
    start: int
    end: int


# --- parts of a word


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


# --- commands


@dataclass(frozen=True, slots=True)
class Heredoc:
    """The body of a here-document. Without quotes around the delimiter, expansions in it are parts of `body`."""

    delimiter: str
    is_quoted: bool
    strips_tabs: bool
    body: Word
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection with its one target. `variable` is set for `{name}>file`."""

    operator: str
    fd: int | None
    variable: str | None
    target: Word
    heredoc: Heredoc | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name=value`; `operator` is "=" or "+="."""

    name: str
    subscript: Word | None
    operator: str
    value: Word
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Simple:
    """A program, function or built-in with its words; or only assignments; or only redirections."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|` or `|&`; a single command if it is negated or timed."""

    commands: "tuple[Command, ...]"
    operators: tuple[str, ...]
    is_negated: bool
    is_timed: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AndOr:
    """Commands joined by `&&` and `||`, from left to right."""

    commands: "tuple[Command, ...]"
    operators: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Statement:
    """One command of a list."""

    command: "Command"
    is_background: bool
    start: int
    end: int


Body = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """`{ ...; }`, `begin ...; end`."""

    body: Body
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Subshell:
    """`( ... )`."""

    body: Body
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Branch:
    """`if` or `elif`: a condition and what follows from it."""

    condition: Body
    body: Body
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class If:
    """`if`, with its branches and what stands after `else`."""

    branches: tuple[Branch, ...]
    otherwise: Body
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class While:
    """`while` and `until`."""

    is_until: bool
    condition: Body
    body: Body
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class For:
    """`for name in words`, `select name in words`; `words` is None for the arguments of the script."""

    names: tuple[str, ...]
    words: tuple[Word, ...] | None
    body: Body
    is_select: bool
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ArithmeticFor:
    """`for ((a; b; c))`."""

    expression: Arithmetic
    body: Body
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """`repeat n` of zsh."""

    count: Word
    body: Body
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm of `case`; `terminator` is ";;", ";&", ";;&", or "" for the last one."""

    patterns: tuple[Word, ...]
    body: Body
    terminator: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Case:
    """`case`, `switch`."""

    word: Word
    arms: tuple[Arm, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Function:
    """A function's definition. Without `names` (zsh) it runs at once, with `arguments`."""

    names: tuple[Word, ...]
    body: "Command"
    arguments: tuple[Word, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Test:
    """One comparison in `[[ ]]`: its operator ("" for a bare word) and its operands."""

    operator: str
    operands: tuple[Word, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Conditional:
    """`[[ ... ]]`. How its tests are joined is left out: what any of them evaluates matters."""

    tests: tuple[Test, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ArithmeticCommand:
    """`(( ... ))`."""

    expression: Arithmetic
    redirects: tuple[Redirect, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Coproc:
    """`coproc`."""

    name: str | None
    command: "Command"
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Value:
    """pwsh: an expression whose value is printed, made of text and variables only."""

    word: Word
    start: int
    end: int


Command = (
    Simple
    | Pipeline
    | AndOr
    | Group
    | Subshell
    | If
    | While
    | For
    | ArithmeticFor
    | Repeat
    | Case
    | Function
    | Conditional
    | ArithmeticCommand
    | Coproc
    | Value
)


@dataclass(frozen=True, slots=True)
class Script:
    """A whole line, or the inside of a substitution.

    The script of the line has all problems, also those of the scripts inside of it, which have none of their own. After
    a problem, `body` holds what was understood before it.
    """

    shell: str
    body: Body
    problems: tuple[Problem, ...]
    start: int
    end: int


Node = Any  # any of the dataclasses above
N = TypeVar("N")


def children(node: Node) -> Iterator[Node]:
    """Iterate over the nodes directly inside of one."""
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, tuple):
            for item in value:
                if isinstance(item, tuple):
                    yield from item
                elif dataclasses.is_dataclass(item):
                    yield item
        elif dataclasses.is_dataclass(value):
            yield value


def walk(node: Node) -> Iterator[Node]:
    """Iterate over a node and everything inside of it, from left to right."""
    yield node
    for child in children(node):
        yield from walk(child)


def relocate(node: N, at: Callable[[int], int]) -> N:
    """Return the same tree with every offset mapped."""

    def move(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(move(item) for item in value)
        return relocate(value, at) if dataclasses.is_dataclass(value) else value

    fields = {field.name: move(getattr(node, field.name)) for field in dataclasses.fields(node)}  # type: ignore[arg-type]
    start, end = fields["start"], fields["end"]
    fields["start"], fields["end"] = at(start), at(end - 1) + 1 if end > start else at(end)
    return type(node)(**fields)
