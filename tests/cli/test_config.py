"""`hermitty config`: what a person and a program see of the settings."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermitty.cli.main import main
from hermitty.config import all_settings


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's file, empty; nothing else has a say."""
    for name in [name for name in os.environ if name.startswith("HERMITTY_")]:
        monkeypatch.delenv(name)
    file = tmp_path / "config.toml"
    file.touch()
    monkeypatch.setenv("HERMITTY_CONFIG", str(file))
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return file


def test_the_path_is_told_whether_the_file_is_there_or_not(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.unlink()
    assert main(["config", "path"]) == 0
    assert capsys.readouterr() == (f"{file}\n", "")


def test_every_setting_is_shown_aligned_with_value_and_origin(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("[terminal]\ncols = 90\n")
    assert main(["config", "show"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["setting", "value", "origin"]
    assert [line.split()[0] for line in lines] == list(all_settings())
    starts = {line.index(" default") for line in lines if line.endswith(" default")}
    assert len(starts) == 1
    assert head.index(" origin") in starts
    (cols,) = [line for line in lines if line.startswith("terminal.cols ")]
    assert cols.split(maxsplit=2) == ["terminal.cols", "90", f"file {file}:2"]


def test_only_what_somebody_decided_is_shown(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('terminal.shell = "z\\u001bsh"\n[terminal.env]\nAPI_TOKEN = "hunter2"\nA = "1"\n')
    Path(".hermitty.toml").write_text("session.hot_s = 3\nterminal.shell = 'evil'")
    monkeypatch.setenv("HERMITTY_RUN__WAIT_S", "none")
    assert main(["config", "show", "--changed"]) == 0
    out, err = capsys.readouterr()
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["terminal.shell", '"z\\u001bsh"', "file", f"{file}:1"],
        ["terminal.env", '{"API_TOKEN":', '"***",', '"A":', '"1"}', "file", f"{file}:2"],
        ["run.wait_s", "none", "environment", "HERMITTY_RUN__WAIT_S"],
        ["session.hot_s", "3", "file", f"{Path.cwd()}/.hermitty.toml:1"],
    ]
    assert "terminal.shell cannot be set by the file of a workspace" in err


def test_nothing_changed_is_said(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", "--changed"]) == 0
    assert capsys.readouterr() == ("", "hermitty: every setting has its default\n")


def test_explanations_come_with_what_is_allowed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", "--explain"]) == 0
    assert "    columns of a new terminal (a whole number from 1 to 4096)\n" in capsys.readouterr().out


def test_programs_get_everything_as_json(file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / ".hermitty.toml").write_text("\nterminal.cols = 91")
    assert main(["config", "show", "--json", "--workspace", str(other)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["config_file"] == str(file)
    assert [setting["name"] for setting in shown["settings"]] == list(all_settings())
    (cols,) = [setting for setting in shown["settings"] if setting["name"] == "terminal.cols"]
    assert cols == {
        "name": "terminal.cols",
        "value": 91,
        "default": 120,
        "origin": f"file {other}/.hermitty.toml:2",
        "kind": "workspace",
        "place": f"{other}/.hermitty.toml",
        "line": 2,
        "doc": "columns of a new terminal",
        "allowed": "a whole number from 1 to 4096",
        "variable": "HERMITTY_TERMINAL__COLS",
    }


def test_a_broken_file_is_an_error_with_its_place(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("[terminal]\ncols = 0")
    assert main(["config", "show"]) == 125
    message = f"hermitty: {file}:2: setting terminal.cols is 0; it must be a whole number from 1 to 4096\n"
    assert capsys.readouterr() == ("", message)


def test_a_reader_that_leaves_is_no_error(file: Path) -> None:
    command = [sys.executable, "-m", "hermitty.cli.main", "config", "show"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141
