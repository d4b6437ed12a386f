"""`hermitty check`: what it prints and how it exits."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from hermitty.cli.check import explained
from hermitty.cli.main import main
from hermitty.policy.check import check
from hermitty.policy.context import Surroundings
from tests.support.shells import PATIENCE_S

from .conftest import COMMAND, Run

HERE = Surroundings(cwd="/work", workspace="/work", home="/home/me")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory as home, and as the current one."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"HOME": tmp_path, "SHELL": "/bin/bash", "HERMITTY_CONFIG": tmp_path / "config.toml"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    return tmp_path


@pytest.mark.parametrize(("line", "code"), [("ls", 0), ("rm a", 1), ("rm -rf /", 2), ("'", 1), ("", 0)])
def test_the_exit_code_says_what_is_to_be_done(line: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", line]) == code
    assert main(["check", "--json", line]) == code


def test_programs_get_the_decision(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", "cat a | tee b"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert list(shown) == [
        *("decision", "level", "reasons", "effects", "commands", "rule", "suggested_rule"),
        "parts",
    ]
    assert (shown["decision"], shown["level"]) == ("ask", "low")
    assert shown["commands"] == [["cat", "a"], ["tee", "b"]]
    assert shown["effects"] == ["read", "write"]


def test_people_get_an_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "ls; rm -rf / && echo $(rm a)"]) == 2
    out = capsys.readouterr().out.splitlines()
    assert out[:6] == [
        "block (critical): refused, unless a person types a confirmation for this one line",
        "",
        "    ls; rm -rf / && echo $(rm a)",
        "        ^^^^^^^^           ~~~~",
        "",
        "  effects  deletes files",
    ]
    assert out[6] == "  because  deletes /: a system or home directory"
    assert all(line.startswith("           ") for line in out[7:])


def test_parts_are_coloured() -> None:
    line = "ls &&\nrm -rf /"
    shown = explained(line, check(line, "bash", HERE), is_coloured=True).splitlines()
    assert shown[2:4] == ["    \x1b[32mls\x1b[0m &&", "    \x1b[1;31mrm -rf /\x1b[0m"]


def test_what_would_change_the_terminal_is_shown_as_an_escape() -> None:
    line = "echo \x1b[2J\u202e"
    shown = explained(line, check(line, "bash", HERE), is_coloured=False)
    assert "    echo \\x1b[2J\\u202e" in shown.splitlines()
    words = ["echo", "\x1b[2J"]
    assert "\x1b" not in explained(words, check(words, "bash", HERE), is_coloured=False)


def test_several_words_are_one_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--", "echo", "$(rm a)", "; rm b"]) == 0
    assert main(["check", "--", "env", "rm", "-rf", "x"]) == 1
    assert "critical" in capsys.readouterr().out


def test_the_shell_and_the_directory_count(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["check", "--shell", "fish", "echo (rm a)"]) == 1
    assert main(["check", "--shell", "/usr/bin/fish", "if test -f a; cat a; end"]) == 0
    assert main(["check", "--cwd", "/", "rm -rf *"]) == 2
    assert main(["check", "--cwd", "/etc", "cat shadow"]) == 1
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert main(["check", "echo (pwd)"]) == 0
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert main(["check", "echo $(pwd)"]) == 0


def test_rules_of_the_user_count(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "add", "--allow", "--", "npm", "test"]) == 0
    rule = capsys.readouterr().out.partition(":")[0]
    assert main(["check", "--json", "npm test"]) == 0
    assert json.loads(capsys.readouterr().out)["rule"] == rule
    assert main(["check", "npm test; rm a"]) == 1
    assert main(["rules", "add", "--deny", "--reason", "not here", "--", "ls"]) == 0
    assert main(["check", "pwd; ls"]) == 2
    assert "not here" in capsys.readouterr().out


def answers(hermitty_input: bytes, place: Path, *options: str) -> list[dict[str, object]]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "SHELL": "/bin/bash"}
    done = subprocess.run(
        [*COMMAND, "check", "--stdin", *options],
        input=hermitty_input,
        cwd=place,
        env=environment,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_many_lines_are_answered_in_their_order(place: Path) -> None:
    requests: list[dict[str, object]] = [
        {"command": "ls"},
        {"command": "rm -rf /"},
        {"command": "echo (rm a)", "shell": "fish"},
        {"command": "rm -rf *", "cwd": "/"},
        {"command": ["rm", "a"]},
        {"command": "echo 'ü'\nls", "more": 1},
    ]
    text = "".join(json.dumps(one) + "\n" for one in requests)
    found = answers(text.encode(), place)
    assert [one["decision"] for one in found] == ["allow", "block", "ask", "block", "ask", "allow"]
    assert found[5]["commands"] == [["echo", "ü"], ["ls"]]


def test_a_bad_line_gets_an_answer_and_stops_nothing(place: Path) -> None:
    bad = [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"command": 1}',
        b'{"command": ["a", 1]}',
        b'{"command": "ls", "shell": 1}',
        b'{"command": "ls", "cwd": ["/"]}',
        b'{"command": "ls", "cwd": "a\\u0000b"}',
        b'{"command": "\xff"}',
        b"[" * 100_000,
    ]
    found = answers(b"\n".join([*bad, b'{"command": "ls"}']), place)
    assert [one["decision"] for one in found] == ["ask"] * len(bad) + ["allow"]
    assert all(one["error"] for one in found[:-1])
    assert "error" not in found[-1]


def test_half_a_character_is_no_reason_to_fall(place: Path) -> None:
    (found,) = answers(b'{"command": "echo \\ud800"}\n', place)
    assert found["decision"] == "ask"


def test_options_are_the_default_of_every_line(place: Path) -> None:
    text = b'{"command": "echo (rm a)"}\n{"command": "ls *", "shell": "bash"}\n{"command": "rm -r *"}\n'
    found = answers(text, place, "--shell", "fish", "--cwd", "/")
    assert [one["decision"] for one in found] == ["ask", "allow", "block"]


def test_each_answer_comes_before_the_next_question(place: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(place)}
    command = [*COMMAND, "check", "--stdin"]
    with subprocess.Popen(
        command, cwd=place, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line, decision in (("ls", "allow"), ("rm a", "ask")):
            process.stdin.write(json.dumps({"command": line}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["decision"] == decision
        process.stdin.close()
        assert process.stdout.read() == ""
    assert process.returncode == 0


@pytest.mark.parametrize("words", [["check"], ["check", "--stdin", "ls"]])
def test_what_cannot_be_checked_is_an_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 125
    assert capsys.readouterr().err.startswith("hermitty: give a command, or --stdin")


def test_without_a_terminal_there_are_no_colours(hermitty: Run) -> None:
    done = hermitty("check", "rm a")
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("changes", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_on_a_terminal_there_are_colours_unless_they_are_not_wanted(
    place: Path, changes: dict[str, str], is_coloured: bool
) -> None:
    ours, theirs = os.openpty()
    try:
        environment = {"PATH": os.environ["PATH"], "HOME": str(place), "TERM": "xterm", **changes}
        with subprocess.Popen([*COMMAND, "check", "ls"], stdout=theirs, cwd=place, env=environment) as process:
            shown = b""
            while b"ls" not in shown:
                shown += os.read(ours, 4096)
        assert process.returncode == 0
        assert (b"\x1b[32m" in shown) == is_coloured
    finally:
        os.close(ours)
        os.close(theirs)
