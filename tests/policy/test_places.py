"""Reading, writing and deleting, told by the path."""

import pytest

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Surroundings
from hermitty.policy.effects import Effect, Finding, Level, Verdict

from .judging import HERE, words

NOWHERE = Surroundings()
ROOT = Surroundings(cwd="/", workspace="/home/me/work", home="/home/me")
AT_HOME = Surroundings(cwd="/home/me", workspace=None, home="/home/me")


def word(text: str) -> Arg:
    [arg] = words(text)
    return arg


def only(found: list[Finding]) -> Finding:
    [finding] = found
    return finding


@pytest.mark.parametrize(
    "path",
    [
        *(
            "a.txt",
            "/etc/hosts",
            "../other/x",
            "/var/log/syslog",
            "~/work/x",
            "~/.bashrc",
            "~/.ssh/config",
            "$x",
            '"$x"',
        ),
        *(
            "*",
            "src/*",
            "*.py",
            "/dev/null",
            "/dev/stdin",
            "/dev/urandom",
            "/dev/fd/3",
            "~/.ssh/id_rsa.pub",
            ".env.example",
        ),
        *(
            "/usr/share/dict/words",
            "environment.yml",
            "tests/*.json",
            "/proc/meminfo",
            ".git/config",
            "'~/.ssh/id_rsa.pub'",
        ),
        *("keys.py", "secrets.py", "token.go", "credentials.md", '"$dir"/a.txt', "/etc/passwd", "src/key", "<(cat x)"),
    ],
)
def test_ordinary_files_are_read_without_a_question(path: str) -> None:
    assert all(one.verdict is Verdict.ALLOW for one in places.read(word(path), HERE))
    assert all(one.verdict is Verdict.ALLOW for one in places.read(word(path), NOWHERE))


@pytest.mark.parametrize(
    "path",
    [
        *(
            "~/.ssh/id_rsa",
            "/home/me/.ssh/id_ed25519",
            "/root/.ssh/id_rsa",
            "~bob/.ssh/id_rsa",
            "../.ssh/id_rsa",
            "id_rsa",
        ),
        *(
            "~/.aws/credentials",
            ".env",
            "./.env",
            "a/b/.env.local",
            "~/.netrc",
            "~/.npmrc",
            "/etc/shadow",
            "/etc//shadow",
        ),
        *(
            "/etc/../etc/shadow",
            "~/.kube/config",
            "~/.docker/config.json",
            "~/.gnupg/secring.gpg",
            "server.pem",
            "x.key",
        ),
        *(
            "~/.git-credentials",
            "~/.pgpass",
            "/proc/self/environ",
            "/proc/1/environ",
            "/etc/sudoers",
            "~/.bash_history",
        ),
        *(
            "/proc/self/root/etc/hosts",
            "/proc/self/cwd/x",
            "credentials.json",
            "terraform.tfstate",
            "~/.config/gh/hosts.yml",
        ),
        *(
            "~/.ssh/*",
            "~/.ssh/$x",
            "/etc/shad*",
            "/etc/*",
            ".*",
            ".en?",
            "~/.a*/credentials",
            '"$h"/.ssh/id_rsa',
            "*.key",
        ),
        *(
            "/dev/sda",
            "/dev/mem",
            "/",
            "~",
            "/home",
            "/etc",
            "/root",
            "/dev/tcp/a/80",
            "~/.SSH/id_rsa",
            ".e$x",
            ".en?",
        ),
    ],
)
def test_secrets_and_devices_are_asked_about(path: str) -> None:
    finding = only(places.read(word(path), HERE))
    assert finding.verdict is Verdict.ASK
    assert finding.effect in (Effect.CREDENTIALS, Effect.DEVICE, Effect.NETWORK)


@pytest.mark.parametrize(
    ("path", "verdict", "level"),
    [
        ("out.txt", Verdict.ASK, Level.LOW),
        ("/tmp/x", Verdict.ASK, Level.LOW),
        ("/home/me/work/a/b", Verdict.ASK, Level.LOW),
        ("../x", Verdict.ASK, Level.MEDIUM),
        ("/srv/x", Verdict.ASK, Level.MEDIUM),
        ("~/notes", Verdict.ASK, Level.MEDIUM),
        ("$x", Verdict.ASK, Level.MEDIUM),
        ("~/.bashrc", Verdict.ASK, Level.HIGH),
        ("../.zshrc", Verdict.ASK, Level.HIGH),
        ("~/.ssh/authorized_keys", Verdict.ASK, Level.HIGH),
        (".git/hooks/pre-commit", Verdict.ASK, Level.HIGH),
        (".git/config", Verdict.ASK, Level.HIGH),
        ("vendor/x/.git/config", Verdict.ASK, Level.HIGH),
        ("~/.gitconfig", Verdict.ASK, Level.HIGH),
        ("~/.config/fish/config.fish", Verdict.ASK, Level.HIGH),
        (".env", Verdict.ASK, Level.HIGH),
        ("/etc/hosts", Verdict.ASK, Level.HIGH),
        ("/etc/passwd", Verdict.ASK, Level.HIGH),
        ("/etc/cron.d/x", Verdict.ASK, Level.HIGH),
        ("/usr/local/bin/x", Verdict.ASK, Level.HIGH),
        ("/etc/$x", Verdict.ASK, Level.HIGH),
        ("/sys/power/state", Verdict.ASK, Level.HIGH),
        ("/dev/tcp/example.org/80", Verdict.ASK, Level.HIGH),
        ("/dev/sda", Verdict.BLOCK, Level.CRITICAL),
        ("/dev/nvme0n1p2", Verdict.BLOCK, Level.CRITICAL),
        ("/dev/../dev/sda1", Verdict.BLOCK, Level.CRITICAL),
        ("//dev/sda", Verdict.BLOCK, Level.CRITICAL),
        ("/dev/disk/by-id/x", Verdict.BLOCK, Level.CRITICAL),
        ("/dev/mapper/x", Verdict.BLOCK, Level.CRITICAL),
        ("/dev/sd$x", Verdict.BLOCK, Level.CRITICAL),
        ("/dev/sd?", Verdict.BLOCK, Level.CRITICAL),
        ("/dev/mem", Verdict.BLOCK, Level.CRITICAL),
        ("/proc/sysrq-trigger", Verdict.BLOCK, Level.CRITICAL),
        (r"\\.\PhysicalDrive0", Verdict.BLOCK, Level.CRITICAL),
        (r"C:\Windows\x", Verdict.ASK, Level.HIGH),
    ],
)
def test_writing(path: str, verdict: Verdict, level: Level) -> None:
    finding = only(places.write(word(path), HERE))
    assert (finding.verdict, finding.level) == (verdict, level)


@pytest.mark.parametrize(
    "path", ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/2", "/dev//null", "<(x)"]
)
def test_writing_to_a_sink_is_nothing(path: str) -> None:
    assert places.write(word(path), HERE) == []


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/",
            "//",
            "/.",
            "/..",
            "/../",
            "/usr/..",
            "/home/me/../..",
            "~",
            "~/",
            "~/.",
            "/home/me",
            "/home/me/",
            "~bob",
        ),
        *(
            "/home",
            "/root",
            "/etc",
            "/usr",
            "/usr/",
            "/usr/bin",
            "/var",
            "/var/lib",
            "/boot",
            "/boot/efi",
            "/lib64",
            "/opt",
        ),
        *("/*", "/.*", "~/*", "~/.*", "/home/*", "/usr/*", "/h*", "/u?r", "/[eu]*", "/*/", "/*/*", "/etc/*", "~/./*"),
        *(
            "$HOME",
            '"$HOME"',
            '"$HOME"/',
            "$HOME/*",
            "/$x",
            '"/$x"',
            "../..",
            "..",
            "../../*",
            "/proc/self/root",
            "/dev",
        ),
        *("/Users/me", "/System", "C:\\", "c:/", "C:\\Windows", "C:\\Users\\me", "/home/other"),
    ],
)
def test_the_end_of_a_system_or_of_a_home_is_blocked(path: str) -> None:
    assert only(places.delete(word(path), HERE, recursive=True)).verdict is Verdict.BLOCK
    assert only(places.change(word(path), HERE, "changes", recursive=True)).verdict is Verdict.BLOCK


@pytest.mark.parametrize(
    ("path", "here"),
    [("*", ROOT), (".", ROOT), ("./*", ROOT), ("usr", ROOT), ("home/../etc", ROOT), ("*", AT_HOME), (".", AT_HOME)],
)
def test_where_the_command_runs_counts(path: str, here: Surroundings) -> None:
    assert only(places.delete(word(path), here, recursive=True)).verdict is Verdict.BLOCK


@pytest.mark.parametrize(
    ("path", "level"),
    [
        *(
            (path, Level.HIGH)
            for path in ("build", ".", "*", "./*", "../x", "~/x", "~/*.log", "/tmp/x", "/tmp/*", "$x")
        ),
        *(
            (path, Level.HIGH)
            for path in ('"$x"/*', "/srv/data/x", "~/$x", "/data*", "'~'", "'$HOME'", "/home/me/work")
        ),
        *((path, Level.CRITICAL) for path in ("/etc/nginx", "/usr/local/lib/x", "/var/lib/x", "/opt/x")),
    ],
)
def test_other_recursive_deletes_are_asked_about(path: str, level: Level) -> None:
    finding = only(places.delete(word(path), HERE, recursive=True))
    assert (finding.verdict, finding.level, finding.effect) == (Verdict.ASK, level, Effect.DELETE)


def test_a_single_file_is_less_grave() -> None:
    assert only(places.delete(word("x"), HERE)).level is Level.MEDIUM
    assert only(places.delete(word("/etc/hosts"), HERE)).level is Level.HIGH
    assert only(places.delete(word("/etc/passwd"), HERE)).level is Level.CRITICAL


@pytest.mark.parametrize(
    ("path", "here", "expected"),
    [
        ("x", HERE, "/home/me/work/x"),
        ("../x/./y//z", HERE, "/home/me/x/y/z"),
        ("/../x", HERE, "/x"),
        ("//x", HERE, "/x"),
        ("", HERE, "/home/me/work"),
        ("x/../..", NOWHERE, ".."),
        ("~/x", NOWHERE, "~/x"),
        ("C:/Users/Me/../X", HERE, "c:\\users\\x"),
        ("x", Surroundings(cwd="C:\\Work"), "c:\\work\\x"),
    ],
)
def test_paths_are_resolved(path: str, here: Surroundings, expected: str) -> None:
    assert places.resolve(path, here) == expected


def test_reasons_are_sentences_for_a_person() -> None:
    assert only(places.write(word("out.txt"), HERE)).reason == "writes to out.txt"
    assert only(places.write(word("/etc/hosts"), HERE)).reason == "writes to /etc/hosts, part of the system"
    assert only(places.delete(word("/usr"), HERE, recursive=True)).reason == "deletes /usr: a system or home directory"
    assert only(places.read(word(".env"), HERE)).reason == "reads .env, which holds secrets"
