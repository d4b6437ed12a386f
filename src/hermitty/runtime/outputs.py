"""Output by whatever names it: a command, an artifact or a terminal, while it grows and after its end.

A command's complete output is read from its artifact where there is one, else from the terminal's log, else it is the
text of its result, which then shows everything. Offsets are bytes of that output; negative ones count from the end.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hermitty.engine.command import Command
from hermitty.errors import (
    ArtifactNotFound,
    HermittyError,
    InvalidOffset,
    InvalidPattern,
    InvalidRequest,
    TerminalNotFound,
)
from hermitty.output.pages import LineIndex, Page, page_at, page_of_lines, reader_of
from hermitty.output.search import LineSearch, Match, compile_pattern
from hermitty.runtime.artifacts import SearchResult
from hermitty.vt.plain import plain_text

if TYPE_CHECKING:
    from hermitty.runtime.artifacts import ArtifactStore
    from hermitty.runtime.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an output, as text. `next` is where to go on, None at the end; `size` is what there is so far."""

    text: str
    offset: int
    line: int | None  # the number of its first line; None where the beginning of the output is gone
    next: int | None
    size: int


@dataclass(frozen=True, slots=True)
class Held:
    """Output in memory. `start` is the offset of its first byte: what was before it is gone."""

    data: bytes
    start: int = 0

    @property
    def size(self) -> int:
        """Return the length of the whole, with what is gone."""
        return self.start + len(self.data)

    async def read(self, offset: int, limit: int) -> Page:
        """Return the page that begins at `offset`."""
        if not self.start <= offset < self.size:
            raise InvalidOffset("offset", offset, first=self.start, last=self.size - 1)
        read, size = reader_of(self.data), len(self.data)
        return self._placed(page_at(offset - self.start, limit, size=size, read=read, index=LineIndex()))

    async def lines(self, first: int, count: int, limit: int) -> Page:
        """Return `count` lines from line `first` of what is there on."""
        read, size = reader_of(self.data), len(self.data)
        return self._placed(page_of_lines(first, count, size=size, read=read, index=LineIndex(), limit=limit))

    async def search(self, pattern: str, offset: int) -> SearchResult:
        """Return the lines from `offset` on that match."""
        compiled = compile_pattern(pattern)
        at = max(0, offset - self.start)
        index, read = LineIndex(), reader_of(self.data)
        before = self.data[at - 1 : at] if at else b""
        lines = LineSearch(compiled, offset=self.start + at, line=index.line_at(at, read), before=before)

        def search() -> list[Match]:
            return [*lines.feed(self.data[at:]), *lines.finish()]

        matches = await asyncio.to_thread(search)
        further = lines.next if lines.full and lines.next < self.size else None
        stopped = lines.full if further is not None else None
        return SearchResult(tuple(matches), compiled.literal, compiled.problem, stopped, further, self.size)

    def _placed(self, page: Page) -> Page:
        moved = None if page.next is None else page.next + self.start
        return replace(page, offset=page.offset + self.start, next=moved, size=self.size)


@dataclass(frozen=True, slots=True)
class Stored:
    """Output that is an artifact."""

    store: "ArtifactStore"
    id: str

    @property
    def start(self) -> int:
        """Return the offset of the first byte that is there."""
        return 0

    @property
    def size(self) -> int:
        """Return how long it is now."""
        return self.store.info(self.id).size

    async def read(self, offset: int, limit: int) -> Page:
        """Return the page that begins at `offset`."""
        return await self.store.read(self.id, offset, limit)

    async def lines(self, first: int, count: int, limit: int) -> Page:
        """Return `count` lines from line `first` on."""
        return await self.store.lines(self.id, first, count, limit)

    async def search(self, pattern: str, offset: int) -> SearchResult:
        """Return the lines from `offset` on that match."""
        return await self.store.search(self.id, pattern, offset=offset)


Output = Held | Stored

# How much of the output before new bytes a pattern may reach back into.
_OVERLAP = 8 * 1024


class Finder:
    """Looks for an expression in the output of a command as it grows, in time linear in the output."""

    def __init__(self, command: Command, pattern: str) -> None:
        self._command = command
        self._pattern = compile_pattern(pattern, ignore_case=False)
        self._position = 0
        if self._pattern.problem is not None:
            raise InvalidPattern(pattern, self._pattern.problem)

    def look(self) -> str | None:
        """Return what matches in the output that came since the last look."""
        begins = self._command.output_from or 0
        piece = self._command.output(max(begins, self._position - _OVERLAP))
        self._position = piece.next
        data = _encoded(piece.text)
        # Where earlier output is not part of the piece, `^` must not match in the middle of a line.
        found = self._pattern.find(data, int(piece.offset > begins), len(data)) if data else None
        return None if found is None else data[slice(*found)].decode("utf-8", "replace")


async def wait_for_text(runtime: "Runtime", command: Command, terminal_id: str, pattern: str) -> str | None:
    """Wait until the output of a command matches; None when the command ends first."""
    finder = Finder(command, pattern)
    grown = asyncio.Event()
    try:
        stop = runtime.terminal(terminal_id).watch(grown.set)
    except TerminalNotFound:
        return finder.look()
    try:
        while True:
            grown.clear()
            is_over = not command.is_running
            if (found := finder.look()) is not None or is_over:
                return found
            await grown.wait()
    finally:
        stop()


async def output_of(runtime: "Runtime", name: str) -> Output:
    """Find an output by the id of a command, an artifact or a terminal. Raises the error of what the id looks like."""
    match name[:2]:
        case "a_":
            runtime.artifacts.info(name)
            return Stored(runtime.artifacts, name)
        case "c_":
            return await _of_command(runtime, name)
        case "t_":
            log = runtime.terminal(name).log
            piece = log.read(log.start, log.end)
            return Held(piece.data, piece.offset)
    raise InvalidRequest(f"{name[:80]!r} names no output; give the id of a command (c_…), a terminal (t_…) or a_…")


async def read_piece(output: Output, offset: int, limit: int) -> Piece:
    """Read from a byte on; a negative offset counts from the end."""
    size = output.size
    at = max(output.start, size + offset) if offset < 0 else offset
    if at == size or (not size and offset <= 0):
        return Piece("", size, None if size else 1, None, size)  # nothing yet, or nothing more
    return await _piece(output, output.read(at, limit))


async def read_lines(output: Output, first: int, count: int, limit: int) -> Piece:
    """Read lines; the first is number 1, and a negative number counts from the end."""
    size = output.size
    if size == output.start:
        return Piece("", size, 1, None, size)
    if first < 0:
        last = (await output.read(size - 1, 1)).line
        first = max(1, last + 1 + first)
    return await _piece(output, output.lines(max(1, first), count, limit))


async def _piece(output: Output, reading: Awaitable[Page]) -> Piece:
    page = await reading
    line = None if output.start else page.line
    return Piece(plain_text(page.data), page.offset, line, page.next, page.size)


async def _of_command(runtime: "Runtime", command_id: str) -> Output:
    artifact = Stored(runtime.artifacts, f"a_{command_id[2:]}")
    try:
        known = runtime.command(command_id)
    except HermittyError:
        result = await runtime.result(command_id)  # of an earlier process, or the error that says so
        return Stored(runtime.artifacts, result.artifact) if result.artifact else Held(_encoded(result.text))
    handle = known.handle
    result = known.result()
    if result.artifact is not None:
        return replace(artifact, id=result.artifact)
    if not handle.is_running:
        return Held(_encoded(result.text))
    try:
        runtime.artifacts.info(artifact.id)
    except ArtifactNotFound:
        if isinstance(handle, Command):
            begins = handle.output_from or 0
            piece = handle.output()
            return Held(piece.data, piece.offset - begins if handle.has_begun else 0)
        return Held(_encoded(result.text))
    except HermittyError:
        return Held(_encoded(result.text))
    return artifact


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
