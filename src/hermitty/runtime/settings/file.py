"""One file of settings: read with care, its values with the lines they stand on.

A file may come with somebody else's repository. It must be a plain file of a sensible size; the one of a workspace must
not be a link, which could point anywhere.
"""

import errno
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hermitty.config import Setting, all_settings
from hermitty.errors import InvalidSettings
from hermitty.runtime.settings.positions import key_lines

_MOST_BYTES = 1024 * 1024

# tomllib tells the place in its message only (as attributes from Python 3.14 on).
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class FileText:
    """What a file held when it was read."""

    path: Path
    data: bytes


@dataclass(frozen=True, slots=True)
class FileValue:
    """One key of a file. `setting` is None for a name that nobody knows; `line` is None where it could not be found."""

    name: str
    setting: Setting | None
    value: object
    line: int | None


def read_file(path: Path, *, follow_links: bool = True) -> FileText | None:
    """Read a file, or return None when it is not there. Anything but a plain file is refused."""
    if str(path) == os.devnull:
        return FileText(path, b"")
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags if follow_links else flags | getattr(os, "O_NOFOLLOW", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as exc:
        problem = "is a link, and links are not followed here" if exc.errno == errno.ELOOP else exc.strerror
        raise InvalidSettings(f"{path}: cannot be read: {problem}") from exc
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InvalidSettings(f"{path}: cannot be read: it is not a plain file")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as exc:
        raise InvalidSettings(f"{path}: cannot be read: {exc.strerror}") from exc
    finally:
        os.close(descriptor)
    if len(data) > _MOST_BYTES:
        raise InvalidSettings(f"{path}: cannot be read: it is larger than {_MOST_BYTES} bytes")
    return FileText(path, data)


def values_of(file: FileText) -> list[FileValue]:
    """Return the keys of a file, or raise InvalidSettings with the place where it stops being TOML."""
    text = _decoded(file)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise InvalidSettings(_told(file, text, str(exc))) from exc
    except (ValueError, RecursionError) as exc:  # a number of thousands of digits, brackets without end
        raise InvalidSettings(f"{file.path}: not valid TOML: {exc}") from exc
    lines = key_lines(text)
    return list(_flat(content, (), lines))


def _flat(table: dict[str, object], prefix: tuple[str, ...], lines: dict[tuple[str, ...], int]) -> Iterator[FileValue]:
    for key, value in table.items():
        path = (*prefix, key)
        # A key with a dot in it is written in quotes, and no setting is.
        name = ".".join(part if "." not in part else repr(part) for part in path)
        setting = all_settings().get(name)
        if setting is None and isinstance(value, dict) and value:
            yield from _flat(value, path, lines)
        elif setting is not None or value != {}:
            yield FileValue(name, setting, _plain(setting, value), lines.get(path))


def _plain(setting: Setting | None, value: object) -> object:
    """Return a TOML value as settings hold it. TOML has no null: it is written "none"."""
    if setting is not None and setting.optional and value == "none":
        return None
    return tuple(value) if isinstance(value, list) else value


def _decoded(file: FileText) -> str:
    try:
        # Editors on Windows put a byte order mark in front.
        return file.data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        before = file.data[: exc.start]
        column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        line = before.count(b"\n") + 1
        raise InvalidSettings(f"{file.path}:{line}:{column}: not valid TOML: a byte that is not UTF-8") from exc


def _told(file: FileText, text: str, message: str) -> str:
    found = _PLACE.search(message)
    if found is None:
        return f"{file.path}: not valid TOML: {message}"
    problem = message[: found.start()]
    if found[1] is not None:
        return f"{file.path}:{found[1]}:{found[2]}: not valid TOML: {problem}"
    line, column = text.count("\n") + 1, len(text.rpartition("\n")[2]) + 1
    return f"{file.path}:{line}:{column}: not valid TOML: {problem} before the end of the file"
