"""Commands: what runs a program, what joins commands, and what stands around them."""

from dataclasses import dataclass

from hermitty.policy.syntax.words import Arithmetic, Word


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
