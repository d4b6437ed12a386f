"""Files of /proc: short, without a size, and read by the thousand when somebody looks for processes."""

import os

_PIECE_BYTES = 64 * 1024


def contents(path: str) -> bytes:
    """Read a file whole. A file object takes half as long again, and a Path twice as long."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while more := os.read(descriptor, _PIECE_BYTES):
            data += more
        return data
    finally:
        os.close(descriptor)
