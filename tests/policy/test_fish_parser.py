"""Lines of fish become the trees that fish reads in them, or have problems."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hermitty.policy.evaluate import expand
from hermitty.policy.parser import parse
from hermitty.policy.sketch import sketch
from hermitty.policy.syntax.commands import Simple

LINES = [
    ("", ""),
    ("ls -l # all", "(ls -l)"),
    ("echo (pwd)", "(echo ((pwd)))"),
    ("echo (rm -r cache)", "(echo ((rm -r cache)))"),
    ('echo "a$x $(ls; date)" (pwd)[1]', '(echo "a$x $((ls); (date))" ((pwd)))'),
    ("echo $x $x[1..2] $x[$i]", "(echo $x ${x[1..2]} ${x[$i]})"),
    ("echo 'a\\'b' \\$x \"(not run)\" a\\ b", "(echo 'a'b' '$'x '(not run)' a' 'b)"),
    ("ls *.py ~/x ~root a~ {a,b}c {a} {}", "(ls <*>.py <~>/x <~root> a~ {a|b}c {a} {})"),
    ("a; b & c\nd", "(a); (b) &; (c); (d)"),
    ("a | b && c || d", "((a) | (b) && (c) || (d))"),
    ("a; and b; or not c; ! d", "(a); (b); ! (c); ! (d)"),
    ("A=1 B= ls x=2", "(A=1 B= ls x=2)"),
    ("ls > a 2>&1 >> b < c &> d x", "(ls x >a 2>&1 >>b <c &>d)"),
    ("if a; b; else if c; d; else; e; end", "(if (a) then (b) if (c) then (d) else (e))"),
    ("if a; and b; c; end > f", "(if (a) then (b); (c) >f)"),
    ("while a; b; end", "(while (a) do (b))"),
    ("for f in *.py b; echo $f; end | wc", "(for f in <*>.py b do (echo $f)) | (wc)"),
    ("begin; a; b; end > f", "(group (a); (b) >f)"),
    ("switch $x; case a 'b*'; c; case '*'; d; end", "(case $x a|'b*') (c) '*') (d))"),
    ("function f --description 'x'; a; end; f", "(function f[--description 'x'] (group (a))); (f)"),
    ("set -l x (date)", "(set -l x ((date)))"),
    ("time ls", "time (ls)"),
    ("a \\\n b", "(a b)"),
]


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_a_line_of_fish(line: str, expected: str) -> None:
    assert sketch(parse(line, "fish")) == expected


@pytest.mark.parametrize(
    "line",
    [
        *(
            "end",
            "if a; b",
            "echo (a",
            "echo 'a",
            'echo "a',
            "for x a; b; end",
            "a |",
            "| a",
            "a &&",
            "else",
            "begin a",
        ),
        *(
            "echo $",
            "echo $$x",
            "echo \\cA",
            "echo \\xff",
            "echo \\",
            "echo {a",
            "echo {a, b}",
            "{ a; }",
            "(a) b",
            "ls 2>| a",
        ),
        *("echo a&b", "echo }{", "echo {a,b}{c,d}", "function $x; a; end", "r\\\nm x", "echo )", "ls >", "A=1"),
    ],
)
def test_what_fish_rejects_or_is_doubtful_is_a_problem(line: str) -> None:
    assert parse(line, "fish").problems


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("a'b c'\"d\"", ["ab cd"]),
        ("\\x41\\101\\n\\u00e9", ["AA\n\u00e9"]),
        ("{a,b}c", ["ac", "bc"]),
        ("{1..3}", ["{1..3}"]),
        ("$x", [None]),
        ("a(b)", [None]),
        ("*", [None]),
        ("~/x", ["~/x"]),
        ("'\\n\\'\\\\'", ["\\n'\\"]),
    ],
)
def test_words_of_fish(word: str, expected: list[str | None]) -> None:
    (statement,) = parse(f"echo {word}", "fish").body
    assert isinstance(statement.command, Simple)
    assert [arg.text for arg in expand(statement.command.words[1], {}, shell="fish")] == expected


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_accepts_what_we_understand(tmp_path: Path) -> None:
    fish = shutil.which("fish") or "fish"
    text = "\n".join(line for line, _ in LINES)
    checked = subprocess.run(
        [fish, "--no-config", "--no-execute"],
        input=text.encode(),
        capture_output=True,
        cwd=tmp_path,
        env={"PATH": "/nonexistent", "HOME": str(tmp_path)},
        check=False,
    )
    assert (checked.returncode, checked.stderr.decode()) == (0, "")
