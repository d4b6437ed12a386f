"""State directories whose durable host ends with the test, and other processes that use it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hermitty.host.control import host_status, stop_host
from tests.support.kernel import is_alive
from tests.support.shells import PATIENCE_S

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
        # It said its last word, and needs a moment to exit.
        deadline = time.monotonic() + PATIENCE_S
        while is_alive(running.welcome.pid):
            assert time.monotonic() < deadline
            time.sleep(0.002)


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
