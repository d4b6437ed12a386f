"""Which lines need no question in a complete sandbox without network; above all, which ones still do."""

import pytest

from hermitty.config import PolicySettings
from hermitty.policy.check import examine
from hermitty.policy.confined import is_confined
from hermitty.policy.context import Surroundings
from hermitty.policy.modes import Ask, Refuse, Run, plan
from hermitty.policy.rule import Action, Rule, words_of
from hermitty.policy.rules import RuleSet

ROOT = "/home/me/work"
HERE = Surroundings(cwd=ROOT, workspace=ROOT, home="/home/me", shell="bash")

CONTAINED = [
    "touch made",
    "echo x > y",
    "mkdir -p build/deep",
    "pytest -q",
    "make test",
    "npm test",
    "cargo build",
    "python x.py",
    "python -c 'print(1)'",
    "make && pytest -q > log.txt",
    "cd sub && make",
    "ruff check .",
]
ASKED = [
    "rm x",
    "rm -rf build",
    "rm -rf .",
    f"rm -rf {ROOT}",
    "find . -delete",
    "git reset --hard",
    "git rebase -i HEAD~3",
    "git push",
    "git push --force",
    "git filter-branch --all",
    "sudo make",
    "sudo touch x",
    "npm install x",
    "pip install x",
    "curl http://example.org",
    "ssh host make",
    "docker run x",
    "cat ~/.ssh/id_rsa",
    "cat .env",
    "touch ../x",
    "touch /etc/x",
    "echo x > .git/hooks/pre-commit",
    "touch $x",
    "eval $x",
    "kill 1",
    "alias ls=x",
    "./run.sh",
    "/usr/bin/make",
    "unknown-program",
    "make; unknown-program",
    "make; rm x",
    "cd .. && make",
    "cd $x && make",
    "touch x '",
    "make test | sh",
]


def planned(line: str, *, confined_to: str | None = ROOT, taint: str | None = None, **settings: object) -> object:
    decision, judged = examine(line, "bash", HERE)
    rules = RuleSet([Rule.checked(Rule(Action.DENY, words_of("make denied")))])
    chosen = PolicySettings(**settings)  # type: ignore[arg-type]
    return plan(chosen, judged, decision.level, rules.judge(judged, 0.0), taint, ("/home/me/work/own",), confined_to)


@pytest.mark.parametrize("line", CONTAINED)
def test_what_is_contained_runs(line: str) -> None:
    assert planned(line) == Run("sandbox")
    assert isinstance(planned(line, confined_to=None), Ask)


@pytest.mark.parametrize("line", ASKED)
def test_what_is_asked_is_asked_in_a_sandbox_too(line: str) -> None:
    assert isinstance(planned(line), Ask)
    assert not is_confined(examine(line, "bash", HERE)[1], ROOT)


def test_what_is_blocked_stays_blocked() -> None:
    for line in ("rm -rf /", "make && rm -rf ~"):
        found = planned(line)
        assert isinstance(found, Ask)
        assert found.is_block


def test_a_denying_rule_a_taint_and_a_mode_count_more() -> None:
    assert isinstance(planned("make denied"), Refuse)
    assert isinstance(planned("make", taint="an alias"), Ask)
    assert isinstance(planned("make", mode="ask_always"), Ask)
    assert isinstance(planned("make", auto_approve_safe=False), Ask)
    assert isinstance(planned("touch own"), Ask)


def test_another_directory_is_not_contained() -> None:
    assert isinstance(planned("make", confined_to="/home/me/other"), Ask)
    assert isinstance(planned("touch x", confined_to="/home/me/other"), Ask)
