"""The one entry: it always answers, whatever it is given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.policy import judge
from hermitty.policy.check import canonical_shell, check, examine
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Level, Verdict
from hermitty.policy.rule import Action, Rule
from hermitty.policy.rules import RuleSet
from hermitty.policy.sanity import MAX_BYTES

from .lines import CORPUS, HERE, decide, labelled

SHELLS = ("bash", "zsh", "sh", "fish", "pwsh")
TOKENS = [
    *"$(){}[]<>|&;`'\"\\\n =*?~!#-/",
    *("rm", "ls", "if", "then", "fi", "for", "in", "do", "done", "case", "esac", "end", "begin", "x", "1"),
    *("$((", "))", "<<", "EOF"),
]
LINES = [str(one.command) for file in CORPUS.glob("*.jsonl") for one in labelled(file) if isinstance(one.command, str)]


@pytest.mark.parametrize("shell", SHELLS)
@given(line=st.text())
def test_any_text_gets_an_answer(shell: str, line: str) -> None:
    assert decide(line, shell).verdict in Verdict


@pytest.mark.parametrize("shell", SHELLS)
@given(line=st.lists(st.sampled_from(TOKENS)).map("".join))
def test_any_mix_of_shell_characters_gets_an_answer(shell: str, line: str) -> None:
    decision = decide(line, shell)
    assert not [reason for reason in decision.reasons if "could not be analysed" in reason]


@given(line=st.sampled_from(LINES), cut=st.integers(0, 200), shell=st.sampled_from(SHELLS))
def test_a_line_cut_anywhere_for_any_shell_gets_an_answer(line: str, cut: int, shell: str) -> None:
    decision = decide(line[:cut], shell)
    assert not [reason for reason in decision.reasons if "could not be analysed" in reason]
    assert decision.parts == tuple(sorted(decision.parts, key=lambda part: (part.start, part.end)))


@given(words=st.lists(st.text()))
def test_any_words_get_an_answer(words: list[str]) -> None:
    assert check(words, "bash", HERE).verdict in Verdict


def test_an_error_inside_is_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(judge.Walker, "body", fail)
    decision, line = examine("ls", "bash", HERE)
    assert decision.decision == "ask"
    assert decision.reasons == ("it could not be analysed (ZeroDivisionError)",)
    assert not line.is_understood


def test_very_deep_and_very_long_lines_are_asked_about() -> None:
    for line in ("( " * 5000 + "ls" + " )" * 5000, "echo " + "$(echo " * 500 + ")" * 500, "a" * (MAX_BYTES + 1)):
        assert decide(line).decision == "ask"
        assert not examine(line, "bash", HERE)[1].is_understood


def test_an_unknown_shell_is_asked_about() -> None:
    assert decide("ls", "tcsh").reasons == ("lines for tcsh are not analysed",)


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("bash", "bash"),
        ("/usr/bin/zsh", "zsh"),
        ("/bin/dash", "sh"),
        ("PowerShell", "pwsh"),
        (r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe", "pwsh"),
        ("pwsh.exe", "pwsh"),
        ("tcsh", "tcsh"),
        ("", ""),
    ],
)
def test_shells_go_by_one_name(given_name: str, name: str) -> None:
    assert canonical_shell(given_name) == name


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ls\x1b[201~", "a control character (U+001B)"),
        ("ls\u00a0-l", "a space that is no ordinary space (NO-BREAK SPACE)"),
        ("ls\u200b", "an invisible character (ZERO WIDTH SPACE)"),
        ("echo \u202egpj", "an invisible character (RIGHT-TO-LEFT OVERRIDE)"),
        ("ls\u2028pwd", "a space that is no ordinary space (LINE SEPARATOR)"),
    ],
)
def test_strange_characters_are_asked_about(line: str, reason: str) -> None:
    assert reason in decide(line).reasons


def test_what_a_terminal_may_make_of_strange_characters_counts() -> None:
    assert decide("ls\rrm -rf /").decision == "block"
    assert decide("rm\u00a0-rf\u00a0/").decision == "block"
    assert decide("r\u200bm -rf /").decision == "block"


def test_where_the_parsers_disagree_a_person_decides() -> None:
    decision = decide("find src </dev/null -newer x")
    assert (decision.decision, decision.level) == ("ask", Level.MEDIUM)
    assert decision.commands == (("find", "src", "-newer", "x"),)


def test_words_are_judged_as_they_are() -> None:
    assert check(["echo", "$(rm x)", ";", "rm"], "bash", HERE).is_allowed
    assert check(["cat", "~/.ssh/id_rsa"], "bash", HERE).decision == "ask"
    assert check(["ls", "*", "|", "sh"], "bash", HERE).commands == (("ls", "*", "|", "sh"),)
    assert check(["env", "rm", "-rf", "x"], "bash", HERE).level is Level.CRITICAL
    assert check(["ls; rm x"], "bash", HERE).decision == "ask"
    assert check([], "bash", HERE).decision == "ask"
    assert check(["echo", "a\u200bb"], "bash", HERE).decision == "ask"
    assert check(["printf", "%s", "two\nlines"], "bash", HERE).is_allowed


def test_variables_of_the_environment_count() -> None:
    def checked(**environment: str) -> tuple[str, tuple[Effect, ...]]:
        decision = check(["ls"], "bash", HERE, environment=environment)
        return decision.decision, decision.effects

    assert checked(LANG="C", FOO="1") == ("allow", ())
    assert checked(LD_PRELOAD="./x.so") == ("ask", (Effect.EXEC,))
    assert checked(PATH=".") == ("ask", (Effect.EXEC,))


def test_without_surroundings_the_worst_is_thought_of() -> None:
    nowhere = Surroundings()
    for line in ("rm -rf ~", "rm -rf $HOME", "cd && rm -rf *", "a=~; rm -rf $a", "rm -rf /"):
        assert decide(line, here=nowhere).decision == "block"
    assert decide("rm -rf build", here=nowhere).decision == "ask"
    assert decide("cat shadow", here=nowhere).decision == "ask"
    assert decide("cat README.md", here=nowhere).is_allowed


def rules(**lists: list[str]) -> RuleSet:
    made = [(Action(name), tuple(words.split())) for name, texts in lists.items() for words in texts]
    return RuleSet(Rule.checked(Rule(action, () if words == ("*",) else words)) for action, words in made)


@pytest.mark.parametrize(
    ("line", "given_rules", "decision"),
    [
        ("git status", rules(allow=["git"], deny=["git push"]), "allow"),
        ("git push", rules(allow=["git"], deny=["git push"]), "block"),
        ("git push --dry-run", rules(allow=["git", "git push --dry-run"], deny=["git push"]), "allow"),
        ("git push", rules(allow=["git push"], deny=["git push"]), "block"),
        ("npm i && echo ok", rules(allow=["npm", "echo"]), "allow"),
        ("npm i && ./other", rules(allow=["npm", "echo"]), "ask"),
        ("npm i $(npm test)", rules(allow=["npm"], deny=["npm test"]), "block"),
        ("npm i `npm test`", rules(allow=["npm"], deny=["npm test"]), "block"),
        ("npm i <(npm test)", rules(allow=["npm"], deny=["npm test"]), "block"),
        ("sh -c 'npm test'", rules(deny=["npm test"]), "block"),
        ("env A=1 npm test", rules(deny=["npm test"]), "block"),
        ("x=npm; $x test", rules(deny=["npm test"]), "block"),
        ("echo ${v@P}", rules(allow=["echo"]), "ask"),
        ("echo ${!v}", rules(allow=["echo"]), "ask"),
        ("touch a; rm -rf x", rules(allow=["*"], deny=["rm -rf"]), "block"),
        ("touch a; rm -r x", rules(allow=["*"], deny=["rm -rf"]), "allow"),
        ("rmdir x", rules(deny=["rm"]), "ask"),
        ("/bin/rm x", rules(deny=["rm"]), "block"),
        ("npm ls > f", rules(allow=["npm"]), "ask"),
        ("npm i 2>&1 >/dev/null", rules(allow=["npm"]), "allow"),
        ("rm -rf /", rules(allow=["*"]), "block"),
        ("ls", rules(ask=["ls"]), "ask"),
        ("node -e '[1].map((x) => x)'", rules(allow=["node"]), "allow"),
    ],
)
def test_rules_are_asked_about_every_command(line: str, given_rules: RuleSet, decision: str) -> None:
    assert check(line, "bash", HERE, rules=given_rules).decision == decision


@pytest.mark.parametrize("line", ["ls =(x)", "ls *(e:x:)"])
def test_no_rule_allows_what_zsh_runs_for_a_word(line: str) -> None:
    assert check(line, "zsh", HERE, rules=rules(allow=["ls"])).decision == "ask"


@pytest.mark.parametrize(
    ("line", "shell", "decision"),
    [
        ("files=(a b)", "bash", "allow"),
        ("ls =(x)", "zsh", "ask"),
        ("ls *(e:x:)", "zsh", "ask"),
        ("cat <<< $(rm x)", "bash", "ask"),
        ("echo 'a\nb'", "bash", "allow"),
        ("echo a\nrm b", "bash", "ask"),
    ],
)
def test_other_promises_of_the_policy(line: str, shell: str, decision: str) -> None:
    assert decide(line, shell).decision == decision
