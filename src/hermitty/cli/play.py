"""`hermitty play`: a recording in this terminal, which is as it was afterwards."""

import argparse
import contextlib
import math
import os
import re
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

from hermitty.errors import HostUnavailable, InvalidRequest, NotSupported, RecordingNotFound
from hermitty.runtime.places import find_places
from hermitty.runtime.recording.harmless import USUAL, Harmless
from hermitty.runtime.recording.playback import Playback, timeline
from hermitty.runtime.recording.segments import read_cast
from hermitty.wire.asciicast import OUTPUT, CastReader, Event, Header

_BLOCK_BYTES = 64 * 1024
# A recording is held in memory to go back in it.
_PLAYED_CHARACTERS = 256 * 1024 * 1024
_SKIP_S = 5.0
_INTERRUPTED = 130

_KEY = re.compile(rb"\x1b[\[O](?:[0-9;]*[@-~])?|\x1b|[^\x1b]", re.DOTALL)
_NAMES = {b" ": "pause", b".": "step", b"q": "quit", b"Q": "quit", b"\x03": "interrupt", b"\x04": "quit"}
_ARROWS = {b"C": "forward", b"D": "back"}


def play_recording(options: argparse.Namespace) -> int:
    """Play what was asked for and return the exit code."""
    for name, value in (("--speed", options.speed), ("--idle-limit", options.idle_limit), ("--from", options.start)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise InvalidRequest(f"{name} must be a number, zero or more, not {value}")
    if options.speed == 0:
        raise InvalidRequest("--speed must be more than zero")
    reader = CastReader()
    events = _events(reader, _blocks(options.recording))
    if options.dump:
        return _dump(events)
    if not sys.stdout.isatty():
        raise InvalidRequest("a recording is played in a terminal, and standard output is none; use --dump")
    if sys.platform == "win32":
        raise NotSupported("recordings are played in terminals of POSIX only; use --dump")
    held = _held(events)
    assert reader.header is not None
    limit_s = reader.header.idle_limit_s if options.idle_limit is None else options.idle_limit
    playback = Playback(timeline(held, limit_s), speed=options.speed, start_s=options.start)
    _warn_of_size(reader.header)
    return _play(playback)


class Keys:
    """The keys that somebody pressed, from the bytes that a terminal sends, however they are cut."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """Return the names of the keys that mean something here."""
        data = self._rest + data
        # The start of a sequence waits for the rest; terminals send them in one piece.
        cut = re.search(rb"\x1b(?:[\[O][0-9;]{0,16})?\Z", data)
        self._rest = data[cut.start() :] if cut else b""
        data = data[: cut.start()] if cut else data
        return [name for key in _KEY.findall(data) if (name := _named(key)) is not None]


def _named(key: bytes) -> str | None:
    return _NAMES.get(key) if len(key) == 1 else _ARROWS.get(key[-1:])


def _blocks(name: str) -> Iterator[bytes]:
    """Return the content of a file, or the recording of a terminal."""
    path = Path(name)
    try:
        is_file = path.exists() and not path.is_dir()
    except (OSError, ValueError):
        is_file = False
    if is_file:
        return _file_blocks(path)
    recordings = find_places().recordings
    there = _recorded(recordings)
    begun = [each for each in there if name and each.startswith((name, f"t_{name}"))]
    try:
        return read_cast(recordings, begun[0] if len(begun) == 1 else name)
    except RecordingNotFound:
        newest = f"; the newest are {', '.join((begun or there)[:5])}" if there else "; none was recorded here"
        raise InvalidRequest(f"{name[:200]!r} is neither a file nor a terminal that was recorded{newest}") from None


def _recorded(recordings: Path) -> list[str]:
    """Return the ids of the terminals that were recorded, the newest first."""
    try:
        found = [(each.stat().st_mtime, each.name) for each in recordings.iterdir()]
    except OSError:  # no recordings, or one that just goes
        return []
    return [name for _, name in sorted(found, reverse=True)]


def _file_blocks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                yield block
    except OSError as exc:
        raise HostUnavailable(f"{str(path)!r} cannot be read: {exc.strerror}") from exc


def _events(reader: CastReader, blocks: Iterable[bytes]) -> Iterator[Event]:
    for block in blocks:
        yield from reader.feed(block)
    yield from reader.finish()


def _held(events: Iterable[Event]) -> list[Event]:
    held, characters = [], 0
    for event in events:
        characters += len(event.text)
        if characters > _PLAYED_CHARACTERS:
            raise InvalidRequest("the recording is too large to be played; use --dump")
        held.append(event)
    return held


def _dump(events: Iterable[Event]) -> int:
    screen = Harmless()
    for event in events:
        if event.code == OUTPUT:
            sys.stdout.buffer.write(screen.feed(event.text).encode("utf-8", "replace"))
    if sys.stdout.isatty():
        sys.stdout.buffer.write(USUAL.encode())
    return 0


def _warn_of_size(header: Header) -> None:
    here = shutil.get_terminal_size()
    if here.columns < header.cols or here.lines < header.rows:
        print(
            f"hermitty: the recording is {header.cols}x{header.rows}, this terminal {here.columns}x{here.lines}",
            file=sys.stderr,
        )


def _play(playback: Playback) -> int:
    out = sys.stdout.fileno()
    sys.stdout.flush()
    with _keyboard() as keyboard, _signals() as woken, _raw(out):
        try:
            return _loop(playback, keyboard, woken, lambda text: _write(out, text))
        except OSError as exc:
            raise HostUnavailable(f"the terminal is gone: {exc.strerror}") from exc


def _loop(playback: Playback, keyboard: int | None, woken: int, write: Callable[[str], None]) -> int:
    keys = Keys()
    write(playback.begin(time.monotonic()))
    while True:
        write(playback.advance(time.monotonic()))
        if playback.is_over:
            return 0
        watched = [woken] if keyboard is None else [woken, keyboard]
        ready, _, _ = select.select(watched, [], [], playback.wait_s(time.monotonic()))
        if keyboard is None or keyboard not in ready:
            continue
        data = os.read(keyboard, 1024)
        if not data:
            return 0
        for key in keys.feed(data):
            now = time.monotonic()
            match key:
                case "pause":
                    playback.toggle(now)
                case "step":
                    write(playback.step(now))
                case "forward" | "back":
                    write(playback.skip(now, _SKIP_S if key == "forward" else -_SKIP_S))
                case "quit":
                    return 0
                case "interrupt":
                    return _INTERRUPTED


@contextlib.contextmanager
def _keyboard() -> Iterator[int | None]:
    """Find where keys come from: standard input, or else the terminal itself."""
    if sys.stdin.isatty():
        yield sys.stdin.fileno()
        return
    try:
        number = os.open("/dev/tty", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        yield None
        return
    try:
        yield number
    finally:
        os.close(number)


@contextlib.contextmanager
def _raw(terminal: int) -> Iterator[None]:
    """Pass bytes through as they are, both ways; restore the terminal whatever ends this but SIGKILL."""
    import termios
    import tty

    before = termios.tcgetattr(terminal)
    try:
        tty.setraw(terminal)
        yield
    finally:
        # Another signal must not end this before it is done.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGHUP, signal.SIGINT))
        with contextlib.suppress(OSError, termios.error):  # the terminal is gone
            _write(terminal, USUAL + "\r\n")
        with contextlib.suppress(OSError, termios.error):
            # What was typed for the recording is not for the shell.
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@contextlib.contextmanager
def _signals() -> Iterator[int]:
    """Make signals end this in an orderly way; return a descriptor that can be read from when one came.

    One that comes just before `select` waits would not be noticed otherwise until a key is pressed.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    handlers = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield reader
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _write(terminal: int, text: str) -> None:
    left = memoryview(text.encode("utf-8", "replace"))
    while left:
        try:
            left = left[os.write(terminal, left) :]
        except BlockingIOError:  # somebody else made it so
            select.select([], [terminal], [])
