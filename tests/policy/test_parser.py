"""Lines of bash, zsh and sh become the trees that those shells read in them, or have problems."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hermitty.policy.parser import parse
from hermitty.policy.sketch import sketch
from hermitty.policy.syntax.commands import Simple, Statement
from hermitty.policy.syntax.tree import walk
from hermitty.policy.syntax.words import Parameter, Substitution

SIMPLE = [
    ("", ""),
    ("  # nothing", ""),
    ("ls -l *.md", "(ls -l <*>.md)"),
    ("ls # comment; rm x", "(ls)"),
    ("echo a#b", "(echo a#b)"),
    ('a=1 b="$x" cmd a=2', '(a=1 b="$x" cmd a=2)'),
    ("a=1", "(a=1)"),
    ("a[1]=x a+=y", "(a[1]=x a+=y)"),
    ("arr=(a 'b c'\n*)", "(arr=(a 'b c' <*>))"),
    ("declare -a y=(1 2)", "(declare -a y=(1 2))"),
    ("\\rm 'it''s' r\"m\"", "('r'm 'it''s' r'm')"),
    ("echo $'a\\x41' $\"loc\"", "(echo 'aA' 'loc')"),
    ("l\\s a\\\nb", "(l's' ab)"),
    ("[ -f x ]", "([ -f x ])"),
    ("echo in done fi }", "(echo in done fi })"),
    ("find . -exec rm {} +", "(find . -exec rm {} +)"),
    ("git show HEAD@{1} --format={{.Name}}", "(git show HEAD@{1} --format={{.Name}})"),
]
WORDS = [
    ('echo "a$x b" $x ${x} "${x}y"', '(echo "a$x b" $x $x "$xy")'),
    ("echo $1 $@ $? $$ $", "(echo $1 $@ $? $$ $)"),
    ("echo ${x:-$(rm -r c)}", "(echo ${x:-$((rm -r c))})"),
    ('echo "${y:-`id`}"', '(echo "${y:-`(id)`}")'),
    ("echo ${x//a/b} ${#x} ${!x} ${x[$i]} ${x@P} ${x:1:2}", "(echo ${x//a|b} ${#x} ${!x} ${x[$i]} ${x@P} ${x:1:2})"),
    ("echo $(ls | wc -l; date)", "(echo $((ls) | (wc -l); (date)))"),
    ("echo `echo \\`id\\``", "(echo `(echo `(id)`)`)"),
    ("echo $(case x in a) b;; esac)", "(echo $((case x a) (b);;)))"),
    ("echo $((1 + 2 * x)) $[3]", "(echo ((1 + 2 * x)) ((3)))"),
    ("echo $((a[$(id)]))", "(echo ((?a[$(id)])))"),
    ("echo $((ls); (date))", "(echo $((subshell (ls)); (subshell (date))))"),
    ("diff <(cut -f1 a) >(cat)", "(diff <((cut -f1 a)) >((cat)))"),
    ("echo {a,b{1,2}}c {1..3} '{a,b}'", "(echo {a|b{1|2}}c {1..3} '{a,b}')"),
    ("{rm,-rf,x}", "({rm|-rf|x})"),
    ("echo ~ ~/x ~root/y a=~/z a~ '~'", "(echo <~> <~>/x <~root>/y a=<~>/z a~ '~')"),
    ("echo @(a|b) a!(x).c [a-z]? *", "(echo <@(a|b)> a<!(x)>.c <[>a-z]<?> <*>)"),
    ('"$(id)" "$x"', '("$((id))" "$x")'),
]
REDIRECTS = [
    ("find src </dev/null -delete", "(find src -delete </dev/null)"),
    (">out ls 2>&1 x", "(ls x >out 2>&1)"),
    ("sort < a -o b", "(sort -o b <a)"),
    ("ls >| a <> b >&2 2>&- &>c &>>d >>e", "(ls >|a <>b >&2 2>&- &>c &>>d >>e)"),
    ("exec {fd}>file 3<&0", "(exec {fd}>file 3<&0)"),
    ("echo 2>a a2>b 2 >c", "(echo a2 2 2>a >b >c)"),
    ('cat <<<"$x" -n', '(cat -n <<<"$x")'),
    ("> f", "(>f)"),
    (
        "cat <<EOF | wc -l; echo done\nhello $USER $(id)\nEOF",
        "(cat <<EOF:'hello $USER $((id))\\n') | (wc -l); (echo done)",
    ),
    ("cat <<'A' <<-B; echo x\na $x\nA\n\tb $y\n\tB\nls", "(cat <<'A':'a $x\\n' <<-B:'b $y\\n'); (echo x); (ls)"),
    ("cat <<\\E\n`id`\nE\n", "(cat <<'E':'`id`\\n')"),
    ("{ ls; } > a 2> b", "(group (ls) >a 2>b)"),
]
LISTS = [
    ("a; b\nc & d", "(a); (b); (c) &; (d)"),
    ("a && b || c", "((a) && (b) || (c))"),
    ("a &&\n\n b", "((a) && (b))"),
    ("a | b |& c", "(a) | (b) |& (c)"),
    ("! a | b", "! (a) | (b)"),
    ("time -p ls", "time (ls)"),
    ("date\nrm -r cache", "(date); (rm -r cache)"),
    ("a \\\n b", "(a b)"),
]
COMPOUNDS = [
    ("(cd x; ls) && { a; }", "((subshell (cd x); (ls)) && (group (a)))"),
    ("if a; then b; elif c; then d; else e; fi", "(if (a) then (b) if (c) then (d) else (e))"),
    ("while read -r x; do echo $x; done < f", "(while (read -r x) do (echo $x) <f)"),
    ("until a\ndo b\ndone", "(until (a) do (b))"),
    ('for f in *.py a; do echo "$f"; done > log', '(for f in <*>.py a do (echo "$f") >log)'),
    ("for f; do a; done", "(for f do (a))"),
    ("for ((i=0;i<3;i++)); do a; done", "(for ((i=0;i<3;i++)) do (a))"),
    ("select x in a b; do c; done", "(select x in a b do (c))"),
    ("case $x in a|b*) c;; (d) e;& *) f; esac", "(case $x a|b<*>) (c);; d) (e);& <*>) (f))"),
    ("[[ -f $a && ( $b == x* || ! $c =~ ^(x|y)+$ ) ]]", "([[ -f<$a> ==<$b x<*>> =~<$c ^(x|y)+$>)"),
    ("[[ $a -eq 1 || $b < c ]] > f", "([[ -eq<$a 1> <<$b c> >f)"),
    ("((i++)); ((a)) && b", "(((i++))); ((((a))) && (b))"),
    (":(){ :|:& };:", "(function :[] (group (:) | (:) &)); (:)"),
    ("function f { a; }; f () ( b )", "(function f[] (group (a))); (function f[] (subshell (b)))"),
    ("coproc x { cat; }; coproc cat y", "(coproc x (group (cat))); (coproc (cat y))"),
]


@pytest.mark.parametrize(("line", "expected"), [*SIMPLE, *WORDS, *REDIRECTS, *LISTS, *COMPOUNDS])
def test_a_line_of_bash(line: str, expected: str) -> None:
    assert sketch(parse(line, "bash")) == expected


@pytest.mark.parametrize(
    "line",
    [
        *(
            "if",
            "if a; then b",
            "fi",
            "a | ",
            "a &&",
            "| a",
            "; a",
            "a ;; b",
            "( a",
            "a )",
            "{ a",
            "echo 'a",
            'echo "a',
        ),
        *("echo $(a", "echo `a", "echo ${x", "echo ${x!y}", "for", "for f in a; b", "case x in a) b", "[[ a", "[[ ]]"),
        *("cat <<E\na", "cat <<E", "ls >", "ls > #a", "a=(b", "f() x", "echo (a)", "echo \\", "echo $((1", "()", "{ }"),
        *("echo $'\\cA'", "echo $'\\q'", "echo {a},b}", "!(a)", "echo a\\\n(b)", "a &\\\n& b", "r\\\nm x", "$\\\n(id)"),
        *("echo ~:", "echo $'a\\", "echo `a\\", '"${x:-it\'s}"', "cat <<E\n\\\nE\nrm x\nE\n", "cat <<E $(\nls)\nE\n"),
    ],
)
def test_what_bash_rejects_or_is_doubtful_is_a_problem(line: str) -> None:
    assert parse(line, "bash").problems


def test_what_was_understood_before_a_problem_is_kept() -> None:
    assert sketch(parse("ls; rm -r x; echo 'a", "bash")) == "(ls); (rm -r x) ! a single quote is not closed"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("print -l *.md(.) **/*(.N)", "(print -l <*>.md<(.)> <*><*>/<*><(.N)>)"),
        ("() { echo $1 } a b", "(function [a b] (group (echo $1)))"),
        ("repeat 3 echo hi", "(repeat 3 do (echo hi))"),
        ("for x (a b) echo $x", "(for x in a b do (echo $x))"),
        ("for x in a; do b; done", "(for x in a do (b))"),
        ("while a; do b; done", "(while (a) do (b))"),
        ("cat =(date)", "(cat =((date)))"),
        ("ls &! a >! b", "(ls) &; (a >!b)"),
        ("echo <1-9> 12>f", "(echo <<1-9>> 12 >f)"),
        ("echo ${(f)x} $x[1]", "(echo ${x(f)} ${x[}<[>1])"),
        ("echo 'a!b' # see above", "(echo 'a!b')"),
    ],
)
def test_a_line_of_zsh(line: str, expected: str) -> None:
    assert sketch(parse(line, "zsh")) == expected


@pytest.mark.parametrize(
    "line",
    [
        *(
            "ls *(e:'rm x':)",
            "ls *(+f)",
            "ls (a|b)",
            "echo =ls",
            "echo !x",
            'echo "!x"',
            "echo ${(e)x}",
            "echo ${${x}}",
        ),
        *("echo $=x", "echo $~x", "{ a } always { b }", "foreach x (a b); c; end", "if [[ a ]] { b }", "{rm,-r,x}"),
        *("ls # a; rm x", "ls # $(rm x)", "case x { a) b;; }", "echo $'\\q'", "echo ${!x}", 'echo $"a"'),
        *('echo ""~+', "echo {=ls,a}", "echo $x=ls", "echo ~'a'", "echo ~:", "{ echo a} && b", "[ a == b ]"),
    ],
)
def test_what_zsh_does_in_its_own_way_is_a_problem(line: str) -> None:
    assert parse(line, "zsh").problems


@pytest.mark.parametrize(
    "line",
    [
        *(
            "echo {a,b}",
            "echo $'a'",
            "[[ a ]]",
            "((1))",
            "a=(b)",
            "a[1]=b",
            "ls &> f",
            "cat <<< a",
            "cat <(ls)",
            "a |& b",
        ),
        *(
            "function f { a; }",
            "time ls",
            "echo ${x//a/b}",
            "echo ${!x}",
            "echo $[1]",
            "exec {fd}>f",
            "select x in a; do b; done",
        ),
    ],
)
def test_what_sh_programs_read_differently_is_a_problem_in_sh(line: str) -> None:
    assert parse(line, "bash").problems == ()
    assert parse(line, "sh").problems
    assert parse(line, "dash").problems


def test_the_usual_lines_are_fine_in_sh() -> None:
    line = 'for f in *.py; do [ -f "$f" ] && echo "${f%.py}" $((1 + 2)) >> out 2>&1; done | sort'
    assert sketch(parse(line, "sh")) == sketch(parse(line, "bash"))


def test_lines_for_other_shells_and_endless_ones_are_not_analysed() -> None:
    assert [problem.reason for problem in parse("dir", "cmd").problems] == ["lines for cmd are not analysed"]
    assert [problem.reason for problem in parse("a" * 100_001, "bash").problems] == ["the line is too long"]


def test_spans_are_those_of_the_source() -> None:
    line = 'x=1 ls "$a" `echo \\`id\\`` | wc > "b c"'
    script = parse(line, "bash")
    assert [line[node.start : node.end] for node in walk(script) if isinstance(node, Statement)] == [
        line,
        "echo \\`id\\`",
        "id",
    ]
    assert [line[node.start : node.end] for node in walk(script) if isinstance(node, Simple)] == [
        'x=1 ls "$a" `echo \\`id\\``',
        "echo \\`id\\`",
        "id",
        'wc > "b c"',
    ]
    assert [line[node.start : node.end] for node in walk(script) if isinstance(node, Parameter)] == ["$a"]
    assert [node.quoted for node in walk(script) if isinstance(node, Substitution)] == [False, False]


VALID = [line for line, _ in (*SIMPLE, *WORDS, *REDIRECTS, *LISTS, *COMPOUNDS)]
INVALID = [
    *("if", "if a; then b", "fi", "a &&", "| a", "; a", "a ;; b", "( a", "a )", "echo 'a", "echo $(a", "for f in a; b"),
    *(
        "case x in a) b",
        "[[ a",
        "ls >",
        "a=(b",
        "f() x",
        "echo (a)",
        "()",
        "{ }",
        "do",
        "while a; done",
        "a | | b",
        "a & & b",
    ),
    *("if a; then fi", "case x in esac esac", "{ a", "((1)", "echo )", "! ; | a"),
]


@pytest.mark.parametrize("lines", [pytest.param(VALID, id="valid"), pytest.param(INVALID, id="invalid")])
def test_bash_accepts_what_we_understand_and_nothing_that_we_do_not(lines: list[str], tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash
    for line in lines:
        checked = subprocess.run(
            [bash, "--noprofile", "--norc", "-n", "-O", "extglob"],
            input=line.encode() + b"\n",
            capture_output=True,
            cwd=tmp_path,
            env={"PATH": "/nonexistent"},
            check=False,
        )
        assert (checked.returncode == 0) == (not parse(line, "bash").problems), line
