"""`hermitty host` says what the host of terminals does, and ends it when that is meant."""

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.host.base import PtySpec
from hermitty.host.control import host_status, stop_host
from hermitty.host.starter import connect
from hermitty.model import Size, TerminalId
from hermitty.version import __version__
from hermitty.wire.hostlink.messages import VERSION
from tests.cli.conftest import COMMAND, Run
from tests.support.recorders import Recorder
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def environment(environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return {**environment, "HERMITTY_STATE_DIR": str(tmp_path / "state")}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """A state directory whose host ends with the test."""
    yield tmp_path / "state"
    stop_host(tmp_path / "state")


async def left_behind(state: Path, *names: str) -> int:
    """Start a host with terminals that nobody uses; return its process."""
    host = await connect(state)
    for name in names:
        sink = Recorder()
        spec = PtySpec(
            terminal=TerminalId(name),
            program="/bin/sh",
            args=("-c", "echo ready; read x"),
            cwd="/",
            env={"PATH": os.environ["PATH"]},
            size=Size(cols=90, rows=20),
            directory=await host.make_directory(TerminalId(name)),
        )
        await host.open(spec, sink)
        await sink.printed(b"ready\r\n")
    await host.leave()
    return host.pid


def test_without_a_host_it_says_so(hermitty: Run, state: Path) -> None:
    done = hermitty("host", "status")
    assert (done.returncode, done.stdout, done.stderr) == (1, f"no host runs for {state}\n".encode(), b"")

    done = hermitty("host", "status", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (1, {"state": str(state), "running": False})

    done = hermitty("host", "stop")
    assert (done.returncode, done.stdout) == (0, f"no host runs for {state}\n".encode())
    assert not state.exists()


def test_a_host_is_described_for_people_and_for_programs(hermitty: Run, state: Path) -> None:
    pid = asyncio.run(left_behind(state, "t_1", "t_2"))

    done = hermitty("host", "status", "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    told = json.loads(done.stdout)
    shells = [terminal.pop("pid") for terminal in told["terminals"]]
    assert len(set(shells)) == 2
    assert told.pop("memory_bytes") > 0
    assert told.pop("since").endswith("Z")
    terminal = {"cols": 90, "rows": 20, "output_bytes": 7, "unread_bytes": 7, "ring_bytes": 512 * 1024}
    state_of_it = {"is_used": False, "is_paused": False, "has_ended": False}
    assert told == {
        "state": str(state),
        "running": True,
        "pid": pid,
        "hermitty": __version__,
        "protocol": VERSION,
        "used_by": None,
        "ring_bytes": 2 * 512 * 1024,
        "terminals": [{"terminal": name, **terminal, **state_of_it} for name in ("t_1", "t_2")],
    }

    done = hermitty("host", "status")
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"")
    assert lines[0] == f"host of      {state}"
    assert lines[1].startswith(f"process      {pid}, hermitty {__version__}, since 2")
    assert lines[2] == "used by      nobody"
    assert lines[4] == "terminals    2"
    assert lines[7].split() == ["t_1", str(shells[0]), "90x20", "7", "7", "waits", "for", "a", "server"]


def test_a_host_with_terminals_is_not_stopped_by_accident(hermitty: Run, state: Path) -> None:
    pid = asyncio.run(left_behind(state, "t_1"))

    done = hermitty("host", "stop")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"hermitty: 1 terminal would end with the host; add --yes if that is meant\n"
    assert host_status(state) is not None

    done = hermitty("host", "stop", "--yes")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == f"the host (process {pid}) has ended, and 1 terminal with it\n".encode()
    assert host_status(state) is None


def test_one_without_terminals_is_stopped_at_once(hermitty: Run, state: Path) -> None:
    pid = asyncio.run(left_behind(state))

    done = hermitty("host", "stop")

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == f"the host (process {pid}) has ended, and no terminal with it\n".encode()


@pytest.mark.parametrize(("answer", "is_stopped"), [(b"y\n", True), (b"\n", False), (b"no\n", False), (b"\x04", False)])
def test_a_person_is_asked(environment: dict[str, str], state: Path, answer: bytes, is_stopped: bool) -> None:
    asyncio.run(left_behind(state, "t_1", "t_2"))
    master, slave = pty.openpty()
    try:
        os.write(master, answer)
        done = subprocess.run(
            [*COMMAND, "host", "stop"],
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            timeout=PATIENCE_S,
            check=False,
        )
        said = os.read(master, 10_000)
    finally:
        os.close(master)
        os.close(slave)

    assert b"2 terminals, with all that runs there, will end. Stop the host? [y/N]" in said
    assert (done.returncode, host_status(state) is None) == ((0, True) if is_stopped else (1, False))


def test_the_help_teaches(hermitty: Run) -> None:
    done = hermitty("host", "--help")

    text = done.stdout.decode()
    assert done.returncode == 0
    for part in ("status", "stop", "HERMITTY_STATE_DIR", "exit codes", "hermitty host stop --yes"):
        assert part in text
