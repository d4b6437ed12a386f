"""What a word does before it is an argument: substitutions run, and some expansions run what is in a variable."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from hermitty.policy.alternatives import MANY, count_words
from hermitty.policy.arguments import Arg
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.numeric import inspected, is_number, is_plain_range, is_plain_subscript
from hermitty.policy.programs.names import looked_up
from hermitty.policy.programs.variables import dangerous_variable
from hermitty.policy.syntax.commands import Test
from hermitty.policy.syntax.script import Script
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
    Word,
)
from hermitty.policy.unfold import text_of
from hermitty.policy.world import World

_FLAGS = re.compile(r"\([^)]*\)")  # of zsh
_PLAIN_ELEMENT = re.compile(r"\[(?:-?[0-9]+(?:,-?[0-9]+)?|[@*])\]")
_ASSIGNING = frozenset((":=", "="))
_COMPARING = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_LENGTH_OF_A_WORD = 200
_LOOKING_UP = frozenset(("-v", "-R"))


@dataclass(slots=True)
class Inside:
    """Goes through words. `run` judges the script of a substitution."""

    world: World
    shell: str
    run: Callable[[Script, World], World]
    found: list[Finding] = field(default_factory=list)
    made: int = 0  # words, by braces
    length: int = 0  # of these words together, at most

    def words(self, words: Iterable[Word]) -> None:
        """Judge what is in words, from left to right."""
        for word in words:
            self._braces(word)
            self.parts(word.parts)

    def parts(self, parts: Iterable[Part]) -> None:
        """Judge parts of a word."""
        parts = tuple(parts)
        for index, part in enumerate(parts):
            match part:
                case Parameter(operation="[") if self.shell == "zsh":
                    self._element(part, parts[index + 1 :])
                case Quoted(text=None, parts=inner) | Extglob(parts=inner):
                    self.parts(inner)
                case Parameter():
                    self._parameter(part)
                case Substitution(script=script) | ProcessSubstitution(script=script):
                    self.world = self.run(script, self.world)
                case Arithmetic(parts=inner):
                    self.parts(inner)
                    self.arithmetic(part)
                case Brace(alternatives=alternatives):
                    for one in alternatives:
                        self.parts(one)
                case Array(elements=elements):
                    self._array(elements)

    def arithmetic(self, part: Arithmetic) -> None:
        """Judge an expression, and follow its assignments."""
        found, self.world = inspected(part, self.world)
        self.found += found

    def subscript(self, word: Word | None) -> None:
        """Judge a subscript: what is in it is calculated."""
        if word is None:
            return
        self.parts(word.parts)
        if self.shell not in ("fish", "pwsh") and not is_plain_subscript(word, self.world):
            self._ask(f"the subscript [{word.source}] is calculated, which may run what is in it", word)

    def test(self, test: Test) -> None:
        """Judge one comparison of `[[ ]]`."""
        self.words(test.operands)
        if test.operator in _LOOKING_UP:
            for word in test.operands:
                self.found += looked_up(text_of(word, self.world, self.shell))
        elif test.operator in _COMPARING or (test.operator == "-t" and self.shell == "zsh"):
            for word in test.operands:
                if not is_number(word, self.world):
                    self._ask(f"{word.source} is calculated, which may run what is in it", word)

    def _parameter(self, part: Parameter) -> None:
        self.subscript(part.subscript)
        self.words(part.words)
        shown = f"${{{part.name}}}"
        operation = _FLAGS.sub("", part.operation)
        lists = operation in ("*", "@") or (part.subscript is not None and part.subscript.literal in ("*", "@"))
        if operation == "@P":
            self.found.append(_at(ask(f"{shown} is expanded like a prompt and run", Level.HIGH, Effect.EXEC), part))
        elif part.is_indirect and not lists:
            self.found.append(
                _at(unclear(f"which variable ${{!{part.name}}} stands for is only known when it runs"), part)
            )
        elif operation in _ASSIGNING and self.shell not in ("fish", "pwsh"):
            self._assigned(part)
        elif operation == ":" and not all(is_plain_range(word, self.world) for word in part.words):
            self.found.append(
                _at(unclear(f"the places of {shown} are calculated, which may run what is in them"), part)
            )

    def _element(self, part: Parameter, following: Sequence[Part]) -> None:
        """Judge `$x[1]` of zsh, whose subscript is read as text behind the variable."""
        text = "".join(one.text for one in following if isinstance(one, Literal | Glob))
        if not _PLAIN_ELEMENT.match(text):
            self.found.append(_at(unclear(f"the subscript of ${part.name} is calculated"), part))

    def _assigned(self, part: Parameter) -> None:
        reason = dangerous_variable(part.name, None, self.shell)
        level = Level.HIGH if reason else Level.MEDIUM
        text = reason or f"${{{part.name}}} gets a value while the line runs"
        self.found.append(_at(ask(text, level, Effect.SESSION), part))
        if not self.world.variables.get(part.name):
            given = text_of(part.words[0], self.world, self.shell).text if part.words else ""
            self.world = self.world.with_variable(part.name, given)

    def _array(self, elements: Sequence[Word]) -> None:
        for word in elements:
            self._braces(word)
            self.parts(word.parts)
            if word.source.startswith("[") and "=" in word.source:
                subscript = word.source[1:].partition("]")[0]
                place = Word((Literal(subscript, word.start, word.end),), subscript, word.start, word.end)
                if not is_plain_subscript(place, self.world):
                    self._ask(f"the subscript [{subscript}] is calculated, which may run what is in it", word)

    def _braces(self, word: Word) -> None:
        if not any(isinstance(part, Brace | BraceRange) for part in word.parts):
            return
        before = max(self.made, self.length // _LENGTH_OF_A_WORD)
        count = count_words(word.parts, self.shell)
        self.made += count
        self.length += count * len(word.source)
        if before < MANY <= max(self.made, self.length // _LENGTH_OF_A_WORD):
            reason = "braces make so many words that the shell may run out of memory"
            self.found.append(_at(ask(reason, Level.MEDIUM, Effect.PROCESS), word))

    def _ask(self, reason: str, word: Word) -> None:
        self.found.append(unclear(reason, at=Arg(None, word.source, start=word.start, end=word.end)))


def _at(finding: Finding, part: Parameter | Word) -> Finding:
    return Finding(finding.verdict, finding.level, finding.reason, finding.effect, finding.path, part.start, part.end)
