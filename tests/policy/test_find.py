"""find and fd: looking is allowed, deleting, writing and running are judged."""

import pytest

from hermitty.policy.effects import Effect, Level, Verdict

from .judging import is_allowed, is_asked, judged, lines

SAFE = lines(r"""
    find
    find .
    find lib -name '*.rb' -type f
    find . -name '*.py' -not -path '*/node_modules/*'
    find . -maxdepth 2 -type d -print0
    find . ( -name a -o -name b ) -print
    find . ! -name x
    find src tests -newer x -size +1M -mtime -7
    find . -type f -printf '%p\n'
    find -L . -name x
    find / -name foo
    find ~ -name '*.log'
    find . -iname "$x"
    find . -name *.py
    find "./$x" -name y
    find . -regex '.*\.py' -prune -o -print
    find . -newermt 2024-01-01
    find . -exec grep -l foo {} +
    find . -name '*.py' -exec grep -l foo {} ;
    find . -type f -exec cat {} ;
    find . -type f -exec wc -l {} +
    find . -name '*.py' -exec head -5 {} ;
    find . -name '*.c' -exec sed -n 1p {} ;
    find . -exec sort {} ;
    find src -type f -execdir ls -l {} ;
    find . -exec echo {} ; -exec ls {} ;
    find . -empty
    find . -perm -111 -user me
    find . -ls
    find . -quit
    fd
    fd foo
    fd -e py
    fd -H -t f 'x$' src
    fd foo -x wc -l
    fd -e py -X grep foo
    fd -e py -x head -1 {} ;
""")

HOSTILE = lines(r"""
    find . -delete
    find . "-delete"
    find . -name x -delete
    find . -name x -exec rm {} ;
    find . -name '*.bak' -exec rm {} +
    find . -exec rm -rf {} +
    find . -execdir rm {} ;
    find . -ok rm {} ;
    find . -okdir rm {} ;
    find . -exec sh -c 'echo {}' ;
    find . -exec sh -c 'rm x' ;
    find . -exec {} ;
    find . -exec ./x ;
    find . -exec sed -i s/a/b/ {} +
    find . -exec sort -o {} {} ;
    find . -exec mv {} x ;
    find . -fprint x
    find . -fprint0 x
    find . -fprintf x '%p'
    find . -fls x
    find . -fprint /dev/sda
    find $x
    find "$x"
    find *
    find . $x
    find ./$x -name y
    find . "$x"
    find . -name $x
    find . -name *
    find . -nonsense
    find . -exec cat {}
    find . -exec cat "$x" -delete ;
    find . -exec $x {} ;
    find . -exec "$x" ;
    find / -name id_rsa -exec cat {} ;
    find / -name 'id_*' -exec cat {} ;
    find . -name .env -exec cat {} ;
    find . -name '*.pem' -exec cat {} +
    find ~ -path '*/.ssh/*' -exec cat {} +
    find ~/.ssh -type f -exec cat {} ;
    find / -type f -exec cat {} ;
    find -files0-from /etc/shadow
    fd -x rm
    fd foo -x rm {}
    fd foo -Hx rm
    fd --exec rm
    fd -X rm -rf
    fd --exec-batch rm
    fd -x sh -c 'echo {}'
    fd --exec=rm
    fd -xrm
    fd $x
    fd --nonsense
""")


@pytest.mark.parametrize("line", SAFE)
def test_looking_is_allowed(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_more_than_looking_is_asked_about(line: str) -> None:
    assert is_asked(line)


@pytest.mark.parametrize(
    ("line", "verdict", "level"),
    [
        ("find build -delete", Verdict.ASK, Level.HIGH),
        ("find . -name '*.pyc' -delete", Verdict.ASK, Level.HIGH),
        ("find / -delete", Verdict.BLOCK, Level.CRITICAL),
        ("find / -type f -delete", Verdict.BLOCK, Level.CRITICAL),
        ("find / -name '*' -delete", Verdict.BLOCK, Level.CRITICAL),
        ("find ~ -mindepth 1 -delete", Verdict.BLOCK, Level.CRITICAL),
        ("find /usr -delete", Verdict.BLOCK, Level.CRITICAL),
        ("find / -name core -delete", Verdict.ASK, Level.CRITICAL),
        ("find / -exec rm -rf {} +", Verdict.BLOCK, Level.CRITICAL),
        ("find ~ -exec rm -rf {} ;", Verdict.BLOCK, Level.CRITICAL),
        ("find ~ -name node_modules -exec rm -rf {} +", Verdict.ASK, Level.CRITICAL),
        ("find . -name node_modules -exec rm -rf {} +", Verdict.ASK, Level.CRITICAL),
        ("find . -exec chmod 644 {} +", Verdict.ASK, Level.MEDIUM),
        ("find . -fprint /dev/sda", Verdict.BLOCK, Level.CRITICAL),
    ],
)
def test_how_grave_it_is(line: str, verdict: Verdict, level: Level) -> None:
    found = judged(line)
    assert (found.verdict, found.level) == (verdict, level)


def test_what_is_deleted_is_named() -> None:
    [finding] = judged("find build -delete").items
    assert (finding.reason, finding.effect, finding.path) == (
        "deletes what it finds in build",
        Effect.DELETE,
        "/home/me/work/build",
    )
