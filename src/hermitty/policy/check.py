"""The one entry: a command line or the words of a program in, a `Decision` out.

The gate for strange characters, the parser, the second reading and the judge, in this order. Whatever goes wrong on the
way, the answer is to ask.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hermitty.policy import sanity
from hermitty.policy.arguments import Arg
from hermitty.policy.calls import Call
from hermitty.policy.context import Surroundings
from hermitty.policy.decision import Decision, decided, ruled
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.judge import Walker
from hermitty.policy.judged import JudgedLine
from hermitty.policy.parser import parse
from hermitty.policy.programs.variables import dangerous_variable
from hermitty.policy.record import Record, TooMuch
from hermitty.policy.rules import RuleSet
from hermitty.policy.second_opinion import disagreement

KNOWN_SHELLS = frozenset(("bash", "zsh", "fish", "sh", "pwsh"))

_SHELLS = {"powershell": "pwsh", "dash": "sh", "ash": "sh", "ksh": "sh", "rbash": "bash"}
_SUFFIX = re.compile(r"\.exe$", re.IGNORECASE)
# What a terminal may make of characters that the gate rejects: a return runs a line.
_RETURNS = re.compile("[\r\x0b\x0c\x85\u2028\u2029]")
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]")


def check(
    command: str | Sequence[str],
    shell: str,
    here: Surroundings,
    *,
    rules: RuleSet | None = None,
    now: float = 0.0,
    environment: Mapping[str, str] | None = None,
) -> Decision:
    """Decide about a line for a shell, or about a program with exactly these arguments (a sequence of words).

    `rules` count as they are at `now`, in seconds since 1970. `environment` are variables that are set for the program.
    Never raises.
    """
    decision, line = examine(command, shell, here, environment=environment)
    return decision if rules is None else ruled(decision, rules.judge(line, now))


def examine(
    command: str | Sequence[str], shell: str, here: Surroundings, *, environment: Mapping[str, str] | None = None
) -> tuple[Decision, JudgedLine]:
    """Decide without rules, and return the line as rules see it. Never raises."""
    record = Record()
    try:
        walker = Walker(record, replace(here, shell=canonical_shell(shell)))
        _judge_environment(environment or {}, record)
        if isinstance(command, str):
            _judge_line(command, walker)
        else:
            _judge_words(command, walker)
    except TooMuch:
        _distrust(record, unclear("it does too many things to look at all of them"))
    except Exception as error:  # whatever it is, a person decides
        _distrust(record, unclear(f"it could not be analysed ({type(error).__name__})"))
    return decided(record), record.line


def canonical_shell(shell: str) -> str:
    """Return the name by which the policy knows a shell, given by name or path."""
    name = _SUFFIX.sub("", re.split(r"[/\\]", shell)[-1]).lower()
    return _SHELLS.get(name, name)


def _judge_line(line: str, walker: Walker) -> None:
    record = walker.record
    strange = sanity.problems(line)
    script = parse(line, walker.shell)
    walker.body(script.body, (walker.beginning,))
    for problem in (*strange, *script.problems):
        _distrust(record, unclear(problem.reason), problem.start, problem.end)
    other = disagreement(line, script)
    if other is not None:
        _distrust(record, unclear(other), 0, len(line))
    if strange:
        _judge_cleaned(line, walker)


def _judge_cleaned(line: str, walker: Walker) -> None:
    """Judge what a terminal may make of a line with strange characters: it may be worse than what was read."""
    cleaned = _SPACES.sub(" ", _RETURNS.sub("\n", line))
    for problem in reversed(sanity.problems(cleaned)):
        cleaned = cleaned[: problem.start] + cleaned[problem.end :]
    if len(cleaned) <= sanity.MAX_BYTES:
        again = Walker(walker.record, walker.around, place=(0, len(line)))
        again.body(parse(cleaned, walker.shell).body, (walker.beginning,))


def _judge_words(words: Sequence[str], walker: Walker) -> None:
    """Judge a program that is started without a shell."""
    args = [Arg.literal(word) for word in words]
    if not args:
        _distrust(walker.record, unclear("there is no command"))
        return
    for word in words:
        for problem in sanity.problems(word.replace("\n", " ")):
            _distrust(walker.record, unclear(problem.reason))
    walker.record.add((), 0, 0, is_visible=False, done=Call(walker, walker.beginning, None).perform(args))


def _judge_environment(environment: Mapping[str, str], record: Record) -> None:
    for name, text in environment.items():
        if reason := dangerous_variable(name, text):
            record.add([ask(reason, Level.HIGH, Effect.EXEC)], 0, 0, is_visible=False)


def _distrust(record: Record, finding: Finding, start: int = 0, end: int = 0) -> None:
    """Note why the line cannot be trusted to mean what was read."""
    record.is_understood = False
    record.add([finding], start, end, is_visible=end > start)
