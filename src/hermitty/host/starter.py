"""Finding the durable host of a state directory, and starting it when there is none.

A new host is nobody's child and belongs to no session: whoever started it may end, or be killed, and has no child to
wait for. It says through a pipe when it can be reached, or why it cannot.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import socket
import sys
from dataclasses import astuple
from pathlib import Path

from hermitty.errors import HostUnavailable
from hermitty.host.client import HostClient
from hermitty.host.daemon import DaemonOptions
from hermitty.host.descriptors import open_inbox
from hermitty.host.local import LocalHost
from hermitty.host.place import HostPlace
from hermitty.model import ExitStatus
from hermitty.pty import processes
from hermitty.pty.exits import ExitWatch
from hermitty.pty.spawn import FileAction, spawn

# A host that was asked to stop may be about to end when it is found.
_TRIES = 5
_START_S = 30.0
_LOG_LIMIT = 256 * 1024
_LINES_OF_LOG = 5


async def connect(state: Path, *, start: bool = True, options: DaemonOptions | None = None) -> HostClient:
    """Use the terminals of a state directory; start their host if there is none.

    Raises HostUnavailable with the reason, HostBusy when another process uses them, HostMismatch for another version.
    """
    place = HostPlace(state)
    for _ in range(_TRIES):
        client = await _try(place)
        if client is not None:
            return client
        if not start:
            raise HostUnavailable(f"no host of terminals runs for state directory {str(state)!r}")
        await _start(place, options or DaemonOptions())
    raise HostUnavailable(f"the host of terminals does not stay; see {str(place.log)!r}")


async def _try(place: HostPlace) -> HostClient | None:
    """Connect to the host that runs, or return None when none does."""
    address = place.read_address()
    if address is None:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        # Local sockets connect at once, or not at all: its queue is full, or nobody listens.
        connection.connect(address)
    except BlockingIOError as exc:
        connection.close()
        raise HostUnavailable("the host of terminals does not answer; `hermitty host status` tells more") from exc
    except OSError:
        connection.close()
        return None
    client = HostClient(LocalHost())
    try:
        await client.greet(connection)
        client.inbox = await open_inbox(address)
    except BaseException as exc:
        await client.give_up()
        if isinstance(exc, ConnectionError):
            return None
        raise
    return client


async def _start(place: HostPlace, options: DaemonOptions) -> None:
    """Start a host and wait until it can be reached. It may turn out that somebody else was faster."""
    if not sys.executable:
        raise HostUnavailable("the host of terminals cannot be started: this process does not know its Python")
    place.make()
    read, write = _pipe()
    try:
        log = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            if os.fstat(log).st_size > _LOG_LIMIT:
                os.ftruncate(log, 0)
            pid = _spawn(place, options, write, log)
        finally:
            os.close(log)
    except OSError as exc:
        os.close(read)
        raise HostUnavailable(f"the host of terminals cannot be started: {exc.strerror or exc}") from exc
    except BaseException:
        os.close(read)
        raise
    finally:
        os.close(write)
    try:
        async with asyncio.timeout(_START_S):
            await _ended(pid)
            told = await _read_line(read)
    except TimeoutError as exc:
        raise HostUnavailable(f"the host of terminals did not start within {_START_S:g} s") from exc
    finally:
        os.close(read)
    try:
        error = json.loads(told)["error"]
    except (ValueError, KeyError, TypeError):
        error = _end_of(place.log) or "it ended without a word"
    if error is not None:
        raise HostUnavailable(f"the host of terminals cannot be started: {error}")


def _spawn(place: HostPlace, options: DaemonOptions, ready: int, log: int) -> int:
    # A shell that starts it and ends at once: so it is nobody's child, and no leader of a session. Started from a
    # terminal of ours, it does not belong to it either: its brand (see `processes`) is taken off, which is for good.
    unbrand = "{ ulimit -w 1 || ulimit -x 1; } 2>/dev/null; " if processes.own_brand() is not None else ""
    detached = ("/bin/sh", "-c", f'{unbrand}"$@" &', "sh")
    times = map(str, astuple(options))
    # -P: what lies in the current directory is not imported.
    host = (sys.executable, "-P", "-m", "hermitty.host", os.path.abspath(place.state), *times)
    env = {name: value for name, value in os.environ.items() if name != processes.OWNER_VARIABLE}
    actions: list[FileAction] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, ready, 1),
        (os.POSIX_SPAWN_DUP2, log, 2),
    ]
    return spawn((*detached, *host), cwd="/", env=env, actions=actions)


async def _ended(pid: int) -> None:
    """Wait until a child has ended, and reap it."""
    ended = asyncio.Event()

    def on_exit(status: ExitStatus) -> None:
        ended.set()

    try:
        watch = ExitWatch(pid, on_exit)
    except OSError as exc:
        processes.end_unwatched(pid)
        raise HostUnavailable(f"the host of terminals cannot be started: {exc.strerror or exc}") from exc
    try:
        await ended.wait()
    finally:
        watch.close()
        if not ended.is_set():
            processes.end_unwatched(pid)


async def _read_line(descriptor: int) -> bytes:
    """Read up to the end of a line, or of the pipe."""
    loop = asyncio.get_running_loop()
    data = bytearray()
    complete = asyncio.Event()

    def readable() -> None:
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(descriptor, 4096)
            data.extend(chunk)
            if not chunk or b"\n" in chunk:
                loop.remove_reader(descriptor)
                complete.set()

    os.set_blocking(descriptor, False)
    loop.add_reader(descriptor, readable)
    try:
        await complete.wait()
    finally:
        loop.remove_reader(descriptor)
    return bytes(data)


def _pipe() -> tuple[int, int]:
    """Make a pipe whose ends are none of the standard streams, also when those were closed."""
    low = os.pipe()
    try:
        read = fcntl.fcntl(low[0], fcntl.F_DUPFD_CLOEXEC, 3)
        return read, fcntl.fcntl(low[1], fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        for descriptor in low:
            os.close(descriptor)


def _end_of(log: Path) -> str:
    with contextlib.suppress(OSError):
        lines = log.read_bytes()[-4096:].decode(errors="replace").strip().splitlines()
        return " / ".join(line.strip() for line in lines[-_LINES_OF_LOG:])
    return ""
