"""From words to arguments: what a program would get, as far as that is known before the shell runs.

Exact or unknown, never guessed: a text that depends on anything outside of the line is None, with the part in front of
it that is certain.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hermitty.policy.alternatives import MAX_WORDS, expand_braces
from hermitty.policy.arguments import MAX_TEXT, MAX_TOTAL, Arg
from hermitty.policy.syntax.words import (
    Arithmetic,
    Array,
    Brace,
    BraceRange,
    Extglob,
    Glob,
    Literal,
    Parameter,
    Part,
    ProcessSubstitution,
    Quoted,
    Substitution,
    Tilde,
    Word,
)

Variables = Mapping[str, str | None]

_BLANKS = " \t\n"
_PATTERN_OR_BLANK = re.compile(r"[*?\[\\ \t\n]")


def expand(word: Word, variables: Variables, *, shell: str = "bash") -> list[Arg]:
    """Return the arguments that a word becomes.

    `variables` are those with a known text, and with None those that were given an unknown one; any other is unknown.
    """
    alternatives = expand_braces(word.parts, shell)
    unknown = Arg(None, word.source, is_many=True, start=word.start, end=word.end)
    if alternatives is None or len(alternatives) * len(word.source) > MAX_TOTAL:
        return [unknown]
    found: list[Arg] = []
    length = 0
    for parts in alternatives:
        args = _Fields(word, variables, shell, has_braces=len(alternatives) > 1).arguments(parts)
        length += sum(len(arg.prefix) for arg in args)
        if length > MAX_TOTAL:
            return [unknown]
        found += args
    return found


def value(word: Word, variables: Variables, *, shell: str = "bash") -> Arg:
    """Return the one text that a word becomes where it is neither split nor a pattern, as in an assignment."""
    fields = _Fields(word, variables, shell, is_value=True)
    found = fields.arguments(word.parts)
    return found[0] if found else Arg.literal("", word.source, word.start, word.end)


@dataclass(slots=True)
class _Field:
    """An argument being built."""

    known: list[str] = field(default_factory=list)
    length: int = 0
    is_exact: bool = True
    is_present: bool = False  # stays, even if it is empty
    is_many: bool = False
    is_glob: bool = False
    is_home: bool = False
    is_stream: bool = False

    @property
    def is_empty(self) -> bool:
        return self.is_exact and not self.known

    @property
    def is_started(self) -> bool:
        return not self.is_empty or self.is_present

    def add(self, text: str) -> None:
        if not self.is_exact or not text:
            return
        self.length += len(text)
        if self.length > MAX_TEXT:
            self.is_exact = False
        else:
            self.known.append(text)

    def add_unknown(self, *, is_many: bool = False) -> None:
        self.is_exact = False
        self.is_many |= is_many


@dataclass(slots=True)
class _Fields:
    """The arguments that one word becomes after its braces were expanded."""

    word: Word
    variables: Variables
    shell: str
    has_braces: bool = False
    is_value: bool = False
    done: list[_Field] = field(default_factory=list)
    now: _Field = field(default_factory=_Field)

    def arguments(self, parts: Iterable[Part]) -> list[Arg]:
        previous: Part | None = None
        parts = tuple(parts)
        # Others than bash keep an alternative that is empty.
        self.now.is_present = self.has_braces and self.shell != "bash"
        for part in parts:
            if self.has_braces and _moved_name(previous, part):
                # bash expands braces first: `$x{a,b}` is `$xa $xb`.
                self.now.add_unknown(is_many=True)
            elif self.has_braces and isinstance(part, Literal) and "~" in part.text:
                self._unfolded_tilde(part.text, is_last=part is parts[-1])
            else:
                self._add(part, is_quoted=False)
            previous = part
        self._close()
        return [self._arg(one) for one in self.done]

    def _add(self, part: Part, *, is_quoted: bool) -> None:
        now = self.now
        match part:
            case Literal(text=text):
                now.add(text)
            case Quoted(text=None, parts=inner):
                now.is_present = True
                for one in inner:
                    self._add(one, is_quoted=True)
            case Quoted(text=str(text)):
                now.is_present = True
                now.add(text)
            case Parameter():
                self._parameter(part, is_quoted=is_quoted or self.is_value)
            case Substitution():
                now.add_unknown(is_many=not (is_quoted or self.is_value) or self.shell in ("fish", "pwsh"))
            case Tilde() if self.has_braces and self.word.parts[1:] and not _is_path(self.word.parts[1]):
                # What comes out of the braces is part of the name.
                now.add_unknown()
            case Tilde(name=name):
                self._tilde(name)
            case Glob(text=text) if self.is_value:
                now.add(text)
            case Glob() | Extglob():
                now.is_glob = True
                now.add_unknown(is_many=True)
            case ProcessSubstitution():
                now.is_stream = not now.is_started
                now.add_unknown()
            case Arithmetic():
                now.add_unknown()
            case Brace() | BraceRange() | Array():
                now.add_unknown(is_many=True)

    def _parameter(self, part: Parameter, *, is_quoted: bool) -> None:
        text = self.variables.get(part.name) if part.is_plain else None
        if text is None:
            if part.name == "HOME" and part.is_plain and "HOME" not in self.variables and self.now.is_empty:
                self._home("~")
            else:
                lists = part.name in ("@", "*") or part.subscript is not None or part.is_indirect or part.words
                self.now.add_unknown(is_many=not is_quoted or bool(lists) or self.shell == "fish")
        elif is_quoted or self.shell in ("fish", "pwsh"):
            self.now.add(text)
            self.now.is_present = True
        elif any(char in text for char in "*?[\\"):
            self.now.is_glob = True
            if "IFS" not in self.variables:
                self.now.add(_PATTERN_OR_BLANK.split(text, maxsplit=1)[0])
            self.now.add_unknown(is_many=True)
        elif not any(char in text for char in _BLANKS):
            self.now.add(text)
        elif self.shell == "zsh" or "IFS" in self.variables:
            # zsh splits only if it was told to.
            self.now.add_unknown(is_many=True)
        else:
            self._split(text)

    def _split(self, text: str) -> None:
        pieces = text.split(maxsplit=MAX_WORDS)
        if len(pieces) > MAX_WORDS:
            self.now.add_unknown(is_many=True)
            return
        if text[0] in _BLANKS:
            self._close()
        for index, piece in enumerate(pieces):
            if index:
                self._close()
            self.now.add(piece)
        if text[-1] in _BLANKS:
            self._close()

    def _tilde(self, name: str) -> None:
        if self.now.is_started:
            self.now.add_unknown()
        elif name == "" and "HOME" in self.variables:
            home = self.variables["HOME"]
            if home is None:
                self.now.add_unknown()
            else:
                self.now.add(home)
                self.now.is_present = True
        elif name == "" or not (name in "+-" or name.lstrip("+-").isdigit()):
            self._home("~" + name)
        else:
            self.now.add_unknown()

    def _home(self, text: str) -> None:
        self.now.add(text)
        self.now.is_home = True

    def _unfolded_tilde(self, text: str, *, is_last: bool) -> None:
        """Add text that came out of braces, where `~` was not read as a directory."""
        before, _, after = text.partition("~")
        if not before and not self.now.is_started and (after.startswith("/") or (is_last and not after)):
            self._tilde("")
            self.now.add(after)
        else:
            self.now.add(before)
            self.now.add_unknown()

    def _close(self) -> None:
        if self.now.is_started:
            self.done.append(self.now)
        self.now = _Field()

    def _arg(self, one: _Field) -> Arg:
        text = "".join(one.known)
        return Arg(
            text if one.is_exact else None,
            self.word.source,
            text,
            is_many=one.is_many,
            is_glob=one.is_glob,
            is_home=one.is_home,
            is_stream=one.is_stream,
            start=self.word.start,
            end=self.word.end,
        )


def _is_path(part: Part) -> bool:
    return isinstance(part, Literal) and part.text.startswith("/")


def _moved_name(previous: Part | None, part: Part) -> bool:
    """Tell whether a text that came out of braces continues the name of the variable in front of it."""
    return (
        isinstance(previous, Parameter)
        and previous.end - previous.start == 1 + len(previous.name)
        and isinstance(part, Literal)
        and part.start != previous.end
        and (part.text[:1].isalnum() or part.text[:1] in ("_", "["))
    )
