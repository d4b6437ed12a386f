"""What `$` and backquotes stand for: parameters, substitutions, arithmetic."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from hermitty.policy.lexing import NAME, Scanner, Unparsable
from hermitty.policy.syntax.script import Problem, Script
from hermitty.policy.syntax.tree import relocate
from hermitty.policy.syntax.words import Parameter, Part, Substitution, Word

_SPECIAL = "@*#?-$!_"
_INDIRECT = re.compile(r"!(?=[A-Za-z0-9_@*#])")
_LENGTH = re.compile(r"#(?=[A-Za-z0-9_]|[@*?$!#-]\})")
_BRACED_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*?$!#_-]")
_OPERATION = re.compile(r":[-=?+]|##?|%%?|//|/[#%]?|\^\^?|,,?|~~?|@[A-Za-z](?=\})|[-=?+]|:")
_POSIX_OPERATION = re.compile(r":?[-=?+]|##?|%%?")
_PLAIN_ZSH_FLAGS = re.compile(r"\([fFLUCkvoOniua@]+\)")
_ESCAPED = re.compile(r"\\([$`\\])")
_ESCAPED_IN_QUOTES = re.compile(r'\\([$`\\"])')
_UP_TO_BACKQUOTE = re.compile(r"(?:[^`\\]|\\.)*", re.DOTALL)

T = TypeVar("T")


def dollar(s: Scanner, *, quoted: bool) -> Part | None:
    """Read an expansion at `$`; None if it is only a dollar. Quotes after it ($'...') are not for this function."""
    start = s.pos
    following = s.text[start + 1 : min(start + 2, s.end)]
    if following == "(":
        return _parenthesised(s, quoted=quoted)
    if following == "{":
        return _braced(s, quoted=quoted)
    if following == "[":
        s.only_bash("$[...]", start)
        s.pos += 2
        return s.grammar.arithmetic(s, start, "]", quoted)
    if s.text.startswith("\\\n", start + 1, s.end):
        raise s.fail("a line continuation after `$`")
    match = NAME.match(s.text, start + 1, s.end)
    if match:
        s.pos = match.end()
    elif following and (following in _SPECIAL or (following.isascii() and following.isdigit())):
        s.pos = start + 2
    elif s.is_zsh and following and following in "+=~^":
        raise s.fail(f"`${following}` of zsh is not analysed")
    else:
        return None
    if s.at("\\\n"):
        raise s.fail("a line continuation after the name of a variable")
    # zsh: a subscript or a modifier. The text after it is read as parts of the word; the value is not known.
    operation = s.char if s.is_zsh and s.char and s.char in "[:" else ""
    return Parameter(s.text[start + 1 : s.pos], operation, (), None, False, False, quoted, start, s.pos)


def _parenthesised(s: Scanner, *, quoted: bool) -> Part:
    start = s.pos
    if s.at("$(\\\n"):
        raise s.fail("a line continuation after `$(`")
    if s.at("$(("):
        close = s.matching(start + 3, "(", ")")
        if close >= 0 and s.text.startswith("))", close, s.end):
            s.pos = start + 3
            part = s.grammar.arithmetic(s, start, "))", quoted)
            if s.pos != close + 2:
                raise Unparsable("arithmetic or a subshell in a substitution: not clear which", start)
            return part
        s.only_bash("`$((`", start)
    s.pos += 2
    script = substituted(s)
    return Substitution("$(", script, quoted, start, s.pos)


def substituted(s: Scanner) -> Script:
    """Read a script up to its `)` and step over that."""
    opening = s.pos - 1
    script = _apart(s, opening, ")")
    if s.char != ")":
        raise Unparsable("a parenthesis is not closed", opening)
    s.pos += 1
    return script


def _apart(s: Scanner, opening: int, closing: str) -> Script:
    """Read a script with here-documents and groups of its own."""
    outside, s.pending = s.pending, []
    groups, s.open_groups = s.open_groups, 0
    s.enter()
    script = s.grammar.script(s, closing)
    if s.pending:
        raise s.fail("a here-document is not complete where its substitution ends")
    if outside and "\n" in s.text[opening : s.pos]:
        # Which text belongs to the one outside differs between shells.
        raise s.fail("a substitution with several lines on the line of a here-document")
    s.leave()
    s.pending, s.open_groups = outside, groups
    return script


def backquotes(s: Scanner, *, quoted: bool) -> Substitution:
    """Read `...`."""
    start = s.pos
    match = _UP_TO_BACKQUOTE.match(s.text, start + 1, s.end)
    assert match
    close = match.end()
    if not s.text.startswith("`", close, s.end):
        raise s.fail("a backquote is not closed")
    raw = s.text[start + 1 : close]
    if "\\" in raw:
        escaped = _ESCAPED_IN_QUOTES if quoted else _ESCAPED
        removed = {found.start() for found in escaped.finditer(raw)}
        offsets = [start + 1 + index for index in range(len(raw) + 1) if index not in removed]
        s.enter()
        script = elsewhere(s, escaped.sub(r"\1", raw), offsets, lambda inner: inner.grammar.script(inner, ""))
        s.leave()
    else:
        end, s.end, s.pos = s.end, close, start + 1
        script = _apart(s, start, "")
        s.end = end
    s.pos = close + 1
    return Substitution("`", script, quoted, start, s.pos)


def elsewhere(s: Scanner, text: str, offsets: Sequence[int], read: Callable[[Scanner], T]) -> T:
    """Read text that is not in the line as it stands; `offsets` tells where each character, and the end, is from."""
    inner = Scanner(text, s.shell, s.grammar, end=len(text), depth=s.depth)
    try:
        node = read(inner)
        if inner.pending:
            raise inner.fail("a here-document has no text")
    except Unparsable as error:
        raise Unparsable(error.reason, offsets[min(error.start, len(text))]) from error
    s.steps += inner.steps + len(text)
    s.problems += [Problem(one.reason, offsets[one.start], offsets[one.end]) for one in inner.problems]
    return relocate(node, lambda offset: offsets[offset])


def _braced(s: Scanner, *, quoted: bool) -> Parameter:
    """Read ${...}."""
    start = s.pos
    s.pos += 2
    s.enter()
    operation = ""
    if s.is_zsh and (flags := _PLAIN_ZSH_FLAGS.match(s.text, s.pos, s.end)):
        operation = flags.group()
        s.pos = flags.end()
    is_indirect = bool(_INDIRECT.match(s.text, s.pos, s.end))
    is_length = bool(_LENGTH.match(s.text, s.pos, s.end))
    s.pos += is_indirect or is_length
    match = _BRACED_NAME.match(s.text, s.pos, s.end)
    if not match or (is_indirect and s.is_zsh):
        raise Unparsable("this form of `${...}` is not analysed", start)
    s.pos = match.end()
    subscript = None
    if s.char == "[":
        s.pos += 1
        subscript = s.grammar.operand(s, "]", quoted, True, False)
        s.expect("]")
    words: tuple[Word, ...] = ()
    if is_indirect and s.char and s.char in "*@" and s.text.startswith("}", s.pos + 1, s.end):
        operation = s.char
        s.pos += 1
    elif s.char != "}":
        found = _OPERATION.match(s.text, s.pos, s.end)
        if not found or is_length:
            raise Unparsable("this form of `${...}` is not analysed", start)
        operation += found.group()
        s.pos = found.end()
        words = _operands(s, found.group(), quoted=quoted)
    if s.char != "}":
        raise Unparsable("`${` is not closed", start)
    s.pos += 1
    s.leave()
    if is_indirect or subscript is not None or (operation and not _POSIX_OPERATION.fullmatch(operation)):
        s.only_bash("this form of `${...}`", start)
    return Parameter(match.group(), operation, words, subscript, is_indirect, is_length, quoted, start, s.pos)


def _operands(s: Scanner, operation: str, *, quoted: bool) -> tuple[Word, ...]:
    if operation.startswith("@"):
        return ()
    # In double quotes, single quotes are text after `:-` and its like, and quotes in patterns.
    keeps_quotes = operation[0] in ":-=?+"
    if operation[0] != "/":
        names_files = not quoted and operation[-1] in "-=?+"
        return (s.grammar.operand(s, "}", quoted, keeps_quotes, names_files),)
    pattern = s.grammar.operand(s, "/}", quoted, keeps_quotes, False)
    if s.char != "/":
        return (pattern,)
    s.pos += 1
    return (pattern, s.grammar.operand(s, "}", quoted, keeps_quotes, False))
