"""State directories whose durable host ends with the test, and other processes that use it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hermitty.host.control import host_status, stop_host
from tests.support.kernel import gone_now

pytest.register_assert_rewrite("tests.contract.host_contract")

USER = Path(__file__).with_name("user_process.py")
StartUser = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """A state directory. A host that still runs there is stopped with everything that it owns."""
    directory = tmp_path / "state"
    yield directory
    running = host_status(directory)
    if running is not None:
        stop_host(directory)
        gone_now(running.welcome.pid)  # it said its last word, and needs a moment to exit


@pytest.fixture
def start_user(state: Path) -> Iterator[StartUser]:
    """Starts other users of the host: `start_user("hold", script="read x")`. They are killed in the end."""
    with ExitStack() as stack:

        def start(*args: str, script: str = "") -> subprocess.Popen[bytes]:
            command = [sys.executable, str(USER), str(state), *args]
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "SCRIPT": script})
            )
            stack.callback(kill, process)
            return process

        yield start


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process the hard way, and wait for it."""
    process.send_signal(signal.SIGKILL)
    process.wait()
