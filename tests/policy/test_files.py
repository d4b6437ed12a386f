"""Programs that change files: asked about, with the level of the specification at least; the worst is blocked."""

import pytest

from hermitty.policy.effects import Effect, Level, Verdict

from .judging import HERE, is_allowed, is_asked, judged, lines

ASK, BLOCK = Verdict.ASK, Verdict.BLOCK
LOW, MEDIUM, HIGH, CRITICAL = Level.LOW, Level.MEDIUM, Level.HIGH, Level.CRITICAL


@pytest.mark.parametrize(
    ("line", "verdict", "level"),
    [
        ("rm x", ASK, MEDIUM),
        ("rm -f x", ASK, MEDIUM),
        ("rm -r x", ASK, HIGH),
        ("rm -r -f x", ASK, CRITICAL),
        ("rm -rf target", ASK, CRITICAL),
        ("rm -fr x", ASK, CRITICAL),
        ("rm -Rf x", ASK, CRITICAL),
        ("rm -vrf x", ASK, CRITICAL),
        ("rm x -rf", ASK, CRITICAL),
        ("rm --recursive --force x", ASK, CRITICAL),
        ("rm --rec --fo x", ASK, CRITICAL),
        ("rm -rf $x", ASK, CRITICAL),
        ('rm -rf "$x"/*', ASK, CRITICAL),
        ("rm -rf *", ASK, CRITICAL),
        ("rm -rf .", ASK, CRITICAL),
        ("rm -rf -- -x", ASK, CRITICAL),
        ("rm -rf /", BLOCK, CRITICAL),
        ("rm -r /", BLOCK, CRITICAL),
        ("rm / -r", BLOCK, CRITICAL),
        ("rm -rf //", BLOCK, CRITICAL),
        ("rm -rf /./", BLOCK, CRITICAL),
        ("rm -rf /*", BLOCK, CRITICAL),
        ("rm -rf / --no-preserve-root", BLOCK, CRITICAL),
        ("rm --no-preserve-root --recursive --force /", BLOCK, CRITICAL),
        ("rm --no-pres --rec /", BLOCK, CRITICAL),
        ("rm -rf -- /", BLOCK, CRITICAL),
        ("rm -rf x /", BLOCK, CRITICAL),
        ("rm -rf ~", BLOCK, CRITICAL),
        ("rm -rf ~/", BLOCK, CRITICAL),
        ("rm -rf ~/*", BLOCK, CRITICAL),
        ("rm -rf $HOME", BLOCK, CRITICAL),
        ('rm -rf "$HOME"', BLOCK, CRITICAL),
        ("rm -rf /home/me", BLOCK, CRITICAL),
        ("rm -rf ..", BLOCK, CRITICAL),
        ("rm -rf ../../..", BLOCK, CRITICAL),
        ("rm -rf /usr", BLOCK, CRITICAL),
        ("rm -rf /etc /tmp/x", BLOCK, CRITICAL),
        ("/bin/rm -rf /", BLOCK, CRITICAL),
        ("rm -rf '/'", BLOCK, CRITICAL),
        ("rm -rf /usr/lib/../..", BLOCK, CRITICAL),
        ("rmdir x", ASK, MEDIUM),
        ("unlink x", ASK, MEDIUM),
        ("mkdir -p tmp/cache", ASK, LOW),
        ("mkdir -m 755 x", ASK, LOW),
        ("touch x", ASK, LOW),
        ("touch ~/.bashrc", ASK, HIGH),
        ("touch -d yesterday x", ASK, LOW),
        ("cp a b", ASK, LOW),
        ("cp -r a b c/", ASK, LOW),
        ("cp -t dir a b", ASK, LOW),
        ("cp a /etc/x", ASK, HIGH),
        ("cp a ~/.ssh/authorized_keys", ASK, HIGH),
        ("cp x /dev/sda", BLOCK, CRITICAL),
        ("cp --target-dir=/etc a", ASK, HIGH),
        ("mv a b", ASK, MEDIUM),
        ("mv ~ /tmp/x", BLOCK, CRITICAL),
        ("mv /usr x", BLOCK, CRITICAL),
        ("mv /* x", BLOCK, CRITICAL),
        ("mv x /dev/sda", BLOCK, CRITICAL),
        ("ln -s a b", ASK, LOW),
        ("ln -sf a /etc/x", ASK, HIGH),
        ("install -m 755 a /usr/local/bin/a", ASK, HIGH),
        ("install -d x", ASK, LOW),
        ("install -s --strip-program=./x a b", ASK, HIGH),
        ("chmod +x run.sh", ASK, MEDIUM),
        ("chmod 755 x", ASK, MEDIUM),
        ("chmod -x x", ASK, MEDIUM),
        ("chmod -R 755 x", ASK, MEDIUM),
        ("chmod u+s x", ASK, HIGH),
        ("chmod 4755 x", ASK, HIGH),
        ("chmod 0755 x", ASK, MEDIUM),
        ("chmod -R 777 /", BLOCK, CRITICAL),
        ("chmod 777 / -R", BLOCK, CRITICAL),
        ("chmod --recursive 777 /", BLOCK, CRITICAL),
        ("chmod --rec 777 ~", BLOCK, CRITICAL),
        ("chmod -R -x /usr", BLOCK, CRITICAL),
        ("chmod -R 000 /*", BLOCK, CRITICAL),
        ("chown me x", ASK, MEDIUM),
        ("chown -R me:me x", ASK, MEDIUM),
        ("chown -R me /", BLOCK, CRITICAL),
        ("chown --reference=a -R /etc", BLOCK, CRITICAL),
        ("chgrp g x", ASK, MEDIUM),
        ("dd if=a of=b", ASK, LOW),
        ("dd if=/dev/zero of=/dev/sdb", BLOCK, CRITICAL),
        ("dd of=/dev/nvme0n1 if=x bs=1M", BLOCK, CRITICAL),
        ('dd if=x of="/dev/sd$x"', BLOCK, CRITICAL),
        ("dd of=$x", ASK, MEDIUM),
        ("dd $x", ASK, MEDIUM),
        ("truncate -s 0 x", ASK, LOW),
        ("truncate -s 0 /dev/sda", BLOCK, CRITICAL),
        ("shred x", ASK, HIGH),
        ("shred -u x", ASK, HIGH),
        ("shred /dev/sda", BLOCK, CRITICAL),
        ("tee x", ASK, LOW),
        ("tee -a ~/.bashrc", ASK, HIGH),
        ("tee /dev/sda", BLOCK, CRITICAL),
        ("tee /etc/hosts", ASK, HIGH),
        ("mktemp", ASK, LOW),
        ("split x", ASK, LOW),
        ("split --filter=./x y", ASK, HIGH),
        ("split --filt ./x y", ASK, HIGH),
        ("patch -p1", ASK, MEDIUM),
        ("rsync -a a/ b/", ASK, MEDIUM),
        ("rsync -a --delete a/ b/", ASK, HIGH),
        ("rsync -a --delete empty/ /", BLOCK, CRITICAL),
        ("rsync -a --del empty/ ~/", BLOCK, CRITICAL),
        ("mkfs.xfs /dev/nvme0n1p1", BLOCK, CRITICAL),
        ("mkfs -t ext4 /dev/sda1", BLOCK, CRITICAL),
        ("mkfs.ext4 -F /dev/$x", BLOCK, CRITICAL),
        ("mkfs.ext4 disk.img", ASK, CRITICAL),
        ("mkswap /dev/sda2", BLOCK, CRITICAL),
        ("wipefs -a /dev/sda", BLOCK, CRITICAL),
        ("wipefs --all /dev/sda", BLOCK, CRITICAL),
        ("sgdisk --zap-all /dev/sda", BLOCK, CRITICAL),
        ("blkdiscard /dev/sda", BLOCK, CRITICAL),
        ("fdisk /dev/sda", ASK, CRITICAL),
        ("diskutil eraseDisk JHFS+ x disk2", BLOCK, CRITICAL),
        ("tar xf x.tar", ASK, MEDIUM),
        ("tar -xzf x.tgz -C /etc", ASK, HIGH),
        ("tar czf x.tgz src", ASK, LOW),
        ("gzip x", ASK, MEDIUM),
        ("unzip x.zip", ASK, MEDIUM),
    ],
)
def test_verdict_and_level(line: str, verdict: Verdict, level: Level) -> None:
    found = judged(line)
    assert (found.verdict, found.level) == (verdict, level)


SAFE = lines("""
    tar tf x.tar
    tar -tvf x.tar
    tar tzf x.tgz
    tar --list --file=x.tar
    tar -xOf x.tar a
    unzip -l x.zip
    unzip -p x.zip a
    zipinfo x.zip
    gzip -c x
    gzip -l x.gz
    gunzip -c x.gz
    gzip -dc x.gz
    gzip
    xz -dc x.xz
    zstd -dc x.zst
    7z l x.7z
    tee
    tee /dev/null
    tee /dev/stderr
    tee -a
    dd if=x bs=1 count=10
    dd if=/dev/urandom bs=16 count=1
    dd if=x of=/dev/null
    mktemp -u
    fdisk -l
    parted -l
    rm --help
    sync
    kill -l
    kill -0 123
    kill -0 $!
    kill -0 "$pid"
    systemctl status nginx
    systemctl --user list-units --no-pager
    systemctl is-active x
    service nginx status
    crontab -l
    atq
    fuser x
    tmux ls
""")

HOSTILE = lines("""
    tar -tf x --to-command=./x
    tar -tf x -I ./x
    tar --use-compress-program=./x -tf y
    tar --use-comp=./x -tf y
    tar -tf x --checkpoint=1 --checkpoint-action=exec=./x
    tar -tf host:x
    tar -tf x --index-file=y
    tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=sh x
    tar tf $x
    tar cf - ~/.ssh
    unzip -o x.zip
    unzip x.zip -d /etc
    gzip -d x.gz
    gunzip x.gz
    xz x
    zstd -d x.zst -o y
    7z x x.7z
    zip x.zip a
    ar r x.a y
    cp .env x
    cp ~/.ssh/id_rsa x
    cp -$x a b
    tee $x
    tee "$x"
    tee >x
    dd if=/dev/sda
    dd if=/etc/shadow
    kill 123
    kill -9 -1
    kill -KILL 1
    kill $x
    kill -0 $x
    tar -tf x -s --to-command=./x
    tar -tf x -L --use-compress-program=./x
    zstd -M x
    kill -0 -9 5
    pkill x
    killall x
    renice 5 1
    shutdown now
    reboot
    systemctl restart nginx
    systemctl stop x
    systemctl poweroff
    systemctl $x
    systemctl status -H host
    service nginx restart
    service ../x status
    crontab x
    crontab -r
    crontab -e
    at now
    fuser -k x
    tmux new
    tmux ls ';' run-shell x
    tmux list-sessions -F '#(id)'
    chattr +i x
    setfacl -m u:x:rw y
    rename a b c
    sponge x
""")


@pytest.mark.parametrize("line", SAFE)
def test_listing_and_printing_is_allowed(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_everything_else_is_asked_about(line: str) -> None:
    assert is_asked(line)


@pytest.mark.parametrize(
    ("line", "reasons"),
    [
        ("rm -rf build", ["deletes build", "deletes files recursively without asking"]),
        ("cp a b", ["reads a", "writes to b"]),
        ("mv a b", ["moves a", "writes to b"]),
        ("chmod +x run.sh", ["changes the permissions of run.sh"]),
        ("chown me a b", ["changes the owner of a", "changes the owner of b"]),
        ("mkdir a", ["creates a"]),
        ("kill -9 4", ["stops a process at once"]),
        ("mkfs.ext4 /dev/sda1", ["formats /dev/sda1"]),
    ],
)
def test_reasons(line: str, reasons: list[str]) -> None:
    assert [one.reason for one in judged(line).items] == reasons


def test_effects_and_paths() -> None:
    assert [(one.effect, one.path) for one in judged("mv ../a b").items] == [
        (Effect.DELETE, "/home/me/a"),
        (Effect.WRITE, "/home/me/work/b"),
    ]
    assert HERE.cwd == "/home/me/work"
