"""Parses a line of fish: never raises, in linear time; what is not understood is a problem.

`and`, `or` and `not` in front of a command are read and dropped: it is judged as if it always ran. Words are in
`fish_words`.
"""

import re

from hermitty.policy.fish_words import Reader, read_word
from hermitty.policy.lexing import Unparsable
from hermitty.policy.reading import read_and_or
from hermitty.policy.syntax.commands import (
    Arm,
    Assignment,
    Body,
    Branch,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Redirect,
    Simple,
    Statement,
    While,
)
from hermitty.policy.syntax.script import Problem, Script
from hermitty.policy.syntax.words import Word

_REDIRECT = re.compile(r"([0-9]?)(>>|>\?|>&|<&|>|<)|(&>>|&>)")
_KEYWORD = re.compile(r"[a-z]+(?=[ \t\n;&|<>()#]|\Z)|!(?=[ \t])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_BLOCKS = frozenset(("begin", "if", "while", "for", "switch", "function"))
_END = frozenset(("end",))
_NOTHING: frozenset[str] = frozenset()


def parse_fish(line: str) -> Script:
    """Parse a line of fish."""
    r = Reader(line, script=_script)
    body: list[Statement] = []
    problems: tuple[Problem, ...] = ()
    try:
        _statements(r, _NOTHING, body)
        if r.char:
            raise r.fail(f"unexpected `{r.char}`")
    except Unparsable as error:
        problems = (Problem(error.reason, error.start, len(line)),)
    return Script("fish", tuple(body), problems, 0, len(line))


def _script(r: Reader) -> Script:
    """Read up to the `)` of a substitution, which is left for the caller."""
    start = r.pos
    body: list[Statement] = []
    _statements(r, _NOTHING, body)
    return Script("fish", tuple(body), (), start, r.pos)


def _statements(r: Reader, stops: frozenset[str], body: list[Statement]) -> None:
    while True:
        r.skip_blanks()
        while r.char and r.char in "\n;":
            r.pos += 1
            r.skip_blanks()
        if not r.char or r.char == ")" or _keyword(r) in stops:
            return
        start = r.pos
        command = _and_or(r)
        end = r.pos
        r.skip_blanks()
        is_background = r.char == "&"
        if r.char and r.char in "&;\n":
            r.pos += 1
            end = r.pos
        elif r.char and r.char != ")":
            raise r.fail(f"unexpected `{r.char}`")
        body.append(Statement(command, is_background, start, end))


def _body(r: Reader, stops: frozenset[str]) -> Body:
    body: list[Statement] = []
    _statements(r, stops, body)
    return tuple(body)


def _keyword(r: Reader) -> str:
    match = _KEYWORD.match(r.text, r.pos)
    return match.group() if match else ""


def _expect(r: Reader, word: str) -> None:
    if _keyword(r) != word:
        raise r.fail(f"expected `{word}`")
    r.pos += len(word)


def _and_or(r: Reader) -> Command:
    return read_and_or(r, lambda: _pipeline(r))


def _pipeline(r: Reader) -> Command:
    start = r.pos
    is_negated = is_timed = False
    while (word := _keyword(r)) in ("and", "or", "not", "!", "time"):
        is_negated ^= word in ("not", "!")
        is_timed |= word == "time"
        r.pos += len(word)
        r.skip_blanks()
    commands = [_command(r)]
    operators: list[str] = []
    while True:
        at = r.pos
        r.skip_blanks()
        operator = "&|" if r.at("&|") else "|"
        if not r.at(operator) or r.at("||"):
            r.pos = at
            break
        operators.append(operator)
        r.pos += len(operator)
        r.skip_newlines()
        commands.append(_command(r))
    if len(commands) == 1 and not (is_negated or is_timed):
        return commands[0]
    return Pipeline(tuple(commands), tuple(operators), is_negated, is_timed, start, r.pos)


def _command(r: Reader) -> Command:
    word = _keyword(r)
    if word in ("end", "else", "case"):
        raise r.fail(f"unexpected `{word}`")
    if word not in _BLOCKS:
        return _simple(r)
    start = r.pos
    r.pos += len(word)
    r.enter()
    r.skip_blanks()
    match word:
        case "begin":
            command: Command = Group(_ended(r), _redirects(r), start, r.pos)
        case "if":
            command = _if(r, start)
        case "while":
            condition = _condition(r)
            command = While(False, condition, _ended(r), _redirects(r), start, r.pos)
        case "for":
            command = _for(r, start)
        case "switch":
            command = _switch(r, start)
        case _:
            command = _function(r, start)
    r.leave()
    return command


def _ended(r: Reader) -> Body:
    """Read up to `end` and step over that."""
    body = _body(r, _END)
    _expect(r, "end")
    return body


def _condition(r: Reader) -> Body:
    """Read one command with its `;` or newline. `and` and `or` after that are read as the first ones of the body."""
    start = r.pos
    command = _and_or(r)
    _separator(r)
    return (Statement(command, False, start, r.pos),)


def _separator(r: Reader) -> None:
    r.skip_blanks()
    if not r.char or r.char not in "\n;":
        raise r.fail("expected `;` or a newline")
    r.pos += 1


def _if(r: Reader, start: int) -> If:
    branches: list[Branch] = []
    otherwise: Body = ()
    at = start
    while True:
        condition = _condition(r)
        branches.append(Branch(condition, _body(r, frozenset(("else", "end"))), at, r.pos))
        at = r.pos
        if _keyword(r) != "else":
            break
        r.pos += 4
        r.skip_blanks()
        if _keyword(r) != "if":
            otherwise = _body(r, _END)
            break
        r.pos += 2
        r.skip_blanks()
    _expect(r, "end")
    return If(tuple(branches), otherwise, _redirects(r), start, r.pos)


def _for(r: Reader, start: int) -> For:
    name = _NAME.match(r.text, r.pos)
    if not name:
        raise r.fail("the name of a loop variable is missing")
    r.pos = name.end()
    r.skip_blanks()
    _expect(r, "in")
    words = _words(r)
    _separator(r)
    body = _ended(r)
    return For((name.group(),), words, body, False, _redirects(r), start, r.pos)


def _words(r: Reader) -> tuple[Word, ...]:
    words: list[Word] = []
    while True:
        r.skip_blanks()
        if not r.char or r.char in "\n;)":
            return tuple(words)
        words.append(read_word(r))


def _switch(r: Reader, start: int) -> Case:
    word = read_word(r)
    _separator(r)
    arms: list[Arm] = []
    r.skip_newlines()
    while _keyword(r) == "case":
        at = r.pos
        r.pos += 4
        patterns = _words(r)
        _separator(r)
        body = _body(r, frozenset(("case", "end")))
        arms.append(Arm(patterns, body, "", at, r.pos))
    _expect(r, "end")
    return Case(word, tuple(arms), _redirects(r), start, r.pos)


def _function(r: Reader, start: int) -> Function:
    words = _words(r)
    if not words or words[0].literal is None:
        raise r.fail("the name of a function is not plain")
    _separator(r)
    at = r.pos
    body = Group(_ended(r), (), at, r.pos)
    return Function(words[:1], body, words[1:], start, r.pos)


def _redirects(r: Reader) -> tuple[Redirect, ...]:
    found: list[Redirect] = []
    while True:
        at = r.pos
        r.skip_blanks()
        redirect = _redirect(r)
        if redirect is None:
            r.pos = at
            return tuple(found)
        found.append(redirect)


def _redirect(r: Reader) -> Redirect | None:
    start = r.pos
    match = _REDIRECT.match(r.text, start)
    if not match:
        return None
    r.pos = match.end()
    if r.char == "|":
        raise r.fail("a pipe from another descriptor is not analysed")
    r.skip_blanks(comments=False)
    target = read_word(r)
    fd = int(match[1]) if match[1] else None
    return Redirect(match[2] or match[3], fd, None, target, None, start, r.pos)


def _simple(r: Reader) -> Simple:
    start = end = r.pos
    assignments: list[Assignment] = []
    words: list[Word] = []
    redirects: list[Redirect] = []
    while True:
        at = r.pos
        r.skip_blanks()
        redirect = _redirect(r)
        if redirect is not None:
            redirects.append(redirect)
        elif not r.char or r.char in "\n;|&)":
            r.pos = at
            break
        elif not words and (name := _ASSIGNED.match(r.text, r.pos)):
            begin, r.pos = r.pos, name.end()
            empty = not r.char or r.char in " \t\n;"
            value = Word((), "", r.pos, r.pos) if empty else read_word(r)
            assignments.append(Assignment(name.group()[:-1], None, "=", value, begin, r.pos))
        else:
            words.append(read_word(r))
            if len(words) == 1 and words[0].source.startswith(("{", "(")):
                raise Unparsable("a command cannot begin like this", words[0].start)
        end = r.pos
    if not words:
        raise r.fail(f"unexpected `{r.char}`" if r.char.strip() else "a command is missing")
    return Simple(tuple(assignments), tuple(words), tuple(redirects), start, end)
