"""tree-sitter agrees about ordinary lines, and what it reads in another way is told."""

import pytest

from hermitty.policy.parser import parse
from hermitty.policy.second_opinion import disagreement

ORDINARY = [
    "",
    "ls -lt docs # newest first",
    "git log -3 --stat",
    "cat a.log | grep WARN | wc -l",
    "cd lib && ls | head -3 || echo none",
    'echo "$(uname -s) $(uname -m)" `date`',
    'for n in a b; do echo "$n"; done',
    'while read -r line; do echo "${line%%:*}"; done < /etc/passwd',
    "until false; do break; done",
    "ls nope 2>/dev/null || echo none",
    "diff <(cut -f1 a.tsv) <(cut -f1 b.tsv)",
    "find . -name '*.py' -not -path './x/*' -exec wc -l {} +",
    "cat <<EOF\nhello $USER $(date)\nEOF\n",
    "cat <<'EOF' > out.txt\n$(not run)\nEOF\nls",
    "cat <<-EOF | sort\n\tb\n\ta\n\tEOF\n",
    "if [[ -f $a && $b == x* ]]; then echo a; elif [ -d b ]; then ls; else echo c; fi",
    "case $x in a|b) echo 1;; *) echo 2;; esac",
    "echo $((1 + 2 * x)); ((i++)); for ((i=0; i<3; i++)); do echo $i; done",
    'a=(1 2 3); echo ${a[1]} "${a[@]}" ${#a[@]}',
    "x=1 y=$(date) make -n",
    "export PATH=./bin:$PATH; unset x; declare -a y=(1 2)",
    "f() { ls; }; f",
    "! grep -q x y; time ls -l; time -p ls",
    "{ ls; pwd; } > a 2>&1 &",
    "(cd x; ls)",
    "test ! -f a && [ a = b ]",
    'echo caf\u00e9 "\u00fc" | wc -c; ls \u00e9',
    "a \\\n  b",
    "grep -in \"timeout\" config.yaml && sed -n '1,5p' f",
    "echo $'a\\n' {1..3} {a,b}.txt ~/x \\$y $",
    'wc -l <<< "$x"',
    "jq -r '.[] | .name' a.json > /dev/null",
    "git show HEAD@{1}:a --format='%h %s'",
    "echo ${x:-a} ${x##*/} ${x//a/b} ${x:1:2} ${#x}",
]


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_lines_raise_no_alarm(line: str) -> None:
    script = parse(line, "bash")
    assert script.problems == ()
    assert disagreement(line, script) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("find src </dev/null -delete", "the second parser finds several targets of a redirection"),
        ("sort < a -o b", "the second parser finds several targets of a redirection"),
        ("ls <> a", "the second parser does not understand the line"),
        ("{rm,-rf,x}", "the second parser does not understand the line"),
        ("cat <<E; rm x\na\nE\n", "the second parser does not understand the line"),
        ("exec {fd}>file", "the second parser finds other arguments"),
        ('echo "${y:-`id`}"', "the second parser finds other commands"),
    ],
)
def test_where_it_reads_something_else_that_is_told(line: str, expected: str) -> None:
    script = parse(line, "bash")
    assert script.problems == ()
    assert disagreement(line, script) == expected


def test_a_tree_that_lacks_a_command_or_an_argument_is_noticed() -> None:
    assert disagreement("ls; rm x", parse("ls       ", "bash")) == "the second parser finds other commands"
    assert disagreement("ls a b", parse("ls a  ", "bash")) == "the second parser finds other arguments"


def test_there_is_none_for_other_shells_or_lines_with_problems() -> None:
    assert disagreement("ls <> a", parse("ls <> a", "zsh")) is None
    assert disagreement("ls 'a", parse("ls 'a", "bash")) is None
