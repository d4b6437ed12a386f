r"""The floor: a shell on a PTY and a blocking reader, with the shortest protocol that is honest.

The prompt is `<exit code:number>`, where the number grows with every command. Reading up to the number that comes next
proves that this very command has ended, and how; nothing is parsed but that. No output is kept, no directory and no
environment is known, and a command that prints such a prompt would fool it.
"""

import contextlib
import os
import pty
import re
import signal
import termios
from collections.abc import AsyncIterator

_PROMPT = re.compile(rb"<0:(\d+)>")
# The size of our own terminals.
_ROWS, _COLUMNS = 30, 120
_READ_BYTES = 64 * 1024

# How each shell is told its prompt. None of these lines looks like the prompt that it makes.
_SET_PROMPT = {
    "bash": rb"PS1='<$?:\#>'",
    "zsh": b"PROMPT='<%?:%h>'",
    "sh": b"PS1='<$?:$((n=n+1))>'",
    # fish draws a prompt more than once, so the command counts, not the prompt.
    "fish": b'set -g n 0; function fish_prompt; echo -n "<$status:$n>"; end; '
    b"function count_commands --on-event fish_postexec; set -g n (math $n + 1); end",
}


class BareShell:
    """An interactive shell that reads the same startup files as a terminal of hermitty."""

    def __init__(self, shell: str, *, line_editing: bool) -> None:
        arguments = [shell, "-i"] if line_editing else [shell, "--noediting", "-i"]
        self.pid, self._master = spawn_on_pty(arguments)
        try:
            os.write(self._master, _SET_PROMPT[shell] + b"\r")
            seen = b""
            while not (prompt := _PROMPT.search(seen)):
                seen += os.read(self._master, _READ_BYTES)
        except BaseException:
            self.close()
            raise
        self.number = int(prompt[1])  # of the last prompt

    async def run_true(self) -> None:
        """Run `true` and check that the prompt is that of the next command."""
        await self.run("true")

    async def run(self, line: str) -> None:
        """Run a command that succeeds."""
        self.number += 1
        wanted = b":%d>" % self.number
        os.write(self._master, line.encode() + b"\r")
        seen = b""
        while wanted not in seen:
            seen += os.read(self._master, _READ_BYTES)
        if b"<0" + wanted not in seen:
            raise AssertionError(f"the floor read another exit code than 0: {seen!r}")

    def close(self) -> None:
        """Kill the shell."""
        end_child(self.pid, self._master)


@contextlib.asynccontextmanager
async def bare_shell(shell: str = "bash", *, line_editing: bool = True) -> AsyncIterator[BareShell]:
    """Open a bare shell and close it in the end."""
    opened = BareShell(shell, line_editing=line_editing)
    try:
        yield opened
    finally:
        opened.close()


def spawn_on_pty(arguments: list[str]) -> tuple[int, int]:
    """Start a program on a new PTY; return its process id and the master's descriptor.

    Not by `pty.fork`: the larger this process is, the longer a fork takes, and the floor would be none.
    """
    master, slave = pty.openpty()
    try:
        termios.tcsetwinsize(slave, (_ROWS, _COLUMNS))
        # Opened by the leader of a new session, it becomes the controlling terminal.
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.ttyname(slave), os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
        ]
        pid = os.posix_spawnp(arguments[0], arguments, os.environ, file_actions=actions, setsid=True)
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)
    return pid, master


def end_child(pid: int, master: int) -> None:
    """Kill a child, if it still runs, reap it and close its PTY."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(master)
