"""Compound commands of bash and zsh: groups, conditions, loops, functions."""

import re

from hermitty.policy.conditionals import read_tests, skip_newlines
from hermitty.policy.lexing import NAME, Scanner, Unparsable
from hermitty.policy.redirects import read_redirects
from hermitty.policy.syntax.commands import (
    ArithmeticCommand,
    ArithmeticFor,
    Arm,
    Body,
    Branch,
    Case,
    Command,
    Conditional,
    Coproc,
    For,
    Function,
    Group,
    If,
    Repeat,
    Statement,
    Subshell,
    While,
)
from hermitty.policy.syntax.words import Arithmetic, Word
from hermitty.policy.words import read_word

COMPOUND = frozenset(("{", "[[", "if", "while", "until", "for", "select", "case", "function", "coproc"))
_PARENTHESES = re.compile(r"[ \t]*\([ \t]*\)")
_ONLY_BASH = frozenset(("[[", "select", "function", "coproc"))


def read_compound(s: Scanner, word: str) -> Command:
    """Read the compound command that begins with `word`, or with a parenthesis."""
    start = s.pos
    if s.char == "(":
        return _parenthesis(s)
    s.pos += len(word)
    if word in _ONLY_BASH:
        s.only_bash(f"`{word}`", start)
    match word:
        case "{":
            return _group(s, start)
        case "[[":
            tests = read_tests(s)
            return Conditional(tests, read_redirects(s), start, s.pos)
        case "if":
            return _if(s, start)
        case "while" | "until":
            condition = s.grammar.statements(s, frozenset(("do", "{") if s.is_zsh else ("do",)))
            body = _loop_body(s)
            _expect_some(s, condition)
            return While(word == "until", condition, body, read_redirects(s), start, s.pos)
        case "for" | "select" | "foreach":
            return _for(s, start, word)
        case "case":
            return _case(s, start)
        case "function":
            return _function(s, start)
        case "repeat":
            s.skip_blanks()
            count = read_word(s)
            body = _loop_body(s)
            return Repeat(count, body, read_redirects(s), start, s.pos)
        case _:
            return _coproc(s, start)


def _parenthesis(s: Scanner) -> Command:
    start = s.pos
    if s.at("(("):
        close = s.matching(start + 2, "(", ")")
        if close >= 0 and s.text.startswith("))", close, s.end):
            expression = _double_parentheses(s, start, close)
            s.only_bash("`((`", start)
            return ArithmeticCommand(expression, read_redirects(s), start, s.pos)
    if s.is_zsh and (match := _PARENTHESES.match(s.text, start, s.end)):
        s.pos = match.end()
        return _anonymous(s, start)
    if s.at("(\\\n"):
        raise s.fail("a line continuation after `(`")
    s.pos += 1
    groups, s.open_groups = s.open_groups, 0
    body = s.grammar.statements(s, frozenset(")"))
    s.open_groups = groups
    s.expect(")")
    _expect_some(s, body)
    return Subshell(body, read_redirects(s), start, s.pos)


def _double_parentheses(s: Scanner, start: int, close: int) -> Arithmetic:
    s.pos += 2
    expression = s.grammar.arithmetic(s, start, "))", False)
    if s.pos != close + 2:
        raise Unparsable("arithmetic or subshells: not clear which", start)
    return expression


def _expect_some(s: Scanner, body: Body) -> None:
    if not body and not s.is_zsh:
        raise s.fail("a command is missing")


def _group(s: Scanner, start: int) -> Group:
    body = _braced(s)
    redirects = read_redirects(s)
    if s.is_zsh:
        at = s.pos
        s.skip_blanks()
        if s.reserved() == "always":
            raise s.fail("`always` of zsh is not analysed")
        s.pos = at
    return Group(body, redirects, start, s.pos)


def _braced(s: Scanner) -> Body:
    """Read up to `}` and step over that."""
    s.open_groups += 1
    body = s.grammar.statements(s, frozenset("}"))
    s.open_groups -= 1
    s.expect_reserved("}")
    _expect_some(s, body)
    return body


def _if(s: Scanner, start: int) -> If:
    branches: list[Branch] = []
    at = start
    while True:
        condition = s.grammar.statements(s, frozenset(("then",)))
        s.expect_reserved("then")
        body = s.grammar.statements(s, frozenset(("elif", "else", "fi")))
        _expect_some(s, condition)
        _expect_some(s, body)
        branches.append(Branch(condition, body, at, s.pos))
        at = s.pos
        if s.reserved() != "elif":
            break
        s.pos += 4
    otherwise: Body = ()
    if s.reserved() == "else":
        s.pos += 4
        otherwise = s.grammar.statements(s, frozenset(("fi",)))
        _expect_some(s, otherwise)
    s.expect_reserved("fi")
    return If(tuple(branches), otherwise, read_redirects(s), start, s.pos)


def _loop_body(s: Scanner) -> Body:
    """Read `do ... done`; `{ ... }`; in zsh also a single command. A separator may come first."""
    s.skip_blanks()
    if s.char == ";" and not s.at(";;"):
        s.pos += 1
    skip_newlines(s)
    word = s.reserved()
    if word == "do":
        s.pos += 2
        body = s.grammar.statements(s, frozenset(("done",)))
        s.expect_reserved("done")
        _expect_some(s, body)
        return body
    if word == "{":
        s.only_bash("a loop with braces", s.pos)
        s.pos += 1
        return _braced(s)
    if not s.is_zsh:
        raise s.fail("expected `do`")
    start = s.pos
    command = s.grammar.command(s)
    return (Statement(command, False, start, s.pos),)


def _for(s: Scanner, start: int, word: str) -> Command:
    s.skip_blanks()
    if s.at("((") and word == "for":
        close = s.matching(s.pos + 2, "(", ")")
        if close < 0 or not s.text.startswith("))", close, s.end):
            raise s.fail("`for ((` is not closed")
        s.only_bash("`for ((`", start)
        expression = _double_parentheses(s, s.pos, close)
        body = _loop_body(s)
        return ArithmeticFor(expression, body, read_redirects(s), start, s.pos)
    name = NAME.match(s.text, s.pos, s.end)
    if not name or (name.end() < s.end and s.text[name.end()] not in " \t\n;("):
        raise s.fail("the name of a loop variable is missing")
    s.pos = name.end()
    skip_newlines(s)
    words: list[Word] | None = None
    if s.is_zsh and s.char == "(":
        s.pos += 1
        words = _words(s, ")")
        s.expect(")")
    elif s.reserved() == "in":
        s.pos += 2
        words = _words(s, ";\n")
    elif s.is_zsh and s.reserved() not in ("do", "{") and s.char != ";":
        raise s.fail("this form of `for` is not analysed")
    if word == "foreach":
        raise s.fail("`foreach` is not analysed")
    body = _loop_body(s)
    items = None if words is None else tuple(words)
    return For((name.group(),), items, body, word == "select", read_redirects(s), start, s.pos)


def _words(s: Scanner, stops: str) -> list[Word]:
    words: list[Word] = []
    while True:
        s.skip_blanks()
        if not s.char or s.char in stops:
            return words
        if s.char == "\n" and not s.pending:
            s.pos += 1
        elif s.char in "&|()\n":
            raise s.fail(f"unexpected `{s.char}`")
        else:
            words.append(read_word(s))


def _case(s: Scanner, start: int) -> Case:
    s.skip_blanks()
    word = read_word(s)
    skip_newlines(s)
    s.expect_reserved("in")
    arms: list[Arm] = []
    while True:
        skip_newlines(s)
        if s.reserved() == "esac":
            break
        arm = _arm(s)
        arms.append(arm)
        if not arm.terminator:
            break
    s.expect_reserved("esac")
    return Case(word, tuple(arms), read_redirects(s), start, s.pos)


def _arm(s: Scanner) -> Arm:
    start = s.pos
    if s.char == "(":
        s.pos += 1
    patterns: list[Word] = []
    while True:
        s.skip_blanks()
        patterns.append(read_word(s))
        s.skip_blanks()
        if s.char != "|":
            break
        s.pos += 1
    s.expect(")")
    body = s.grammar.statements(s, frozenset(("esac", ";;")))
    terminator = next((one for one in (";;&", ";;", ";&", ";|") if s.at(one)), "")
    if terminator not in ("", ";;"):
        s.only_bash(f"`{terminator}`", s.pos)
    s.pos += len(terminator)
    return Arm(tuple(patterns), body, terminator, start, s.pos)


def _function(s: Scanner, start: int) -> Function:
    names: list[Word] = []
    s.skip_blanks()
    while s.char and s.char not in "({\n;&|<>)":
        name = read_word(s)
        if name.literal is None or name.is_quoted:
            raise Unparsable("the name of a function is not plain", name.start)
        names.append(name)
        s.skip_blanks()
        if not s.is_zsh:
            break
    match = _PARENTHESES.match(s.text, s.pos, s.end)
    if match:
        s.pos = match.end()
    if not names:
        if s.is_zsh:
            return _anonymous(s, start)
        raise s.fail("the name of a function is missing")
    return read_function_body(s, tuple(names), start)


def read_function_body(s: Scanner, names: tuple[Word, ...], start: int) -> Function:
    """Read the command that a function consists of."""
    skip_newlines(s)
    if not s.is_zsh and s.char != "(" and s.reserved() not in COMPOUND - {"function", "coproc"}:
        raise s.fail("the body of a function is missing")
    s.enter()
    body = s.grammar.command(s)
    s.leave()
    return Function(names, body, (), start, s.pos)


def _anonymous(s: Scanner, start: int) -> Function:
    skip_newlines(s)
    if s.reserved() != "{":
        raise s.fail("the body of a function is missing")
    at = s.pos
    s.pos += 1
    body = Group(_braced(s), (), at, s.pos)
    arguments: list[Word] = []
    while True:
        s.skip_blanks()
        if not s.char or s.char in ";&|)\n" or (s.open_groups and s.reserved() == "}"):
            return Function((), body, tuple(arguments), start, s.pos)
        if s.char in "<>(":
            raise s.fail("a redirection of a function without a name is not analysed")
        arguments.append(read_word(s))


def _coproc(s: Scanner, start: int) -> Coproc:
    s.skip_blanks()
    name = None
    match = NAME.match(s.text, s.pos, s.end)
    if match and match.group() not in COMPOUND and not s.is_zsh:
        at = s.pos
        s.pos = match.end()
        s.skip_blanks()
        if s.char == "(" or s.reserved() in COMPOUND - {"coproc", "function"}:
            name = match.group()
        else:
            s.pos = at
    command = s.grammar.command(s)
    return Coproc(name, command, start, s.pos)
