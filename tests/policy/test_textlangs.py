"""Scripts of sed and programs of awk: those that only print pass, those that write or run something do not."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hermitty.policy.effects import Effect, Verdict

from .judging import is_allowed, is_asked, judged, lines

SAFE = lines(r"""
    sed -n 1p x
    sed -n '1,10p' x
    sed -n '$p' x
    sed -n '/foo/,/bar/p' x
    sed -n '/foo/I,+3p;5q' x
    sed -n '0~4p' x
    sed -n '2{p;q}' x
    sed -n '2{p;q;}' x
    sed -n -e 1p -e 3p x
    sed -n --expression=1p x
    sed --expr=p x
    sed 's/a/b/' x
    sed 's/a/b/g' x
    sed 's|a|b|gI' x
    sed 's#/usr/bin#/opt#' x
    sed 's,a,b,2p' x
    sed -E 's/(a|b)+/\1/g' x
    sed 's/[a-z]*//g' x
    sed 's/[^]]*]//' x
    sed 's/^[[:space:]]*//;s/[[:space:]]*$//' x
    sed -n '/start/,/end/{//!p}' x
    sed -n '/start/,/end/ { /start/n; /end/!p }' x
    sed 's/a\/b/c/' x
    sed 's/$/;w out/' x
    sed 's/w/e/' x
    sed -e 's/a/b/;s/c/d/g' x
    sed '/^#/d;/^$/d' x
    sed '/^#/d' x
    sed '$!d' x
    sed '1!G;h;$!d' x
    sed ':a;N;$!ba;s/\n/ /g' x
    sed 'y/abc/xyz/' x
    sed -n 'l' x
    sed '5,$d' x
    sed '\,foo,d' x
    sed '=' x
    sed 'a hello' x
    sed '1i\   hello; w out' x
    sed '/foo/a w out' x
    sed '1c text' x
    sed -n '/x/{=;p}' x
    sed 'r other' x
    sed -n 's/a/b/w /dev/stdout' x
    sed '# comment w out' x
    sed 10q x
    sed -s -n '$=' a b
    sed -z 's/\n/,/g' x
    sed -u p
    sed 's/a/b/ ; s/c/d/' x
    awk '{print $1}' x
    awk '{ print $1, $NF }' x
    awk -F: '{print $1}' /etc/passwd
    awk -F '\t' '$3 > 5 {print $1}' x
    awk 'NR==1' x
    awk 'NR>1 && NR<=10' x
    awk '/foo/' x
    awk '/foo|bar/ {print}' x
    awk '/systemd/ {print $2}' x
    awk '!seen[$0]++' x
    awk '{s+=$1} END {print s}' x
    awk '{s+=$1} END {print s/NR}' x
    awk 'BEGIN{FS=","} {print $2}' x
    awk '{printf "%s %d\n", $1, $2}' x
    awk '{print ($1 > $2)}' x
    awk '{print (a || b)}' x
    awk 'length($0) > 80' x
    awk '{gsub(/a|b/, "|"); print}' x
    awk '{ if ($1 ~ /x/) print "pipe | system()" }' x
    awk '{ print > "/dev/stderr" }' x
    awk '{ if (x) /re/ ; print }' x
    awk -v n=5 'NR==n {print}' x
    awk -v RS= '{print}' x
    awk 'BEGIN { while ((getline line < "list") > 0) n++; print n }'
    awk '{ a[$1] = a[$1] " " $2 } END { for (k in a) print k, a[k] }' x
    awk '{ $1=""; print substr($0, 2) } # | system' x
    awk '{ x = $1 / $2; y = $3 / $4; print x, y }' x
    awk '{print $1}' $file
    awk '{print $1}' *.txt
    awk '{print}' FS=: x
    awk 'function f(x) { return x*2 } { print f($1) }' x
    mawk '{print}' x
""")

HOSTILE = lines(r"""
    sed -i s/a/b/ x
    sed -i.bak s/a/b/ x
    sed -ni p x
    sed -n -i p x
    sed -Ei s/a/b/ x
    sed -i '' s/a/b/ x
    sed --in-place s/a/b/ x
    sed --in-pl s/a/b/ x
    sed --in-place=.bak s/a/b/ x
    sed s/a/b/ x -i
    sed -f script x
    sed --file=script x
    sed --fi script x
    sed -n -fscript x
    sed 'w out' x
    sed '1w out' x
    sed 'W out' x
    sed -n '/a/w out' x
    sed 's/a/b/w out' x
    sed 's/a/b/gw out' x
    sed 's/a/b/wout' x
    sed 's/a/b/pw out' x
    sed -n 's/a/b/w out.txt' notes.md
    sed e x
    sed '1e' x
    sed '1e id' x
    sed 'e id' x
    sed 's/a/id/e' x
    sed 's/a/id/ge' x
    sed 's/a/id/eg' x
    sed 's|a|id|e' x
    sed 's,a,id,Ie' x
    sed 'sxaxidxe' x
    sed 's e id e' x
    sed -e p -e 'w out' x
    sed --expr='w out' x
    sed --expression 'e id' x
    sed -n -e 'p;w out' x
    sed '{w out
    }' x
    sed '1{p;e id
    }' x
    sed '/x/!w out' x
    sed '1,/x/w out' x
    sed ':a;w out' x
    sed 'b;w out' x
    sed 'b a;e id' x
    sed 't}e' x
    sed 'y/abc/xyz/;w out' x
    sed 's/[/]/w out/' x
    sed 's/[[:a:]/]p#/id/w out' x
    sed 's/[/]/e;#]/x/' x
    sed 's/a/b/;e' x
    sed 's/a\/b/c/w out' x
    sed '/a/,$ w out' x
    sed '\xfoo\xbarxw out' x
    sed 'r /etc/shadow' x
    sed 'R ~/x' /etc/shadow
    sed 'w /dev/sda' x
    sed "$x" y
    sed $x y
    sed -n "${n}p" x
    sed -n 1p $x
    sed -n 1p *
    sed -e "$x" y
    sed -n 1p "$f"
    sed 'q;nonsense' x
    sed '1,2' x
    sed 's/a/b' x
    sed 's/a/b/k' x
    sed p .env
    awk 'BEGIN { system("id") }'
    awk 'BEGIN{system ("id")}'
    awk '{ print | "sh" }' x
    awk '{ print |& "sh" }' x
    awk 'BEGIN { "id" | getline x; print x }'
    awk 'BEGIN { while (("ls" | getline f) > 0) print f }'
    awk '{ print > "out" }' x
    awk '{ print $1 > "out" }' x
    awk '{ print >> "out" }' x
    awk '{ printf "%s", $1 > "out" }' x
    awk '{ print > $1 }' x
    awk '{ print > "out" $1 }' x
    awk '{ print($1) > "out" }' x
    awk '{ print ($1) > ("out") }' x
    awk '{ print $1, ($2 > 3) > "out" }' x
    awk '{print>"out"}' x
    awk '{ print > "/dev/sda" }' x
    awk -f prog x
    awk -fprog x
    awk --file=prog x
    awk --fi=prog x
    awk -i inplace '{print}' x
    awk -l ext '{print}' x
    awk -e '{ system("id") }' x
    awk --source 'BEGIN{system("id")}'
    awk -E prog x
    awk -o '{print}' x
    awk -oout '{print}' x
    awk -d '{print}' x
    awk -p '{print}' x
    awk -D '{print}' x
    awk -W exec prog
    awk '@load "x"; {print}' x
    awk '@include "x"' y
    awk 'BEGIN { f = "system"; @f("id") }'
    awk 'BEGIN { getline x < "/etc/shadow"; print x }'
    awk 'BEGIN { getline x < f; print x }'
    awk 'BEGIN { getline a[n++] < "/etc/shadow" }'
    awk 'BEGIN { while ((getline l < ".env") > 0) print l }'
    awk 'BEGIN { ARGV[1] = "/etc/shadow"; ARGC = 2 } 1'
    awk 'BEGIN { s = "/inet/tcp/0/x/80"; print "x" |& s }'
    awk 'BEGIN { print "x" > "/inet/tcp/0/x/80" }'
    awk '/a/ / system("id") /' x
    awk '{ x = 4 / 2; system("id"); y = 4 / 2 }' x
    awk '{ x = a /b; system("id") ; c/ d }' x
    awk '{ if (x) y = 1 / 2; system("id") }' x
    awk '/[/]/ { system("id") } /]/' x
    awk '{ print length /2; system("id"); 4/ 2 }' x
    awk '{ print "a" "b" | "sh" }' x
    awk "$x" y
    awk $x y
    awk '"unclosed' x
    awk '/unclosed' x
    awk '{print}' ~/.ssh/id_rsa
    awk '{print}' .env
    awk 1 /etc/shadow
    awk -v $x '{print}' y
    gawk --include=inplace '{print}' x
    gawk --lo=ext 1
""")


@pytest.mark.parametrize("line", SAFE)
def test_a_script_that_prints_passes(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_a_script_that_writes_or_runs_is_asked_about(line: str) -> None:
    assert is_asked(line)


def test_a_script_over_several_lines() -> None:
    assert is_allowed("sed -n '\n/a/ {\n  s/x/y/\n  p\n}\n' x")
    assert is_asked("sed -n '\n/a/ {\n  s/x/y/\n  w out\n}\n' x")
    assert is_asked("sed 'a\\\nhello\\\nworld\nw out' x")
    assert is_asked("sed 'a hello\nw out' x")
    assert is_asked("sed 'a hello\\\\\nw out' x")
    assert is_allowed("sed 'a\\\nhello' x")
    assert is_asked("awk '{ print } # comment\n{ system(\"id\") }' x")
    assert is_asked("sed '# comment\nw out' x")


def test_what_is_written_and_run_is_named() -> None:
    assert [(one.reason, one.effect) for one in judged("sed -n 's/a/b/gw out.txt'").items] == [
        ("writes to out.txt", Effect.WRITE)
    ]
    assert [one.reason for one in judged("sed '1e rm x'").items] == ["sed runs rm x"]
    assert judged("awk '{ print > \"/dev/sda\" }'").verdict is Verdict.BLOCK


@pytest.mark.parametrize(
    "args",
    [
        ["-n", "s/a/b/wout", "in"],
        ["-n", "s|a|b|gw out", "in"],
        ["--expr=w out", "in"],
        ["-n", "-e", "a\\", "-e", "text", "-e", "w out", "in"],
        ["s/a/touch out/e", "in"],
        ["y/abc/xyz/;w out", "in"],
        ["b;w out", "in"],
        ["-n", "/a/!{p};w out", "in"],
        ["a hello\\\\\nw out", "in"],
        ["s/a/b/;#\nw out", "in"],
        [":a;w out", "in"],
        ["1!{s/x/y/};1w out", "in"],
    ],
)
def test_what_the_real_sed_writes_is_asked_about(args: list[str], tmp_path: Path) -> None:
    sed = shutil.which("sed")
    assert sed
    (tmp_path / "in").write_text("a\n")
    subprocess.run([sed, *args], cwd=tmp_path, capture_output=True, check=False)
    if not (tmp_path / "out").exists():
        pytest.skip("this sed reads it in another way")
    quoted = " ".join("'" + arg + "'" for arg in args)
    assert is_asked("sed " + quoted)


@pytest.mark.parametrize(
    "program",
    [
        'BEGIN { print "x" > "out" }',
        'BEGIN { print("x") > "out" }',
        'BEGIN { printf "x" >> "out" }',
        'BEGIN { system("touch out") }',
        'BEGIN { print "touch out" | "sh" }',
        'BEGIN { "touch out" | getline }',
        'BEGIN { x = 4 /2; system("touch out"); y = 4/ 2 }',
        'BEGIN { if (1) print "x" > "out" }',
        'BEGIN { a["/"] = 1; system("touch out"); b["/"] = 1 }',
    ],
)
def test_what_the_real_awk_writes_is_asked_about(program: str, tmp_path: Path) -> None:
    awk = shutil.which("awk")
    assert awk
    subprocess.run([awk, program], cwd=tmp_path, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    assert (tmp_path / "out").exists()
    assert is_asked(f"awk '{program}'")
