"""`hermitty history`: the commands that ran, for people and programs."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.cli.escapes import visible
from hermitty.cli.main import main
from hermitty.model import State
from hermitty.runtime.history.entry import HistoryEntry
from hermitty.runtime.history.store import HistoryDatabase

# A time that is shown the same everywhere: the tests set the zone.
START = 1_900_000_000.0


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The state directory, not there yet."""
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HERMITTY_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield tmp_path / "state"
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def filled(state: Path) -> Path:
    """A history of four commands."""
    entries = [
        HistoryEntry("c_1", "git status", "agent", START, State.DONE, 0.04, 0, session="fix"),
        HistoryEntry("c_2", "make\n\x1b[2J", "agent", START + 60, State.DONE, 75.0, 2, session="fix"),
        HistoryEntry("c_3", "sleep 9", "user", START + 120, State.KILLED, 4000.0, 143, "SIGTERM"),
        HistoryEntry("c_4", "npm run dev", "agent", START + 180, State.RUNNING),
    ]
    with contextlib.closing(HistoryDatabase(state / "history.db")) as database:
        database.write(entries)
    return state


def test_commands_are_listed_newest_first_and_escapes_are_harmless(
    filled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["history"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines() == [
        "when                 result   took   session  command",
        "2030-03-17 17:49:40  running  -      -        npm run dev",
        "2030-03-17 17:48:40  SIGTERM  1h06m  -        sleep 9",
        "2030-03-17 17:47:40  2        1m15s  fix      make\\n\\x1b[2J",
        "2030-03-17 17:46:40  0        0.0s   fix      git status",
    ]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--search", "GIT"], ["c_1"]),
        (["--session", "fix"], ["c_2", "c_1"]),
        (["--failed"], ["c_3", "c_2"]),
        (["--limit", "1"], ["c_4"]),
        (["--session", "fix", "--failed"], ["c_2"]),
    ],
)
def test_programs_get_one_object_a_line(
    filled: Path, capsys: pytest.CaptureFixture[str], options: list[str], found: list[str]
) -> None:
    assert main(["history", "--json", *options]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["command_id"] for record in records] == found


def test_a_record_has_everything(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "--json", "--search", "sleep"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "command_id": "c_3", "command": "sleep 9", "source": "user", "started_at": START + 120, "state": "killed",
        "duration_s": 4000.0, "exit_code": 143, "signal": "SIGTERM", "session": None, "workspace": None,
        "terminal": None, "provider": "pty", "shell": None, "cwd": None, "cwd_after": None, "decision": None,
        "rule": None, "output_bytes": 0, "artifact": None, "started": "2030-03-17T17:48:40Z",
    }  # fmt: skip


def test_the_locale_does_not_matter(filled: Path) -> None:
    with contextlib.closing(HistoryDatabase(filled / "history.db")) as database:
        database.write([HistoryEntry("c_5", "echo \u00e4\u2026", "agent", START + 240, State.DONE)])
    for options in ([], ["--json"]):
        command = [sys.executable, "-m", "hermitty.cli.main", "history", "--limit", "1", *options]
        done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=True)
        assert "echo \u00e4\u2026" in done.stdout.decode()


def test_an_empty_history_is_said_and_nothing_is_made(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history"]) == 0
    assert capsys.readouterr() == ("", "hermitty: no such commands in the history\n")
    assert main(["history", "--json"]) == 0
    assert capsys.readouterr() == ("", "")
    assert not state.exists()


def test_what_is_missing_is_said(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.closing(HistoryDatabase(filled / "history.db")) as database:
        database.write([], missing=7, reason="full", now=START)
    assert main(["history", "--limit", "1"]) == 0
    assert capsys.readouterr().err == "hermitty: 7 commands could not be recorded and are missing here\n"


def test_a_damaged_file_is_an_error(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (filled / "history.db").write_bytes(b"no database at all" * 300)
    assert main(["history"]) == 125
    assert "cannot be read: file is not a database" in capsys.readouterr().err


def test_a_limit_of_nothing_makes_no_sense(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "--limit", "0"]) == 125
    assert "--limit must be 1 or more, not 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "shown"), [("ä ü", "ä ü"), ("a\tb\r\n", "a\\tb\\r"), ("\x1b[2J\u202e\u2028", "\\x1b[2J\\u202e\\u2028")]
)
def test_control_characters_are_shown_not_sent(text: str, shown: str) -> None:
    assert visible(text) == shown
