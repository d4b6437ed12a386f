"""Small files that only their owner may read: tokens, logins, where the server is."""

import contextlib
import os
import tempfile
from pathlib import Path

from hermitty.errors import HostUnavailable
from hermitty.runtime.places import make_private

_MOST_BYTES = 4 * 1024 * 1024


def read_private(path: Path) -> bytes | None:
    """Return what a file holds, or None when it is not there."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise HostUnavailable(f"{path} cannot be read: {exc.strerror}") from exc


def write_private(path: Path, data: bytes) -> None:
    """Replace a file as a whole. Readers see the old content or the new one; nobody else sees any."""
    make_private(path.parent)
    try:
        # mkstemp makes it readable for nobody else.
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as exc:
        raise HostUnavailable(f"{path} cannot be written: {exc.strerror}") from exc
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except OSError as exc:
        with contextlib.suppress(OSError):  # the first problem is the one to tell
            os.unlink(name)
        raise HostUnavailable(f"{path} cannot be written: {exc.strerror}") from exc
