"""Where the durable host of a state directory is, who it is, and who may talk to it.

`<state>/host/lock` is held by the host for as long as it lives, and tells its process and its socket. The socket is
next to it, or in a directory with a short name when that path is too long for the kernel. Only the same user can reach
it: the directory has mode 0700, the socket 0600, and both ends look at the user of the other.
"""

import contextlib
import hashlib
import json
import os
import socket
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hermitty.errors import HostUnavailable

# The kernel takes 108 bytes on Linux and 104 on macOS, the terminating zero included.
_LONGEST_ADDRESS = 100
_MOST_BYTES = 4096

_LOCAL_PEERCRED = 1  # macOS, at level 0; the module does not name it


@dataclass(frozen=True, slots=True)
class HostPlace:
    """The files of one host. Nothing says that they exist."""

    state: Path

    @property
    def directory(self) -> Path:
        """Return where they are."""
        return self.state / "host"

    @property
    def lock(self) -> Path:
        """Return the file that a living host has locked."""
        return self.directory / "lock"

    @property
    def starting(self) -> Path:
        """Return the file that is locked while a host starts."""
        return self.directory / "starting"

    @property
    def log(self) -> Path:
        """Return what a host complains about."""
        return self.directory / "host.log"

    def make(self) -> None:
        """Make the directory, for this user only."""
        try:
            _make_private(self.directory)
        except OSError as exc:
            raise HostUnavailable(f"directory {str(self.directory)!r} cannot be used: {exc.strerror or exc}") from exc

    def choose_address(self) -> str:
        """Return the path that a new host's socket gets; its directory is there then."""
        usual = self.directory / "host.sock"
        if len(os.fsencode(usual)) <= _LONGEST_ADDRESS:
            return str(usual)
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        base = Path(runtime) if runtime and os.access(runtime, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
        name = hashlib.sha256(os.fsencode(self.state.resolve())).hexdigest()[:16]
        for parent in (base / f"hermitty-host-{os.getuid()}", Path("/tmp") / f"hermitty-host-{os.getuid()}"):
            address = parent / f"{name}.sock"
            if len(os.fsencode(address)) <= _LONGEST_ADDRESS:
                _make_private(parent)
                return str(address)
        raise HostUnavailable(f"the path of the host's socket would be too long: {str(usual)!r}; use a shorter one")

    def read_address(self) -> str | None:
        """Return the socket of the host that runs, or that ran last."""
        try:
            with self.lock.open("rb") as file:
                told = json.loads(file.read(_MOST_BYTES))
            return str(told["socket"])
        except (OSError, ValueError, KeyError, TypeError):
            return None


def tell_address(lock: int, address: str) -> None:
    """Write into the lock file how to reach its owner."""
    told = json.dumps({"pid": os.getpid(), "socket": address}).encode()
    # In one write, over what was there: a reader finds the old or the new text, or one that is no JSON.
    os.pwrite(lock, told, 0)
    os.ftruncate(lock, len(told))


def peer_user(connection: socket.socket) -> int | None:
    """Return the user at the other end of a local socket, or None when the system does not tell."""
    try:
        if hasattr(socket, "SO_PEERCRED"):
            return _peer_credentials(connection)[1]
        user: int = struct.unpack_from("Ii", connection.getsockopt(0, _LOCAL_PEERCRED, 76))[1]
    except OSError:
        return None
    return user


def peer_process(connection: socket.socket) -> int | None:
    """Return the process that made a connection, or None when the system does not tell."""
    with contextlib.suppress(OSError):
        if hasattr(socket, "SO_PEERCRED"):
            return _peer_credentials(connection)[0]
    return None


def _peer_credentials(connection: socket.socket) -> tuple[int, int]:
    process, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return process, user


def is_same_user(connection: socket.socket) -> bool:
    """Tell whether the other end is run by the user of this process."""
    return peer_user(connection) == os.geteuid()


def _make_private(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    if found.st_uid != os.geteuid() or directory.is_symlink():
        raise HostUnavailable(f"directory {str(directory)!r} belongs to somebody else; choose another place")
    if found.st_mode & 0o077:
        with contextlib.suppress(OSError):
            directory.chmod(0o700)
