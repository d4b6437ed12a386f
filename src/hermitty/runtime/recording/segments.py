"""The files of recordings: a directory for each terminal, in it numbered segments, each an asciicast of its own.

    recordings/t_1/000001.cast      the oldest; dropped when there is too much
    recordings/t_1/000002.cast      begins with a picture of the screen, so that it can be played without the first

The header of a segment tells when it begins and whether it goes on exactly where the one before ended (then its picture
is superfluous). `read_cast` makes one recording of them, also while the last one is written.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hermitty.errors import HostUnavailable, InvalidRequest, RecordingNotFound
from hermitty.wire.asciicast import MARKER, OUTPUT, RESIZE, CastReader, CastWriter, Event, Header, size_of, to_v2

# Gives up whatever sequence is unfinished, and makes the terminal a fresh one.
RESET = "\x18\x1bc"

_FILE = re.compile(r"([0-9]{6,9})\.cast")
_TERMINAL = re.compile(r"[A-Za-z0-9_-]{1,80}")
_META = "hermitty"
_BLOCK_BYTES = 64 * 1024
_HEADER_LIMIT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Segment:
    """One file. `modified` is when it was last written to, in seconds since 1970."""

    number: int
    path: Path
    size: int
    modified: float


@dataclass(frozen=True, slots=True)
class Meta:
    """What we say in the header of a segment, beyond asciicast."""

    at: float  # seconds since 1970
    continues: bool  # nothing was lost since the end of the segment before
    has_picture: bool  # the first event is the screen as it was

    def put(self, header: Header) -> Header:
        """Return the header with it."""
        said = {"at": round(self.at, 3), "continues": self.continues, "picture": self.has_picture}
        return replace(header, extra={**header.extra, _META: said})

    @classmethod
    def take(cls, header: Header) -> "tuple[Meta, Header]":
        """Return it, and the header without it."""
        extra = dict(header.extra)
        said = extra.pop(_META, None)
        said = said if isinstance(said, dict) else {}
        at = said.get("at")
        at = float(at) if isinstance(at, int | float) and 0 <= at < 1e11 else float(header.timestamp or 0)
        meta = cls(at, said.get("continues") is True, said.get("picture") is True)
        return meta, replace(header, extra=extra)


@dataclass(frozen=True, slots=True)
class RecordingInfo:
    """What is known of a recording. One that is `cut` lacks its beginning; one that is live goes on."""

    terminal: str
    title: str | None
    started_at: float  # seconds since 1970
    duration_s: float
    bytes: int
    cut: bool
    is_live: bool = False


def directory_of(recordings: Path, terminal_id: str) -> Path:
    """Return where the recording of a terminal is. Raises RecordingNotFound for what cannot be an id."""
    if not _TERMINAL.fullmatch(terminal_id):
        raise RecordingNotFound(terminal_id)
    return recordings / terminal_id


def recorded_terminals(recordings: Path) -> list[str]:
    """Return the ids of the terminals that have a directory."""
    try:
        with os.scandir(recordings) as entries:
            return [each.name for each in entries if _TERMINAL.fullmatch(each.name) and each.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise HostUnavailable(f"recordings in {str(recordings)!r} cannot be listed: {exc.strerror}") from exc


def segments(directory: Path) -> list[Segment]:
    """Return the files of a recording, the oldest first. Other files are left alone."""
    found = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if name := _FILE.fullmatch(entry.name):
                    with contextlib.suppress(FileNotFoundError):  # dropped meanwhile
                        status = entry.stat(follow_symlinks=False)
                        found.append(Segment(int(name[1]), Path(entry.path), status.st_size, status.st_mtime))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as exc:
        raise HostUnavailable(f"recording {str(directory)!r} cannot be read: {exc.strerror}") from exc
    return sorted(found, key=lambda each: each.number)


def segment_path(directory: Path, number: int) -> Path:
    """Return the path of a segment."""
    return directory / f"{number:06}.cast"


def info(directory: Path) -> RecordingInfo | None:
    """Return what is known of a recording; None when there is none, or it has no beginning yet."""
    files = segments(directory)
    for first in files:
        header = _header(first.path)
        if header is not None:
            meta, header = Meta.take(header)
            last = max(each.modified for each in files)
            size = sum(each.size for each in files)
            is_cut = first.number > 1
            return RecordingInfo(directory.name, header.title, meta.at, max(0.0, last - meta.at), size, is_cut)
    return None


def read_cast(recordings: Path, terminal_id: str, *, version: int = 3) -> Iterator[bytes]:
    """Return the lines of one recording made of all segments. Raises RecordingNotFound at once if there is none."""
    directory = directory_of(recordings, terminal_id)
    files = segments(directory)
    if info(directory) is None:
        raise RecordingNotFound(terminal_id)
    lines = _joined(files)
    return to_v2(lines) if version == 2 else lines


def _joined(files: list[Segment]) -> Iterator[bytes]:
    writer = CastWriter()
    begun: float | None = None
    number = 0
    size: tuple[int, int] | None = None
    for segment in files:
        # Dropped while the ones before were read, or damaged.
        with contextlib.suppress(FileNotFoundError, InvalidRequest):
            for meta, header, events in _read(segment.path):
                if begun is None:
                    begun = meta.at
                    size = header.cols, header.rows
                    yield writer.header(header)
                    if segment.number > 1:
                        yield writer.event(Event(0.0, MARKER, "the recording before this was dropped"))
                offset_s = meta.at - begun
                is_exact = meta.continues and segment.number == number + 1
                if segment.number != number:
                    if number and not is_exact:
                        yield from _again(writer, meta, header, size, offset_s)
                    elif number and meta.has_picture:
                        events = events[1:]
                    number = segment.number
                for event in events:
                    size = size_of(event) or size
                    yield writer.event(replace(event, at_s=event.at_s + offset_s))


def _again(
    writer: CastWriter, meta: Meta, header: Header, size: tuple[int, int] | None, offset_s: float
) -> Iterator[bytes]:
    """Say that something is missing, and make a fresh terminal for the picture that follows."""
    yield writer.event(Event(offset_s, MARKER, "the recording goes on here"))
    if size != (header.cols, header.rows):
        yield writer.event(Event(offset_s, RESIZE, f"{header.cols}x{header.rows}"))
    if meta.has_picture:
        yield writer.event(Event(offset_s, OUTPUT, RESET))


def _read(path: Path) -> Iterator[tuple[Meta, Header, list[Event]]]:
    """Yield the events of a segment, in pieces; the first piece has the first event, if there is one."""
    reader = CastReader()
    held: list[Event] = []
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            held += reader.feed(block)
            if reader.header is not None and held:
                yield *Meta.take(reader.header), held
                held = []
    if reader.header is not None:
        yield *Meta.take(reader.header), reader.finish()


def _header(path: Path) -> Header | None:
    try:
        with path.open("rb") as file:
            line = file.readline(_HEADER_LIMIT_BYTES)
    except OSError:
        return None
    reader = CastReader()
    with contextlib.suppress(InvalidRequest):  # damaged; the next one may be good
        if line.endswith(b"\n"):
            reader.feed(line)
    return reader.header
