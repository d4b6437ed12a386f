"""Files of rules on disk: read with care, changed as a whole and by one process at a time."""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hermitty.errors import HostUnavailable, InvalidSettings
from hermitty.runtime.places import make_private
from hermitty.runtime.settings.file import read_file

try:
    import fcntl
except ImportError:  # Windows: two processes that change rules at the same moment may lose one change there
    fcntl = None  # type: ignore[assignment]

# Two writes within one tick of the file system's clock leave the same time. A file this young is read again.
_YOUNG_NS = 2_000_000_000

Stamp = tuple[int, int, int, int] | None


def stamp_of(path: Path, *, follow_links: bool) -> Stamp:
    """Return what changes when a file does; None when there is none."""
    try:
        found = os.stat(path, follow_symlinks=follow_links)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def is_young(stamp: Stamp) -> bool:
    """Tell whether a file may change once more without showing it."""
    return stamp is not None and time.time_ns() - max(stamp[0], stamp[1]) <= _YOUNG_NS


def text_of(path: Path, *, follow_links: bool) -> str:
    """Return the text of a file, empty when it is not there. Raises InvalidSettings."""
    file = read_file(path, follow_links=follow_links)
    if file is None:
        return ""
    try:
        return file.data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        line = file.data[: exc.start].count(b"\n") + 1
        raise InvalidSettings(f"{path}:{line}: not valid TOML: a byte that is not UTF-8") from exc


def change_file(path: Path, change: Callable[[str], str]) -> None:
    """Replace the text of a file by what `change` makes of it. Readers see the old text or the new one."""
    make_private(path.parent)
    # What a link leads to is changed, not the link.
    target = Path(os.path.realpath(path))
    try:
        with _locked(target.with_name(f".{target.name}.lock")):
            _replace(target, change(text_of(target, follow_links=False)))
    except OSError as exc:
        raise HostUnavailable(f"{path}: cannot be changed: {exc.strerror}") from exc


def _replace(path: Path, text: str) -> None:
    # mkstemp makes it readable for nobody else.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
