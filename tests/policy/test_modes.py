"""What is done about a line: by mode, settings, rules and taint. And which lines taint a terminal."""

import pytest

from hermitty.config import PolicySettings
from hermitty.policy.check import examine
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect
from hermitty.policy.modes import ASK_ALWAYS, NOT_AUTOMATIC, OWN_PLACES, Ask, Plan, Refuse, Run, plan
from hermitty.policy.plain_words import WORDS, in_plain_words
from hermitty.policy.rule import Action, Rule, words_of
from hermitty.policy.rules import RuleSet
from hermitty.policy.taint import taint_of

HERE = Surroundings(cwd="/home/me/work", workspace="/home/me/work", home="/home/me", shell="bash")
RULES = RuleSet(
    [
        Rule.checked(Rule(Action.ALLOW, words_of("tool"))),
        Rule.checked(Rule(Action.DENY, words_of("denied"))),
        Rule.checked(Rule(Action.ASK, words_of("pwd"))),
    ]
)
MODES = ("ask_always", "normal", "trust_workspace", "off")


def planned(line: str, mode: str = "normal", taint: str | None = None, **settings: object) -> Plan:
    decision, judged = examine(line, "bash", HERE)
    chosen = PolicySettings(mode=mode, **settings)  # type: ignore[arg-type]
    return plan(chosen, judged, decision.level, RULES.judge(judged, 0.0), taint)


@pytest.mark.parametrize(
    ("line", "ask_always", "normal", "trust_workspace", "off"),
    [
        ("ls", "ask", "safe", "safe", "mode"),
        ("tool x", "ask", "rule", "rule", "mode"),
        ("tool x && ls", "ask", "rule", "rule", "mode"),
        ("unknown-program", "ask", "ask", "ask", "mode"),
        ("touch x", "ask", "ask", "mode", "mode"),
        ("echo x > y", "ask", "ask", "mode", "mode"),
        ("rm x", "ask", "ask", "mode", "mode"),
        ("touch ../x", "ask", "ask", "ask", "mode"),
        ("touch $x", "ask", "ask", "ask", "mode"),
        ("rm -rf build", "ask", "ask", "ask", "mode"),
        ("echo x > .git/hooks/pre-commit", "ask", "ask", "ask", "mode"),
        ("touch x && unknown-program", "ask", "ask", "ask", "mode"),
        ("sudo touch x", "ask", "ask", "ask", "mode"),
        ("touch x '", "ask", "ask", "ask", "mode"),
        ("alias ls=x", "ask", "ask", "ask", "mode"),
        ("denied", "refuse", "refuse", "refuse", "mode"),
        ("ls; denied", "refuse", "refuse", "refuse", "mode"),
        ("pwd", "ask", "ask", "ask", "mode"),
        ("rm -rf /", "block", "block", "block", "block"),
        ("tool && rm -rf ~", "block", "block", "block", "block"),
    ],
)
def test_every_mode(line: str, ask_always: str, normal: str, trust_workspace: str, off: str) -> None:
    found: list[str] = []
    for mode in MODES:
        match planned(line, mode):
            case Run(how):
                found.append(how)
            case Refuse():
                found.append("refuse")
            case Ask(is_block=is_block):
                found.append("block" if is_block else "ask")
    assert found == [ask_always, normal, trust_workspace, off]


def test_what_is_said_when_a_person_is_asked() -> None:
    assert planned("ls", "ask_always") == Ask(ASK_ALWAYS, only_once=True)
    assert planned("unknown-program") == Ask()
    assert planned("ls", taint="a command ran there") == Ask(
        "names may mean something else in this terminal: a command ran there", only_once=True
    )
    assert planned("pwd") == Ask("a rule asks about it, ask `pwd`", only_once=True)
    assert planned("rm -rf /", "off") == Ask(is_block=True, only_once=True)
    assert planned("denied") == Refuse("a rule denies it, deny `denied`")


@pytest.mark.parametrize("line", ["ls", "tool x", "touch x", "unknown-program"])
@pytest.mark.parametrize("mode", ["ask_always", "normal", "trust_workspace"])
def test_a_tainted_terminal_gets_nothing_without_a_question(line: str, mode: str) -> None:
    assert isinstance(planned(line, mode, taint="x"), Ask)
    assert isinstance(planned(line, mode, taint="x", confirm_dangerous=False), Ask)
    assert isinstance(planned("denied", mode, taint="x"), Refuse)


def test_safe_commands_can_be_asked_about_but_for_what_rules_allow() -> None:
    assert planned("ls", auto_approve_safe=False) == Ask(NOT_AUTOMATIC)
    assert planned("tool x", auto_approve_safe=False) == Run("rule")
    assert planned("tool x && ls", auto_approve_safe=False) == Ask(NOT_AUTOMATIC)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("unknown-program", Run("mode")),
        ("touch /etc/x", Run("mode")),
        ("rm -rf build", Ask()),  # critical
        ("touch x '", Ask()),  # not understood
        ("denied", Refuse("a rule denies it, deny `denied`")),
        ("rm -rf /", Ask(is_block=True, only_once=True)),
    ],
)
def test_only_what_is_critical_or_not_understood_may_be_asked_about(line: str, expected: Plan) -> None:
    assert planned(line, confirm_dangerous=False) == expected


@pytest.mark.parametrize(
    ("line", "is_own"),
    [
        ("touch .state/audit.jsonl", True),
        ("rm -r .state", True),
        ("mv .state x", True),
        ("echo x >> .state/../.state/rules/x", True),
        ("tool x > rules.toml", True),
        ("cat .state/audit.jsonl", False),
        ("touch .states", False),
        ("touch x", False),
    ],
)
def test_what_the_policy_goes_by_is_asked_about_whatever_else_is_allowed(line: str, is_own: bool) -> None:
    decision, judged = examine(line, "bash", HERE)
    settings = PolicySettings(mode="trust_workspace", confirm_dangerous=False)
    everything = RuleSet([Rule.checked(Rule(Action.ALLOW, ()))]).judge(judged, 0.0)
    places = ["/home/me/work/.state", "/home/me/work/rules.toml"]
    chosen = plan(settings, judged, decision.level, everything, own_places=places)
    assert chosen == (Ask(OWN_PLACES, only_once=True) if is_own else Run("rule"))


def test_without_a_workspace_nothing_is_inside_of_it() -> None:
    here = Surroundings("/home/me/work", None, "/home/me", "bash")
    decision, judged = examine("touch x", "bash", here)
    settings = PolicySettings(mode="trust_workspace")
    assert plan(settings, judged, decision.level, RuleSet().judge(judged, 0.0)) == Ask()


@pytest.mark.parametrize(
    "line",
    [
        *("alias ls='rm -rf x'", "ls() { rm x; }", "function cat { rm x; }", "export PATH=/tmp:$PATH", "PATH=/tmp"),
        *("hash -p /tmp/x ls", "trap 'rm x' DEBUG", "shopt -s expand_aliases", "source x", ". ./x", "eval $x"),
        *("enable -f ./x.so ls", "PROMPT_COMMAND=x", "exec bash", "set -o emacs", "ls && alias x=y", "x() { ls; }; x"),
        *("$x", "ls '", "BASH_ENV=x", "command eval $x"),
    ],
)
def test_what_changes_the_meaning_of_names_taints(line: str) -> None:
    why = taint_of(examine(line, "bash", HERE)[1])
    assert why is not None
    assert len(why) < 200


@pytest.mark.parametrize(
    "line", ["ls", "cd src", "x=1; echo $x", "rm x", "npm test", "unknown-program", "bash -c 'rm x'", "(cd x; ls)"]
)
def test_ordinary_work_does_not(line: str) -> None:
    assert taint_of(examine(line, "bash", HERE)[1]) is None


def test_every_effect_has_plain_words() -> None:
    assert set(WORDS) == set(Effect)
    assert in_plain_words(["network", "delete", "delete"]) == ("deletes files", "uses the network")
