"""`[[ ... ]]`: a flat list of its tests."""

import re

from hermitty.policy.heredocs import read_pending
from hermitty.policy.lexing import Scanner
from hermitty.policy.syntax.commands import Test
from hermitty.policy.syntax.words import Word
from hermitty.policy.words import read_word

_UNARY = re.compile(r"-[a-zA-Z]")
_BINARY = frozenset(("==", "=", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"))


def skip_newlines(s: Scanner) -> None:
    """Go to the next token, over newlines, comments and the texts of here-documents."""
    while True:
        s.skip_blanks()
        if s.char != "\n":
            return
        s.pos += 1
        if s.pending:
            read_pending(s)


def read_tests(s: Scanner) -> tuple[Test, ...]:
    """Read up to `]]` and step over that. The position is behind `[[`."""
    tests: list[Test] = []
    level = 0
    expects_test = True
    while True:
        skip_newlines(s)
        s.steps += 1
        if not s.char:
            raise s.fail("`[[` is not closed")
        if expects_test:
            if s.char == "(":
                level += 1
                s.pos += 1
            elif s.reserved() == "!":
                s.pos += 1
            else:
                tests.append(_test(s))
                expects_test = False
        elif s.char == ")" and level:
            level -= 1
            s.pos += 1
        elif s.at("&&") or s.at("||"):
            s.pos += 2
            expects_test = True
        elif s.at("]]") and level == 0:
            s.pos += 2
            return tuple(tests)
        else:
            raise s.fail("this form of `[[ ]]` is not analysed")


def _test(s: Scanner) -> Test:
    first = read_word(s)
    text = first.source
    s.skip_blanks()
    if _UNARY.fullmatch(text) and not _ends(s) and not _operator(s):
        operand = read_word(s)
        return Test(text, (operand,), first.start, operand.end)
    operator = _operator(s)
    if not operator:
        if text == "]]":
            raise s.fail("`[[` is empty")
        return Test("", (first,), first.start, first.end)
    s.pos += len(operator)
    s.skip_blanks()
    second = _regex(s) if operator == "=~" else read_word(s)
    return Test(operator, (first, second), first.start, second.end)


def _ends(s: Scanner) -> bool:
    return not s.char or s.char in ")\n" or s.at("]]") or s.at("&&") or s.at("||")


def _operator(s: Scanner) -> str:
    if s.char and s.char in "<>" and not s.text.startswith("(", s.pos + 1, s.end):
        return s.char
    end = s.pos
    while end < s.end and s.text[end] not in " \t\n" and end - s.pos < 4:
        end += 1
    word = s.text[s.pos : end]
    return word if word in _BINARY else ""


def _regex(s: Scanner) -> Word:
    return read_word(s, regex=True)
