"""The process of the durable host: `python -m hermitty.host STATE [TIMES...]`, started by `starter`.

Its standard output is a pipe to whoever started it, and takes one line: that it is ready, or why not. Standard error is
the log file. There is one host for a state directory: a lock is held for as long as the process lives, and another one
while it starts, so that whoever finds a host running finds it listening.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermitty.errors import HermittyError
from hermitty.host.daemon import Daemon, DaemonOptions
from hermitty.host.place import HostPlace, tell_address

_LOG_LIMIT = 256 * 1024
_BACKLOG = 64


def main() -> int:
    """Run the host until it is no longer needed; return its exit code."""
    ready = _Starter()
    # It belongs to no terminal, and ends for nobody but those who say so.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        place = HostPlace(Path(sys.argv[1]))
        options = DaemonOptions(*map(float, sys.argv[2:]))
        place.make()
        starting = _lock(place.starting)
        if _answers(place.read_address()):
            ready.tell(error=None)
            return 0
        # Held by nobody, or by one who is about to end.
        lock = _lock(place.lock)
        address = place.choose_address()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(address)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        os.chmod(address, 0o600)
        listener.listen(_BACKLOG)
    except (OSError, ValueError, IndexError, HermittyError) as problem:
        ready.tell(error=str(problem))
        return 1

    def is_listening() -> None:
        tell_address(lock, address)
        os.close(starting)
        ready.tell(error=None)
        log("started")

    def can_be_found() -> bool:
        return is_there(place.lock, lock)

    try:
        asyncio.run(_serve(listener, options, is_listening, can_be_found))
    except BaseException as problem:
        log(traceback.format_exc())
        ready.tell(error=str(problem) or type(problem).__name__)
        return 1
    finally:
        # In a state directory that was made anew, the socket of this name is another one's.
        if can_be_found():
            with contextlib.suppress(OSError):
                os.unlink(address)
    log("ended")
    return 0


def is_there(path: Path, descriptor: int) -> bool:
    """Tell whether a file is where it was made; yes also while that cannot be known, as on a disk of the network."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


async def _serve(
    listener: socket.socket,
    options: DaemonOptions,
    is_listening: Callable[[], None],
    can_be_found: Callable[[], bool],
) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_log_problem)
    daemon = Daemon(options, log, can_be_found)
    loop.add_signal_handler(signal.SIGTERM, daemon.stop, "SIGTERM")
    await daemon.listen(listener)
    is_listening()
    await daemon.stopped.wait()
    # From here on nobody finds it.
    await daemon.aclose()


class _Starter:
    """The pipe to whoever started this process. It is told something once."""

    def __init__(self) -> None:
        self._pipe = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
        os.dup2(2, 1)

    def tell(self, *, error: str | None) -> None:
        """Say that the host is there, or why it is not."""
        if self._pipe >= 0:
            with contextlib.suppress(OSError):  # he did not wait
                os.write(self._pipe, json.dumps({"error": error}).encode() + b"\n")
            os.close(self._pipe)
            self._pipe = -1


def log(text: str) -> None:
    """Add a line to the log, which starts again when it has become long."""
    line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {os.getpid()} {text.rstrip()}\n"
    with contextlib.suppress(OSError):  # a full disk is no reason to end
        if os.fstat(2).st_size > _LOG_LIMIT:
            os.ftruncate(2, 0)
        os.write(2, line.encode(errors="replace")[:8192])


def _log_problem(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    problem = context.get("exception")
    details = "".join(traceback.format_exception(problem)) if isinstance(problem, BaseException) else ""
    log(f"{context.get('message')}\n{details}")


def _lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _answers(address: str | None) -> bool:
    if address is None:
        return False
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(address)
        except OSError:
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
