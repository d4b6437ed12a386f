"""One command's output on its way to the disk.

The first bytes stay in memory: most commands print little, and have no artifact. A command that prints more than
`memory_bytes`, or whose text does not show everything, gets a file. An artifact is always an exact beginning of the
output: after the first byte that could not be written, none is, and all of them are counted. When that is the very
first, there is no artifact. Nothing here raises into the command.

Writes happen where the output arrives, 256 KB at a time, into the system's cache: that takes about 70 µs,
and 125 µs at the 99th percentile, measured with a local disk. Handing each piece to a thread costs about as much, and
needs a bound of its own on what waits. A disk that stays slower than a command slows the command down.
"""

import contextlib
import errno
import os
import re
import secrets
import sys
from pathlib import Path
from typing import Any, Protocol

if sys.platform != "win32":
    import fcntl

_BUFFER_BYTES = 256 * 1024
_COMMAND_ID = re.compile(r"c_([0-9a-f]{16})")
# Everything but colours and erasures up to the end of the line.
_MAY_GROW = re.compile(rb"[\x0b\x0c]|\x1b(?!\[[0-9;:]*+[mK])")
_OLD_FILE = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEW_FILE = _OLD_FILE | os.O_CREAT | os.O_EXCL


class Keeper(Protocol):
    """What a writer needs to know of the place where artifacts are kept."""

    directory: Path
    max_bytes_per_artifact: int
    memory_bytes: int

    def began(self, writer: "ArtifactWriter", artifact_id: str) -> None: ...
    def ended(self, artifact_id: str, removed_bytes: int | None = None) -> None: ...
    def wrote(self, count: int) -> None: ...
    def failed(self) -> None: ...
    def room_for(self, wanted: int, *, new_file: bool = False) -> int: ...


class ArtifactWriter:
    """Takes the output of one command. Use it from one thread.

    `total` is always the sum of what is written, what is held in memory and what is lost.
    """

    __slots__ = ("_buffer", "_descriptor", "_hold", "_is_closed", "_keeper", "_path", "_written", "command_id", "id",
                 "lost", "reason")  # fmt: skip

    def __init__(self, keeper: Keeper, command_id: str) -> None:
        self.command_id = command_id
        self.id: str | None = None  # None while there is no file
        self.lost = 0
        self.reason: str | None = None
        self._keeper = keeper
        self._buffer = bytearray()
        self._hold = keeper.memory_bytes
        self._written = 0
        self._descriptor: int | None = None
        self._path: Path | None = None
        self._is_closed = False

    @property
    def total(self) -> int:
        """How many bytes the output has so far."""
        return self._written + len(self._buffer) + self.lost

    @property
    def size(self) -> int:
        """How many bytes of it are there to be read, on the disk or before they get there."""
        return self._written + len(self._buffer)

    @property
    def problem(self) -> str | None:
        """What a person should know of an artifact that is not whole."""
        if self.reason is None:
            return None
        why = {"limit": "it reached its limit", "total_limit": "all artifacts together reached their limit"}
        return f"the last {self.lost} bytes of the output were not kept: {why.get(self.reason, self.reason)}"

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next bytes of the output."""
        if self.reason is not None:
            self.lost += len(data)
            return
        self._buffer += data
        if len(self._buffer) > self._hold:
            self._spill()

    def flush(self) -> None:
        """Write what is held, if there is a file."""
        if self._descriptor is not None and self._buffer:
            self._spill()

    def state(self) -> dict[str, Any]:
        """Return where it stands, for `go_on_from` in another process; what has a file is all in it then."""
        self.flush()
        return {
            "id": self.id,
            "held": self._buffer.decode("latin-1"),
            "written": self._written,
            "lost": self.lost,
            "reason": self.reason,
        }

    def go_on_from(self, state: dict[str, Any]) -> None:
        """Stand where the writer of another process stood. What it wrote after that comes once more."""
        self._buffer += state["held"].encode("latin-1")
        self.lost, self.reason = state["lost"], state["reason"]
        if state["id"] is None:
            return
        path = self._keeper.directory / f"{state['id']}.part"
        try:
            if not path.exists():
                # It was finished after its state was kept. The end of the output comes once more.
                for finished in path.parent.glob(f"{path.stem}.*"):
                    finished.rename(path)
            os.ftruncate(self._begin(state["id"], path, _OLD_FILE), state["written"])
            self._written = state["written"]
        except OSError as exc:
            self.reason = errno.errorcode.get(exc.errno or 0, "error")
            self.lost += state["written"]

    def keep(self) -> str | None:
        """Make sure that there is an artifact, because the text does not show everything, and return its id.

        None when there was no output, or no file could be made. Also works after `close`, until `discard`.
        """
        if self._buffer:
            self._spill()
        if self._is_closed:
            self._finish()
        return self.id

    def close(self) -> None:
        """Note that the output has ended. What fits into memory stays there for `keep` or `discard`."""
        self._is_closed = True
        if self._descriptor is not None:
            self._spill()
            self._finish()

    def leave(self) -> None:
        """Write what is held, and let go of the file for another process."""
        self.flush()
        self._close_file()

    @property
    def is_small(self) -> bool:
        """Whether all of it is still in memory."""
        return self.id is None and self.reason is None

    def surely_fits(self, lines: int, characters: int) -> bool:
        """Tell whether a text of so many lines and characters shows all of it, without making that text; 0: any.

        False means that the text has to be made to know: the cursor can leave more on the screen than was printed.
        """
        held = self._buffer
        if not self.is_small or _MAY_GROW.search(held):
            return False
        # A tab is at most eight columns, and a carriage return may count as the end of a line.
        shown_lines = held.count(b"\n") + held.count(b"\r") - held.count(b"\r\n") + 1
        return (not lines or shown_lines <= lines) and (
            not characters or len(held) + 7 * held.count(b"\t") <= characters
        )

    def discard(self) -> None:
        """Let go of the output: the text shows all of it. Removes the file, if there is one."""
        self._is_closed = True
        self._buffer = bytearray()
        self._drop_file()

    def _drop_file(self) -> None:
        """Remove the file, if there is one."""
        if self.id is None or self._path is None:
            return
        self._close_file()
        with contextlib.suppress(OSError):  # it is gone already, or is found by its age later
            self._path.unlink()
        self._keeper.ended(self.id, removed_bytes=self._written)
        self.id = self._path = None
        self._written = 0

    def _spill(self) -> None:
        """Write everything held, or give up and count what is lost."""
        data, self._buffer = memoryview(self._buffer), bytearray()
        done = 0
        try:
            room = self._keeper.room_for(len(data), new_file=self._descriptor is None)
            within = min(room, self._keeper.max_bytes_per_artifact - self._written)
            while done < within:
                descriptor = self._create() if self._descriptor is None else self._descriptor
                done += os.write(descriptor, data[done:within])
            if done < len(data):
                self.reason = "limit" if within < room else "total_limit"
        except OSError as exc:
            self.reason = errno.errorcode.get(exc.errno or 0, "error")
            self._keeper.failed()
            if done == self._written == 0:
                self._drop_file()
        self._written += done
        self._keeper.wrote(done)
        self.lost += len(data) - done

    def _create(self) -> int:
        directory = self._keeper.directory
        directory.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        if sys.platform != "win32" and directory.stat().st_mode & 0o777 != 0o700:
            directory.chmod(0o700)  # refused if it belongs to somebody else, who must not read our output
        known = _COMMAND_ID.fullmatch(self.command_id)
        artifact_id = f"a_{known[1] if known else secrets.token_hex(8)}"
        left = directory / f"{artifact_id}.part"
        if left.exists() and not is_locked(left):
            left.unlink()  # by a process that died; what it had of this command comes once more
        if any(name.startswith(artifact_id) for name in os.listdir(directory)):
            artifact_id = f"a_{secrets.token_hex(8)}"
        return self._begin(artifact_id, directory / f"{artifact_id}.part", _NEW_FILE)

    def _begin(self, artifact_id: str, path: Path, flags: int) -> int:
        descriptor = os.open(path, flags, 0o600)
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # some file systems have no locks; age is what protects it there
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.id, self._path, self._descriptor, self._hold = artifact_id, path, descriptor, _BUFFER_BYTES
        self._keeper.began(self, artifact_id)
        return descriptor

    def _finish(self) -> None:
        """Give the file its last name."""
        if self._descriptor is None or self._path is None or self.id is None:
            return
        name = f"{self.id}.raw" if self.reason is None else f"{self.id}.{self.lost}-{self.reason}.cut"
        if sys.platform == "win32":
            self._close_file()  # an open file cannot be renamed there; elsewhere its lock protects it until it is
        # Without its last name the file counts as one whose writer died, which is true enough.
        with contextlib.suppress(OSError):
            self._path = self._path.rename(self._path.with_name(name))
        self._close_file()
        self._keeper.ended(self.id)

    def _close_file(self) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            with contextlib.suppress(OSError):  # the descriptor is gone even then
                os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Tell whether somebody writes a file. On Windows nobody can delete it then, so it does not matter."""
    if sys.platform == "win32":
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
