"""Words of fish: quotes, escapes, variables, substitutions in parentheses, braces and wildcards."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hermitty.policy.braces import fold, merged
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

_PLAIN = re.compile(r"""[^ \t\n;|&<>()\\'"$*?{},~\[\]]+""")
_PLAIN_QUOTED = re.compile(r'[^"\\$]+')
_NAME = re.compile(r"[A-Za-z0-9_]+")
_SINGLE = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)
_SINGLE_ESCAPE = re.compile(r"\\([\\'])")
_TILDE = re.compile(r"~([A-Za-z0-9_.+-]*)(?=[/ \t\n;|&<>)]|\Z)")
_ESCAPE = re.compile(r"\\(?:([abefnrtv])|[xX]([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8}))")
_NAMED = dict(zip("abefnrtv", "\a\b\x1b\f\n\r\t\v", strict=True))


@dataclass(slots=True)
class Reader(Position):
    """A position in the text. `script` reads the commands of a substitution."""

    BLANKS = re.compile(r"(?:[ \t]|\\\n)*")

    script: "Callable[[Reader], Script]" = field(kw_only=True)


def read_word(r: Reader) -> Word:
    """Read the word that stands here."""
    start = r.pos
    parts, marks = _parts(r, "")
    if r.pos == start:
        raise r.fail(f"unexpected `{r.char}`" if r.char else "unexpected end of the line")
    if r.char == "&" and r.text[r.pos + 1 : r.pos + 2] not in ("", *" \t\n;&|>"):
        # Newer versions take it for a part of the word.
        raise r.fail("`&` inside a word")
    if marks:
        parts = _folded(parts, marks, start)
    return Word(tuple(merged(parts)), r.text[start : r.pos], start, r.pos)


def _folded(parts: list[Part], marks: set[int], start: int) -> list[Part]:
    signs = "".join(part.text for index in sorted(marks) if isinstance(part := parts[index], Literal))
    if signs.count("{") != signs.count("}"):
        raise Unparsable("a brace is not closed", start)
    folded = fold(parts, marks)
    lists = sum(isinstance(part, Brace) for part in folded)
    if lists > 1 or (lists and signs.count("{") > 1):
        # Their order is another one than in other shells.
        raise Unparsable("several braces are not analysed", start)
    # Without a comma, they are text; so is a range.
    return folded if lists else parts


def _parts(r: Reader, closing: str) -> tuple[list[Part], set[int]]:
    """Read parts up to the end of the word, or to `closing`; return them with the indices of braces and commas."""
    start = r.pos
    parts: list[Part] = []
    marks: set[int] = set()
    open_braces = 0
    while char := r.char:
        at = r.pos
        if char in " \t\n;|&<>)" or (closing and char in closing):
            if open_braces and char in " \t\n":
                raise r.fail("a blank inside braces")
            break
        if char == "(":
            parts.append(_substitution(r, "(", quoted=False))
        elif char == "$":
            parts.append(_dollar(r, quoted=False))
        elif char == "'":
            parts.append(_single(r))
        elif char == '"':
            parts.append(_double(r))
        elif char == "\\":
            part = _escape(r)
            if part is not None:
                parts.append(part)
        elif char in "*?":
            r.pos += 1
            parts.append(Glob(char, at, r.pos))
        elif char in "{},":
            open_braces += {"{": 1, "}": -1}.get(char, 0)
            if open_braces < 0:
                raise r.fail("a brace that was not opened")
            marks.add(len(parts))
            r.pos += 1
            parts.append(Literal(char, at, r.pos))
        elif char == "~" and at == start and (match := _TILDE.match(r.text, at)):
            r.pos = match.end()
            parts.append(Tilde(match[1], at, r.pos))
        else:
            match = _PLAIN.match(r.text, at)
            r.pos = match.end() if match else at + 1
            parts.append(Literal(r.text[at : r.pos], at, r.pos))
    return parts, marks


def _substitution(r: Reader, kind: str, *, quoted: bool) -> Substitution:
    start = r.pos
    r.pos += len(kind)
    r.enter()
    script = r.script(r)
    if r.char != ")":
        raise Unparsable("a parenthesis is not closed", start)
    r.pos += 1
    r.leave()
    if r.char == "[":
        # Which lines of the output: what is in it is evaluated, too.
        at = r.pos
        index = _index(r)
        if any(not isinstance(part, Literal) for part in index.parts):
            raise Unparsable("an index that is not plain", at)
    return Substitution(kind, script, quoted, start, r.pos)


def _index(r: Reader) -> Word:
    """Read `[...]`."""
    start = r.pos
    r.pos += 1
    r.enter()
    parts, _ = _parts(r, "]")
    if r.char != "]":
        raise Unparsable("an index that is not understood", start)
    r.pos += 1
    r.leave()
    return Word(tuple(merged(parts)), r.text[start : r.pos], start, r.pos)


def _dollar(r: Reader, *, quoted: bool) -> Part:
    start = r.pos
    if r.at("$("):
        return _substitution(r, "$(", quoted=quoted)
    name = _NAME.match(r.text, start + 1)
    if not name:
        raise r.fail("`$` without the name of a variable")
    r.pos = name.end()
    subscript = _index(r) if r.char == "[" else None
    return Parameter(name.group(), "", (), subscript, False, False, quoted, start, r.pos)


def _single(r: Reader) -> Quoted:
    start = r.pos
    match = _SINGLE.match(r.text, start)
    if not match:
        raise r.fail("a single quote is not closed")
    r.pos = match.end()
    return Quoted(Quote.SINGLE, _SINGLE_ESCAPE.sub(r"\1", match.group()[1:-1]), (), start, r.pos)


def _double(r: Reader) -> Quoted:
    start = r.pos
    r.pos += 1
    parts: list[Part] = []
    while r.char != '"':
        at = r.pos
        if not r.char:
            raise Unparsable("a double quote is not closed", start)
        if r.char == "$":
            # A dollar before the closing quote or a blank is text, but rare enough.
            parts.append(_dollar(r, quoted=True))
        elif r.char == "\\":
            following = r.text[at + 1 : at + 2]
            r.pos += 1 + len(following)
            if following != "\n":
                parts.append(Literal(following if following in '\\"$' else "\\" + following, at, r.pos))
        else:
            match = _PLAIN_QUOTED.match(r.text, at)
            assert match
            r.pos = match.end()
            parts.append(Literal(match.group(), at, r.pos))
    r.pos += 1
    found = tuple(merged(parts))
    return Quoted(Quote.DOUBLE, literal_text(found), found, start, r.pos)


def _escape(r: Reader) -> Part | None:
    at = r.pos
    following = r.text[at + 1 : at + 2]
    if not following:
        raise r.fail("a backslash at the end")
    if following == "\n":
        raise r.fail("a line continuation inside a word")
    match = _ESCAPE.match(r.text, at)
    if match is None:
        if following in "cxXuU":
            raise r.fail("an escape that is not understood")
        r.pos += 2
        return Quoted(Quote.ESCAPE, following, (), at, r.pos)
    named, byte, octal, *unicode = match.groups()
    code = ord(_NAMED[named]) if named else int(byte or unicode[0] or unicode[1] or octal, 8 if octal else 16)
    # A byte above 127 is half of a character, or one of another encoding.
    if code == 0 or (code > 127 and (byte or octal)) or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        raise r.fail("an escape that is not understood")
    r.pos = match.end()
    return Quoted(Quote.ESCAPE, chr(code), (), at, r.pos)
