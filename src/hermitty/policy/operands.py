"""Words inside `${...}`: defaults, patterns, replacements, subscripts."""

import re

from hermitty.policy.braces import merged
from hermitty.policy.lexing import Scanner
from hermitty.policy.syntax.words import Literal, Part, Quote, Quoted, Word
from hermitty.policy.words import expansion_or_quote, process_substitution

_PLAIN = re.compile(r"""[^\\'"`$\[\]}/<>]+""")
_PLAIN_BETWEEN_GLOBS = re.compile(r"""[^\\'"`$\[\]}/<>*?(]+""")
_QUOTED_BETWEEN = re.compile(r"""'[^'{}"`\\]*'""")


def operand(s: Scanner, closing: str, quoted: bool, keeps_quotes: bool, names_files: bool = False) -> Word:
    """Read a word up to one of the characters in `closing`.

    `keeps_quotes`: in double quotes, single quotes are text. `names_files`: patterns in it stand for files; else they
    are text, and whoever uses them knows that they are patterns.
    """
    plain = _PLAIN_BETWEEN_GLOBS if names_files else _PLAIN
    start = s.pos
    parts: list[Part] = []
    level = 0
    while s.pos < s.end:
        s.steps += 1
        at = s.pos
        char = s.text[at]
        if char in closing and level == 0:
            break
        if closing == "]" and char in "[]":
            level += 1 if char == "[" else -1
        if char == "\\" and quoted:
            part: Part | None = _quoted_backslash(s)
        elif char == "'" and quoted and keeps_quotes:
            # bash looks for a second one, and then takes both as text. With more than text between them, how far the
            # expansion reaches is not clear.
            if not _QUOTED_BETWEEN.match(s.text, at, s.end):
                raise s.fail("a single quote inside of double quotes and `${...}`")
            end = s.text.index("'", at + 1)
            part = None
            parts.append(Literal("'", at, at + 1))
            s.pos = at + 1
            parts += _text_with_dollars(s, end)
            s.pos = end + 1
            parts.append(Literal("'", end, end + 1))
        elif char == "$" and quoted and s.text.startswith(("'", '"'), at + 1, s.end):
            raise s.fail("a quote after `$` inside of double quotes and `${...}`")
        elif char in "<>" and not quoted and s.text.startswith("(", at + 1, s.end):
            part = process_substitution(s)
        elif char == "(" and names_files and s.is_zsh:
            raise s.fail("a pattern of zsh is not analysed")
        elif char in "\\'\"`$" or (names_files and char in "*?["):
            part = expansion_or_quote(s, quoted=quoted)
        else:
            match = plain.match(s.text, at, s.end)
            s.pos = match.end() if match else at + 1
            part = Literal(s.text[at : s.pos], at, s.pos)
        if part is not None:
            parts.append(part)
    return Word(tuple(merged(parts)), s.text[start : s.pos], start, s.pos)


def _quoted_backslash(s: Scanner) -> Part | None:
    at = s.pos
    following = s.text[at + 1 : min(at + 2, s.end)]
    s.pos += 1 + len(following)
    if following == "\n":
        return None
    if following and following in '$`"\\}':
        return Quoted(Quote.ESCAPE, following, (), at, s.pos)
    return Literal("\\" + following, at, s.pos)


def _text_with_dollars(s: Scanner, end: int) -> list[Part]:
    """Read what stands between single quotes that are text themselves: expansions in it are performed."""
    parts: list[Part] = []
    while s.pos < end:
        at = s.pos
        if s.text[at] == "$":
            part = expansion_or_quote(s, quoted=True)
            if s.pos > end:
                raise s.fail("an expansion across a single quote")
            if part is not None:
                parts.append(part)
        else:
            stop = s.text.find("$", at, end)
            s.pos = stop if stop > 0 else end
            parts.append(Literal(s.text[at : s.pos], at, s.pos))
    return parts
