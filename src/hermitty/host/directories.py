"""Private directories for terminals, in memory where the system has such a place.

Each host has one directory that only its user can enter. A lock file inside says that its owner lives; what a killed
owner left behind is removed by the next one. An owner whose programs outlive him writes his token into the lock file:
whoever cleans up after him ends them too.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from hermitty.host import orphans

_PREFIX = "hermitty-"
_LOCK = "lock"


class PrivateDirectories:
    """Makes and removes directories of mode 0700."""

    def __init__(self, token: str = "") -> None:
        self._token = token
        self._root: Path | None = None
        self._lock = -1

    def prepare(self) -> None:
        """Clean up after others, and say that this owner lives."""
        self._make_root()

    def make(self, name: str) -> Path:
        """Make a directory for one terminal."""
        directory = self._make_root() / name
        directory.mkdir(mode=0o700)
        return directory

    def remove(self, directory: Path) -> None:
        """Remove a terminal's directory and everything in it."""
        shutil.rmtree(directory, ignore_errors=True)

    def close(self) -> None:
        """Remove everything."""
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)
            os.close(self._lock)
            self._root = None

    def _make_root(self) -> Path:
        if self._root is None:
            base = _base()
            _remove_abandoned(base)
            while self._root is None:
                root = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getuid()}-", dir=base))
                self._lock = _locked(root, self._token)
                if (root / _LOCK).exists():
                    self._root = root
                else:
                    # Before it was locked, another host took it for abandoned.
                    os.close(self._lock)
        return self._root


def remove_abandoned() -> None:
    """Remove what owners who are gone left behind."""
    _remove_abandoned(_base())


def _locked(root: Path, token: str) -> int:
    try:
        lock = os.open(root / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        root.rmdir()
        raise
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.write(lock, token.encode())
    return lock


def _base() -> Path:
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and os.access(memory, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def _remove_abandoned(base: Path) -> None:
    for root in base.glob(f"{_PREFIX}{os.getuid()}-*"):
        with contextlib.suppress(OSError):
            if root.is_symlink() or root.stat().st_uid != os.getuid():
                continue
            lock = os.open(root / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                orphans.end_marked_now(os.read(lock, 64).decode("ascii", "replace"))
                shutil.rmtree(root, ignore_errors=True)
            finally:
                os.close(lock)
