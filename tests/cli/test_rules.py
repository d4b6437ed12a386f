"""`hermitty rules` and `hermitty approvals`: what people see and change."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from hermitty.cli.main import main
from hermitty.runtime.audit import Audit, AuditEntry

Ran = tuple[int, str, str]
Run = Callable[..., Ran]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A configuration and a state directory of their own; proj is where we are."""
    for name in ("config", "proj"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setenv("HERMITTY_CONFIG", str(tmp_path / "config" / "config.toml"))
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.chdir(tmp_path / "proj")
    yield tmp_path
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def run(places: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `hermitty ARGS...`: exit code, output, errors."""

    def run(*args: str) -> Ran:
        code = main(args)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_rule_is_added_listed_and_removed(run: Run, places: Path) -> None:
    code, out, err = run("rules", "add", "--deny", "--reason", "by hand", "--", "npm", "publish")
    assert (code, err) == (0, "")
    rule_id = out.partition(":")[0]
    assert out == f"{rule_id}: deny `npm publish` ({places}/config/rules.toml:1)\n"
    code, out, err = run("rules", "list")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["id", "decision", "command", "limits", "from"],
        [rule_id, "deny", "npm", "publish", "-", f"{places}/config/rules.toml:1"],
    ]
    assert run("rules", "remove", rule_id)[0] == 0
    assert run("rules", "list") == (0, "", "hermitty: there are no rules here\n")


def test_everything_that_a_rule_can_say(run: Run, places: Path) -> None:
    args = ["--exact", "--writes", "--paths", "workspace", "--shell", "bash", "--cwd", ".", "--level", "high"]
    args += ["--expires", "2h", "--example", "make x > y", "--counter-example", "make y"]
    code, _, err = run("rules", "add", "--allow", "--scope", "workspace", *args, "make x")
    assert (code, err) == (0, "")
    (line,) = run("rules", "list", "--json")[1].splitlines()
    record = json.loads(line)
    assert record.pop("id").startswith("r_")
    assert record.pop("origin").startswith(f"{places}/state/rules/")
    assert 7000 < _seconds_until(record.pop("expires")) < 7300
    assert record == {
        "decision": "allow",
        "command": ["make", "x"],
        "exact": True,
        "paths": "workspace",
        "writes": True,
        "cwd": f"{places}/proj",
        "shells": ["bash"],
        "examples": ["make x > y"],
        "counter_examples": ["make y"],
        "level": "high",
        "layer": "workspace",
    }
    assert "exact, workspace, writes, in " in run("rules", "list")[1]
    assert run("rules", "list", "--workspace", str(places))[1] == ""


def _seconds_until(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() - time.time()


def test_flags_are_listed_or_forbidden(run: Run) -> None:
    assert run("rules", "add", "--allow", "--flag=-v", "--flag=--watch", "some-tool")[0] == 0
    assert run("rules", "add", "--allow", "--no-flags", "*")[0] == 0
    records = [json.loads(line) for line in run("rules", "list", "--json")[1].splitlines()]
    assert [(record["command"], record["flags"]) for record in records] == [
        (["some-tool"], ["-v", "--watch"]),
        (["*"], []),
    ]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("--allow", "npm *"), "stands for every command"),
        (("--allow", "a; b"), "write the command as a list of words"),
        (("--deny", "--writes", "x"), "limit what is allowed"),
        (("--allow", "--example", "other", "x"), "does not allow its example 'other'"),
        (("--allow", "--expires", "soon", "x"), "expires is not a time"),
        (("--allow", "--expires", "2001-01-01T00:00:00Z", "x"), "would have expired already"),
        (("--allow", "--shell", "tcsh", "x"), "there is no shell 'tcsh'"),
        (("--allow", "--", "--x"), "a rule starts with a program"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, places: Path, args: tuple[str, ...], problem: str) -> None:
    code, out, err = run("rules", "add", *args)
    assert (code, out) == (125, "")
    assert problem in err
    assert not (places / "config" / "rules.toml").exists()


def test_an_unknown_rule_cannot_be_removed(run: Run) -> None:
    assert run("rules", "remove", "r_x") == (125, "", "hermitty: no rule 'r_x'; there are: none\n")


def test_files_are_checked(run: Run, places: Path) -> None:
    assert run("rules", "check") == (0, "", "hermitty: all rules are in use\n")
    file = places / "config" / "rules.toml"
    file.write_text('deny = ["rm"]\n\n[[rule]]\ndecision = "allow"\n')
    (places / "proj" / ".hermitty.toml").write_text('allow = ["*"]\n[terminal]\ncols = 100\n')
    code, out, err = run("rules", "check")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        f"{file}:3: the rule has no command",
        f"{places}/proj/.hermitty.toml:1: a repository cannot allow anything; put the rule into your own file",
    ]
    other = places / "other.toml"
    other.write_text("allow = 7")
    assert run("rules", "check", str(other)) == (1, f"{other}:1: allow must be a list of commands\n", "")


def test_a_bad_rule_is_told_and_the_others_are_listed(run: Run, places: Path) -> None:
    (places / "config" / "rules.toml").write_text('deny = ["rm"]\n\n[[rule]]\ndecision = "\\u001b"\ncommand = "x"\n')
    code, out, err = run("rules", "list")
    assert code == 0
    assert "deny" in out
    assert err == f"hermitty: {places}/config/rules.toml:3: decision must be one of allow, ask, deny\n"


def test_an_action_is_needed(run: Run) -> None:
    for args in (
        ("rules",),
        ("rules", "add", "x"),
        ("rules", "add", "--allow"),
        ("rules", "add", "--allow", "--deny", "x"),
    ):
        with pytest.raises(SystemExit):
            run(*args)


@pytest.fixture
def decided(places: Path) -> Path:
    """An audit of three decisions."""
    start = 1_900_000_000.0
    audit = Audit(places / "state" / "audit.jsonl")
    audit.record(AuditEntry("ls", "allow", "safe", "allow", "low", session="fix", at=start))
    audit.record(AuditEntry("npm i\n\x1b[2J", "allow", "answer", "ask", "medium", by="Ann", at=start + 60))
    audit.record(AuditEntry("rm x", "deny", "rule", "block", "medium", rule="r_1", session="fix", at=start + 120))
    return places


def test_decisions_are_listed_newest_first_and_escapes_are_harmless(run: Run, decided: Path) -> None:
    code, out, err = run("approvals")
    assert code == 0
    assert out.splitlines() == [
        "when                 outcome  level   by    session  command",
        "2030-03-17 17:48:40  deny     medium  r_1   fix      rm x",
        "2030-03-17 17:47:40  allow    medium  Ann   -        npm i\\n\\x1b[2J",
        "2030-03-17 17:46:40  allow    low     safe  fix      ls",
    ]
    assert err == "hermitty: questions that still wait are listed with --pending\n"


@pytest.mark.parametrize(
    ("args", "commands"),
    [
        (("--answers",), ["npm i\n\x1b[2J"]),
        (("--denied",), ["rm x"]),
        (("--session", "fix"), ["rm x", "ls"]),
        (("--limit", "1"), ["rm x"]),
    ],
)
def test_only_some_decisions(run: Run, decided: Path, args: tuple[str, ...], commands: list[str]) -> None:
    code, out, err = run("approvals", "--json", *args)
    assert (code, err) == (0, "")
    assert [json.loads(line)["command"] for line in out.splitlines()] == commands


def test_nothing_was_decided(run: Run) -> None:
    code, out, err = run("approvals")
    assert (code, out) == (0, "")
    assert err.startswith("hermitty: nothing was decided yet\n")
    assert run("approvals", "--limit", "0")[0] == 125
