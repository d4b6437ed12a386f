r"""The floor: a bash on a PTY and a blocking reader, with the shortest protocol that is honest.

The prompt is `<$?:\#>`: the exit code of the command that ended and bash's own number of the next one. Reading up to a
prompt with the expected number proves that this very command has ended, and how; nothing is parsed but that. No output
is kept, no directory and no environment is known, and a command that prints such a prompt would fool it.
"""

import contextlib
import os
import pty
import re
import signal
from collections.abc import AsyncIterator

_PROMPT = re.compile(rb"<(\d+):(\d+)>$")


class BareBash:
    """An interactive bash that reads the same startup files as a terminal of hermitty."""

    def __init__(self, *, line_editing: bool) -> None:
        arguments = ["bash", "-i"] if line_editing else ["bash", "--noediting", "-i"]
        self._pid, self._master = spawn_on_pty(arguments)
        self._write(rb"PS1='<$?:\#>'")
        self._number = self._next_prompt()[1]

    async def run_true(self) -> None:
        """Run `true` and check that the prompt is that of the next command."""
        self._write(b"true")
        code, number = self._next_prompt()
        if (code, number) != (0, self._number + 1):
            raise AssertionError(f"the floor lost count: exit code {code}, command {number} after {self._number}")
        self._number = number

    def close(self) -> None:
        """Kill the shell."""
        end_child(self._pid, self._master)

    def _write(self, line: bytes) -> None:
        os.write(self._master, line + b"\r")

    def _next_prompt(self) -> tuple[int, int]:
        seen = b""
        while not (found := _PROMPT.search(seen)):
            seen += os.read(self._master, 65536)
        return int(found[1]), int(found[2])


@contextlib.asynccontextmanager
async def bare_bash(*, line_editing: bool = True) -> AsyncIterator[BareBash]:
    """Open a bare bash and close it in the end."""
    shell = BareBash(line_editing=line_editing)
    try:
        yield shell
    finally:
        shell.close()


def spawn_on_pty(arguments: list[str]) -> tuple[int, int]:
    """Start a program on a new PTY; return its process id and the master's descriptor."""
    pid, master = pty.fork()
    if pid == 0:
        try:
            os.execvp(arguments[0], arguments)
        finally:
            os._exit(127)
    return pid, master


def end_child(pid: int, master: int) -> None:
    """Kill a child, if it still runs, reap it and close its PTY."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(master)
