"""The rule that is offered: as narrow as is useful, and none for what can run anything."""

import pytest

from hermitty.policy.check import examine
from hermitty.policy.context import Surroundings
from hermitty.policy.rule import Rule
from hermitty.policy.rule_examples import example_problem
from hermitty.policy.rule_file import rule_of, table_of
from hermitty.policy.rules import RuleSet, Says
from hermitty.policy.suggesting import suggested_rule

HERE = Surroundings(cwd="/home/me/work/src", workspace="/home/me/work", home="/home/me", shell="bash")


def suggested(line: str | list[str], here: Surroundings = HERE) -> Rule | None:
    return suggested_rule(examine(line, here.shell, here)[1])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("npm test", {"command": ["npm", "test"], "flags": [], "paths": "workspace", "cwd": "/home/me/work"}),
        ("npm run lint", {"command": ["npm", "run", "lint"], "flags": []}),
        ("npm run lint -- --fix", {"command": ["npm", "run", "lint", "--", "--fix"], "exact": True}),
        ("npm install left-pad", {"command": ["npm", "install", "left-pad"], "exact": True}),
        ("git commit -m 'a b'", {"command": ["git", "commit"], "flags": ["-m"]}),
        ("git push origin main", {"command": ["git", "push", "origin", "main"], "exact": True}),
        ("pytest -q tests", {"command": ["pytest"], "flags": ["-q"], "paths": "workspace"}),
        ("mkdir -p build", {"command": ["mkdir"], "flags": ["-p"], "level": "low"}),
        ("make", {"command": ["make"], "exact": True}),
        ("make test", {"command": ["make", "test"]}),
        ("./run.sh a", {"command": ["./run.sh", "a"], "exact": True, "cwd": "/home/me/work/src"}),
        ("some-tool deploy", {"command": ["some-tool", "deploy"], "exact": True, "cwd": "/home/me/work"}),
        ("cp a ../../b", {"command": ["cp", "a", "../../b"], "exact": True, "cwd": "/home/me/work/src"}),
        ("ls | grep x && npm test", {"command": ["npm", "test"]}),
        ("env CI=1 npm test", {"command": ["npm", "test"]}),
    ],
)
def test_a_rule_is_as_narrow_as_is_useful(line: str, expected: dict[str, object]) -> None:
    rule = suggested(line)
    assert rule is not None
    table = table_of(rule)
    assert {name: table.get(name) for name in expected} == expected
    assert table["decision"] == "allow"
    assert table["shells"] == ["bash"]


@pytest.mark.parametrize(
    "line",
    [
        # What can run anything.
        *("sh x", "bash -c 'npm test'", "python x.py", "python3.12 x.py", "node x.js", "perl -e 1", "npx x", "uvx x"),
        *("sudo npm test", "xargs npm", "find . -delete", "awk 'BEGIN{system(1)}'", "ssh host x", "docker run x"),
        *("npm exec x", "pnpm dlx x", "git config x y", "eval x", "source x", ". x", "hermitty rules add --allow x"),
        # What destroys.
        *("rm x", "rm -rf x", "rm -rf /", "dd if=a of=b", "kill 1", "chmod 777 x"),
        # A program with nothing that says what it does.
        *("git", "git -c x=y log --output=z", "npm", "npm run", "docker"),
        # More than one thing, and what is not known before it runs.
        *("npm test && make x", "npm test > x", "npm test $(some-tool)", "npm test $x", "npm test *", "some-tool ~/x"),
        *("X=1; npm test; PATH=y", "LD_PRELOAD=x npm test", "cd $x && npm test", "npm test '", "npm test \x1b"),
        # Nothing to allow.
        *("ls", "cat x | wc -l", ""),
    ],
)
def test_nothing_is_offered(line: str) -> None:
    assert suggested(line) is None


LINES = [
    "npm test",
    "npm run lint",
    "git commit -m 'a b'",
    "pytest -q tests",
    "make",
    "./run.sh a",
    "some-tool 'a b' c",
]


@pytest.mark.parametrize("line", LINES)
def test_what_is_offered_allows_the_line_keeps_its_examples_and_can_be_written(line: str) -> None:
    rule = suggested(line)
    assert rule is not None
    assert RuleSet([rule]).judge(examine(line, "bash", HERE)[1], 0.0).says is Says.ALLOW
    assert rule.examples
    assert rule.counter_examples
    assert example_problem(rule) is None
    assert rule_of(table_of(rule)) == rule


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    "change",
    [
        *("{} > x", "{} | sh", "{} && some-other", "{}; rm x", "{} $(some-other)", "{} `some-other`", "sudo {}"),
        *("PATH=. {}", "LD_PRELOAD=x {}", "cd / && {}", "{} -Z", "{} --exec=x", "{} ../../../etc", "{} /etc/passwd"),
    ],
)
def test_what_is_offered_allows_nothing_else(line: str, change: str) -> None:
    rule = suggested(line)
    assert rule is not None
    changed = change.format(line)
    assert RuleSet([rule]).judge(examine(changed, "bash", HERE)[1], 0.0).says is not Says.ALLOW


def test_it_is_for_one_shell_and_one_place() -> None:
    rule = suggested("npm test")
    assert rule is not None
    for here in (
        Surroundings("/home/me/other", "/home/me/other", "/home/me", "bash"),
        Surroundings("/home/me/work", "/home/me/work", "/home/me", "fish"),
        Surroundings(None, "/home/me/work", "/home/me", "bash"),
    ):
        assert RuleSet([rule]).judge(examine("npm test", here.shell, here)[1], 0.0).says is Says.ASK


def test_a_program_with_its_arguments_gets_one_too() -> None:
    rule = suggested(["npm", "test"])
    assert rule is not None
    assert rule.command == ("npm", "test")
    assert suggested(["env", "npm", "test"]) is None
    assert suggested(["some-tool", "a b"]) is not None


def test_no_directory_no_rule() -> None:
    assert suggested("npm test", Surroundings(None, None, None, "bash")) is None
