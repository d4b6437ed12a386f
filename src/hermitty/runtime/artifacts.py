"""The complete raw output of long commands, byte for byte, in files: written while they run, read in pages, searched.

The directory is the truth; there is no index. The name of a file says what it is, because a name can still be
changed when the disk is full:

    a_<16 hex>.part                    being written, by whoever holds its lock; else its writer died
    a_<16 hex>.raw                     complete
    a_<16 hex>.<bytes>-<reason>.cut    the first part of an output whose last `bytes` are missing

Other files are left alone. The oldest artifacts go when there are too many bytes or files, and those past their age;
one that is being written never does. When there is nothing left to delete, the one being written is cut: the bound
on the total holds.

Files are read and searched in threads. Listing them is a look at a directory of at most `max_artifacts` files.
"""

import asyncio
import contextlib
import os
import re
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hermitty.errors import ArtifactNotFound, HostUnavailable, InvalidArtifact, InvalidOffset, InvalidRequest
from hermitty.output.pages import DEFAULT_PAGE_BYTES, LineIndex, Page, ReadAt, page_at, page_of_lines
from hermitty.output.search import DEFAULT_CHARS, DEFAULT_MATCHES, LineSearch, Match, compile_pattern
from hermitty.runtime.artifact_writer import ArtifactWriter, is_locked

DEFAULT_SEARCH_S = 10.0

_NAME = re.compile(r"(a_[0-9a-f]{16})\.(?:(part)|(raw)|([0-9]{1,20})-([A-Za-z0-9_]{1,40})\.cut)")
_ID = re.compile(r"a_[0-9a-f]{16}")
# Deleting makes room for more than the next write, so that not every write has to look for more.
_ROOM_PART = 10
_LOOK_AGAIN_S = 3600.0
# Small enough that the event loop gets its turn between two of them.
_BLOCK_BYTES = 64 * 1024
_KEPT_INDEXES = 32


@dataclass(frozen=True, slots=True)
class ArtifactInfo:
    """What is known of an artifact.

    `lost` counts the last bytes of the output that are not in it, None if nobody knows: its writer died, or
    belongs to another process and is not done. `reason` is `limit`, `total_limit`, `died`, or the name of the
    system's error, such as ENOSPC.
    """

    id: str
    size: int
    is_live: bool
    lost: int | None
    reason: str | None
    modified: float

    @property
    def is_complete(self) -> bool:
        """Whether it has all of the output, and the output has ended."""
        return not self.is_live and self.lost == 0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found. `stopped` says which limit ended it, and `next` where to go on then.

    A pattern that is not understood as a regular expression was searched for literally; `problem` says why.
    """

    matches: tuple[Match, ...]
    literal: bool
    problem: str | None
    stopped: Literal["matches", "characters", "time"] | None
    next: int | None
    size: int


class ArtifactStore:
    """The artifacts of one directory, which it creates when there is something to write.

    Several processes may share a directory; each keeps the bounds.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        max_bytes_per_artifact: int = 256 * 1024 * 1024,
        max_total_bytes: int = 2 * 1024 * 1024 * 1024,
        max_age_s: float = 7 * 24 * 3600.0,
        max_artifacts: int = 1000,
        memory_bytes: int = 64 * 1024,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.directory = Path(directory)
        self.max_bytes_per_artifact = max_bytes_per_artifact
        self.max_total_bytes = max_total_bytes
        self.max_age_s = max_age_s
        self.max_artifacts = max_artifacts
        self.memory_bytes = memory_bytes
        self.failures = 0  # artifacts that are not whole because of the disk, since the start
        self._now = now
        self._live: dict[str, ArtifactWriter] = {}
        self._indexes: OrderedDict[str, LineIndex] = OrderedDict()
        # As of the last look at the directory and what was written since.
        self._total = 0
        self._count = 0
        self._looked: float | None = None

    def open(self, command_id: str) -> ArtifactWriter:
        """Return the writer for a command's output. The artifact of command c_X is a_X where that is free."""
        return ArtifactWriter(self, command_id)

    def close(self) -> None:
        """Close every writer that is still open."""
        for writer in list(self._live.values()):
            writer.close()

    def leave(self) -> None:
        """Let go of every writer that is still open, as if this process died: another one goes on with them."""
        for writer in list(self._live.values()):
            writer.leave()
        self._live.clear()

    # What callers ask.

    def artifacts(self) -> list[ArtifactInfo]:
        """Return every artifact, the newest first."""
        with _translated("list the artifacts"):
            found = [info for _, info in self._entries()]
        return sorted(found, key=lambda info: (info.modified, info.id), reverse=True)

    def info(self, artifact_id: str) -> ArtifactInfo:
        """Return what is known of an artifact, while it is written too. Raises ArtifactNotFound."""
        self._flush_live(artifact_id)
        with _translated(f"look for artifact {artifact_id}"):
            return self._find(artifact_id)[1]

    async def read(self, artifact_id: str, offset: int = 0, limit: int = DEFAULT_PAGE_BYTES) -> Page:
        """Return the page that begins at `offset`. Raises InvalidOffset unless there is a byte."""
        self._flush_live(artifact_id)
        return await asyncio.to_thread(self._read, artifact_id, offset, limit)

    async def lines(self, artifact_id: str, first: int, count: int, limit: int = DEFAULT_PAGE_BYTES) -> Page:
        """Return `count` lines from line `first` on, or as many as `limit` bytes can hold."""
        self._flush_live(artifact_id)
        return await asyncio.to_thread(self._lines, artifact_id, first, count, limit)

    async def search(
        self,
        artifact_id: str,
        pattern: str,
        *,
        offset: int = 0,
        ignore_case: bool = True,
        literal: bool = False,
        max_matches: int = DEFAULT_MATCHES,
        max_chars: int = DEFAULT_CHARS,
        time_limit_s: float = DEFAULT_SEARCH_S,
    ) -> SearchResult:
        """Return the lines from `offset` on that match. Cancelling ends the search before its next 64 KB."""
        if max_matches < 1 or max_chars < 1:
            raise InvalidRequest("ask for at least one match and one character")
        compiled = compile_pattern(pattern, ignore_case=ignore_case, literal=literal)
        self._flush_live(artifact_id)
        given_up = threading.Event()

        def search() -> SearchResult:
            deadline = time.monotonic() + time_limit_s
            with self._opened(artifact_id) as (read, size, index):
                if not 0 <= offset < size:
                    raise InvalidOffset("offset", offset, first=0, last=size - 1)
                lines = LineSearch(
                    compiled,
                    max_matches=max_matches,
                    max_chars=max_chars,
                    offset=offset,
                    line=index.line_at(offset, read),
                    before=read(offset - 1, 1) if offset else b"",
                )
                matches: list[Match] = []
                stopped: Literal["matches", "characters", "time"] | None = None
                for at in range(offset, size, _BLOCK_BYTES):
                    matches += lines.feed(read(at, min(_BLOCK_BYTES, size - at)))
                    stopped = lines.full
                    if stopped is None and at + _BLOCK_BYTES < size:
                        stopped = "time" if time.monotonic() >= deadline or given_up.is_set() else None
                    if stopped:
                        break
                else:
                    matches += lines.finish()
                    stopped = lines.full
            further = lines.next if stopped and lines.next < size else None
            return SearchResult(
                tuple(matches),
                compiled.literal,
                compiled.problem,
                stopped if further is not None else None,
                further,
                size,
            )

        try:
            return await asyncio.to_thread(search)
        finally:
            given_up.set()

    # What writers ask.

    def began(self, writer: ArtifactWriter, artifact_id: str) -> None:
        """Note that a writer has a file from now on."""
        self._live[artifact_id] = writer
        self._count += 1

    def ended(self, artifact_id: str, removed_bytes: int | None = None) -> None:
        """Note that an artifact is no longer written; with `removed_bytes`, that its file is gone."""
        self._live.pop(artifact_id, None)
        if removed_bytes is not None:
            self._total -= removed_bytes
            self._count -= 1

    def wrote(self, count: int) -> None:
        """Note that so many bytes more are on the disk."""
        self._total += count

    def failed(self) -> None:
        """Note that the disk took no more of an artifact."""
        self.failures += 1

    def room_for(self, wanted: int, *, new_file: bool = False) -> int:
        """Return how many bytes may be written now; delete old artifacts if that helps."""
        look = self._looked is None or self._now() - self._looked > _LOOK_AGAIN_S
        too_many = new_file and self._count >= self.max_artifacts
        if look or too_many or self._total + wanted > self.max_total_bytes:
            self._make_room(wanted, new_file=new_file)
        return max(0, min(wanted, self.max_total_bytes - self._total))

    # Files.

    def _make_room(self, wanted: int, *, new_file: bool) -> None:
        now = self._now()
        entries = sorted(self._entries(), key=lambda entry: (entry[1].modified, entry[1].id))
        total, count = sum(info.size for _, info in entries), len(entries)
        most_bytes, most_files = self.max_total_bytes - wanted, self.max_artifacts - new_file
        if total > most_bytes:
            most_bytes -= self.max_total_bytes // _ROOM_PART
        if count > most_files:
            most_files -= self.max_artifacts // _ROOM_PART
        for path, info in entries:
            if info.is_live or not (total > most_bytes or count > most_files or now - info.modified > self.max_age_s):
                continue
            try:
                path.unlink(missing_ok=True)
            except OSError:  # somebody reads it (Windows), or took our right to: it still counts
                continue
            total -= info.size
            count -= 1
        self._total, self._count, self._looked = total, count, now

    def _entries(self, only: str = "a_") -> Iterator[tuple[Path, ArtifactInfo]]:
        """Every artifact of the directory whose name begins like that, with its file, in no order."""
        try:
            with os.scandir(self.directory) as found:
                for entry in found:
                    name = _NAME.fullmatch(entry.name) if entry.name.startswith(only) else None
                    if name is None:
                        continue
                    with contextlib.suppress(FileNotFoundError):  # deleted or renamed since
                        status = entry.stat(follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode):
                            yield Path(entry.path), self._info(name, Path(entry.path), status)
        except (FileNotFoundError, NotADirectoryError):
            return

    def _info(self, name: re.Match[str], path: Path, status: os.stat_result) -> ArtifactInfo:
        artifact_id, part, whole, lost, reason = name.groups()
        if whole:
            return ArtifactInfo(artifact_id, status.st_size, False, 0, None, status.st_mtime)
        if not part:
            return ArtifactInfo(artifact_id, status.st_size, False, int(lost), reason, status.st_mtime)
        writer = self._live.get(artifact_id)
        if writer is not None:
            return ArtifactInfo(artifact_id, writer.size, True, writer.lost, writer.reason, status.st_mtime)
        is_live = is_locked(path)
        return ArtifactInfo(artifact_id, status.st_size, is_live, None, None if is_live else "died", status.st_mtime)

    def _find(self, artifact_id: str) -> tuple[Path, ArtifactInfo]:
        # A listing during which a file gets its last name may show neither name. It gets one only once.
        for _ in range(2):
            for found in self._entries(only=_checked_id(artifact_id)):
                return found
        raise ArtifactNotFound(artifact_id, [info.id for info in self.artifacts()])

    def _flush_live(self, artifact_id: str) -> None:
        """Let readers see what a writer still holds. At most one buffer, so it is done where the writer lives."""
        writer = self._live.get(_checked_id(artifact_id))
        if writer is not None:
            writer.flush()

    @contextlib.contextmanager
    def _opened(self, artifact_id: str) -> Iterator[tuple[ReadAt, int, LineIndex]]:
        """Open an artifact: how to read it, how long it is now, and the index of its lines."""
        with _translated(f"read artifact {artifact_id}"):
            try:
                file = self._find(artifact_id)[0].open("rb", buffering=0)
            except FileNotFoundError:  # it got its last name in between
                file = self._find(artifact_id)[0].open("rb", buffering=0)

            def read(offset: int, count: int) -> bytes:
                file.seek(offset)
                return file.read(count)

            with file:
                yield read, os.fstat(file.fileno()).st_size, self._index(artifact_id)

    def _index(self, artifact_id: str) -> LineIndex:
        index = self._indexes.pop(artifact_id, None) or LineIndex()
        self._indexes[artifact_id] = index
        while len(self._indexes) > _KEPT_INDEXES:
            self._indexes.popitem(last=False)
        return index

    def _read(self, artifact_id: str, offset: int, limit: int) -> Page:
        with self._opened(artifact_id) as (read, size, index):
            return page_at(offset, limit, size=size, read=read, index=index)

    def _lines(self, artifact_id: str, first: int, count: int, limit: int) -> Page:
        with self._opened(artifact_id) as (read, size, index):
            return page_of_lines(first, count, size=size, read=read, index=index, limit=limit)


def _checked_id(artifact_id: str) -> str:
    if not isinstance(artifact_id, str) or not _ID.fullmatch(artifact_id):
        raise InvalidArtifact(artifact_id)
    return artifact_id


@contextlib.contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise HostUnavailable(f"cannot {what}: {exc.strerror or exc}") from exc
