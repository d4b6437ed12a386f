"""Commands that only zsh has."""

import re
from collections.abc import Sequence
from dataclasses import replace

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask
from hermitty.policy.options import Grammar
from hermitty.policy.programs import formats, names
from hermitty.policy.programs.tables import Handler, Program, named

# `-P` expands prompts, `-s` and `-z` put text where it is run later, `-p` writes to a coprocess.
_PRINT = Grammar(
    "-abcDilmnNoOrRXe -C: -u: -x: -f: -v: -P^ask -s^change -S^change -z^ask -p^ask",
    "plain*",
)
_FILES = re.compile(r"(?:\*\*/)?\*\.\w+")


def _print(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    # Words that end like a file are no options of print: it refuses the dot.
    parsed = _PRINT.parse([replace(arg, prefix="./") if _FILES.fullmatch(arg.shown) else arg for arg in args], name)
    found = _PRINT.findings(parsed, name, judge.here)
    for arg in parsed.values("-v"):
        found += names.set_by(arg, "zsh")
    for form in parsed.values("-f"):
        found += formats.judged(form.text, parsed.operands, "zsh")
    return found


def _listing(reason: str, *harmless: str) -> Handler:
    """Make the judge of a command that only lists when it is called without other words."""

    def judge_call(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        if all(arg.text in harmless for arg in args):
            return []
        return [ask(reason, Level.MEDIUM, Effect.SESSION)]

    return judge_call


def _modifier(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge what stands behind `noglob` and its kin."""
    return judge.command(args) if args else []


_PLAIN = Grammar("", "plain*", any_options=True)

PROGRAMS: dict[str, Program] = {
    "print": _print,
    **named("whence where which", _PLAIN),
    **named("noglob nocorrect -", _modifier),
    **named("setopt unsetopt emulate", _listing("changes how the shell works")),
    **named("functions", _listing("changes the functions of the shell", "-t", "-u")),
    **named("autoload zmodload", _listing("loads code into the shell", "-L", "-l", "-a")),
    **named("bindkey zle", _listing("changes what keys do", "-L", "-l", "-a")),
    **named("zstyle compdef zcompile sched ttyctl vared", _listing("changes the shell", "-L")),
}
