"""Shells as programs: `sh -c` is judged by its script, a script file or the input is asked about."""

import re
from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import RUNS_INPUT, ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Program, named

_SHELL = Grammar(
    "--help --version -abcefhiklmnprstuvxBCDEHPTVGqIFwdyg12345678 -o: -O: --login --posix --norc --noprofile "
    "--noediting --restricted --verbose --no-rcs --rcfile:exec --init-file:exec --debugger^exec --dump-strings "
    "--dump-po-strings --emulate:",
    "exec*",
    permutes=False,
    plus=True,
)
_FISH = Grammar(
    "--help --version -NiInPlvhd -c,--command: -C,--init-command: --no-config --interactive --login --no-execute "
    "--private --print-debug-categories --print-rusage-self -o,--debug-output:write -f,--features: -D: "
    "-p,--profile:write --profile-startup:write",
    "exec*",
    permutes=False,
)
_CLUSTER = re.compile(r"-[A-Za-z]*c[A-Za-z]*")
_ONLY_CHECKS = frozenset({"-n", "-v", "--posix", "--verbose", "--norc", "--noprofile", "-f"})
_SHELL_OF = {"dash": "sh", "ash": "sh", "ksh": "sh", "mksh": "sh", "yash": "sh", "rbash": "bash"}


def _shell(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _SHELL.parse(args, name)
    found = _SHELL.option_findings(parsed, name, judge.here)
    given = {one.option.name for one in parsed.options}
    if given & {"--version", "--help"} and given <= {"--version", "--help"}:
        return found
    if "-c" in given:
        return found + _script(name, args, parsed.operands, judge)
    if "-n" in given and given <= _ONLY_CHECKS and parsed.operands:
        return found
    return found + _file_or_input(name, parsed.operands, is_input="-s" in given)


def _script(name: str, args: Sequence[Arg], operands: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge what follows `-c`. With options in between, shells differ in what the script is."""
    at = next(index for index, arg in enumerate(args) if arg.text and _CLUSTER.fullmatch(arg.text))
    following = args[at + 2 if (args[at].text or "").endswith("o") else at + 1 :]
    if not operands or not following:
        return []
    if following[0] is not operands[0]:
        return [unclear(f"options of {name} between -c and the script", at=following[0])]
    return judge.script(operands[0], _SHELL_OF.get(name, name))


def _fish(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _FISH.parse(args, name)
    found = _FISH.option_findings(parsed, name, judge.here)
    given = {one.option.name for one in parsed.options}
    scripts = parsed.values("-c", "-C")
    for text in scripts:
        found += judge.script(text, "fish")
    if parsed.values("-c") or (given and given <= {"--version", "-v", "--help", "-h"}):
        return found
    if given == {"-n"} and parsed.operands:
        return found
    return found + _file_or_input(name, parsed.operands, is_input=False)


def _file_or_input(name: str, operands: Sequence[Arg], *, is_input: bool) -> list[Finding]:
    if not operands or is_input or operands[0].text == "-":
        return [ask(f"{name} {RUNS_INPUT}", Level.HIGH, Effect.EXEC)]
    return [ask(f"runs the script {operands[0].shown}", Level.MEDIUM, Effect.EXEC, at=operands[0])]


PROGRAMS: dict[str, Program] = {
    **named("sh bash dash ash zsh ksh mksh yash rbash", _shell),
    "fish": _fish,
}
