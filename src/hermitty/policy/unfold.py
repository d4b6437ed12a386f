"""From words to arguments in a known world: on top of `evaluate`, what the line itself tells.

Known are the arguments of functions, the beginnings of loop variables, the output of `echo` in a substitution, and
simple operations on variables with a known text. With `defaults`, an unknown variable is taken to have the value that
the line gives for its absence, and an array the elements that it was given: what is destroyed then must be seen, too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hermitty.policy.alternatives import count_words
from hermitty.policy.arguments import MAX_ARGUMENTS, MAX_TEXT, Arg, joined, limited
from hermitty.policy.evaluate import expand, value
from hermitty.policy.syntax.commands import Simple, Value
from hermitty.policy.syntax.script import Script
from hermitty.policy.syntax.words import (
    Array,
    Brace,
    BraceRange,
    Literal,
    Parameter,
    Part,
    Quote,
    Quoted,
    Substitution,
    Word,
    literal_text,
)
from hermitty.policy.world import World

_ACTIVE = re.compile(r"[\s*?\[\\]")
_PATTERN = re.compile(r"[*?\[\]\\(|~]")
_REFERS = re.compile(r"[&\\]")  # newer versions put the match in its place
_SUBSTRING = re.compile(r"\s*(\d+)(?::(\d+))?")
_NUMBERS = frozenset("#?$")
_DEFAULTS = frozenset((":-", "-", ":=", "=", ":+", "+"))


def arguments(word: Word, world: World, shell: str, *, defaults: bool = False) -> list[Arg]:
    """Return the arguments that a word becomes."""
    parts = word.parts
    if len(parts) == 1:
        only = parts[0]
        if isinstance(only, Literal) or (isinstance(only, Quoted) and only.text is not None):
            return [Arg.literal(only.text or "", word.source, word.start, word.end)]
        given = _elements(only, world) if defaults else None
        if given is not None or (given := _all_arguments(only, world)) is not None:
            return [replace(arg, start=word.start, end=word.end) for arg in given]
    rewritten, variables = _rewritten(word, world, shell, defaults=defaults)
    return expand(rewritten, variables, shell=shell)


def all_arguments(words: Sequence[Word], world: World, shell: str, *, defaults: bool = False) -> list[Arg]:
    """Return the arguments that words become."""
    made = 0

    def expanded(word: Word) -> list[Arg] | None:
        nonlocal made
        made += count_words(word.parts, shell)
        return arguments(word, world, shell, defaults=defaults) if made <= MAX_ARGUMENTS else None

    return limited(map(expanded, words))


def text_of(word: Word, world: World, shell: str, *, defaults: bool = False) -> Arg:
    """Return the one text that a word becomes as the value of an assignment."""
    rewritten, variables = _rewritten(word, world, shell, defaults=defaults)
    return value(rewritten, variables, shell=shell)


def stored(arg: Arg, home: str) -> str | None:
    """Return the text that a variable holds after a word was assigned to it: the shell replaces a tilde before."""
    if arg.text is None or not arg.is_home:
        return arg.text
    name, slash, rest = arg.text[1:].partition("/")
    return (f"/home/{name}" if name else home) + slash + rest


def has_defaults(words: Sequence[Word]) -> bool:
    """Tell whether words give a value for the absence of a variable, or are elements of an array."""
    return any(_is_default(part) or _is_array(part) for word in words for part in _flat(word.parts))


def known_output(script: Script, world: World, shell: str) -> str | None:
    """Return what a script prints, without newlines at the end, if it is one `echo`, `printf` or `pwd`."""
    command = script.body[0].command if len(script.body) == 1 else None
    if isinstance(command, Value):
        return command.word.literal
    if not isinstance(command, Simple) or command.redirects or command.assignments or script.body[0].is_background:
        return None
    return printed(all_arguments(command.words, world, shell), world)


def printed(args: Sequence[Arg], world: World) -> str | None:
    """Return what a command prints, if that is known."""
    texts = [arg.text for arg in args if arg.text is not None]
    if len(texts) != len(args) or not texts or texts[0] in world.functions or any("\\" in text for text in texts):
        return None
    match texts:
        case ["pwd"]:
            return world.cwd
        case ["echo", "-n", *words] | ["echo", *words] if not (words and words[0].startswith("-")):
            text = joined(words, " ")
            return None if text is None else text.rstrip("\n")
        case ["printf", form] if "%" not in form and not form.startswith("-"):
            return form.rstrip("\n")
        case ["printf", "%s", word]:
            return word.rstrip("\n")
    return None


def _all_arguments(part: Part, world: World) -> Sequence[Arg] | None:
    """Return the arguments that `$@` stands for."""
    inner = part.parts[0] if isinstance(part, Quoted) and len(part.parts) == 1 else part
    if not isinstance(inner, Parameter) or inner.name not in ("@", "*") or not inner.is_plain:
        return None
    given = world.arguments
    if given is None or (inner.name == "*" and part is not inner and len(given) != 1):
        return None
    is_split = part is inner and any(arg.text is None or _ACTIVE.search(arg.text) for arg in given)
    return None if is_split else given


def _elements(part: Part, world: World) -> Sequence[Arg] | None:
    """Return what an array was given. It may have changed since: whoever asks looks at this as one of the ways."""
    inner = part.parts[0] if isinstance(part, Quoted) and len(part.parts) == 1 else part
    return world.lists.get(inner.name) if isinstance(inner, Parameter) and _is_array(inner) else None


def _is_array(part: Part) -> bool:
    if not isinstance(part, Parameter) or part.subscript is None or part.operation:
        return False
    return part.subscript.literal in ("@", "*") and not (part.is_indirect or part.is_length)


def _flat(parts: Sequence[Part]) -> list[Part]:
    found: list[Part] = []
    for part in parts:
        found += _flat(part.parts) if isinstance(part, Quoted) else [part]
    return found


def _is_default(part: Part) -> bool:
    return isinstance(part, Parameter) and part.operation in _DEFAULTS and not (part.subscript or part.is_indirect)


@dataclass(slots=True)
class _Rewriter:
    """Replaces parts whose text is known by variables with that text, so that they are split as the shell splits."""

    world: World
    shell: str
    defaults: bool
    texts: dict[str, str | None] = field(default_factory=dict)

    def parts(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        return tuple(one for part in parts for one in self._part(part))

    def _part(self, part: Part) -> tuple[Part, ...]:
        match part:
            case Quoted(text=None, parts=inner):
                return (replace(part, parts=self.parts(inner)),)
            case Substitution(script=script, quoted=quoted) if part.kind != "{":
                text = known_output(script, self.world, self.shell)
                return (part,) if text is None else (self._named(part, text, quoted=quoted),)
            case Parameter(name=name) if part.is_plain:
                shape = self.world.shapes.get(name)
                if shape is not None:
                    return Literal(shape, part.start, part.start), part
                return (self._number(part),) if not part.quoted and self._is_number(name) else (part,)
            case Parameter(operation=":?" | "?") if not (part.subscript or part.is_indirect):
                # Without a value, the command does not run.
                return self._part(replace(part, operation="", words=()))
            case Parameter():
                text = self._operated(part)
                return (part,) if text is None else (self._named(part, text, quoted=part.quoted),)
        return (part,)

    def _is_number(self, name: str) -> bool:
        is_special = name in _NUMBERS and self.shell not in ("fish", "pwsh")
        return is_special or (name in self.world.numbers and self.world.variables.get(name) is None)

    def _number(self, part: Parameter) -> Quoted:
        """Make one word of an unquoted number: nothing in it is split."""
        return Quoted(Quote.DOUBLE, None, (part,), part.start, part.end)

    def _named(self, part: Part, text: str, *, quoted: bool) -> Parameter:
        name = f" {len(self.texts)}"
        self.texts[name] = text
        return Parameter(name, "", (), None, False, False, quoted, part.start, part.end)

    def _operated(self, part: Parameter) -> str | None:
        if part.subscript is not None or part.is_indirect or self.shell in ("fish", "pwsh"):
            return None
        known = self.world.variables.get(part.name)
        if part.is_length:
            return str(len(known)) if known is not None and known.isascii() else None
        if part.operation in _DEFAULTS:
            return self._default(part, known)
        operands = [self._operand(word) for word in part.words]
        if known is None or any(one is None for one in operands) or self.shell == "zsh":
            return None
        return _result(known, part.operation, [one or "" for one in operands])

    def _default(self, part: Parameter, known: str | None) -> str | None:
        is_alternative = part.operation.endswith("+")
        if known:
            return self._operand(part.words[0]) if is_alternative else known
        if known == "" and part.operation.startswith(":"):
            return "" if is_alternative else self._operand(part.words[0])
        return self._operand(part.words[0]) if self.defaults else None

    def _operand(self, word: Word) -> str | None:
        plain = literal_text(word.parts)
        if plain is not None:
            return plain
        return stored(text_of(word, self.world, self.shell, defaults=self.defaults), self.world.home)


def _rewritten(word: Word, world: World, shell: str, *, defaults: bool) -> tuple[Word, Mapping[str, str | None]]:
    if any(isinstance(part, Brace | BraceRange | Array) for part in word.parts):
        return word, world.variables
    rewriter = _Rewriter(world, shell, defaults)
    parts = rewriter.parts(word.parts)
    if parts == word.parts:
        return word, world.variables
    return replace(word, parts=parts), {**world.variables, **rewriter.texts}


def _result(text: str, operation: str, operands: Sequence[str]) -> str | None:
    """Perform an operation on a known text, if its pattern is only text."""
    first = operands[0] if operands else ""
    if not all(one.isascii() for one in (text, *operands)) or _REFERS.search("".join(operands[1:])):
        return None
    if operation == ":":
        match = _SUBSTRING.fullmatch(first)
        if match is None:
            return None
        start = int(match[1])
        return text[start:] if match[2] is None else text[start : start + int(match[2])]
    if _PATTERN.search(first):
        return None
    match operation:
        case "#" | "##":
            return text.removeprefix(first)
        case "%" | "%%":
            return text.removesuffix(first)
        case "/" | "//" if first:
            return _replaced(text, first, "".join(operands[1:]), 1 if operation == "/" else -1)
        case "^^" | ",," if not first:
            return text.upper() if operation == "^^" else text.lower()
    return None


def _replaced(text: str, old: str, new: str, times: int) -> str | None:
    found = text.count(old) if times < 0 else 1
    return text.replace(old, new, times) if len(text) + found * len(new) <= MAX_TEXT else None
