"""Words of PowerShell: barewords, strings, variables with properties, parentheses and script blocks.

Values joined by commas are one word with alternatives: a cmdlet gets all of them.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hermitty.policy.braces import merged
from hermitty.policy.lexing import Unparsable
from hermitty.policy.reading import Position
from hermitty.policy.syntax.words import (
    Brace,
    Glob,
    Literal,
    Parameter,
    Part,
    Quote,
    Quoted,
    Substitution,
    Tilde,
    Word,
    literal_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermitty.policy.syntax.script import Script

VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*(?::[A-Za-z_][A-Za-z0-9_]*)?|[_?^$])|\{([A-Za-z0-9_:]+)\})(?!:)")
_PLAIN = re.compile(r"""[^ \t\n;|&<>(){}'"`$,*?\[\]@#]+""")
_PLAIN_QUOTED = re.compile(r'[^"`$]+')
_SINGLE = re.compile(r"'(?:[^']|'')*'")
_PROPERTY = re.compile(r"\.[A-Za-z_][A-Za-z0-9_]*")
_TILDE = re.compile(r"~(?=[/\\ \t\n;|,)}]|\Z)")
_NAMED = {"0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CLOSING = {"(": ")", "$(": ")", "@(": ")", "{": "}"}


@dataclass(slots=True)
class Reader(Position):
    """A position in the text. `script` reads commands up to a closing bracket."""

    BLANKS = re.compile(r"(?:[ \t]|`\n)*")

    script: "Callable[[Reader, str], Script]" = field(kw_only=True)


def read_word(r: Reader, *, is_expression: bool = False) -> Word:
    """Read the word that stands here; in an expression only one value."""
    start = r.pos
    alternatives = [_value(r, is_expression=is_expression)]
    while r.char == ",":
        r.pos += 1
        r.skip_newlines()
        alternatives.append(_value(r, is_expression=is_expression))
    parts = alternatives[0] if len(alternatives) == 1 else (Brace(tuple(alternatives), start, r.pos),)
    return Word(parts, r.text[start : r.pos], start, r.pos)


def _value(r: Reader, *, is_expression: bool) -> tuple[Part, ...]:
    start = r.pos
    parts: list[Part] = []
    while (char := r.char) and char not in " \t\n;|&)},":
        at = r.pos
        if is_expression and parts:
            break
        if char in "({" or r.at("@("):
            if parts:
                raise r.fail(f"`{char}` inside a word is not analysed")
            parts.append(_block(r, "@(" if char == "@" else char, quoted=False))
            while found := _PROPERTY.match(r.text, r.pos):
                r.pos = found.end()
            if r.char and r.char in ".[(:":
                raise r.fail("what is taken from a value is not analysed")
        elif char == "$":
            parts.append(_dollar(r, quoted=False))
            if is_expression and r.char and r.char in "[(:.":
                raise r.fail("what is taken from a value is not analysed")
        elif char == "'":
            parts.append(_single(r))
        elif char == '"':
            parts.append(_double(r))
        elif char == "`":
            parts.append(_escape(r))
        elif char in "*?[" and not is_expression:
            r.pos += 1
            parts.append(Glob(char, at, r.pos))
        elif char == "~" and at == start and (match := _TILDE.match(r.text, at)):
            r.pos = match.end()
            parts.append(Tilde("", at, r.pos))
        elif char in "<>" or (char == "@" and not parts):
            raise r.fail(f"`{char}` is not analysed here")
        else:
            match = _PLAIN.match(r.text, at)
            r.pos = match.end() if match else at + 1
            parts.append(Literal(r.text[at : r.pos], at, r.pos))
    if r.pos == start:
        raise r.fail(f"unexpected `{r.char}`" if r.char else "unexpected end of the line")
    return tuple(merged(parts))


def _block(r: Reader, kind: str, *, quoted: bool) -> Substitution:
    start = r.pos
    closing = _CLOSING[kind]
    r.pos += len(kind)
    r.enter()
    script = r.script(r, closing)
    if r.char != closing:
        raise Unparsable(f"`{kind}` is not closed", start)
    r.pos += 1
    r.leave()
    return Substitution("{" if kind == "{" else "(", script, quoted, start, r.pos)


def _dollar(r: Reader, *, quoted: bool) -> Part:
    start = r.pos
    if r.at("$("):
        return _block(r, "$(", quoted=quoted)
    match = VARIABLE.match(r.text, start)
    if not match:
        raise r.fail("this form of `$` is not analysed")
    r.pos = match.end()
    operation = ""
    while not quoted and (found := _PROPERTY.match(r.text, r.pos)):
        operation += found.group()
        r.pos = found.end()
    if not quoted and r.char and r.char in "[(":
        raise r.fail("a call or an index is not analysed")
    return Parameter(match[1] or match[2], operation, (), None, False, False, quoted, start, r.pos)


def _single(r: Reader) -> Quoted:
    start = r.pos
    match = _SINGLE.match(r.text, start)
    if not match:
        raise r.fail("a single quote is not closed")
    r.pos = match.end()
    return Quoted(Quote.SINGLE, match.group()[1:-1].replace("''", "'"), (), start, r.pos)


def _double(r: Reader) -> Quoted:
    start = r.pos
    r.pos += 1
    parts: list[Part] = []
    while True:
        at = r.pos
        if not r.char:
            raise Unparsable("a double quote is not closed", start)
        if r.at('""'):
            r.pos += 2
            parts.append(Literal('"', at, r.pos))
        elif r.char == '"':
            r.pos += 1
            break
        elif r.char == "`":
            parts.append(_escape(r))
        elif r.char == "$":
            parts.append(_dollar(r, quoted=True))
        else:
            match = _PLAIN_QUOTED.match(r.text, at)
            assert match
            r.pos = match.end()
            parts.append(Literal(match.group(), at, r.pos))
    found = tuple(merged(parts))
    return Quoted(Quote.DOUBLE, literal_text(found), found, start, r.pos)


def _escape(r: Reader) -> Quoted:
    at = r.pos
    following = r.text[at + 1 : at + 2]
    if not following or following in "0u\n":
        raise r.fail("an escape that is not understood")
    r.pos += 2
    return Quoted(Quote.ESCAPE, _NAMED.get(following, following), (), at, r.pos)
