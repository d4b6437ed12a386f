"""A tree of a command line as short text, for tests and for looking at one.

Commands stand in parentheses. What is not plain text in a word is marked: `'quoted'`, `"quoted with $x"`, `<*>` for a
glob, `<~>` for a home directory, `$(...)`, `<(...)` and `` `...` `` with the sketch of their script.
"""

from collections.abc import Iterable
from typing import assert_never

from hermitty.policy.syntax.commands import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Assignment,
    Body,
    Case,
    Command,
    Conditional,
    Coproc,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Redirect,
    Repeat,
    Simple,
    Subshell,
    Value,
    While,
)
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
    Tilde,
    Word,
)


def sketch(script: Script) -> str:
    """Return the commands of a script; with problems, `!` and their reasons at the end."""
    reasons = [f"! {problem.reason}" for problem in script.problems]
    return " ".join(filter(None, [_body(script.body), *reasons]))


def _body(body: Body) -> str:
    return "; ".join(_command(one.command) + " &" * one.is_background for one in body)


def _command(command: Command) -> str:
    match command:
        case Pipeline():
            return _prefixed(command) + _joined(command.commands, command.operators)
        case AndOr():
            return f"({_joined(command.commands, command.operators)})"
        case Coproc(name=name):
            return f"(coproc {name + ' ' if name else ''}{_command(command.command)})"
        case Function(names=names):
            return f"(function {_words(names)}[{_words(command.arguments)}] {_command(command.body)})"
        case Value():
            return f"(value {word(command.word)})"
        case _:
            return f"({' '.join(filter(None, [_inside(command), *map(_redirect, command.redirects)]))})"


def _prefixed(command: Pipeline) -> str:
    return "! " * command.is_negated + "time " * command.is_timed


def _joined(commands: tuple[Command, ...], operators: tuple[str, ...]) -> str:
    if not commands:
        return "()"
    rest = zip(operators, commands[1:], strict=True)
    return _command(commands[0]) + "".join(f" {operator} {_command(one)}" for operator, one in rest)


def _inside(
    command: Simple
    | Group
    | Subshell
    | If
    | While
    | For
    | ArithmeticFor
    | Repeat
    | Case
    | Conditional
    | ArithmeticCommand,
) -> str:
    match command:
        case Simple():
            return " ".join([*map(_assignment, command.assignments), *map(word, command.words)])
        case Group():
            return f"group {_body(command.body)}"
        case Subshell():
            return f"subshell {_body(command.body)}"
        case If():
            branches = [f"if {_body(one.condition)} then {_body(one.body)}" for one in command.branches]
            return " ".join([*branches, *([f"else {_body(command.otherwise)}"] if command.otherwise else [])])
        case While():
            kind = "until" if command.is_until else "while"
            return f"{kind} {_body(command.condition)} do {_body(command.body)}"
        case For():
            items = "" if command.words is None else " in " + _words(command.words)
            return (
                f"{'select' if command.is_select else 'for'} {','.join(command.names)}{items} do {_body(command.body)}"
            )
        case ArithmeticFor():
            return f"for {part(command.expression)} do {_body(command.body)}"
        case Repeat():
            return f"repeat {word(command.count)} do {_body(command.body)}"
        case Case():
            arms = [f"{'|'.join(map(word, arm.patterns))}) {_body(arm.body)}{arm.terminator}" for arm in command.arms]
            return " ".join([f"case {word(command.word)}", *arms])
        case Conditional():
            return " ".join(["[[", *(f"{test.operator}<{_words(test.operands)}>" for test in command.tests)])
        case ArithmeticCommand():
            return part(command.expression)
        case _:
            assert_never(command)


def _assignment(one: Assignment) -> str:
    subscript = "" if one.subscript is None else f"[{word(one.subscript)}]"
    return f"{one.name}{subscript}{one.operator}{word(one.value)}"


def _redirect(one: Redirect) -> str:
    prefix = f"{{{one.variable}}}" if one.variable else "" if one.fd is None else str(one.fd)
    text = f"{prefix}{one.operator}{word(one.target)}"
    return text if one.heredoc is None else f"{text}:{word(one.heredoc.body)!r}"


def _words(words: Iterable[Word]) -> str:
    return " ".join(map(word, words))


def word(one: Word) -> str:
    """Return the sketch of a word."""
    return _parts(one.parts)


def _parts(parts: Iterable[Part]) -> str:
    return "".join(map(part, parts))


def part(one: Part) -> str:
    """Return the sketch of a part of a word."""
    match one:
        case Literal(text=text):
            return text
        case Quoted(text=None):
            return f'"{_parts(one.parts)}"'
        case Quoted(text=text):
            return f"'{text}'"
        case Parameter():
            return _parameter(one)
        case Substitution(kind=kind):
            return f"{kind}{sketch(one.script)}{_CLOSING[kind[-1]]}"
        case ProcessSubstitution(kind=kind):
            return f"{kind}{sketch(one.script)})"
        case Arithmetic():
            return f"(({one.text}))" if one.is_plain else f"((?{one.text}))"
        case Glob(text=text):
            return f"<{text}>"
        case Extglob():
            return f"<{one.operator}({_parts(one.parts)})>"
        case Brace():
            return "{" + "|".join(map(_parts, one.alternatives)) + "}"
        case BraceRange():
            return "{" + "..".join(filter(None, (one.first, one.last, one.step))) + "}"
        case Tilde(name=name):
            return f"<~{name}>"
        case Array():
            return f"({_words(one.elements)})"
        case _:
            assert_never(one)


_CLOSING = {"(": ")", "`": "`", "{": "}"}


def _parameter(one: Parameter) -> str:
    if one.is_plain:
        return f"${one.name}"
    subscript = "" if one.subscript is None else f"[{word(one.subscript)}]"
    operands = "|".join(map(word, one.words))
    return f"${{{'!' * one.is_indirect}{'#' * one.is_length}{one.name}{subscript}{one.operation}{operands}}}"
