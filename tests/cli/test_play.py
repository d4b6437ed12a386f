"""`hermitty play`, as a process on a real PTY: what it shows, which keys it knows, and how it leaves the terminal."""

import contextlib
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from fcntl import ioctl
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.cli.play import Keys
from hermitty.runtime.recording.harmless import USUAL
from hermitty.wire.asciicast import CastWriter, Event, Header, to_v2
from tests.cli.conftest import COMMAND, Run
from tests.support.shells import PATIENCE_S

HEADER = Header(80, 24)
CAST = [Event(0.0, "o", "first\n"), Event(0.01, "m", "mark"), Event(0.02, "o", "\x1b[6n\x1b]52;c;aGk=\x07second")]
# Nobody waits for what comes after an hour.
SLOW = [Event(0.0, "o", "first."), Event(3600.0, "o", "second."), Event(7200.0, "o", "third.")]


def cast(events: list[Event], header: Header = HEADER) -> bytes:
    writer = CastWriter()
    return writer.header(header) + b"".join(writer.event(event) for event in events)


def put(path: Path, events: list[Event], header: Header = HEADER) -> str:
    path.write_bytes(cast(events, header))
    return str(path)


class Player:
    """A player on a PTY of its own, of which it is the session's leader."""

    def __init__(self, args: list[str], environment: dict[str, str], cwd: Path) -> None:
        self.master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.output = b""
        try:
            self.process = subprocess.Popen(
                [*COMMAND, "play", *args],
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env={**environment, "TERM": "xterm-256color"},
                cwd=cwd,
                start_new_session=True,
            )
        finally:
            os.close(slave)

    def until(self, fact: Callable[[], bool]) -> None:
        """Read until something is so."""
        deadline = time.monotonic() + PATIENCE_S
        while not fact():
            ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"nothing more came after {self.output!r}"
            try:
                data = os.read(self.master, 65536)
            except OSError:  # Linux: the other side is closed
                data = b""
            if not data:
                assert fact(), self.output
                return
            self.output += data

    def shows(self, text: bytes) -> None:
        self.until(lambda: text in self.output)

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def modes(self) -> list[object]:
        """The modes of the terminal; the kernel keeps them with the PTY."""
        return termios.tcgetattr(self.master)

    def ends(self) -> int:
        """Wait for the end; the terminal is as it was."""
        self.shows(USUAL.encode() + b"\r\n")
        code = self.process.wait(PATIENCE_S)
        assert self.modes() == self.before
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


Play = Callable[..., Player]


@pytest.fixture
def play(environment: dict[str, str], tmp_path: Path) -> Iterator[Play]:
    """Starts `hermitty play ARGS...` on a PTY."""
    with contextlib.ExitStack() as stack:

        def start(*args: str) -> Player:
            player = Player(list(args), environment, tmp_path)
            stack.callback(player.close)
            return player

        yield start


# Playing.


def test_a_recording_is_played_to_its_end_and_is_harmless(play: Play, tmp_path: Path) -> None:
    player = play(put(tmp_path / "a.cast", CAST))
    assert player.ends() == 0
    # A line feed alone is one: nothing between the recording and the terminal translates it.
    assert player.output == b"first\nsecond" + USUAL.encode() + b"\r\n"


def test_times_are_real_and_can_be_shortened(play: Play, tmp_path: Path) -> None:
    name = put(tmp_path / "a.cast", SLOW)
    player = play(name, "--speed", "100000", "--idle-limit", "3000")
    assert player.ends() == 0
    assert b"first.second.third." in player.output
    limited = play(put(tmp_path / "b.cast", SLOW, Header(80, 24, idle_limit_s=0.01)))
    assert limited.ends() == 0
    waiting = play(name)
    waiting.shows(b"first.")
    waiting.press(b"q")
    assert waiting.ends() == 0
    assert b"second." not in waiting.output


def test_a_recording_can_begin_later_and_be_of_version_2(play: Play, tmp_path: Path) -> None:
    (tmp_path / "two.cast").write_bytes(b"".join(to_v2([cast(SLOW)])))
    player = play("two.cast", "--from", "7199.9")
    assert player.ends() == 0
    assert player.output.startswith(b"first.second.third.")


# Keys.


def test_space_pauses_and_a_dot_steps(play: Play, tmp_path: Path) -> None:
    player = play(put(tmp_path / "a.cast", SLOW))
    player.shows(b"first.")
    player.press(b" ")
    player.press(b".")
    player.shows(b"second.")
    player.press(b".")
    assert player.ends() == 0
    assert b"first.second.third." in player.output


def test_arrows_skip_and_go_back(play: Play, tmp_path: Path) -> None:
    events = [Event(0, "o", "one."), Event(4, "o", "two."), Event(3600, "o", "three.")]
    player = play(put(tmp_path / "a.cast", events))
    player.shows(b"one.")
    player.press(b"\x1b[C")
    player.shows(b"two.")
    player.press(b"\x1bOD")
    player.until(lambda: player.output.count(b"one.") == 2)
    player.press(b"\x1b[1;5C")
    player.until(lambda: player.output.count(b"two.") == 2)
    player.press(b"q")
    assert player.ends() == 0
    assert b"\x1b[2J" in player.output


@pytest.mark.parametrize(("key", "code"), [(b"q", 0), (b"Q", 0), (b"\x03", 130), (b"\x04", 0), (b"\x1bq", 0)])
def test_keys_that_end_it(play: Play, tmp_path: Path, key: bytes, code: int) -> None:
    player = play(put(tmp_path / "a.cast", SLOW))
    player.shows(b"first.")
    assert player.modes() != player.before
    player.press(b"xyz" + key)
    assert player.ends() == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_leave_the_terminal_as_it_was(play: Play, tmp_path: Path, number: signal.Signals) -> None:
    player = play(put(tmp_path / "a.cast", [Event(0, "o", "\x1b[?1049hfull screen"), *SLOW[1:]]))
    player.shows(b"full screen")
    player.process.send_signal(number)
    assert player.ends() == 128 + number


def test_a_terminal_that_goes_away_ends_it(play: Play, tmp_path: Path) -> None:
    player = play(put(tmp_path / "a.cast", SLOW))
    player.shows(b"first.")
    os.close(player.master)
    player.master = os.open(os.devnull, os.O_RDONLY)
    player.process.wait(PATIENCE_S)


@given(st.lists(st.sampled_from([b" ", b".", b"q", b"x", b"\x1b[C", b"\x1bOD", b"\x1b[1;2D", b"\x1b[5~"])), st.data())
def test_keys_are_the_same_however_they_arrive(parts: list[bytes], draw: st.DataObject) -> None:
    data = b"".join(parts)
    names = {b" ": "pause", b".": "step", b"q": "quit", b"\x1b[C": "forward", b"\x1bOD": "back", b"\x1b[1;2D": "back"}
    edges = [0, *sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=6))), len(data)]
    keys = Keys()
    found = [name for start, end in pairwise(edges) for name in keys.feed(data[start:end])]
    assert found == [names[part] for part in parts if part in names]


@given(st.lists(st.binary(max_size=20)))
def test_any_bytes_are_keys_or_nothing(pieces: list[bytes]) -> None:
    keys = Keys()
    for piece in pieces:
        keys.feed(piece)
        assert len(keys._rest) < 24


# What is played, and without a terminal.


def record(state: Path, *ids: str) -> None:
    for each in ids:
        directory = state / "recordings" / each
        directory.mkdir(parents=True)
        put(directory / "000001.cast", CAST)


@pytest.mark.parametrize("meant", ["t_abc", "t_a", "ab"])
def test_a_terminal_is_found_by_its_id_or_the_beginning_of_it(hermitty: Run, tmp_path: Path, meant: str) -> None:
    record(tmp_path / "state", "t_abc", "t_def")
    done = hermitty("play", "--dump", meant, HERMITTY_STATE_DIR=str(tmp_path / "state"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"first\nsecond", b"")


def test_a_beginning_of_several_is_not_guessed_at(hermitty: Run, tmp_path: Path) -> None:
    record(tmp_path / "state", "t_abc", "t_abd", "t_def")
    done = hermitty("play", "--dump", "t_ab", HERMITTY_STATE_DIR=str(tmp_path / "state"))
    assert (done.returncode, done.stdout) == (125, b"")
    assert re.search(rb"the newest are t_ab[cd], t_ab[cd]\n", done.stderr)


def test_everything_can_be_printed_at_once(hermitty: Run, tmp_path: Path) -> None:
    events = [Event(0, "o", "gr\xfcn \x1b[32mx\r\n"), Event(3600, "o", "\x9b31mred\x1b[c"), Event(3601, "x", "0")]
    done = hermitty("play", "--dump", put(tmp_path / "a.cast", events))
    assert (done.returncode, done.stdout) == (0, "gr\xfcn \x1b[32mx\r\n\x1b[31mred".encode())


def test_without_a_terminal_it_asks_for_dump(hermitty: Run, tmp_path: Path) -> None:
    done = hermitty("play", put(tmp_path / "a.cast", CAST))
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"use --dump" in done.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nothing.cast"], b"neither a file nor a terminal"),
        (["../x"], b"neither a file nor a terminal"),
        (["text"], b"no asciicast"),
        (["."], b"neither a file nor a terminal"),
        (["text", "--speed", "0"], b"--speed must be more than zero"),
        (["text", "--speed", "nan"], b"--speed must be a number"),
        (["text", "--from", "-1"], b"--from must be a number"),
    ],
)
def test_what_cannot_be_played_is_said(hermitty: Run, tmp_path: Path, args: list[str], message: bytes) -> None:
    (tmp_path / "text").write_text("just text\n")
    done = hermitty("play", "--dump", *args, HERMITTY_STATE_DIR=str(tmp_path / "state"))
    assert (done.returncode, done.stdout) == (125, b"")
    assert message in done.stderr
