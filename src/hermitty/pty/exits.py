"""Being told when a child ends, without a thread and without SIGCHLD (which belongs to the embedding program)."""

import asyncio
import os
import select
import sys
from collections.abc import Callable

from hermitty.model import ExitStatus


class ExitWatch:
    """Calls back once, from the event loop, when a child process has ended; then reaps it."""

    def __init__(self, pid: int, on_exit: Callable[[ExitStatus], None]) -> None:
        self._pid = pid
        self._on_exit = on_exit
        self._loop = asyncio.get_running_loop()
        self._descriptor = _descriptor_that_wakes_at_exit(pid)
        self._loop.add_reader(self._descriptor, self._ended)

    def close(self) -> None:
        """Stop watching. The child, if it still runs, must be reaped by somebody else."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _ended(self) -> None:
        try:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            # The embedding program ignores SIGCHLD, or waits for children that are not its own: nobody knows.
            self.close()
            self._on_exit(ExitStatus())
            return
        if pid == 0:
            return
        self.close()
        self._on_exit(exit_status(status))


def exit_status(status: int) -> ExitStatus:
    """Translate what waitpid says."""
    code = os.waitstatus_to_exitcode(status)
    return ExitStatus(code=code) if code >= 0 else ExitStatus(signal=-code)


def _descriptor_that_wakes_at_exit(pid: int) -> int:
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(pid)
    if sys.platform == "darwin":
        queue = select.kqueue()
        event = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
        queue.control([event], 0)
        descriptor = os.dup(queue.fileno())
        queue.close()
        return descriptor
    raise OSError("this platform cannot tell when a process ends")
