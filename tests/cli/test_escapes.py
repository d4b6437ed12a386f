"""Other people's texts reach a person's terminal as text: in errors, warnings, logs and tables."""

import contextlib
import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.cli import cluster, doctor, run
from hermitty.cli.escapes import escaping_handler, visible, visible_lines
from hermitty.cli.main import main
from hermitty.cluster.control import Observed
from hermitty.model import CommandId, CommandResult, Quality, State
from tests.cli.conftest import Run

EVIL = "\x1b]0;owned\x07\x9b2J"
SHOWN = "\\x1b]0;owned\\x07\\x9b2J"


@given(st.text())
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    assert visible(text).isprintable()
    assert visible_lines(text).replace("\n", "").isprintable()
    assert visible_lines(text).count("\n") == text.count("\n")


# Errors and warnings.


class _Evil(BaseHTTPRequestHandler):
    """A server that tells what nobody should obey."""

    def do_GET(self) -> None:
        self._answer(418, {"error": {"code": "teapot", "message": f"first{EVIL}\nhermitty: second"}})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(201, {"id": f"t_{EVIL}"})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - so it is called there
        pass

    def _answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def evil_url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Evil) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_what_a_server_tells_is_shown_on_one_line(hermitty: Run, evil_url: str) -> None:
    done = hermitty("ls", "--url", evil_url, "--token", "x")
    assert (done.returncode, done.stdout) == (125, b"")
    assert f"first{SHOWN}\\nhermitty: second" in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    done = hermitty("open", "--url", evil_url, "--token", "x")
    assert (done.returncode, done.stdout.decode()) == (0, f"t_{SHOWN}\n")


def test_why_a_command_is_not_allowed_is_shown(hermitty: Run, tmp_path: Path) -> None:
    changes = {"HERMITTY_STATE_DIR": str(tmp_path / "state"), "HERMITTY_CONFIG": str(tmp_path / "config.toml")}
    (tmp_path / "config.toml").touch()
    reason = f"never{EVIL}\nhermitty: all is well"
    assert hermitty("rules", "add", "--deny", "--reason", reason, "--", "npm", **changes).returncode == 0
    done = hermitty("run", "--provider", "pipe", "--", "npm test", **changes)
    assert done.returncode == 126
    assert f"never{SHOWN}\\nhermitty: all is well" in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_warnings_of_a_result_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    run._explain(_result([f"denied: /tmp/{EVIL}\nx"]))
    assert capsys.readouterr() == ("", f"hermitty: denied: /tmp/{SHOWN}\\nx\n")


def _result(warnings: list[str]) -> CommandResult:
    return CommandResult(
        id=CommandId("c_1"),
        command="true",
        terminal=None,
        provider="pipe",
        shell="sh",
        state=State.DONE,
        exit_code=0,
        signal=None,
        quality=Quality.RICH,
        text="",
        total_bytes=0,
        cwd=None,
        duration_s=0.0,
        warnings=warnings,
    )


def test_what_is_logged_is_shown(hermitty: Run, tmp_path: Path) -> None:
    workspace = tmp_path / f"work{EVIL}"
    workspace.mkdir()
    (workspace / ".hermitty.toml").write_text("nothing.known = 1\n")
    done = hermitty("run", "--cwd", str(workspace), "--provider", "pipe", "--", "true")
    assert done.returncode == 0
    assert f"/work{SHOWN}/.hermitty.toml:1" in done.stderr.decode()
    assert b"\x1b" not in done.stderr


def test_lines_of_a_traceback_stay_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        main(["check", "--json", "ls"])  # which sets it up
    capsys.readouterr()
    assert logging.lastResort is not None
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "one%s\ntwo", (EVIL,), None)
    assert logging.lastResort.format(record) == f"one{SHOWN}\ntwo"


# Tables.


def test_the_nodes_of_a_cluster_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    cluster._show([Observed(f"one{EVIL}", None, f"no{EVIL}\nanswer")], as_json=False)
    _, row, problem = capsys.readouterr().out.splitlines()
    assert row.split() == [f"one{SHOWN}", "-", "unreachable", "-", "-", "-", "-"]
    assert problem == f"one{SHOWN}: no{SHOWN}\\nanswer"


def test_the_place_of_a_host_is_shown(hermitty: Run, tmp_path: Path) -> None:
    place = f"{tmp_path}/a{EVIL}"
    for action in ("status", "stop"):
        done = hermitty("host", action, HERMITTY_STATE_DIR=place)
        assert done.stdout.decode() == f"no host runs for {tmp_path}/a{SHOWN}\n"


def test_what_the_doctor_finds_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    found = {
        "available": False,
        "reason": f"it said {EVIL}",
        "landlock": {"version": 0, "problem": EVIL},
        "limits": {"pids": EVIL},
        "advice": [EVIL],
    }
    doctor._print_sandbox(found)
    out = capsys.readouterr().out
    assert out.replace("\n", "").isprintable()
    assert out.count(SHOWN) == 4


def test_where_a_setting_comes_from_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HERMITTY_CONFIG", str(tmp_path / "config.toml"))
    workspace = tmp_path / f"work{EVIL}"
    workspace.mkdir()
    (workspace / ".hermitty.toml").write_text(f"session.hot_s = 3\n{json.dumps(EVIL)} = 1\n")
    assert main(["config", "show", "--changed", "--workspace", str(workspace)]) == 0
    out, err = capsys.readouterr()
    assert f"{tmp_path}/work{SHOWN}/.hermitty.toml:1" in out
    assert SHOWN in err
    assert (out + err).replace("\n", "").isprintable()


def test_a_handler_escapes_what_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    handler = escaping_handler("here: %(message)s")
    handler.emit(logging.LogRecord("name", logging.WARNING, "path", 1, "bad \x1b[2J %s", ("\x9b31m",), None))
    assert capsys.readouterr().err == "here: bad \\x1b[2J \\x9b31m\n"
