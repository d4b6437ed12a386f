"""A person at a terminal: a real PTY with `hermitty` in it."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from tests.cli.conftest import COMMAND
from tests.support.shells import PATIENCE_S

# Sits between the session and hermitty: makes the PTY the terminal that controls it, so that the kernel tells of sizes.
_CONTROLLED = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Desk:
    """A person's terminal with `hermitty` in it."""

    def __init__(self, *args: str, environment: dict[str, str], cwd: Path) -> None:
        self._master, self._slave = pty.openpty()
        self.resize(50, 20)
        self.modes = termios.tcgetattr(self._slave)
        self.seen = b""
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CONTROLLED, *COMMAND, *args],
            **dict.fromkeys(("stdin", "stdout", "stderr"), self._slave),  # type: ignore[call-overload]
            cwd=cwd,
            env={**environment, "TERM": "xterm-256color"},
            start_new_session=True,
        )

    def resize(self, cols: int, rows: int) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def see(self, text: bytes, *, after: bytes = b"") -> None:
        """Wait until the screen has shown a text, after another one."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.seen.rpartition(after)[2] if after else text not in self.seen:
            has_ended = self.process.poll() is not None  # looked at first: what it printed last comes before
            if select.select([self._master], [], [], 0.05)[0]:
                self.seen += os.read(self._master, 65536)
                continue
            assert not has_ended, self.seen
            assert time.monotonic() < deadline, self.seen

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._master, keys)

    def leave(self) -> int:
        """Wait for the end; the terminal is as it was before."""
        while self.process.poll() is None:
            if select.select([self._master], [], [], 0.01)[0]:
                self.seen += os.read(self._master, 65536)
        while select.select([self._master], [], [], 0)[0]:
            self.seen += os.read(self._master, 65536)
        assert termios.tcgetattr(self._slave) == self.modes
        return int(self.process.returncode)

    def close(self) -> None:
        """End what still runs, and take the terminal away."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)
        os.close(self._slave)
