"""Which words are values of options, and which are options themselves: a wrong guess hides what a program does."""

import pytest

from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Level, Verdict

from .judging import is_allowed, is_asked, judged, lines
from .lines import HERE, decide

ASKED = lines("""
    man -e -- '-Ptouch pwned' -e1 ls
    man -R -- -Cmy.conf ls
    ag -A --pager=./evil.sh foo
    ag -B --pager=./evil.sh foo
    ag -C --pager=./evil.sh foo
    ag --after --pager=./evil.sh foo
    ag -C foo .env
    ack -g --pager=./evil.sh foo
    ack -A --pager=./evil.sh foo
    ack -B --pager=./evil.sh foo
    ack -A --output=x foo
    loginctl -a unlock-sessions
    loginctl -a flush-devices
    loginctl -h enable-linger
    timedatectl -a set-ntp
    journalctl -i -- --rotate
    journalctl -i ~/.ssh/id_rsa
    awk -h 'BEGIN{system("id")}'
    awk --help 'BEGIN{system("id")}'
    awk -V 'BEGIN{print > "x"}'
    ar --plugin ./evil.so t lib.a
    ar --plugin=./evil.so t lib.a
    ar --thin rc out.a f.o
    ar --target=elf64-x86-64 d lib.a m.o
    ar t lib.a --plugin=./evil.so
    ar t @options
    ar tr lib.a f.o
    ar -t --plugin=./evil.so lib.a
    ar t $x
    xxd -r -p -c -c5 payload.hex ~/.bashrc
    xxd -c -c5 in out
    xxd in -c5
    xxd -l -l5 in out
    tree -Io x ~/.bashrc
    tree -Lo 2 out.txt
    tree -aPo x out.txt
    tree -I"$x" x y
    xz --files=list.txt
    xz -d --files=list.txt
    xz --files
    xz --files0
    xz -c --files0=list.txt
    bzip2 -tz f
    bzip2 -t --compress f
    xz -t -z f
    xz -l -d f
    zstd -t -z f
    zstd -l --decompress f
    pigz -C -t f
    getent -s passwd -s dns hosts "$x"
    getent -s passwd -s files shadow
    getent --service=dns passwd root
    lspci -F -s -q
    pmap -A --range -n 1
    nvidia-smi -l --filename=x
    base64 -i -b -o x
    getent passwd -sdns
    ps auxe
    ps eww
    ps axe
    ps -p 1 e
    ps -auxe
    ps -o pid,cmd e
    ps -E
    jq -n 'import "config" as $d {search:"~/.docker"}; $d'
    jq -n 'include "x" {search:"/tmp"}; y'
    jq 'module {}; import"x" as $d; $d' x.json
    yq 'eval("lo" + "ad(.x)")' x.yaml
    yq --from-file x.yq x.yaml
    yq 'import "config" as $d; $d' x.yaml
    git --git-dir=. log
    git --git-dir=. --work-tree=. status
    git --git-dir . log
    git -C fixtures/evil.git log
    git -C fixtures -C evil.git status
    git -C fixtures/evil.git/refs log
    git -c log.showSignature=true log
    git -c log.showSignature log
    git -c LOG.SHOWSIGNATURE=1 log
    git -c 'format.pretty=%G?' log
    git -c branch.sort=signature branch
    git log --format=%+GS
    git for-each-ref --format='%(signature:grade)'
    git for-each-ref --format='%(*signature)'
    git for-each-ref --sort=-signature
    git branch --format='%(signature)'
    git tag --format='%(signature)'
    git rev-list --format=%G? HEAD
    git shortlog --format=%GS
    git diff-tree --stdin --format=%G?
""")

ALLOWED = lines("""
    man -e 3p printf
    man -R utf8 ls
    man -k -e foo
    ag -A 2 foo src
    ag -A2 -B 3 credentials
    ag -C foo src
    ag --context=2 foo
    ack -g foo
    ack -A 2 credentials
    ack -C 2 foo src
    ack -C foo
    loginctl -a list-sessions
    loginctl -p Name show-session 1
    timedatectl -a show
    journalctl -i x.journal
    journalctl -u ssh -n 20
    awk --version
    awk -h
    awk -h '{print $1}' x
    ar t lib.a
    ar -tv lib.a
    ar pv lib.a member.o
    xxd -c5 in
    xxd -l16 -c 8 in
    xxd -c 5 -- in
    tree -L2
    tree -aL 2 src
    tree -aI x -L 1
    tree -I "$x" src
    xz -t f.xz
    xz -l f.xz
    bzip2 -t f.bz2
    zstd -l f.zst
    gzip -dc f.gz
    xz -dc f.xz
    getent passwd
    getent -i passwd root
    getent group me
    pmap -A 1,2 1
    nvidia-smi -l 5
    last -p now
    base64 -w 0 x
    base64 -b76 x
    getent passwd "$x"
    ps aux
    ps -e
    ps -ef
    ps -eo pid,etime,cmd
    ps axo pid,etime
    ps aux --sort etime
    ps -p 1 -o etime
    ps -u eve
    ps -C sleep
    ps -aux
    ps "$x"
    jq .include tsconfig.json
    jq '.["import"]' x.json
    jq '{"include": .x}' x.json
    jq '.a | .import' x.json
    yq .evaluation x.yaml
    yq eval .a x.yaml
    git -C sub log
    git -C .git log
    git -C fixtures.github log
    git --git-dir=.git --work-tree=. status
    git -c log.showSignature=false log
    git -c log.showSignature=no log
    git -c log.date=iso log
    git -c format.pretty=%h log
    git for-each-ref --format='%(refname)' --sort=-committerdate
    git branch --format='%(refname:short)'
    git rev-list --format=%H HEAD
    git shortlog -sn
""")


@pytest.mark.parametrize("line", ASKED)
def test_words_that_hide_an_effect_are_asked_about(line: str) -> None:
    assert is_asked(line)


@pytest.mark.parametrize("line", ALLOWED)
def test_words_that_only_show_need_no_question(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize(
    "line",
    [
        "tar cf /dev/null --remove-files /",
        "tar --remove-files -cf /dev/null ~",
        "tar -C / --remove-files -cf /dev/null .",
        "tar -cf /dev/null --remove-files -C /home me",
    ],
)
def test_packing_with_removal_of_a_system_is_blocked(line: str) -> None:
    assert judged(line).verdict is Verdict.BLOCK


def test_packing_with_removal_is_a_deletion() -> None:
    found = judged("tar cf x.tar --remove-files build")
    assert (found.verdict, found.level) == (Verdict.ASK, Level.HIGH)


BARE = Surroundings(cwd="/srv/x.git/sub", workspace="/srv/x.git", home="/home/me")
NOWHERE = Surroundings(home="/home/me")


@pytest.mark.parametrize(
    ("line", "here"),
    [
        ("cd fixtures/evil.git && git log", HERE),
        ("cd fixtures && cd evil.git/refs; git status", HERE),
        ("cd /srv/x.git && git log", HERE),
        ("(cd evil.git; git diff)", HERE),
        ("cd y.git && git log", BARE),
        ("git -C evil.git log", NOWHERE),
    ],
)
def test_a_directory_that_may_be_a_bare_repository_is_asked_about(line: str, here: Surroundings) -> None:
    assert decide(line, here=here).decision == "ask"


@pytest.mark.parametrize(
    ("line", "here"), [("cd fixtures && git log", HERE), ("git log", BARE), ("cd .git && git log", HERE)]
)
def test_other_directories_are_those_of_the_user(line: str, here: Surroundings) -> None:
    assert decide(line, here=here).decision == "allow"
