"""Files that an agent reads and writes through its client, judged like the commands that would do the same.

Off unless somebody turns it on: an agent that is not offered these methods uses its own, or asks for a command. Links
are followed first, and what they lead to is what is judged, shown and opened.
"""

import asyncio
import errno
import os
import stat
from typing import BinaryIO

from acp.schema import ReadTextFileResponse, WriteTextFileResponse

from hermitty.adapters.acp import faults
from hermitty.adapters.acp.permissions import ORIGIN
from hermitty.errors import TooLarge
from hermitty.runtime.api import Runtime

# With quoting, still less than a message can have.
MAX_FILE_BYTES = 8 * 1024 * 1024


class AcpFiles:
    """Reads and writes text files for the sessions of one connection."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def read(
        self, session: str, cwd: str, path: str, line: int | None, limit: int | None
    ) -> ReadTextFileResponse:
        """Return the text of a file: all of it, or so many lines from a line on (the first is number 1)."""
        real = await self._allowed(session, cwd, ("cat", "--"), path)
        text = await asyncio.to_thread(_read, real)
        return ReadTextFileResponse(content=_lines(text, line, limit))

    async def write(self, session: str, cwd: str, path: str, content: str) -> WriteTextFileResponse:
        """Write a file: a new one, or instead of what it was."""
        real = await self._allowed(session, cwd, ("tee", "--"), path)
        await asyncio.to_thread(_write, real, content)
        return WriteTextFileResponse()

    async def _allowed(self, session: str, cwd: str, program: tuple[str, ...], path: str) -> str:
        if not os.path.isabs(path) or "\0" in path:
            raise faults.invalid(f"path must be absolute, not {path[:200]!r}")
        real = await asyncio.to_thread(os.path.realpath, path)
        await self._runtime.gate.check(
            (*program, real), cwd=cwd, workspace=cwd if cwd != os.sep else None, session=session, origin=ORIGIN
        )
        return real


def _read(path: str) -> str:
    try:
        with _opened(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)) as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as exc:
        raise _failed(path, exc) from exc
    if len(data) > MAX_FILE_BYTES:
        raise TooLarge(f"file {path!r}", MAX_FILE_BYTES)
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError as exc:
        raise faults.invalid(f"{path!r} is no text in UTF-8") from exc


def _write(path: str, content: str) -> None:
    try:
        with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)) as file:
            file.write(content.encode("utf-8", "replace"))
    except OSError as exc:
        raise _failed(path, exc) from exc


def _opened(path: str, flags: int) -> BinaryIO:
    # A link that was put there since the question leads nowhere; a pipe keeps nobody waiting.
    descriptor = os.open(path, flags | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no file")
    return os.fdopen(descriptor, "wb" if flags & os.O_WRONLY else "rb")


def _failed(path: str, exc: OSError) -> faults.RequestError:
    if isinstance(exc, FileNotFoundError):
        return faults.RequestError(faults.NOT_FOUND, "Resource not found", {"path": path[:1000]})
    return faults.invalid(f"{path!r} cannot be used: {exc.strerror}")


def _lines(text: str, first: int | None, count: int | None) -> str:
    if first is None and count is None:
        return text
    start = max(0, (first or 1) - 1)
    lines = text.splitlines(keepends=True)
    return "".join(lines[start : None if count is None else start + count])
