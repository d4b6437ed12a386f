"""`hermitty check`: what the policy says about a command, without running it."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

from hermitty.cli.escapes import tell
from hermitty.cli.escapes import visible as on_one_line
from hermitty.errors import InvalidRequest
from hermitty.runtime.checking import Checker, Decision, Verdict, default_shell, in_plain_words, undecided, visible
from hermitty.runtime.places import find_places
from hermitty.runtime.rules import RuleStore
from hermitty.wire.records import to_json

EXIT_CODES = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.BLOCK: 2}

_COLOURS = {Verdict.ALLOW: "32", Verdict.ASK: "33", Verdict.BLOCK: "1;31"}
_MARKS = {Verdict.ASK: "~", Verdict.BLOCK: "^"}
_MEANING = {
    Verdict.ALLOW: "may run without a question",
    Verdict.ASK: "a person decides",
    Verdict.BLOCK: "refused, unless a person types a confirmation for this one line",
}


class _BadLine(Exception):
    """A line of input that asks nothing that can be answered."""


def check_commands(options: argparse.Namespace) -> int:
    """Print what the policy says, and return the exit code."""
    if options.stdin and options.command:
        raise InvalidRequest("give a command, or --stdin, not both")
    if not options.stdin and not options.command:
        raise InvalidRequest("give a command, or --stdin with one JSON object a line")
    places = find_places()
    checker = Checker(RuleStore.at(places, tell=tell), secrets=[str(places.state)])
    shell = options.shell or default_shell(os.environ.get("SHELL"))
    if options.stdin:
        for answer in _answers(sys.stdin.buffer, checker, shell, options.cwd):
            print(to_json(answer), flush=True)
        return 0
    words: list[str] = options.command
    # As with `hermitty run`: one word is a line for the shell, several are the exact words of one program.
    command = words[0] if len(words) == 1 else words
    decision = checker.decide(command, shell=shell, cwd=options.cwd)
    if options.json:
        print(to_json(decision.to_dict()))
    else:
        print(explained(command, decision, is_coloured=_is_coloured()))
    return EXIT_CODES[decision.verdict]


def _answers(lines: Iterable[bytes], checker: Checker, shell: str, cwd: str | None) -> Iterator[dict[str, object]]:
    """Answer one line after the other. What is wrong with one is its answer, and stops nothing."""
    for line in lines:
        try:
            command, its_shell, its_cwd = _request(line)
        except _BadLine as error:
            yield {**undecided(f"the request is not understood: {error}").to_dict(), "error": str(error)}
        else:
            yield checker.decide(command, shell=its_shell or shell, cwd=its_cwd or cwd).to_dict()


def _request(line: bytes) -> tuple[str | list[str], str | None, str | None]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _BadLine(f"not JSON ({type(error).__name__})") from error
    if not isinstance(request, dict):
        raise _BadLine('not an object such as {"command": "ls"}')
    command, shell, cwd = (request.get(name) for name in ("command", "shell", "cwd"))
    if not isinstance(command, str) and not _are_words(command):
        raise _BadLine('"command" must be a line, or a list of words')
    if not (shell is None or isinstance(shell, str)) or not (cwd is None or isinstance(cwd, str)):
        raise _BadLine('"shell" and "cwd" must be text')
    if cwd is not None and "\0" in cwd:
        raise _BadLine('"cwd" is not a path')
    return command, shell, cwd


def _are_words(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def explained(command: str | Sequence[str], decision: Decision, *, is_coloured: bool) -> str:
    """Return a decision for people: the verdict, the command with its parts, effects and reasons."""
    verdict = decision.verdict
    title = f"{decision.decision} ({decision.level.label})"
    lines = [f"{_coloured(title, verdict, is_coloured=is_coloured)}: {_MEANING[verdict]}", ""]
    if isinstance(command, str):
        lines += _shown(command, decision, is_coloured=is_coloured)
    else:
        lines.append("    " + " ".join(on_one_line(repr(word)) for word in command))
    lines.append("")
    if effects := in_plain_words(effect.value for effect in decision.effects):
        lines.append(f"  effects  {', '.join(effects)}")
    if decision.rule is not None:
        lines.append(f"  rule     {on_one_line(decision.rule)}")
    lines += [f"  {'' if number else 'because':<7}  {on_one_line(why)}" for number, why in enumerate(decision.reasons)]
    return "\n".join(lines).rstrip()


def _shown(line: str, decision: Decision, *, is_coloured: bool) -> list[str]:
    """Return the command line with its parts in colours, or with marks below those that are not simply allowed."""
    rows: list[tuple[str, str]] = [("", "")]
    for start, end, verdict in decision.segments(len(line)):
        for number, text in enumerate(line[start:end].split("\n")):
            if number:
                rows.append(("", ""))
            seen = visible(text).replace("\t", "    ")
            shown, marks = rows[-1]
            mark = _MARKS.get(verdict, " ") if verdict is not None else " "
            painted = seen if verdict is None else _coloured(seen, verdict, is_coloured=is_coloured)
            rows[-1] = shown + painted, marks + mark * len(seen)
    result: list[str] = []
    for shown, marks in rows:
        result.append("    " + shown)
        if not is_coloured and marks.strip():
            result.append("    " + marks.rstrip())
    return result


def _coloured(text: str, verdict: Verdict, *, is_coloured: bool) -> str:
    return f"\x1b[{_COLOURS[verdict]}m{text}\x1b[0m" if is_coloured and text else text


def _is_coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
