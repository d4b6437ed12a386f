"""Whether a rule does what its examples say."""

from typing import Final

from hermitty.policy.check import examine
from hermitty.policy.context import Surroundings
from hermitty.policy.rule import ANYTHING, WORKSPACE, Action, Rule
from hermitty.policy.rules import RuleSet, Says

# Where examples run, unless the rule is about a place.
_ROOT: Final = "/workspace"
_HOME: Final = "/home/user"


def example_problem(rule: Rule) -> str | None:
    """Say which example the rule does not match, or which counter-example it does; None: all is well."""
    for line in rule.examples:
        if not matches_line(rule, line):
            return f"the rule does not {_verb(rule)} its example {line!r}"
    for line in rule.counter_examples:
        if matches_line(rule, line):
            return f"the rule would {_verb(rule)} its counter-example {line!r}"
    return None


def matches_line(rule: Rule, line: str) -> bool:
    """Tell whether a rule, alone, decides about a line: allows all of it, or denies it or asks because of a part."""
    root = rule.paths if rule.paths not in (ANYTHING, WORKSPACE) else rule.cwd or _ROOT
    here = Surroundings(rule.cwd or root, root, _HOME, rule.shells[0] if rule.shells else "bash")
    _, judged = examine(line, here.shell, here)
    # It may have expired: what it says stays the same.
    ruling = RuleSet([rule]).judge(judged, now=float("-inf"))
    match rule.decision:
        case Action.ALLOW:
            return ruling.says is Says.ALLOW and rule in ruling.allowed_by
        case Action.ASK:
            return ruling.says is Says.ASK and ruling.rule == rule
        case Action.DENY:
            return ruling.says is Says.DENY


def _verb(rule: Rule) -> str:
    return {Action.ALLOW: "allow", Action.ASK: "ask about", Action.DENY: "deny"}[rule.decision]
