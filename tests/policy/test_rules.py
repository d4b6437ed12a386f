"""What rules say about lines: never about their text, always about every command in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import InvalidRule
from hermitty.policy.check import examine
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Level
from hermitty.policy.rule import ANYTHING, WORKSPACE, Action, Layer, Rule, words_of
from hermitty.policy.rules import RuleSet, Ruling, Says

HERE = Surroundings(cwd="/home/me/work", workspace="/home/me/work", home="/home/me", shell="bash")


def rule(decision: str, command: str, **more: object) -> Rule:
    return Rule.checked(Rule(Action(decision), words_of(command), **more))  # type: ignore[arg-type]


def rules(allow: str = "", ask: str = "", deny: str = "") -> RuleSet:
    """Rules from lists of commands, separated by commas."""
    given = {"allow": allow, "ask": ask, "deny": deny}
    return RuleSet(rule(name, each.strip()) for name, text in given.items() for each in text.split(",") if each.strip())


def ruling(known: RuleSet, line: str | list[str], here: Surroundings = HERE, now: float = 0.0) -> Ruling:
    return known.judge(examine(line, here.shell, here)[1], now)


def says(known: RuleSet, line: str | list[str], here: Surroundings = HERE, now: float = 0.0) -> str:
    return ruling(known, line, here, now).says.value


GIT = rules(allow="git", deny="git push")
DRY = rules(allow="git, git push --dry-run", deny="git push")
EVERYTHING = rules(allow="*", deny="rm -rf")


@pytest.mark.parametrize(
    ("known", "line", "expected"),
    [
        # The longest rule counts; of equally long ones the strictest.
        (GIT, "git status", "allow"),
        (GIT, "git commit -m x", "allow"),
        (GIT, "git push", "deny"),
        (GIT, "git push origin main", "deny"),
        (DRY, "git push --dry-run", "allow"),
        (DRY, "git push --dry-run origin main", "allow"),
        (DRY, "git push", "deny"),
        (DRY, "git push origin --dry-run", "deny"),
        (DRY, "git push --dry-run --no-dry-run", "deny"),
        (DRY, "git push --dry-run $more", "deny"),
        (rules(allow="git push", deny="git push"), "git push", "deny"),
        (rules(ask="git push", allow="git push"), "git push", "ask"),
        (rules(ask="git push", deny="git push"), "git push", "deny"),
        # Every command of the line counts.
        (rules(allow="npm, echo"), "npm i && echo ok", "allow"),
        (rules(allow="npm, echo"), "npm i && other", "ask"),
        (rules(allow="npm"), "npm i && ls", "allow"),
        (rules(allow="npm", deny="other"), "npm i && other", "deny"),
        (rules(allow="npm", deny="npm test"), "npm i $(npm test)", "deny"),
        (rules(allow="npm", deny="npm test"), "npm i `npm test`", "deny"),
        (rules(allow="npm", deny="npm test"), "npm i <(npm test)", "deny"),
        (rules(allow="npm", deny="npm test"), "for x in 1 2; do npm test; done", "deny"),
        (rules(allow="npm", deny="npm test"), "f() { npm test; }; f", "deny"),
        (rules(allow="npm", deny="npm test"), "npm i $(npm ci)", "allow"),
        (rules(allow="npm"), "npm i $(other)", "ask"),
        # What could not be analysed is asked about, whatever is allowed.
        (rules(allow="echo"), "echo ${v@P}", "ask"),
        (rules(allow="echo"), "echo ${!v}", "ask"),
        (rules(allow="cat"), "cat <<< $(other)", "ask"),
        (rules(allow="*"), "echo ${v@P}", "ask"),
        (rules(allow="*"), "npm i '", "ask"),
        (rules(allow="*"), "npm i \x1b", "ask"),
        # Everything but one thing.
        (EVERYTHING, "npm i", "allow"),
        (EVERYTHING, "other > file", "allow"),
        (EVERYTHING, "rm -r x", "allow"),
        (EVERYTHING, "PATH=x; other", "allow"),
        (EVERYTHING, "rm -rf x", "deny"),
        (EVERYTHING, "rm -fr x", "deny"),
        (EVERYTHING, "rm -r -f x", "deny"),
        (EVERYTHING, "rm x --force --recursive", "deny"),
        (EVERYTHING, "rm --recurs -f x", "deny"),
        (EVERYTHING, "rm -R -vf x", "deny"),
        (EVERYTHING, "rm -r -- -f", "allow"),
        (EVERYTHING, "sudo rm -rf x", "deny"),
        (EVERYTHING, "sh -c 'rm -rf x'", "deny"),
        (EVERYTHING, "find . -exec rm -rf {} +", "deny"),
        (EVERYTHING, "rm $options x", "ask"),
        (EVERYTHING, "$program -rf x", "ask"),
        # A program is its name, not a beginning of it, wherever it is.
        (rules(deny="rm"), "rm x", "deny"),
        (rules(deny="rm"), "/bin/rm x", "deny"),
        (rules(deny="rm"), "./rm x", "deny"),
        (rules(deny="rm"), "\\rm x", "deny"),
        (rules(deny="rm"), "r''m x", "deny"),
        (rules(deny="rm"), "xargs rm", "deny"),
        (rules(deny="rm"), "rmdir x", "ask"),
        (rules(deny="rm"), "echo rm", "allow"),
        (rules(allow="npm"), "/usr/bin/npm i", "allow"),
        (rules(allow="npm"), "/tmp/npm i", "ask"),
        (rules(allow="npm"), "./npm i", "ask"),
        (rules(allow="npm"), "npmx i", "ask"),
        # Redirections are not what the program does.
        (rules(allow="cat"), "cat x > y", "ask"),
        (rules(allow="cat"), "cat x 2>&1", "allow"),
        (rules(allow="cat"), "cat x > /dev/null", "allow"),
        (rules(allow="npm"), "npm i > y", "ask"),
        # A sub-command stands behind the program's own options.
        (GIT, "git -C dir push", "deny"),
        (GIT, "git --git-dir x --no-pager push", "deny"),
        (GIT, "git log push", "allow"),
        (GIT, "git commit -m push", "allow"),
        (GIT, "git $x", "ask"),
        (rules(allow="other", deny="other run"), "other --flag run", "deny"),
        (rules(allow="other", deny="other run"), "other --flag value run", "deny"),
        # Wrappers are commands, and so is what they run.
        (rules(allow="npm"), "env X=1 npm i", "allow"),
        (rules(allow="npm"), "timeout 5 npm i", "allow"),
        (rules(allow="npm"), "sudo npm i", "ask"),
        (rules(allow="sudo"), "sudo npm i", "ask"),
        (rules(allow="sudo, npm"), "sudo npm i", "allow"),
        (rules(allow="sudo npm i"), "sudo npm i", "allow"),
        (rules(allow="sudo npm i"), "sudo npm publish", "ask"),
        (rules(allow="npm"), "LD_PRELOAD=x npm i", "ask"),
        (rules(ask="ls"), "ls", "ask"),
        (rules(deny="ls"), "cat $(ls)", "deny"),
        # Nothing is said without rules.
        (RuleSet(), "ls", "allow"),
        (RuleSet(), "npm i", "ask"),
    ],
)
def test_a_line_is_ruled_by_all_of_its_commands(known: RuleSet, line: str, expected: str) -> None:
    assert says(known, line) == expected


@pytest.mark.parametrize("line", ["rm -rf /", "rm -rf ~", "dd if=x of=/dev/sda", ":(){ :|:& };:", "rm -rf / && ls"])
def test_no_rule_lifts_a_block(line: str) -> None:
    every = RuleSet([rule("allow", "*"), rule("allow", "rm"), rule("allow", "rm -rf"), rule("allow", "dd")])
    assert says(every, line) == "block"


def test_what_is_denied_and_blocked_is_denied() -> None:
    assert says(EVERYTHING, "rm -rf /") == "deny"


def test_the_most_specific_rule_explains() -> None:
    user = rule("deny", "git push", reason="ask Ann", layer=Layer.USER, origin="rules.toml:3")
    known = RuleSet([rule("deny", "git"), user, rule("allow", "git push")])
    found = ruling(known, "ls; git push")
    assert (found.says, found.rule) == (Says.DENY, user)
    assert found.reason == "a rule denies it, deny `git push` (rules.toml:3): ask Ann"


def test_of_rules_that_say_the_same_the_later_layer_explains() -> None:
    layers = [rule("deny", "npm", layer=layer, id=f"r_{layer.label}") for layer in Layer]
    for known in (RuleSet(layers), RuleSet(reversed(layers))):
        found = ruling(known, "npm i").rule
        assert found is not None
        assert found.layer is Layer.SESSION


def test_a_later_layer_does_not_lift_what_an_earlier_one_denies() -> None:
    known = RuleSet([rule("deny", "npm", layer=Layer.BUILT_IN), rule("allow", "npm", layer=Layer.SESSION)])
    assert says(known, "npm i") == "deny"


def test_a_ruling_tells_which_rules_allowed_and_whether_all_was_allowed_by_rules() -> None:
    npm, ls = rule("allow", "npm"), rule("allow", "ls")
    assert ruling(RuleSet([npm]), "npm i && ls") == Ruling(Says.ALLOW, npm, allowed_by=(npm,), is_complete=False)
    assert ruling(RuleSet([npm, ls]), "npm i && ls").is_complete
    assert ruling(RuleSet([ls]), "echo") == Ruling(Says.ALLOW)


@pytest.mark.parametrize(
    ("limits", "line", "expected"),
    [
        ({"exact": True}, "tool build", "allow"),
        ({"exact": True}, "tool build x", "ask"),
        ({"exact": True}, "'tool' bu\\ild", "allow"),
        ({"flags": ()}, "tool build x", "allow"),
        ({"flags": ()}, "tool build -v", "ask"),
        ({"flags": ()}, "tool build $x", "ask"),
        ({"flags": ()}, "tool build ./$x", "ask"),
        ({"flags": ()}, 'tool build "./$x"', "allow"),
        ({"flags": ()}, "tool build *", "ask"),
        ({"flags": ()}, "tool build -- -v", "allow"),
        ({"flags": ("-v", "-q")}, "tool build -vq x -v", "allow"),
        ({"flags": ("-v", "-q")}, "tool build -vx", "ask"),
        ({"flags": ("--out",)}, "tool build --out=x", "allow"),
        ({"flags": ("--out",)}, "tool build --ou=x", "ask"),
        ({"paths": WORKSPACE}, "tool build src/a", "allow"),
        ({"paths": WORKSPACE}, "tool build src/*", "allow"),
        ({"paths": WORKSPACE}, "tool build ../a", "ask"),
        ({"paths": WORKSPACE}, "tool build src/../../a", "ask"),
        ({"paths": WORKSPACE}, "tool build /etc/passwd", "ask"),
        ({"paths": WORKSPACE}, "tool build ~/a", "ask"),
        ({"paths": WORKSPACE}, "tool build ~/work/a", "allow"),
        ({"paths": WORKSPACE}, "tool build --out=/etc/x", "ask"),
        ({"paths": WORKSPACE}, "tool build -o/etc/x", "ask"),
        ({"paths": WORKSPACE}, "tool build $x", "ask"),
        ({"paths": WORKSPACE}, "tool build ../*", "ask"),
        ({"paths": WORKSPACE}, "cd .. && tool build a", "ask"),
        ({"paths": WORKSPACE}, "cd $x && tool build a", "ask"),
        ({"paths": WORKSPACE}, "cd src && tool build a", "allow"),
        ({"paths": "/home/me/work/src"}, "cd src && tool build a", "allow"),
        ({"paths": "/home/me/work/src"}, "tool build a", "ask"),
        ({"cwd": "/home/me/work/src"}, "cd src/deep && tool build", "allow"),
        ({"cwd": "/home/me/work/src"}, "tool build", "ask"),
        ({"cwd": "/home/me/work/src"}, "cd srcs && tool build", "ask"),
        ({"cwd": "/home/me/work/src"}, "cd $x && tool build", "ask"),
        ({"shells": ("zsh",)}, "tool build", "ask"),
        ({"shells": ("zsh", "bash")}, "tool build", "allow"),
        ({"level": Level.LOW}, "tool build", "ask"),
        ({"level": Level.MEDIUM}, "tool build", "allow"),
        ({"writes": True}, "tool build > x", "allow"),
        ({"writes": True}, "tool build > x 2> /etc/x", "allow"),
        ({"writes": True, "paths": WORKSPACE}, "tool build > ../x", "ask"),
        ({"writes": True, "paths": WORKSPACE}, "tool build > x 2>> y", "allow"),
        ({"writes": True, "paths": WORKSPACE}, "tool build > $x", "ask"),
        ({"writes": True, "level": Level.MEDIUM}, "tool build > /etc/x", "ask"),
        ({"writes": True}, "tool build; echo x > y", "ask"),
        ({"writes": True}, "{ echo evil; tool build; } > y", "ask"),
        ({"writes": True}, "{ tool build; tool build x; } > y", "allow"),
        ({"writes": True}, "env tool build > y", "allow"),
        ({"writes": True}, "tool build > /dev/sda", "block"),
    ],
)
def test_an_allow_rule_keeps_to_its_limits(limits: dict[str, object], line: str, expected: str) -> None:
    assert says(RuleSet([rule("allow", "tool build", **limits)]), line) == expected


@pytest.mark.parametrize(
    ("limits", "line", "expected"),
    [
        ({"paths": "/etc"}, "tool /etc/x", "deny"),
        ({"paths": "/etc"}, "tool ../../../etc/x", "deny"),
        ({"paths": "/etc"}, "tool x", "allow"),
        ({"paths": "/etc"}, "tool $x", "ask"),
        ({"cwd": "/home/me/work/src"}, "tool", "allow"),
        ({"cwd": "/home/me/work/src"}, "cd src && tool", "deny"),
        ({"cwd": "/home/me/work/src"}, "cd $x && tool", "ask"),
        ({"exact": True}, "tool", "deny"),
        ({"exact": True}, "tool x", "allow"),
        ({"exact": True}, "tool $x", "ask"),
        ({"shells": ("zsh",)}, "tool", "allow"),
    ],
)
def test_a_deny_rule_with_limits_asks_where_it_cannot_know(limits: dict[str, object], line: str, expected: str) -> None:
    known = RuleSet([rule("allow", "*"), rule("deny", "tool", **limits)])
    assert says(known, line) == expected


def test_a_program_of_a_directory_is_another_one_elsewhere() -> None:
    known = RuleSet([rule("allow", "./run", cwd="/home/me/work")])
    assert says(known, "./run x") == "allow"
    assert says(known, "/home/me/work/run x") == "allow"
    assert says(known, "cd src && ./run x") == "ask"
    assert says(known, "cd src && ../run x") == "allow"
    # Without a directory it is not known which one is meant.
    assert says(RuleSet([rule("allow", "./run")]), "./run") == "ask"
    assert says(RuleSet([rule("allow", "*"), rule("deny", "./run")]), "./run") == "deny"


def test_an_expired_rule_says_nothing() -> None:
    known = RuleSet([rule("allow", "npm", expires_at=100.0)])
    assert says(known, "npm i", now=99.9) == "allow"
    assert says(known, "npm i", now=100.0) == "ask"


def test_a_program_with_its_arguments_is_judged_as_exactly_that() -> None:
    assert says(rules(deny="rm"), ["env", "rm", "-rf", "x"]) == "deny"
    assert says(rules(allow="tool"), ["tool", "$(other)", "; rm x", "> y"]) == "allow"
    assert says(rules(allow="tool x"), ["tool x"]) == "ask"


def test_names_are_compared_as_the_shell_does() -> None:
    pwsh = Surroundings("/w", "/w", "/home/me", "pwsh")
    assert says(rules(deny="git push"), "GIT.exe push", pwsh) == "deny"
    assert says(rules(deny="git push"), "GIT push") == "ask"


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"id": "a b"}, "may only have letters"),
        ({"command": ("", "x")}, "starts with a program"),
        ({"command": ("-x",)}, "starts with a program"),
        ({"command": ("git", "pu\u202esh")}, "an invisible character"),
        ({"command": ("x",) * 65}, "more than 64 words"),
        ({"exact": True, "command": ()}, "an exact rule has a command"),
        ({"exact": True, "flags": ()}, "an exact rule has a command"),
        ({"flags": ("v",)}, "is not an option"),
        ({"flags": ("--a=b",)}, "is not an option"),
        ({"paths": "src"}, "absolute directory"),
        ({"cwd": "src"}, "absolute directory"),
        ({"shells": ("tcsh",)}, "there is no shell 'tcsh'"),
        ({"reason": "x" * 5000}, "longer than"),
        ({"decision": Action.DENY, "flags": ()}, "limit what is allowed"),
        ({"decision": Action.ASK, "writes": True}, "limit what is allowed"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(values: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidRule, match=problem):
        Rule.checked(Rule(**{"decision": Action.ALLOW, "command": ("git",), **values}))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["git 'push'", "npm run *", "a; b", "a && b", "$x", "*x", "", "  "])
def test_a_pattern_is_words_and_nothing_else(text: str) -> None:
    with pytest.raises(InvalidRule):
        words_of(text)


def test_the_same_rule_has_the_same_id_and_another_one_another() -> None:
    assert rule("allow", "git push").id == rule("allow", "git  push").id
    others = {rule("allow", "git").id, rule("deny", "git").id, rule("allow", "git", paths=WORKSPACE).id}
    assert len(others) == 3
    assert rule("allow", "git", paths=ANYTHING).id in others


words = st.sampled_from(
    [
        "npm",
        "i",
        "rm",
        "-rf",
        "&&",
        ";",
        "|",
        "$(",
        ")",
        "`",
        ">",
        "x",
        "'",
        '"',
        "$x",
        "(",
        "{",
        "}",
        "\n",
        "sudo",
        "--",
    ]
)


@given(st.lists(words, max_size=12).map(" ".join))
def test_rules_never_fail_and_never_allow_what_they_deny(line: str) -> None:
    known = rules(allow="*", deny="rm")
    found = ruling(known, line)
    names = [command.argv[0].text for command in examine(line, "bash", HERE)[1].commands if command.argv]
    if "rm" in names or None in names:
        assert found.says is not Says.ALLOW


@given(st.lists(words, max_size=12).map(" ".join))
def test_more_deny_rules_never_allow_more(line: str) -> None:
    strictness = ["allow", "ask", "block", "deny"]
    few, many = rules(allow="npm"), rules(allow="npm", deny="npm i, rm", ask="x")
    assert strictness.index(says(many, line)) >= strictness.index(says(few, line))
