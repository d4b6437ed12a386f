"""Words of bash and zsh: unquoted text and everything that may stand in it."""

import re

from hermitty.policy.braces import fold, merged
from hermitty.policy.expansions import backquotes, dollar, substituted
from hermitty.policy.lexing import META, Scanner, Unparsable
from hermitty.policy.quoting import ansi_c, double, note_history, single
from hermitty.policy.syntax.words import (
    Array,
    Brace,
    BraceRange,
    Extglob,
    Glob,
    Literal,
    Part,
    ProcessSubstitution,
    Quote,
    Quoted,
    Tilde,
    Word,
)

_WHOLE = re.compile(r"""[^ \t\n|&;()<>\\'"`$*?\[{~]+""")
_PLAIN = re.compile(r"""[^ \t\n|&;()<>\\'"`$*?\[{},~]+""")
_TILDE = re.compile(r"~([A-Za-z0-9_.+-]*)(?=[/ \t\n|&;()<>]|\Z)")
_TILDE_IN_LIST = re.compile(r"~([A-Za-z0-9_.+-]*)(?=[/: \t\n|&;()<>]|\Z)")
_ASSIGNING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?\+?=")
# zsh makes a range of any two characters.
_ZSH_RANGE = re.compile(r"\{(?=[^{}]*\.\.)[^{}]*+\}")
_NUMERIC_GLOB = re.compile(r"<[0-9]*-[0-9]*>")
# Qualifiers of zsh that only select and sort: no (e:...:), no (+function).
_QUALIFIERS = re.compile(r"\((?:[./@=*%NDrwxRWXsStnoOaLmchMdMTk0-9,^-]|\[[0-9,-]+\])+\)")


def read_word(s: Scanner, *, assigns: bool = False, arrays: bool = False, regex: bool = False) -> Word:
    """Read the word that stands here.

    `assigns`: the value of an assignment, where braces are text. `arrays`: an argument of `declare` and its like, where
    `name=(...)` is one word. `regex`: the right side of `=~`, where parentheses and bars are text.
    """
    start = s.pos
    s.steps += 1
    s.has_continuation = False
    match = _WHOLE.match(s.text, start, s.end)
    if match and (match.end() == s.end or s.text[match.end()] in " \t\n;"):
        text = match.group()
        if not (s.is_zsh and (text[0] == "=" or "!" in text or "}" in text)):
            s.pos = match.end()
            return Word((Literal(text, start, s.pos),), text, start, s.pos)
    parts, marks = _parts(s, assigns=assigns, arrays=arrays, regex=regex)
    if s.pos == start and not parts:
        raise s.fail(f"unexpected `{s.char}`" if s.char else "unexpected end of the line")
    if s.is_zsh:
        if _closes_more(parts, marks):
            raise Unparsable("zsh ends a group at this `}`", start)
        if _may_come_first(parts, marks):
            raise Unparsable("zsh may replace this `=` or `~`", start)
    if marks and not assigns:
        parts = fold(parts, marks)
        if any(isinstance(part, Brace | BraceRange) for part in parts):
            s.only_bash("a brace", start)
    source = s.text[start : s.pos]
    if s.is_zsh and marks and len(_ZSH_RANGE.findall(source)) != sum(isinstance(part, BraceRange) for part in parts):
        raise Unparsable("a range that is not plain", start)
    return Word(tuple(merged(_without_lone_bracket(parts))), source, start, s.pos)


def _closes_more(parts: list[Part], marks: set[int]) -> bool:
    level = 0
    for index in sorted(marks):
        part = parts[index]
        if isinstance(part, Literal):
            level += {"{": 1, "}": -1}.get(part.text, 0)
        if level < 0:
            return True
    return False


def _may_come_first(parts: list[Part], marks: set[int]) -> bool:
    """Tell whether a later `=` or `~` may be the first character once everything is expanded, where it means more."""
    may_be_empty = True
    for index, part in enumerate(parts):
        if index in marks:
            may_be_empty = True
        elif isinstance(part, Literal):
            if may_be_empty and index and part.text[0] in "=~":
                return True
            may_be_empty = False
        elif isinstance(part, Quoted):
            may_be_empty = may_be_empty and not part.text
    return False


def _without_lone_bracket(parts: list[Part]) -> list[Part]:
    """Make a `[` that no `]` follows in the word ordinary text: the command `[`, for one."""
    closed = False
    result = list(parts)
    for index in range(len(parts) - 1, -1, -1):
        part = parts[index]
        if isinstance(part, Literal) and "]" in part.text:
            closed = True
        elif isinstance(part, Glob) and part.text == "[" and not closed:
            result[index] = Literal("[", part.start, part.end)
    return result


def _parts(s: Scanner, *, assigns: bool, arrays: bool, regex: bool) -> tuple[list[Part], set[int]]:
    start = s.pos
    parts: list[Part] = []
    marks: set[int] = set()
    level = 0  # parentheses of a regular expression
    while s.pos < s.end:
        s.steps += 1
        at = s.pos
        char = s.text[at]
        if char in META:
            if regex and (char in "(|" or level):
                level += {"(": 1, ")": -1}.get(char, 0)
                s.pos += 1
                parts.append(Literal(char, at, s.pos))
                continue
            part = _at_meta(s, start, char, parts, arrays=arrays)
            if part is None:
                break
            parts.append(part)
        elif char == "~" and not regex:
            parts.append(_tilde(s, start, assigns=assigns))
        elif char in "{}," and not regex:
            marks.add(len(parts))
            s.pos += 1
            parts.append(Literal(char, at, s.pos))
        elif char == "=" and s.is_zsh and at == start and not assigns:
            parts.append(_equals(s))
        else:
            part = expansion_or_quote(s, quoted=False)
            if part is not None:
                parts.append(part)
    if level:
        raise s.fail("a parenthesis of a regular expression is not closed")
    return parts, marks


def expansion_or_quote(s: Scanner, *, quoted: bool) -> Part | None:
    """Read one part that may stand in any unquoted text; None for a line continuation."""
    at = s.pos
    char = s.text[at]
    if char == "\\":
        return _backslash(s)
    if char == "'":
        return single(s)
    if char == '"':
        return double(s)
    if char == "`":
        return backquotes(s, quoted=quoted)
    if char == "$":
        if s.at("$'"):
            return ansi_c(s)
        if s.at('$"'):
            return double(s)
        part = dollar(s, quoted=quoted)
        if part is not None:
            return part
        s.pos = at + 1
        return Literal("$", at, s.pos)
    if char in "*?[":
        s.pos += 1
        return Glob(char, at, s.pos)
    match = _PLAIN.match(s.text, at, s.end)
    s.pos = match.end() if match else at + 1
    text = s.text[at : s.pos]
    note_history(s, text, at)
    return Literal(text, at, s.pos)


def _backslash(s: Scanner) -> Part | None:
    at = s.pos
    following = s.text[at + 1 : min(at + 2, s.end)]
    if not following:
        raise s.fail("a backslash at the end")
    s.pos += 2
    if following != "\n":
        return Quoted(Quote.ESCAPE, following, (), at, s.pos)
    s.has_continuation = True
    if s.char and s.char in "<>(":
        raise s.fail("a line continuation inside an operator")
    return None


def _at_meta(s: Scanner, start: int, char: str, parts: list[Part], *, arrays: bool) -> Part | None:
    """Read what begins with a character that usually ends a word; None if it does end it."""
    at = s.pos
    if char in "<>":
        if s.text.startswith("(", at + 1, s.end):
            return process_substitution(s)
        if s.is_zsh and (match := _NUMERIC_GLOB.match(s.text, at, s.end)):
            s.pos = match.end()
            return Glob(match.group(), at, s.pos)
        return None
    if char != "(":
        return None
    before = s.text[at - 1] if at > start else ""
    if arrays and before == "=" and _ASSIGNING.fullmatch(s.text, start, at):
        return read_array(s)
    if s.is_zsh:
        if before and (match := _QUALIFIERS.match(s.text, at, s.end)):
            s.pos = match.end()
            return Glob(match.group(), at, s.pos)
        if before and not s.text.startswith("()", at, s.end):
            raise s.fail("a pattern of zsh is not analysed")
        return None
    last = parts[-1] if parts else None
    if not isinstance(last, Literal | Glob) or last.text[-1] not in "?*+@!":
        return None
    # What was read as text or as a glob is the operator of a pattern.
    parts.pop()
    if len(last.text) > 1:
        parts.append(Literal(last.text[:-1], last.start, last.end - 1))
    return _extglob(s, last.text[-1])


def process_substitution(s: Scanner) -> ProcessSubstitution:
    """Read `<(...)`, `>(...)`, or `=(...)` of zsh."""
    start = s.pos
    kind = s.text[start : start + 2]
    s.only_bash(f"`{kind}`", start)
    s.pos += 2
    script = substituted(s)
    return ProcessSubstitution(kind, script, start, s.pos)


def _extglob(s: Scanner, operator: str) -> Extglob:
    start = s.pos - len(operator)
    s.only_bash("a pattern with parentheses", start)
    s.pos += 1
    s.enter()
    parts: list[Part] = []
    while s.char != ")":
        s.steps += 1
        at = s.pos
        if not s.char:
            raise s.fail("a pattern is not closed")
        if s.char == "(":
            parts.append(_extglob(s, ""))
        elif s.char in "|&;<> \t\n{},~":
            s.pos += 1
            parts.append(Literal(s.text[at], at, s.pos))
        else:
            part = expansion_or_quote(s, quoted=False)
            if part is not None:
                parts.append(part)
    s.pos += 1
    s.leave()
    return Extglob(operator, tuple(merged(parts)), start, s.pos)


def _tilde(s: Scanner, start: int, *, assigns: bool) -> Part:
    at = s.pos
    before = s.text[at - 1] if at > start else ""
    is_path = not before or (assigns and before == ":")
    is_list = assigns
    if not is_path and not s.is_zsh and before in "=:" and (match := _ASSIGNING.match(s.text, start, at)):
        # bash expands it in arguments that look like assignments, such as `dd of=~/x`.
        is_path = is_list = before == ":" or match.end() == at
        if is_path and not assigns:
            s.only_bash("`~` after `=`", at)
    match = (_TILDE_IN_LIST if is_list else _TILDE).match(s.text, at, s.end) if is_path else None
    if match is None:
        if is_path and "\\\n" in s.text[at : at + 80]:
            raise s.fail("a line continuation after `~`")
        if is_path and (s.is_zsh or _TILDE_IN_LIST.match(s.text, at, s.end)):
            raise s.fail("what stands after `~` is not plain")
        s.pos += 1
        return Literal("~", at, s.pos)
    s.pos = match.end()
    return Tilde(match[1], at, s.pos)


def _equals(s: Scanner) -> Part:
    """Read `=` at the front of a word of zsh: `=(...)`, or `=name` for the path of a program."""
    at = s.pos
    if s.text.startswith("(", at + 1, s.end):
        return process_substitution(s)
    s.pos += 1
    following = s.char
    if following and following not in META:
        s.note("zsh replaces `=name` by the path of a program", at)
    return Literal("=", at, s.pos)


def read_array(s: Scanner) -> Array:
    """Read `(a b c)`."""
    start = s.pos
    s.pos += 1
    s.enter()
    s.only_bash("an array", start)
    elements: list[Word] = []
    while True:
        s.skip_blanks()
        if s.char == "\n":
            if s.pending:
                raise s.fail("an array with several lines on the line of a here-document")
            s.pos += 1
        elif s.char == ")":
            break
        elif not s.char:
            raise s.fail("an array is not closed")
        else:
            element = read_word(s)
            if element.source[0] == "[" and "]" not in element.source:
                raise Unparsable("a subscript is not closed", element.start)
            elements.append(element)
    s.pos += 1
    s.leave()
    return Array(tuple(elements), start, s.pos)
