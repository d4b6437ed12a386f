"""`hermitty serve`: the address it prints, what it refuses, how it ends."""

import json
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermitty.host.control import stop_host
from tests.cli.conftest import COMMAND, Run
from tests.support.shells import PATIENCE_S


@contextmanager
def server(environment: dict[str, str], home: Path, *args: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server that has printed its address."""
    with subprocess.Popen(
        [*COMMAND, "serve", *args], cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            yield process, line.strip()
        finally:
            process.kill()


def get(url: str, path: str, token: str) -> dict[str, object]:
    request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        value = json.load(answer)
    assert isinstance(value, dict)
    return value


@pytest.fixture
def state(environment: dict[str, str], tmp_path: Path) -> Iterator[Path]:
    """A state directory of the test's own. The hosts of terminals outlive their servers, and are ended here."""
    environment["HERMITTY_STATE_DIR"] = str(tmp_path / "state")
    environment["HERMITTY_CONFIG"] = "/dev/null"
    yield tmp_path / "state"
    for name in ("state", "other", "second"):
        stop_host(tmp_path / name)


def test_the_address_is_printed_with_its_token_when_the_server_is_ready(
    environment: dict[str, str], tmp_path: Path, state: Path
) -> None:
    with server(environment, tmp_path, "--port", "0") as (process, line):
        found = re.fullmatch(r"hermitty is at (http://127\.0\.0\.1:\d+)/\?token=([\w-]{43})", line)
        assert found is not None, line
        assert get(found[1], "/api/terminals", found[2]) == {"terminals": []}
        assert json.loads((state / "server.json").read_text())["url"] == found[1]
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, out, err) == (0, b"", b"")
    assert not (state / "server.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_end_comes_at_once_and_leaves_commands_to_the_host(
    environment: dict[str, str], tmp_path: Path, state: Path, number: signal.Signals
) -> None:
    environment["HERMITTY_POLICY__MODE"] = "off"
    with server(environment, tmp_path, "--port", "0", "--token", "a-token-of-mine") as (process, line):
        url = line.removeprefix("hermitty is at ").partition("/?")[0]
        body = json.dumps({"command": "sleep 1000", "wait_s": 0}).encode()
        request = urllib.request.Request(
            f"{url}/api/run", data=body, headers={"Authorization": "Bearer a-token-of-mine"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            assert json.load(answer)["state"] == "running"
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, err) == (0, b"")
    status = stop_host(state)
    assert status is not None
    assert len(status.report.terminals) == 1


def test_a_second_server_is_refused_and_told_of_the_first(
    environment: dict[str, str], tmp_path: Path, state: Path, hermitty: Run
) -> None:
    with server(environment, tmp_path, "--port", "0", "--state-dir", str(tmp_path / "other")) as (_, line):
        url = line.removeprefix("hermitty is at ").partition("/?")[0]
        assert not state.exists()
        again = hermitty("serve", "--port", "0", "--state-dir", str(tmp_path / "other"))
        assert again.returncode == 125
        assert url in again.stderr.decode()


def test_one_with_a_state_directory_of_its_own_is_found_there(
    environment: dict[str, str], tmp_path: Path, state: Path, hermitty: Run
) -> None:
    other = ("--state-dir", str(tmp_path / "other place"))
    with server(environment, tmp_path, "--port", "0", *other) as (process, _):
        assert hermitty("open", *other).returncode == 0
        [told] = hermitty("ls", "--json", *other).stdout.splitlines()
        assert hermitty("ls").returncode == 125
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert f"`hermitty host stop --state-dir '{tmp_path}/other place'` ends it" in out.decode()
    [kept] = json.loads(hermitty("host", "status", "--json", *other).stdout)["terminals"]
    assert kept["terminal"] == json.loads(told)["id"]
    assert hermitty("host", "status").returncode == 1

    assert hermitty("host", "stop", "--yes", *other).returncode == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--host", "0.0.0.0"), "choose a token"),
        (("--port", "70000"), "--port must be 0 to 65535"),
        (("--token", "short"), "8 or more"),
        (("--tls-cert", "nothing.pem"), "both --tls-cert and --tls-key"),
        (("--tls-cert", "nothing.pem", "--tls-key", "nothing.pem"), "cannot be used"),
    ],
)
def test_what_makes_no_sense_is_refused(state: Path, hermitty: Run, args: tuple[str, ...], message: str) -> None:
    result = hermitty("serve", *args)
    assert (result.returncode, result.stdout) == (125, b"")
    assert message in result.stderr.decode()


def test_a_usual_port_that_is_taken_is_replaced_and_that_is_said(
    environment: dict[str, str], tmp_path: Path, state: Path
) -> None:
    with server(environment, tmp_path, "--port", "0") as (_, line):
        port = int(line.rpartition(":")[2].partition("/")[0])
        second = {**environment, "HERMITTY_SERVER__PORT": str(port), "HERMITTY_STATE_DIR": str(tmp_path / "second")}
        with server(second, tmp_path) as (process, other):
            assert int(other.rpartition(":")[2].partition("/")[0]) > port
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=PATIENCE_S)
            assert f"port {port} is taken" in err.decode()
