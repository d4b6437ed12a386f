"""The audit: who allowed what, when, and why. Lines of JSON in the state directory, only ever appended to.

Every record is one write to the end of the file, so several processes can share it, and a process that dies loses
nothing it has written. A line that was cut (a full disk, a power failure) is closed by the next writer and skipped by
readers. When the file is full it is moved aside. A command never fails because its record does.
"""

import contextlib
import json
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hermitty.errors import HermittyError
from hermitty.runtime.history.masking import mask_secrets
from hermitty.runtime.places import make_private

try:
    import fcntl
except ImportError:  # Windows: only one process at a time moves the file aside there
    fcntl = None  # type: ignore[assignment]

_MOVES_OPEN_FILES = os.name != "nt"
_MAX_BYTES = 8 * 1024 * 1024
_KEPT_FILES = 4
# Longer texts are cut: an audit is for reading.
_TEXT_LIMIT = 16_384
# So much more is looked at for secrets that the cut goes through.
_OVERLAP = 4096
_FIELD_LIMIT = 1024


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One decision about one command."""

    command: str
    outcome: str  # allow, deny, skip, timeout, cancelled, mismatch
    how: str  # what decided: safe, rule, mode, answer, policy, execution
    decision: str  # what the policy said: allow, ask, block
    level: str
    cwd: str | None = None
    shell: str | None = None
    effects: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    rule: str | None = None
    session: str | None = None
    terminal: str | None = None
    origin: str = "agent"
    question: str | None = None
    scope: str | None = None
    by: str | None = None  # who answered
    at: float = 0.0  # seconds since 1970


_FIELDS = tuple(field.name for field in fields(AuditEntry))


class Audit:
    """Appends records to one file. `tell` hears of the first problem of a row of problems."""

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int = _MAX_BYTES,
        kept_files: int = _KEPT_FILES,
        tell: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self.lost = 0  # records that could not be written
        self._max_bytes = max_bytes
        self._kept_files = kept_files
        self._tell = tell or logging.getLogger("hermitty.audit").warning
        self._clock = clock
        self._is_told = False

    def record(self, entry: AuditEntry) -> bool:
        """Append a record. False: it could not be written, which was told."""
        try:
            self._append(_line(entry, entry.at or self._clock()))
        except (OSError, HermittyError) as exc:
            self.lost += 1
            if not self._is_told:
                self._is_told = True
                self._tell(f"audit: decisions are not recorded for now: {exc}")
            return False
        self._is_told = False
        return True

    def _append(self, line: bytes) -> None:
        make_private(self.path.parent)
        with _opened(self.path) as descriptor:
            size = os.fstat(descriptor).st_size
            if size + len(line) <= self._max_bytes or size == 0 or not _is_alone(descriptor, self.path):
                _write(descriptor, line, size)
                return
            if _MOVES_OPEN_FILES:  # while the lock is held
                self._move_aside()
        if not _MOVES_OPEN_FILES:
            self._move_aside()
        with _opened(self.path) as descriptor:
            _write(descriptor, line, os.fstat(descriptor).st_size)

    def _move_aside(self) -> None:
        names = [self.path, *(old_file(self.path, number) for number in range(1, self._kept_files + 1))]
        for number in range(len(names) - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                os.replace(names[number - 1], names[number])


def old_file(path: Path, number: int) -> Path:
    """Return where the file went that was moved aside so many times ago."""
    return path.with_name(f"{path.name}.{number}")


def read_audit(path: Path, *, limit: int = 50, wanted: Callable[[dict[str, Any]], bool] | None = None) -> list[Any]:
    """Return the newest records, newest first. What is not a record is left out."""
    found: list[dict[str, Any]] = []
    for file in (path, *(old_file(path, number) for number in range(1, _KEPT_FILES + 1))):
        try:
            lines = file.read_bytes().splitlines()
        except FileNotFoundError:
            continue
        for line in reversed(lines):
            record = _parsed(line)
            if record is not None and (wanted is None or wanted(record)):
                found.append(record)
                if len(found) >= limit:
                    return found
    return found


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_record = isinstance(record, dict) and isinstance(record.get("command"), str)
    return record if is_record and isinstance(record.get("at"), int | float) else None


def _line(entry: AuditEntry, at: float) -> bytes:
    command = mask_secrets(entry.command[: _TEXT_LIMIT + _OVERLAP])
    if len(command) > _TEXT_LIMIT or len(entry.command) > _TEXT_LIMIT + _OVERLAP:
        command = f"{command[:_TEXT_LIMIT]}… [cut here: the line has {len(entry.command)} characters]"
    values = {name: _bounded(getattr(entry, name)) for name in _FIELDS}
    # Reasons quote words of the command.
    values["reasons"] = [mask_secrets(reason) for reason in values["reasons"]]
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
    return json.dumps({"time": when, **values, "command": command, "at": round(at, 3)}).encode("ascii") + b"\n"


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_FIELD_LIMIT]
    if isinstance(value, tuple):
        return [_bounded(each) for each in value[:50]]
    return value


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    # A pipe that somebody put there must not make anybody wait.
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a plain file")
        yield descriptor
    finally:
        os.close(descriptor)


def _is_alone(descriptor: int, path: Path) -> bool:
    """Tell whether this process may move the file aside: nobody else does, and it is still the one at the path."""
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:  # somebody else has just moved it
        return False
    own = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino)


def _write(descriptor: int, line: bytes, size: int) -> None:
    if size:
        os.lseek(descriptor, size - 1, os.SEEK_SET)
        if os.read(descriptor, 1) != b"\n":
            line = b"\n" + line
    written = os.write(descriptor, line)
    if written != len(line):
        raise OSError(f"only {written} of {len(line)} bytes were written")
