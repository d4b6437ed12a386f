"""Files of rules: every rule with its line, and what is wrong with one disables that one only."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import InvalidRule
from hermitty.policy.effects import Level
from hermitty.policy.rule import Action, Layer, Rule
from hermitty.policy.rule_examples import example_problem
from hermitty.policy.rule_file import (
    MAX_RULES,
    RuleFile,
    RuleProblem,
    parse_rules,
    rule_of,
    rule_text,
    table_of,
    without,
)

FULL = """\
[[rule]]
id = "tests"
decision = "allow"
command = ["npm", "run", "test"]
flags = ["-w", "--watch"]
paths = "workspace"
writes = true
shells = ["bash", "zsh"]
cwd = "/proj"
level = "medium"
expires = 2030-01-01T00:00:00Z
reason = "they are quick"
examples = ["npm run test"]
counter_examples = ["npm run deploy"]
"""


def parsed(text: str) -> RuleFile:
    return parse_rules(text, name="rules.toml", layer=Layer.USER)


def read(text: str) -> tuple[list[str], list[tuple[int, str]]]:
    """The rules in short, and the problems."""
    file = parsed(text)
    return [str(rule) for rule in file.rules], [(each.line, each.text) for each in file.problems]


def test_a_rule_says_all_it_can() -> None:
    file = parsed(FULL)
    expected = Rule(
        Action.ALLOW,
        ("npm", "run", "test"),
        id="tests",
        flags=("-w", "--watch"),
        paths="workspace",
        writes=True,
        shells=("bash", "zsh"),
        cwd="/proj",
        level=Level.MEDIUM,
        expires_at=datetime(2030, 1, 1, tzinfo=UTC).timestamp(),
        reason="they are quick",
        examples=("npm run test",),
        counter_examples=("npm run deploy",),
        layer=Layer.USER,
        origin="rules.toml:1",
    )
    assert (file.rules, file.problems) == ([expected], [])
    assert parsed(rule_text(expected)).rules == [expected]
    assert rule_of(table_of(expected), origin="rules.toml:1") == expected


def test_lists_and_tables_can_be_mixed_and_know_their_lines() -> None:
    text = """\
# mine
deny = [
    "git push",   # never ]
    'npm publish',
]
allow = ["git"]

[[rule]]
decision = "ask"
command = "make"
reason = '''
[[rule]]
decision = "allow"
'''

[[ rule ]] # the last
decision = "deny"
command = "rm -rf"
"""
    assert read(text) == (
        [
            "deny `git push` (rules.toml:3)",
            "deny `npm publish` (rules.toml:4)",
            "allow `git` (rules.toml:6)",
            "ask `make` (rules.toml:8)",
            "deny `rm -rf` (rules.toml:16)",
        ],
        [],
    )


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('decision = "allow"', "the rule has no command"),
        ('command = "git"', "the rule has no decision"),
        ('decision = "permit"\ncommand = "git"', "decision must be one of allow, ask, deny"),
        ('decision = ["allow"]\ncommand = "git"', "decision must be one of allow, ask, deny"),
        ('decision = "allow"\ncommand = 7', "command must be a list of texts"),
        ('decision = "allow"\ncommand = []', "the command is empty; `*` stands for every command"),
        ('decision = "allow"\ncommand = ["git", 7]', "command must be a list of texts"),
        ('decision = "allow"\ncommand = "git"\nexakt = true', "a rule has no 'exakt'; did you mean exact?"),
        ('decision = "allow"\ncommand = "git"\nlayer = 3', "a rule has no 'layer'"),
        ('decision = "allow"\ncommand = "git"\nexact = "yes"', "exact must be true or false"),
        ('decision = "allow"\ncommand = "git"\nflags = "-v"', "flags must be a list of texts"),
        ('decision = "allow"\ncommand = "git"\nexpires = 2030-01-01T00:00:00', "expires must be a time with its zone"),
        ('decision = "allow"\ncommand = "git"\nexpires = "soon"', "expires is not a time"),
        ('decision = "allow"\ncommand = "git"\nexpires = 7', "expires must be a time with its zone"),
        ('decision = "allow"\ncommand = "git"\nlevel = "extreme"', "level must be one of low, medium, high, critical"),
        ('decision = "allow"\ncommand = "git"\nexamples = [" "]', "examples must be at most 20 lines"),
        ('decision = "allow"\ncommand = "git"\nreason = "\\u0000"', "reason must be a text"),
        ('decision = "allow"\ncommand = "git"\nid = "../x"', "the id '../x' may only have"),
        ('decision = "allow"\ncommand = "git', "not valid TOML: "),
        ('decision = "allow"\ncommand = "git"\ncommand = "x"', "not valid TOML: Cannot overwrite a value"),
        ("decision = allow", "not valid TOML: Invalid value"),
        ("= 7", "not valid TOML: "),
        (f"decision = {'[' * 5000}", "not valid TOML: "),
        (f"decision = {'9' * 5000}", "not valid TOML: "),
        ('reason = """', "not valid TOML: "),
    ],
)
def test_an_error_disables_one_rule_and_is_told_with_its_line(body: str, problem: str) -> None:
    text = f'deny = ["rm"]\n\n[[rule]]\n{body}\n\n[[rule]]\ndecision = "ask"\ncommand = "make"\n'
    last = text.count("\n", 0, text.rindex("[[rule]]")) + 1
    rules, problems = read(text)
    assert rules == ["deny `rm` (rules.toml:1)", f"ask `make` (rules.toml:{last})"]
    ((line, told),) = problems
    assert problem in told
    assert 3 <= line < last


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ('allow = "git"', [(1, "allow must be a list of commands")]),
        ('\nallow = ["git", 7]', [(2, "command must be a list of texts")]),
        ('allow = [\n"git",\n"npm *"]', [(3, "`*` stands for every command, alone")]),
        ("rule = 7", [(1, "rules are written as [[rule]]")]),
        ("rule = [{}]", [(1, "rules are written as [[rule]]")]),
        ("[rule]", [(1, "rules are written as [[rule]]")]),
        ("# x\nalow = []", [(2, "there is no 'alow' in a file of rules")]),
        ("[other]\nx = 1", [(1, "there is no 'other' in a file of rules")]),
        ("workspace = '/proj'\nversion = 1", []),
        ('allow = ["git", "git"]', [(1, "another rule before it has the id")]),
        ("", []),
    ],
)
def test_what_is_no_rule_is_told(text: str, problems: list[tuple[int, str]]) -> None:
    found = read(text)[1]
    assert [line for line, _ in found] == [line for line, _ in problems]
    assert all(wanted in told for (_, told), (_, wanted) in zip(found, problems, strict=True))


def test_there_is_an_end_to_rules() -> None:
    file = parsed("allow = [" + ", ".join(f'"p{number}"' for number in range(MAX_RULES + 2)) + "]")
    assert len(file.rules) == MAX_RULES
    assert [each.text for each in file.problems] == [f"there are more than {MAX_RULES} rules"] * 2


@given(st.text())
def test_reading_never_fails(text: str) -> None:
    file = parsed(text)
    lines = text.count("\n") + 1
    assert all(1 <= each.line <= lines for each in file.problems)


pieces = st.sampled_from(
    [
        "[[rule]]\n",
        "decision = 'allow'\n",
        "command = 'git'\n",
        "'''",
        '"""',
        "allow = ['x']\n",
        "[",
        "]",
        "#",
        "\n",
        "= ",
    ]
)


@given(st.lists(pieces, max_size=15).map("".join))
def test_any_pieces_in_any_order_do_no_harm(text: str) -> None:
    for placed in parsed(text).placed:
        assert text.split("\n")[placed.line - 1].strip()
        assert placed.rule.command in (("git",), ("x",))


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(lambda text: "\0" not in text)


@given(texts, st.lists(texts.filter(str.strip), max_size=3))
def test_whatever_is_written_is_read_again(reason: str, examples: list[str]) -> None:
    rule = Rule.checked(Rule(Action.ALLOW, ("git",), reason=reason, examples=tuple(examples), origin="rules.toml:1"))
    file = parsed(rule_text(rule))
    assert (file.rules, file.problems) == ([rule], [])


def test_a_reason_cannot_become_a_rule() -> None:
    evil = 'x"\n[[rule]]\ndecision = "allow"\ncommand = "*"\n#'
    rule = Rule.checked(Rule(Action.DENY, ("git",), reason=evil, origin="rules.toml:1"))
    assert parsed(rule_text(rule)).rules == [rule]


def test_taking_a_rule_out_leaves_the_others_and_their_comments() -> None:
    text = (
        'deny = ["rm"]\n\n# first\n[[rule]]\nid = "a"\ndecision = "allow"\ncommand = "git"\n\n'
        '# second\n[[rule]]\nid = "b"\ndecision = "allow"\ncommand = "npm"\n'
    )
    listed, first, second = parsed(text).placed
    assert without(text, first) == (
        'deny = ["rm"]\n\n# first\n\n# second\n[[rule]]\nid = "b"\ndecision = "allow"\ncommand = "npm"\n'
    )
    assert [rule.id for rule in parsed(without(text, second)).rules] == [listed.rule.id, "a"]
    with pytest.raises(InvalidRule, match=r"stands in a list at rules\.toml:1"):
        without(text, listed)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"examples": ("git push", "git push --dry-run && ls")}, None),
        ({"examples": ("git status", "git pull")}, "the rule does not deny its example 'git status'"),
        ({"counter_examples": ("git pushx", "echo git push")}, None),
        ({"counter_examples": ("ls $(git push)",)}, "the rule would deny its counter-example 'ls $(git push)'"),
    ],
)
def test_examples_of_what_is_denied(values: dict[str, tuple[str, ...]], problem: str | None) -> None:
    rule = Rule.checked(Rule(Action.DENY, ("git", "push"), **values))  # type: ignore[arg-type]
    assert example_problem(rule) == problem


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"examples": ("tool build", "tool build x && ls")}, None),
        ({"examples": ("tool build && other",)}, "the rule does not allow its example 'tool build && other'"),
        ({"examples": ("ls",)}, "the rule does not allow its example 'ls'"),
        ({"examples": ("tool build '",)}, 'the rule does not allow its example "tool build \'"'),
        ({"counter_examples": ("tool build > x", "tool", "ls")}, None),
        ({"counter_examples": ("tool build x",)}, "the rule would allow its counter-example 'tool build x'"),
        ({"paths": "/data", "examples": ("tool build x",), "counter_examples": ("tool build ../x",)}, None),
        ({"cwd": "/proj", "paths": "workspace", "examples": ("tool build x",)}, None),
        ({"expires_at": 1.0, "examples": ("tool build",)}, None),
        ({"shells": ("fish",), "examples": ("tool build (tool build)",)}, None),
    ],
)
def test_examples_of_what_is_allowed(values: dict[str, object], problem: str | None) -> None:
    rule = Rule.checked(Rule(Action.ALLOW, ("tool", "build"), **values))  # type: ignore[arg-type]
    assert example_problem(rule) == problem


def test_examples_of_what_is_asked_about() -> None:
    rule = Rule.checked(Rule(Action.ASK, ("ls",), examples=("ls -l",), counter_examples=("cat x",)))
    assert example_problem(rule) is None


def test_a_problem_is_a_value() -> None:
    assert parsed("allow = 7").problems == [RuleProblem(1, "allow must be a list of commands")]
