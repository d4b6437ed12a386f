"""Parses the useful subset of PowerShell: pipelines of commands, assignments, comparisons, script blocks.

Everything else is a problem: keywords, types, method calls, hash tables, splatting, here-strings. Words are in
`pwsh_words`.
"""

import re

from hermitty.policy.lexing import Unparsable
from hermitty.policy.pwsh_words import VARIABLE, Reader, read_word
from hermitty.policy.reading import read_and_or
from hermitty.policy.syntax.commands import Assignment, Command, Pipeline, Redirect, Simple, Statement, Value
from hermitty.policy.syntax.script import Problem, Script
from hermitty.policy.syntax.words import Literal, Part, Substitution, Word

_REDIRECT = re.compile(r"([1-6*])?(>>|>&|>)")
_ASSIGN = re.compile(r"[ \t]*(=|\+=)(?!=)")
_OPERATOR = re.compile(
    r"[ \t]*(-[ci]?(?:eq|ne|gt|ge|lt|le|like|notlike|match|notmatch|contains|notcontains|in|notin)\b"
    r"|-(?:and|or|xor|split|join|replace|f)\b|[-+*/%](?=[ \t\d$('\"]))",
    re.IGNORECASE,
)
_NOT = re.compile(r"(?:!|-not\b)[ \t]*", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:0x[0-9a-f]+|\d+(?:\.\d+)?)(?:[kmgtp]b|l|d)?(?=[ \t\n;|)}&,]|\Z)", re.IGNORECASE)
_KEYWORD = re.compile(r"[A-Za-z]+(?=[ \t\n;({&|]|\Z)")
_KEYWORDS = frozenset(
    (
        *(
            "begin",
            "break",
            "catch",
            "class",
            "clean",
            "configuration",
            "continue",
            "data",
            "define",
            "do",
            "dynamicparam",
        ),
        *(
            "else",
            "elseif",
            "end",
            "enum",
            "exit",
            "filter",
            "finally",
            "for",
            "foreach",
            "from",
            "function",
            "hidden",
            "if",
        ),
        *(
            "in",
            "inlinescript",
            "parallel",
            "param",
            "process",
            "return",
            "sequence",
            "static",
            "switch",
            "throw",
            "trap",
        ),
        *("try", "until", "using", "var", "while", "workflow"),
    )
)
# PowerShell takes these for quotes and dashes; to a reader they are something else.
_TYPOGRAPHIC = re.compile("[\u2018-\u201e\u2013-\u2015]")


def parse_pwsh(line: str) -> Script:
    """Parse a line of PowerShell."""
    r = Reader(line, script=_script)
    body: list[Statement] = []
    problems: tuple[Problem, ...] = ()
    try:
        if typographic := _TYPOGRAPHIC.search(line):
            raise Unparsable("a typographic quote or dash", typographic.start())
        _statements(r, "", body)
        if r.char:
            raise r.fail(f"unexpected `{r.char}`")
    except Unparsable as error:
        problems = (Problem(error.reason, error.start, len(line)),)
    return Script("pwsh", tuple(body), problems, 0, len(line))


def _script(r: Reader, closing: str) -> Script:
    """Read up to a closing bracket, which is left for the caller."""
    start = r.pos
    body: list[Statement] = []
    _statements(r, closing, body)
    return Script("pwsh", tuple(body), (), start, r.pos)


def _statements(r: Reader, closing: str, body: list[Statement]) -> None:
    while True:
        r.skip_blanks()
        while r.char and r.char in "\n;":
            r.pos += 1
            r.skip_blanks()
        if not r.char or r.char == closing:
            return
        start = r.pos
        command = _and_or(r, closing)
        r.skip_blanks()
        is_background = r.char == "&"
        if is_background:
            r.pos += 1
            r.skip_blanks()
        end = r.pos
        if r.char and r.char not in "\n;" and r.char != closing:
            raise r.fail(f"unexpected `{r.char}`")
        body.append(Statement(command, is_background, start, end))


def _and_or(r: Reader, closing: str) -> Command:
    return read_and_or(r, lambda: _pipeline(r, closing))


def _pipeline(r: Reader, closing: str) -> Command:
    start = r.pos
    if assigned := _assignment(r, closing):
        return assigned
    commands = [_element(r, closing)]
    while True:
        at = r.pos
        r.skip_newlines()
        if r.char != "|" or r.at("||"):
            r.pos = at
            break
        r.pos += 1
        r.skip_newlines()
        commands.append(_element(r, closing))
    if len(commands) == 1:
        return commands[0]
    return Pipeline(tuple(commands), ("|",) * (len(commands) - 1), False, False, start, r.pos)


def _assignment(r: Reader, closing: str) -> Simple | None:
    """Read `$x = ...`: what stands on the right is a script whose output is the value."""
    start = r.pos
    name = VARIABLE.match(r.text, start)
    operator = _ASSIGN.match(r.text, name.end()) if name else None
    if name is None or operator is None:
        return None
    r.pos = operator.end()
    r.skip_blanks()
    at = r.pos
    r.enter()
    inner = _pipeline(r, closing)
    r.leave()
    script = Script("pwsh", (Statement(inner, False, at, r.pos),), (), at, r.pos)
    value = Word((Substitution("(", script, True, at, r.pos),), r.text[at : r.pos], at, r.pos)
    assignment = Assignment(name[1] or name[2], None, operator[1], value, start, r.pos)
    return Simple((assignment,), (), (), start, r.pos)


def _element(r: Reader, closing: str) -> Command:
    char = r.char
    keyword = _KEYWORD.match(r.text, r.pos)
    if keyword and keyword.group().lower() in _KEYWORDS:
        raise r.fail(f"`{keyword.group()}` is not analysed")
    if char == "&":
        r.pos += 1
        r.skip_blanks()
        if r.char == "{" or r.char == "(":
            raise r.fail("a call of a block is not analysed")
        return _command(r, closing)
    if char and (char in "$'\"(!" or _NOT.match(r.text, r.pos) or _NUMBER.match(r.text, r.pos)):
        return _expression(r)
    if not char or char in "[@{,-+)}|":
        raise r.fail(f"`{char}` is not analysed here" if char else "a command is missing")
    return _command(r, closing)


def _expression(r: Reader) -> Value:
    start = r.pos
    parts: list[Part] = []
    while True:
        while (negation := _NOT.match(r.text, r.pos)) is not None:
            r.pos = negation.end()
        if number := _NUMBER.match(r.text, r.pos):
            parts.append(Literal(number.group(), r.pos, number.end()))
            r.pos = number.end()
        elif r.char and r.char in "$'\"(":
            parts += read_word(r, is_expression=True).parts
        else:
            raise r.fail("this expression is not analysed")
        operator = _OPERATOR.match(r.text, r.pos)
        if operator is None:
            break
        r.pos = operator.end()
        r.skip_blanks()
    return Value(Word(tuple(parts), r.text[start : r.pos], start, r.pos), start, r.pos)


def _command(r: Reader, closing: str) -> Simple:
    start = end = r.pos
    words: list[Word] = []
    redirects: list[Redirect] = []
    while True:
        at = r.pos
        r.skip_blanks()
        redirect = _redirect(r) if words else None
        if redirect is not None:
            redirects.append(redirect)
        elif not r.char or r.char in "\n;|&)}":
            r.pos = at
            break
        else:
            word = read_word(r)
            if word.source == "--%":
                raise Unparsable("`--%` is not analysed", word.start)
            if word.source == "?" and not words:
                # The short name of Where-Object, not a pattern.
                word = Word((Literal("?", word.start, word.end),), "?", word.start, word.end)
            words.append(word)
        end = r.pos
    if not words:
        raise r.fail("a command is missing")
    return Simple((), tuple(words), tuple(redirects), start, end)


def _redirect(r: Reader) -> Redirect | None:
    start = r.pos
    match = _REDIRECT.match(r.text, start)
    if not match:
        return None
    r.pos = match.end()
    r.skip_blanks()
    target = read_word(r)
    fd = int(match[1]) if match[1] and match[1] != "*" else None
    return Redirect(match[2], fd, None, target, None, start, r.pos)
