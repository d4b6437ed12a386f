"""Programs that only read run without a question; their options and operands that do more are asked about."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hermitty.policy.effects import Effect, Level
from hermitty.policy.options import Grammar
from hermitty.policy.programs import find_program, judge_program

from .judging import HERE, Judging, is_allowed, is_asked, judged, lines

SAFE = lines("""
    ls
    ls -la
    ls -lt docs
    ls -R --color=never src tests
    ls *.py
    ls $dir
    ls -1 "$dir"/*.md
    ls ~/.ssh
    ls --sort=size -h /var/log
    cat CHANGELOG.md
    cat -A "$f"
    cat -n a b c -
    cat *
    cat /etc/hosts /etc/os-release /proc/cpuinfo
    cat /etc/*release
    cat package.json tsconfig.json
    head -20 README.md
    head -n 5 "$f" $g
    head -c100 x
    tail -f app.log
    tail -n +5 x
    tail +5 x
    tail -5 x
    wc -w notes.md
    wc -l *.py
    nl -ba x
    od -c x
    od -A x -t x1z x
    cut -d: -f1 /etc/passwd
    cut -d , -f 1-3 x.csv
    paste -sd, x
    join -t, a b
    comm -12 a b
    tac x
    rev x
    tr -d '\\n'
    tr a-z A-Z
    fold -w 80 x
    sort x
    sort -rn x
    sort -k2,2n -t, x
    sort -u a b
    sort --reverse --key=2 x
    sort -- *.txt
    sort ./*.txt
    sort <(x)
    uniq
    uniq -c
    uniq -c x
    uniq -d "./$x"
    shuf -n 5 x
    seq 1 10
    seq -w 0 5 100
    seq -5 5
    numfmt --to=iec 123456
    md5sum x
    sha256sum -c sums.txt
    cksum x
    base64 -d x
    base64 -w0
    column -t -s, x.csv
    hexdump -C x
    xxd x
    xxd -l 16 x
    xxd -l16 -c8 x
    xmllint --noout x.xml
    less -p foo x
    less +5 x
    xxd -r -p
    strings -n 8 x
    readelf -h x
    objdump -d x
    nm -C x
    du -h --max-depth=1 .
    du -sh ~/work
    df -h
    df -h /
    stat -c %s x
    readlink -f x
    realpath --relative-to=. x
    basename "$f" .py
    dirname $f
    file x
    file -b --mime-type "./$f"
    tree -L 2
    tree -a -I node_modules
    diff a b
    diff -u a b
    diff -ru src old
    diff <(cut -f1 a.tsv) <(cut -f1 b.tsv)
    cmp a b
    grep -in "timeout" config.yaml
    grep -rn 'mkfs' docs
    grep -rn TODO .
    grep -E 'rm -rf|dd of=' x
    grep -e foo -e bar x
    grep -A3 -B 3 foo *.py
    grep -3 foo x
    grep -c . $f
    grep -rl --include=*.py foo src
    grep -q foo "$f"
    egrep 'a|b' x
    zgrep foo x.gz
    rg foo
    rg -n foo src
    rg -tpy 'def \\w+' ./src
    rg --files -g '*.py'
    rg -i --hidden --no-ignore foo
    rg -C3 foo
    ag foo src
    jq . package.json
    jq -r .name package.json
    jq .env config.json
    jq --arg a b '.x == $a' x.json
    jq -n 1
    yq .name x.yaml
    yq e .a x.yaml
    zcat x.gz
    iconv -f latin1 -t utf8 x
    bc -l
    date
    date +%s
    date -u '+%Y-%m-%d'
    date -d yesterday +%F
    date --iso-8601=seconds
    less x
    less +G x
    less -R +/foo x
    more x
    man ls
    man 5 crontab
    man -k foo
    bat -p x
    echo hello
    echo "never run rm -rf / here"
    echo -e 'a\\tb'
    echo $x
    true
    false
    expr 1 + 2
    sleep 1
    yes
    uname -a
    hostname
    hostname -f
    whoami
    id
    id -u
    groups
    uptime
    free -m
    ps aux
    ps -ef
    pgrep -f foo
    top -bn1
    lsof -i :8080
    ss -tlnp
    netstat -an
    printenv
    printenv PATH
    which python3
    whereis ls
    nproc
    lscpu
    lsblk
    tput cols
    locale
    getent passwd root
    journalctl -u nginx --no-pager -n 50
    dmesg -T
    sysctl -a
    sysctl -n kernel.ostype
    timedatectl
    timedatectl status
    cal
    /bin/ls
    /usr/bin/wc -l x
""")

HOSTILE = lines("""
    sort -o x y
    sort -ox y
    sort -uox y
    sort y -o x
    sort --output=x y
    sort --output x y
    sort --outp=x y
    sort --o=x y
    sort -T /x y
    sort --compress-program=./x y
    sort --compress-prog=./x y
    sort -S1 --comp ./x y
    sort $x
    sort "$x"
    sort *.txt
    sort a$x
    sort -k $x y
    sort -k "$x"$y z
    uniq a b
    uniq -c a b
    uniq $x
    uniq a $x
    uniq "$x"
    uniq *
    uniq -- a b
    xxd a b
    xxd -r a b
    xxd -p -r a b
    shuf -o x y
    shuf --out=x y
    tree -o x
    tree -R -L 1
    tree --nonsense
    file -C
    file -C -m x
    file -m x y
    file --magic-file=x y
    file "$x"
    rg --pre ./x foo
    rg --pre=./x foo
    rg --hostname-bin=./x foo
    rg -z foo
    rg -nz foo
    rg --search-zip foo
    rg $x
    rg foo $x
    ag --pager=./x foo
    ack --output='$x' foo
    ack --pager ./x foo
    less -o x y
    less -ox y
    less +G!id x
    less '-Pfoo$ox' y
    less -p 'foo$ox' y
    more -p ~/.ssh/id_rsa
    head -5c ~/.ssh/id_rsa
    grep -5f ~/.ssh/id_rsa x
    nm @x
    xmllint --noout http://example.org/x
    xmllint -o x y
    getent hosts example.org
    yq 'load("x")' y
    less --log-file=x y
    less '+!id' x
    less '+|$id' x
    less ++!id x
    less "+$x" y
    less --lesskey-file=x y
    man -P ./x ls
    man --pager=./x ls
    man --pag=./x ls
    man -H./x ls
    man --html=./x ls
    man ./x
    man -l x
    man "$x"
    date -s tomorrow
    date --set=tomorrow
    date --se tomorrow
    date 010203042025
    date "$x"
    hostname evil
    hostname -F x
    hostname "$x"
    iconv -o x y
    iconv --outp=x y
    base64 -o x
    yq -i .a=1 x.yaml
    yq e -i .a=1 x.yaml
    yq -ie .a=1 x.yaml
    yq --in-place .a x
    yq -s .a x.yaml
    yq 'system("id")' x
    yq "$x" y
    bat --pager ./x y
    bat cache --build
    sdiff -o x a b
    diff3 --diff-program=./x a b c
    nm --plugin ./x.so y
    ss -K dst 1.2.3.4
    ss --kill
    ss -D x
    dmesg -C
    dmesg -c
    dmesg --clear
    journalctl --vacuum-time=1s
    journalctl --rotate
    journalctl --cursor-file=x
    sysctl -w a=b
    sysctl a=b
    sysctl -p x
    sysctl "$x"
    timedatectl set-time x
    hostnamectl hostname x
    getent shadow
    ldd ./x
    top
    dc
    arch rm x
    nonsense
    ./ls
    /tmp/ls
    /usr/bin/../../tmp/ls
    bin/cat x
    ls --frobnicate
    cat ~/.ssh/id_rsa
    cat ~/.aws/credentials
    cat .env
    cat ./.env.local
    cat config/.env.production
    cat ~/.netrc
    cat /etc/shadow
    cat /etc/sh?dow
    cat /etc/shado*
    cat /e*/shadow
    cat ~/.ssh/*
    cat ~/.ssh/id_*
    cat .e*
    cat .*
    cat *.pem
    cat ~/.ssh/$x
    cat ~/.ssh/"$x"
    cat "$x"/.ssh/id_rsa
    cat $HOME/.aws/credentials
    cat /proc/self/environ
    cat /proc/1/environ
    cat /proc/self/root/etc/shadow
    cat /dev/sda
    cat server.key
    head -c100 ~/.ssh/id_ed25519
    grep -r password ~
    grep -r password /
    grep -f ~/.ssh/id_rsa x
    grep foo ~/.kube/config
    rg key ~/.config/gcloud
    base64 ~/.ssh/id_rsa
    jq . ~/.docker/config.json
    diff .env x
    wc --files0-from=/etc/shadow
    strings /dev/mem
    less ~/.bash_history
""")


@pytest.mark.parametrize("line", SAFE)
def test_a_reader_runs_without_a_question(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_a_reader_that_does_more_is_asked_about(line: str) -> None:
    assert is_asked(line)


def test_a_written_file_is_named() -> None:
    [finding] = [one for one in judged("sort -uoout.txt in.txt").items if one.effect is Effect.WRITE]
    assert (finding.reason, finding.path, finding.level) == ("writes to out.txt", "/home/me/work/out.txt", Level.LOW)


def test_reading_is_told_with_the_path() -> None:
    assert [(one.reason, one.effect, one.path) for one in judged("cat notes/../a.txt").items] == [
        ("reads notes/../a.txt", Effect.READ, "/home/me/work/a.txt")
    ]


def test_every_table_can_be_read() -> None:
    from hermitty.policy import programs

    for table in (*programs._ANYWHERE, *programs._BUILTINS.values()):
        for program in table.values():
            if isinstance(program, Grammar):
                assert isinstance(program.is_harmless, bool)


# Options that programs print in their help, but that are missing in a table, would be asked about for no reason.
_DOCUMENTED = ("ls", "cat", "head", "tail", "wc", "cut", "sort", "uniq", "du", "df", "grep", "diff", "od", "nl", "comm")


@pytest.mark.parametrize("name", _DOCUMENTED)
def test_the_table_has_what_the_real_program_documents(name: str) -> None:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    done = subprocess.run([path, "--help"], capture_output=True, text=True, check=False, env={"LC_ALL": "C"})
    if "GNU" not in done.stdout:
        pytest.skip(f"{name} is not GNU's")
    grammar = find_program(name, "sh")
    assert isinstance(grammar, Grammar)
    shown = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
    options = {
        word.rstrip(",").partition("=")[0].partition("[")[0]
        for line in shown
        for word in line[:2]
        if word.startswith("-") and len(word) > 1
    }
    missing = {one for one in options if one.startswith("--") or len(one) == 2} - set(grammar.table)
    # Not options: `-M` is a form of a range, the others stand for several names.
    assert not {one for one in missing if not one.startswith(("--GTYPE", "--LTYPE", "-M"))}


@pytest.mark.parametrize(
    "args",
    [["--outp=out", "in"], ["-uoout", "in"], ["in", "-o", "out"], ["-r", "--o", "out", "in"]],
)
def test_the_real_sort_writes_where_the_table_says_so(args: list[str], tmp_path: Path) -> None:
    sort = shutil.which("sort")
    assert sort
    (tmp_path / "in").write_text("b\na\n")
    done = subprocess.run([sort, *args], cwd=tmp_path, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("this sort has no such spelling")
    assert (tmp_path / "out").exists()
    assert is_asked("sort " + " ".join(args))


def test_a_program_is_only_itself_in_a_system_directory() -> None:
    judge = Judging(HERE)
    assert judge_program("/usr/bin/ls", [], judge) == []
    assert [one.effect for one in judge_program("/usr/bin/../bin/ls", [], judge)] == [Effect.UNKNOWN]
    assert [one.effect for one in judge_program("./ls", [], judge)] == [Effect.UNKNOWN]
