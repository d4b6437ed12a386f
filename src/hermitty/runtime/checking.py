"""What the policy and the rules of this user say about a command, without running or asking anything."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from hermitty.policy.check import KNOWN_SHELLS, canonical_shell, examine
from hermitty.policy.context import Surroundings
from hermitty.policy.decision import Decision, ruled, undecided
from hermitty.policy.effects import Verdict
from hermitty.policy.judged import JudgedLine
from hermitty.policy.plain_words import in_plain_words
from hermitty.policy.rule_file import table_of
from hermitty.policy.rules import RuleSet
from hermitty.policy.sanity import visible
from hermitty.policy.suggesting import suggested_rule
from hermitty.runtime.rules import RuleStore

__all__ = ["Checker", "Decision", "Verdict", "default_shell", "in_plain_words", "undecided", "visible"]


class Checker:
    """Decides about commands in directories of this machine. The directory counts as the workspace."""

    def __init__(
        self,
        rules: RuleStore,
        *,
        home: str | None = None,
        secrets: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._rules = rules
        self._secrets = tuple(map(os.path.normpath, secrets))
        self._home = os.path.normpath(home or os.path.expanduser("~"))
        self._clock = clock

    def decide(self, command: str | Sequence[str], *, shell: str, cwd: str | None = None) -> Decision:
        """Decide about a line for a shell, or about a program with exactly these arguments."""
        where = os.path.abspath(cwd or os.curdir)
        workspace = where if where != os.sep else None
        home = self._home if os.path.isabs(self._home) else None
        decision, line = examine(command, shell, Surroundings(where, workspace, home, secrets=self._secrets))
        return with_rules(decision, line, self._rules.rules(workspace=workspace), self._clock())


def with_rules(decision: Decision, line: JudgedLine, rules: RuleSet, now: float) -> Decision:
    """Return a decision as rules change it, with the rule that would allow what is asked about."""
    if decision.verdict is Verdict.ASK and (rule := suggested_rule(line)) is not None:
        decision = replace(decision, suggested_rule=table_of(rule))
    return ruled(decision, rules.judge(line, now))


def default_shell(shell: str | None) -> str:
    """Return the shell that lines are for: the user's (`$SHELL`), if the policy knows it, else bash."""
    name = canonical_shell(shell or "")
    return name if name in KNOWN_SHELLS else "bash"
