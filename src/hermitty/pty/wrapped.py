"""The program inside of a sandbox with a process namespace.

bubblewrap is two processes around it: the one that was started, which waits, and the first of the namespace, whose end
is the end of all. The program is the second one inside. bubblewrap reports death by signal N as code 128+N; kernels
since 6.15 tell the difference, also after somebody else has waited for a process.
"""

import contextlib
import fcntl
import os
import struct

from hermitty.model import ExitStatus
from hermitty.pty.exits import exit_status
from hermitty.pty.foreground import children
from hermitty.pty.proc import contents

# PIDFD_GET_INFO: mask, control group, eleven ids, exit code. The fourth bit of the mask asks for the last.
_INFO = struct.Struct("QQ11Ii")
_GET_INFO = 3 << 30 | _INFO.size << 16 | 0xFF << 8 | 11
_INFO_EXIT = 1 << 3


class Wrapped:
    """Finds the program behind the process `outer`, once it is there, and remembers it."""

    def __init__(self, outer: int) -> None:
        self._outer = outer
        self._first: int | None = None
        self._program: int | None = None
        self._descriptor = -1

    def find(self) -> int | None:
        """Return the program's process; None as long as it has not been started."""
        if self._program is None:
            for first in children(self._outer):
                for pid in children(first):
                    if _number_inside(pid) == 2:
                        self._first, self._program = first, pid
                        with contextlib.suppress(OSError, AttributeError):
                            self._descriptor = os.pidfd_open(pid)
        return self._program

    def around(self) -> set[int]:
        """Return the two processes around it."""
        self.find()
        return {self._outer} if self._first is None else {self._outer, self._first}

    def exact(self, told: ExitStatus) -> ExitStatus:
        """Return how the program ended, from what bubblewrap told."""
        if told.code is None or told.code <= 128 or self._descriptor < 0:
            return told
        buffer = bytearray(_INFO.pack(_INFO_EXIT, *[0] * 13))
        try:
            fcntl.ioctl(self._descriptor, _GET_INFO, buffer)
        except OSError:
            return told
        mask, *_, status = _INFO.unpack(buffer)
        return exit_status(status) if mask & _INFO_EXIT else told

    def close(self) -> None:
        """Let go of it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _number_inside(pid: int) -> int | None:
    """Return a process's id in the innermost namespace that it is in."""
    try:
        status = contents(f"/proc/{pid}/status")
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith(b"NSpid:"):
            numbers = line.split()[1:]
            return int(numbers[-1]) if len(numbers) > 1 else None
    return None
