"""How two directories stand to each other, by the rules of POSIX and of Windows.

Comparing is work on strings only; `windows=None` means the rules of the platform we run on. Only `canonical` and
`identity` look at the disk: shells report the name by which they came to a directory, symbolic links included, so
both sides of a comparison go through `canonical` first.
"""

import ntpath
import os
import posixpath
import re
import sys
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from hermitty.errors import InvalidDirectory

# \\?\C:\x and \\?\UNC\server\share\x name the same places as C:\x and \\server\share\x.
_EXTENDED = re.compile(r"\\\\\?\\(UNC\\)?", re.IGNORECASE)


class PathRelation(StrEnum):
    """What the first of two paths is to the second."""

    SAME = "same"
    PARENT = "parent"
    CHILD = "child"
    UNRELATED = "unrelated"


def absolute(value: str | os.PathLike[str], base: str | None = None) -> str:
    """Return an absolute path; a relative one is meant from `base`, or from the directory of this process."""
    path = as_path(value)
    if base is None and not os.path.isabs(path):
        try:
            base = os.getcwd()
        except OSError as exc:
            raise InvalidDirectory(path, "is relative, and the directory of this process is gone") from exc
    return os.path.normpath(os.path.join(base or "", path))


def as_path(value: str | os.PathLike[str], *, windows: bool | None = None) -> str:
    """Return the path that a string, a path object or a file URL names. Raises InvalidDirectory for other machines."""
    text = os.fspath(value)
    if text[:7].lower() != "file://":
        return text
    url = urlsplit(text)
    path = unquote(url.path, errors="surrogateescape")
    server = "" if url.netloc.lower() == "localhost" else unquote(url.netloc)
    if "\0" in path:
        raise InvalidDirectory(text, "contains a NUL byte")
    if _is_windows(windows):
        # file:///C:/x is C:\x, and file://server/share is a share.
        local = path[1:] if re.match(r"/[A-Za-z]:", path) else path
        return (f"//{server}{path}" if server else local).replace("/", "\\")
    if server:
        raise InvalidDirectory(text, f"is on another machine ({server})")
    return path


def path_relation(path1: str, path2: str, *, windows: bool | None = None) -> PathRelation:
    """Tell what `path1` is to `path2`: PARENT when path1 lies above it. An empty path is related to nothing."""
    if not path1 or not path2:
        return PathRelation.UNRELATED
    anchor1, names1 = _parts(path1, windows)
    anchor2, names2 = _parts(path2, windows)
    if anchor1 != anchor2:
        return PathRelation.UNRELATED
    if names1 == names2:
        return PathRelation.SAME
    if _leads_to(names1, names2):
        return PathRelation.PARENT
    return PathRelation.CHILD if _leads_to(names2, names1) else PathRelation.UNRELATED


def can_change_directory(current: str, target: str, *, windows: bool | None = None) -> bool:
    """Tell whether a shell in `current` is near enough to `target` to be sent there: same, parent or child."""
    return path_relation(current, target, windows=windows) is not PathRelation.UNRELATED


def same_path(a: str | None, b: str | None, *, windows: bool | None = None) -> bool:
    """Tell whether two paths are equal. A missing or empty path equals only another missing one."""
    if not a or not b:
        return not a and not b
    return _parts(a, windows) == _parts(b, windows)


def canonical(path: str | os.PathLike[str]) -> str:
    """Return the one name of a place: absolute, links followed. What does not exist is taken by its name."""
    return os.path.realpath(as_path(path))


def identity(path: str) -> tuple[int, int] | None:
    """Return what tells a directory from a later one of the same name, or None when there is none now."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # ValueError: a NUL byte
        return None
    return found.st_dev, found.st_ino


def _is_windows(windows: bool | None) -> bool:
    return sys.platform == "win32" if windows is None else windows


def _parts(path: str, windows: bool | None) -> tuple[str, tuple[str, ...]]:
    """Return what a path starts from (a root, a drive, a share, or nothing) and the names below it."""
    if not _is_windows(windows):
        clean = posixpath.normpath(path)
        anchor, separator = "/" if clean.startswith("/") else "", "/"
    else:
        folded = path.replace("/", "\\").lower()
        folded = (
            _EXTENDED.sub(lambda found: "\\\\" if found[1] else "", folded, count=1)
            if folded[:4] == "\\\\?\\"
            else folded
        )
        drive, clean = ntpath.splitdrive(folded)
        # A share is its own root, with or without a separator after it.
        rooted = "\\" if clean.startswith("\\") or drive.startswith("\\\\") else ""
        anchor, separator = drive + rooted, "\\"
        clean = ntpath.normpath(clean) if clean else ""
    return anchor, tuple(name for name in clean.split(separator) if name not in ("", "."))


def _leads_to(above: tuple[str, ...], below: tuple[str, ...]) -> bool:
    # Below a relative path, "..", which leads up, is no name.
    rest = below[len(above) :]
    return below[: len(above)] == above and ".." not in rest
