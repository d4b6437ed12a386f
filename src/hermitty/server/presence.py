"""That a server is there: one for each state directory, and where it is for those who look for it."""

import contextlib
import json
import logging
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from hermitty.errors import HostUnavailable, ServerRunning
from hermitty.runtime.places import make_private
from hermitty.server.private_files import read_private, write_private
from hermitty.version import __version__

try:
    import fcntl
except ImportError:  # Windows: the file of a server that is gone is taken over there, as is that of one that is not
    fcntl = None  # type: ignore[assignment]

SERVER_FILE = "server.json"
LOCK_FILE = "server.lock"


@dataclass(frozen=True, slots=True)
class Presence:
    """Where a server is. The address has no token in it."""

    url: str
    pid: int
    version: str
    started_at: float


@contextlib.contextmanager
def only_server(state: Path) -> Iterator[None]:
    """Be the only server of a state directory, or raise ServerRunning that names the other one."""
    make_private(state)
    try:
        descriptor = os.open(state / LOCK_FILE, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as exc:
        raise HostUnavailable(f"{state / LOCK_FILE} cannot be opened: {exc.strerror}") from exc
    try:
        if fcntl is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                other = find_server(state)
                url, pid = (other.url, other.pid) if other else (None, None)
                raise ServerRunning(str(state), url, pid) from None
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def announced(state: Path, url: str) -> Iterator[Presence]:
    """Say where the server is, as long as the context is open."""
    presence = Presence(url, os.getpid(), __version__, round(time.time(), 3))
    try:
        write_private(state / SERVER_FILE, json.dumps(asdict(presence)).encode())
    except HostUnavailable as exc:
        # A server that has to be told where it is is better than none: it goes on with the terminals.
        logging.getLogger("hermitty.server").warning("clients have to be given the address: %s", exc)
    try:
        yield presence
    finally:
        (state / SERVER_FILE).unlink(missing_ok=True)


def find_server(state: Path) -> Presence | None:
    """Return where the server of a state directory says it is. It may have died without taking that back."""
    try:
        return Presence(**json.loads(read_private(state / SERVER_FILE) or b""))
    except (ValueError, TypeError, HostUnavailable):
        return None
