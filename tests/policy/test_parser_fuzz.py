"""Whatever the line, parsing never raises, takes steps in proportion to its length, and stays inside of it."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermitty.policy import sanity
from hermitty.policy.arguments import Arg
from hermitty.policy.evaluate import expand, value
from hermitty.policy.parser import parse
from hermitty.policy.posix_parser import scan
from hermitty.policy.second_opinion import disagreement
from hermitty.policy.sketch import sketch
from hermitty.policy.syntax.script import Script
from hermitty.policy.syntax.tree import walk
from hermitty.policy.syntax.words import Word

SHELLS = ("bash", "zsh", "sh", "fish", "pwsh")
SEEDS = (
    'for f in *.py; do echo "$f" | wc -l >> out; done',
    "if [[ -f $a && $b =~ ^(x|y)+$ ]]; then echo a; elif true; then b; else c; fi",
    "cat <<EOF <<-'B' | sort; echo $(date)\nhello ${x:-`id`}\nEOF\n\tb\n\tB\nls",
    "case $x in a|b) echo 1;; *) echo 2;& esac; f() { (( i++ )); }; coproc x { cat; }",
    'echo {a,b{1..3}}c ${x//a/"b"} ${#x} ${!x} ${a[$i]} $\'a\\n\' $"x" $((1+$(id))) <(ls) @(a|b) ~/x',
    "a=1 b[2]=3 c+=(d e) exec {fd}>&1 2>&- <<<word &>f || ! time ls & wait",
    "print -l *(.) =(ls) ${(f)x} $x[1]; repeat 3 echo; () { ls } a; for x (a b) echo",
    'set -l x (pwd)[1]; if test $x; echo "$x(ls)"; else if a; b; end; end | cat 2>/dev/null &',
    'Get-ChildItem src | Where-Object { $_.Length -gt 10 } | Select-Object -Last 3; $x = "a$(ls)b"',
)
ALPHABET = "ab1 \t\n|&;()<>{}[]$`'\"\\*?~!#=,.:@%^+-/_\u00e9"
TOKENS = [
    *(
        "if",
        "then",
        "fi",
        "do",
        "done",
        "case",
        "esac",
        "in",
        "for",
        "while",
        "function",
        "coproc",
        "select",
        "time",
        "end",
    ),
    *("$(", "$((", "))", "${", "<<E\n", "<<", "[[", "]]", "<(", "&&", "||", ";;", "\\\n", "$'", '$"', "{a,", "begin"),
    *ALPHABET,
]


def check(line: str, shell: str) -> Script:
    script = parse(line, shell)
    assert (script.start, script.end) == (0, len(line))
    for node in (*walk(script), *script.problems):
        assert 0 <= node.start <= node.end <= len(line), node
        if isinstance(node, Word):
            assert all(isinstance(arg, Arg) for arg in [*expand(node, {"a": "b c"}, shell=shell), value(node, {})])
    assert isinstance(sketch(script), str)
    return script


@pytest.mark.parametrize("shell", SHELLS)
@given(pieces=st.lists(st.sampled_from(TOKENS), max_size=40))
@settings(max_examples=300)
def test_any_tokens_give_a_tree_inside_the_line(pieces: list[str], shell: str) -> None:
    check("".join(pieces), shell)


@pytest.mark.parametrize("shell", SHELLS)
@given(line=st.text(max_size=30))
def test_any_text_gives_a_tree_inside_the_line(line: str, shell: str) -> None:
    check(line, shell)
    sanity.problems(line)
    assert sanity.problems(sanity.visible(line)) == [] or not line.isascii()


@pytest.mark.parametrize("seed", SEEDS)
def test_lines_with_something_changed_give_a_tree(seed: str) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        line = list(seed)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(line))
            line[at : at + chance.choice((0, 1, 1, 5))] = chance.choice(TOKENS)
        for shell in ("bash", chance.choice(SHELLS)):
            check("".join(line), shell)


@given(pieces=st.lists(st.sampled_from(TOKENS), max_size=30))
@settings(max_examples=200)
def test_the_second_opinion_never_raises(pieces: list[str]) -> None:
    line = "".join(pieces)
    assert isinstance(disagreement(line, parse(line, "bash")), str | None)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_line_cut_anywhere_gives_a_tree(seed: str) -> None:
    for at in range(len(seed)):
        for shell in SHELLS:
            check(seed[:at], shell)


REPEATED = [
    *TOKENS,
    *(
        "$((a",
        "a[",
        "a[1]=",
        "{",
        "{a,",
        "},",
        "~",
        ":~",
        "a=~",
        "$x",
        "`",
        "\\`",
        '"$(',
        "\\",
        "'a'",
        "echo a;",
        "<<E\n",
    ),
    *(
        "<<a ",
        "@(",
        "((",
        "(",
        "${x:-",
        "a b\n",
        "a|",
        "&&a ",
        "!",
        "! ",
        "#",
        "# a\n",
        "[[ a ",
        "a=(",
        "x() ",
        "case a in ",
        "$[",
        ">f ",
    ),
]


@pytest.mark.parametrize("shell", ["bash", "zsh", "sh"])
def test_work_is_proportional_to_the_length(shell: str) -> None:
    for token in REPEATED:
        line = "echo " + token * (20_000 // len(token))
        script, steps = scan(line, shell)
        assert isinstance(script, Script)
        assert steps < 100 * len(line), (token, steps)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("opening", ["(", "$(", "{ ", '"$(', "${x:-", "if a; then ", "<(", "[[ ( ", "${x[${"])
def test_deep_nesting_is_a_problem(opening: str, shell: str) -> None:
    assert check("echo " * (opening[0] in '$"<') + opening * 500, shell).problems
