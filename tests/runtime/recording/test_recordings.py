"""Real terminals, recorded: exact, bounded, and never in the way of the terminal."""

import asyncio
import contextlib
import json
import os
import resource
import stat
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermitty.config import RecordingSettings
from hermitty.errors import RecordingNotFound
from hermitty.events import CommandFinished, CommandStarted
from hermitty.model import CommandId, Size
from hermitty.runtime.api import Command, Runtime, Terminal
from hermitty.runtime.places import find_places
from hermitty.runtime.recording.recordings import Recordings
from hermitty.runtime.recording.segments import segments
from hermitty.vt.ghostty import GhosttyScreen
from hermitty.wire.asciicast import CastReader, Event, Header, size_of
from tests.support.kernel import so
from tests.support.runtimes import Gate, begun, over, until
from tests.support.shells import PATIENCE_S

SMALL = RecordingSettings(max_bytes=256 * 1024, total_bytes=1024 * 1024)


class Stage:
    """A runtime whose terminals are recorded, with what the recordings told."""

    def __init__(self, runtime: Runtime) -> None:
        self.rt = runtime
        self.settings = RecordingSettings()
        self.told: list[str] = []
        self._heard = asyncio.Event()
        self.root = find_places().recordings
        self.recordings = self.new()

    def new(self) -> Recordings:
        """Recordings as another server would make them."""
        recordings = Recordings(find_places(), lambda: self.settings, tell=self._hear, retry_s=0.01)
        self.rt.subscribe(recordings.on_event)
        return recordings

    def _hear(self, text: str) -> None:
        self.told.append(text)
        self._heard.set()

    async def records_again(self) -> None:
        """Wait until something is written after a failure."""
        async with asyncio.timeout(PATIENCE_S):
            while "recordings: what is printed is recorded again" not in self.told:
                self._heard.clear()
                await self._heard.wait()

    async def open(self, cwd: Path, cols: int = 120, rows: int = 30) -> Terminal:
        terminal = await self.rt.open_terminal(cwd=cwd, cols=cols, rows=rows)
        self.recordings.follow(terminal, name="one")
        return terminal

    async def run(self, terminal: Terminal, line: str) -> None:
        """Run a command, and record everything up to the prompt after it."""
        assert (await self.rt.run_in(terminal.id, line)).state.is_final
        assert await terminal.prompt.is_there.wait(PATIENCE_S)
        self.recordings.flush(terminal.id)

    def cast(self, terminal: Terminal) -> tuple[Header, list[Event]]:
        self.recordings.flush(terminal.id)
        reader = CastReader()
        events = [event for line in self.recordings.open_cast(terminal.id) for event in reader.feed(line)]
        events += reader.finish()
        assert reader.skipped == 0
        assert reader.header is not None
        return reader.header, events

    def texts(self, terminal: Terminal, code: str) -> list[str]:
        return [event.text for event in self.cast(terminal)[1] if event.code == code]

    def final_screen(self, terminal: Terminal) -> bytes:
        """What a viewer has at the end of the recording."""
        header, events = self.cast(terminal)
        screen = GhosttyScreen(Size(header.cols, header.rows))
        for event in events:
            if event.code == "o":
                screen.feed(event.text.encode())
            elif size := size_of(event):
                screen.resize(Size(*size))
        picture = screen.repaint()
        screen.close()
        return picture

    def size(self) -> int:
        return sum(path.stat().st_size for path in self.root.rglob("*.cast"))


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let this process make no file larger than that; what is written beyond fails as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores SIGXFSZ: write(2) says EFBIG instead, after what fits.
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def segments_of(stage: Stage, terminal: Terminal) -> list[Path]:
    return [each.path for each in segments(stage.root / terminal.id)]


@pytest.fixture
async def stage(rt: Runtime) -> AsyncIterator[Stage]:
    """A runtime with recordings."""
    stage = Stage(rt)
    yield stage
    await stage.recordings.close()


async def test_everything_on_the_screen_is_in_the_recording_byte_for_byte(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work)
    await stage.run(terminal, r"printf '\033[31mred\033[0m \342\202\254 \377 \033]0;title\007\n'")
    header, events = stage.cast(terminal)
    assert "".join(stage.texts(terminal, "o")) == terminal.log.read(0).data.decode("utf-8", "replace")
    assert header.title == "one"
    assert (header.cols, header.rows, header.env) == (terminal.size.cols, terminal.size.rows, {"SHELL": "bash"})
    assert header.term_type is not None
    assert header.extra == {}
    assert [event.at_s for event in events] == sorted(event.at_s for event in events)
    assert stage.final_screen(terminal) == terminal.screen.repaint()


async def test_commands_are_marked_with_their_line_and_exit_code(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work)
    await stage.run(terminal, "true")
    await stage.run(terminal, "(exit 3)")
    assert stage.texts(terminal, "m") == ["$ true", "exit 0: true", "$ (exit 3)", "exit 3: (exit 3)"]
    # The marker comes before what the command printed, and after what was there before.
    order = [event.code for event in stage.cast(terminal)[1]]
    assert order[:2] == ["o", "m"]


async def test_secrets_in_command_lines_are_masked_in_markers(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work)
    line = "tool --password hunter2\n" + "x" * 500
    stage.recordings.on_event(CommandStarted(terminal.id, CommandId("c"), line, "agent"))
    stage.recordings.on_event(CommandFinished(terminal.id, CommandId("c"), None, "user", None))
    first, second = stage.texts(terminal, "m")
    assert first.startswith("$ tool --password *** xxx")
    assert (len(first), second) == (203, "exit unknown: (typed)")


async def test_sizes_and_the_end_are_recorded(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work, cols=80, rows=24)
    terminal.resize(100, 30)
    await stage.run(terminal, "echo resized")
    terminal.resize(90, 20)
    terminal.write("exit 3\n")
    await terminal.finished()
    await until(terminal, lambda: not terminal.is_open)
    _, events = stage.cast(terminal)
    assert [event.text for event in events if event.code == "r"] == ["100x30", "90x20"]
    assert [event.text for event in events if event.code == "x"] == ["3"]
    assert events[-1].code == "x"
    assert events[-2].text == "ended: its shell exited with code 3"
    (found,) = stage.recordings.list()
    assert (found.terminal, found.title, found.bytes) == (terminal.id, "one", stage.size())
    assert (found.cut, found.is_live) == (False, False)
    assert found.duration_s >= 0
    await terminal.finished()


async def test_the_files_are_for_their_owner_alone(stage: Stage, work: Path) -> None:
    before = os.umask(0)
    try:
        terminal = await stage.open(work)
        stage.recordings.flush(terminal.id)
    finally:
        os.umask(before)
    directory = stage.root / terminal.id
    (file,) = directory.iterdir()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (stage.root, directory, file)] == [0o700, 0o700, 0o600]


async def test_output_is_gathered_and_nothing_happens_in_silence(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work)
    stage.recordings.flush(terminal.id)
    before = len(stage.texts(terminal, "o"))
    follower = stage.recordings._followers[terminal.id]
    assert follower._timer is None
    await stage.run(terminal, "for i in $(seq 200); do echo $i; done")
    assert len(stage.texts(terminal, "o")) - before < 60
    assert follower._timer is None


# Bounds.


async def grow(stage: Stage, terminal: Terminal, count: int, text: str = "0123456789" * 50) -> None:
    """Print some KB at a time."""
    for number in range(count):
        await stage.run(terminal, f"for i in $(seq 12); do printf '%s %s\\n' {number} {text}; done")


async def test_a_long_recording_loses_its_beginning_and_plays_on(stage: Stage, work: Path) -> None:
    stage.settings = SMALL
    terminal = await stage.open(work)
    await grow(stage, terminal, 60)
    files = segments(stage.root / terminal.id)
    assert files[0].number > 1
    assert sum(each.size for each in files) <= SMALL.max_bytes
    assert sum(each.size for each in files) > SMALL.max_bytes // 3
    (found,) = stage.recordings.list()
    assert found.cut
    assert stage.texts(terminal, "m")[0] == "the recording before this was dropped"
    # One picture at the start; the others are superfluous, and the output is exact from there on.
    printed = terminal.log.read(terminal.log.start).data.decode()
    assert "".join(stage.texts(terminal, "o")[1:]).endswith(printed[-100_000:])
    assert stage.final_screen(terminal) == terminal.screen.repaint()


async def test_a_segment_may_begin_in_the_middle_of_anything(stage: Stage, work: Path, gate: Gate) -> None:
    stage.settings = SMALL
    terminal = await stage.open(work)
    halves = (("\\342\\202", "\\254", "€"), ("\\033[3", "1mred\\033[m", "red"), ("\\033]0;ti", "tle\\007", ""))
    for half, rest, whole in halves:
        is_new = False
        while not is_new:
            command = await begun_in(stage, terminal, f"printf '%*s{half}' 3000 x; cat gate; printf '{rest}'")
            count = len(segments(stage.root / terminal.id))
            stage.recordings.flush(terminal.id)
            is_new = len(segments(stage.root / terminal.id)) > count
            gate.let()
            await over(command)
            stage.recordings.flush(terminal.id)
        assert whole in "".join(stage.texts(terminal, "o"))
    assert terminal.screen.title == "title"
    assert stage.final_screen(terminal) == terminal.screen.repaint()
    # Without those before, each segment shows the same in the end.
    while len(files := segments(stage.root / terminal.id)) > 1:
        files[0].path.rename(work / files[0].path.name)
        assert stage.final_screen(terminal) == terminal.screen.repaint()
        assert "\ufffd" not in "".join(stage.texts(terminal, "o"))


async def begun_in(stage: Stage, terminal: Terminal, line: str) -> Command:
    command = await stage.rt.start_in(terminal.id, line)
    assert await command.wait_for("x", PATIENCE_S)
    return command


async def test_a_flood_is_recorded_as_what_it_left(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work)
    await stage.run(terminal, "seq 1000000")
    assert stage.size() < 2_000_000
    skipped = [text for text in stage.texts(terminal, "m") if "skipped" in text]
    assert skipped
    assert sum(int(text.split()[0]) for text in skipped) > 1_000_000
    assert stage.final_screen(terminal) == terminal.screen.repaint()
    await stage.run(terminal, "echo calm")
    assert stage.recordings._followers[terminal.id]._tick_s < 0.1
    assert "calm" in "".join(stage.texts(terminal, "o")[-2:])


async def test_old_recordings_are_deleted_and_live_ones_are_not(stage: Stage, work: Path) -> None:
    for name, age_days in (("t_old", 8), ("t_new", 6)):
        directory = stage.root / name
        directory.mkdir(parents=True, mode=0o700)
        file = directory / "000001.cast"
        file.write_text('{"version": 3, "term": {"cols": 80, "rows": 24}, "timestamp": 5}\n')
        then = file.stat().st_mtime - age_days * 86_400
        os.utime(file, (then, then))
    stage.root.chmod(0o700)
    terminal = await stage.open(work)
    stage.recordings.flush(terminal.id)
    await stage.recordings.close()
    assert {each.name for each in stage.root.iterdir()} == {"t_new", terminal.id}
    assert [each.terminal for each in stage.recordings.list()] == [terminal.id, "t_new"]


async def test_all_recordings_together_are_bounded(stage: Stage, work: Path) -> None:
    stage.settings = replace(SMALL, max_bytes=1024 * 1024)
    directory = stage.root / "t_ended"
    directory.mkdir(parents=True, mode=0o700)
    (directory / "000001.cast").write_bytes(b'{"version": 3}\n' + b"#" * 900_000)
    terminal = await stage.open(work)
    await grow(stage, terminal, 30)
    await so(lambda: not directory.exists())  # a thread deletes it
    assert stage.size() <= SMALL.total_bytes


# Restarts and trouble.


async def test_another_server_goes_on_with_the_same_recording(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work)
    await stage.run(terminal, "echo first")
    await stage.recordings.close()
    await stage.run(terminal, r"printf 'unseen\033[1m'")
    stage.recordings = stage.new()
    stage.recordings.follow(terminal)
    await stage.run(terminal, "echo second")
    assert [each.number for each in segments(stage.root / terminal.id)] == [1, 2]
    output = "".join(stage.texts(terminal, "o"))
    before, reset, after = output.partition("\x18\x1bc")
    assert reset
    assert "first" in before
    assert "unseen" in after
    assert "second" in after
    assert "the recording goes on here" in stage.texts(terminal, "m")
    assert stage.final_screen(terminal) == terminal.screen.repaint()
    (found,) = stage.recordings.list()
    assert (found.cut, found.is_live) == (False, True)


async def test_a_half_line_of_a_server_that_died_is_left_out(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work)
    await stage.run(terminal, "echo first")
    await stage.recordings.close()
    (file,) = (stage.root / terminal.id).iterdir()
    file.write_bytes(file.read_bytes() + b'[0.1, "o", "hal')
    stage.recordings = stage.new()
    stage.recordings.follow(terminal)
    await stage.run(terminal, "echo second")
    assert stage.final_screen(terminal) == terminal.screen.repaint()


async def test_a_disk_that_takes_nothing_is_told_once_disturbs_nobody_and_is_used_again_when_it_does(
    stage: Stage, work: Path
) -> None:
    terminal = await stage.open(work)
    other = await stage.open(work)
    for each in (terminal, other):
        await stage.run(each, "true")
    with files_of_at_most(10):
        for each in (terminal, other):
            await stage.run(each, "echo still there")
            await stage.run(each, "echo and again")
    (told,) = stage.told
    assert "not recorded for now" in told
    assert stage.recordings.gaps == 2
    for each in (terminal, other):
        await stage.run(each, "echo recorded")
        assert stage.final_screen(each) == each.screen.repaint()
        assert "the recording goes on here" in stage.texts(each, "m")
    assert stage.told == [told, "recordings: what is printed is recorded again"]


async def test_lines_that_do_not_fit_on_the_disk_are_taken_back(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work)
    await stage.run(terminal, "echo first")
    (file,) = (stage.root / terminal.id).iterdir()
    before = file.read_bytes()
    with files_of_at_most(len(before) + 40):
        await stage.run(terminal, "echo second")
        assert file.read_bytes() == before
        assert stage.recordings.gaps == 1
    # Nobody prints anything: the next try comes by itself.
    await stage.records_again()
    assert [each.name for each in segments_of(stage, terminal)] == ["000001.cast", "000002.cast"]
    assert stage.final_screen(terminal) == terminal.screen.repaint()


async def test_a_segment_that_could_not_even_be_begun_is_not_there(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work)
    with files_of_at_most(10):
        await stage.run(terminal, "echo first")
        assert segments_of(stage, terminal) == []
    await stage.records_again()
    assert [each.name for each in segments_of(stage, terminal)] == ["000001.cast"]
    assert stage.final_screen(terminal) == terminal.screen.repaint()


async def test_a_place_that_is_none_is_told_once(stage: Stage, work: Path) -> None:
    stage.root.parent.mkdir(mode=0o700, exist_ok=True)
    stage.root.touch()
    terminal = await stage.open(work)
    await stage.run(terminal, "echo works")
    assert len([text for text in stage.told if "no longer recorded" in text]) == 1
    with pytest.raises(RecordingNotFound):
        stage.recordings.open_cast(terminal.id)


async def test_nothing_is_recorded_when_that_is_off(stage: Stage, work: Path) -> None:
    stage.settings = RecordingSettings(enabled=False)
    terminal = await stage.open(work)
    await stage.run(terminal, "echo unseen")
    assert not stage.root.exists()
    assert stage.recordings.list() == []


async def test_a_recording_can_be_deleted_while_it_is_made(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work)
    await stage.run(terminal, "echo first")
    stage.recordings.delete(terminal.id)
    assert stage.recordings.list() == []
    await stage.run(terminal, "echo second")
    assert stage.final_screen(terminal) == terminal.screen.repaint()
    await stage.rt.close_terminal(terminal.id)
    assert stage.texts(terminal, "m")[-1] == "ended: it was closed"
    stage.recordings.delete(terminal.id)
    assert list(stage.root.iterdir()) == []
    with pytest.raises(RecordingNotFound):
        stage.recordings.delete(terminal.id)


async def test_version_2_is_there_for_older_players(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work)
    await stage.run(terminal, "echo hello")
    first, *rest = stage.recordings.open_cast(terminal.id, version=2)
    assert json.loads(first)["version"] == 2
    assert "hello" in "".join(text for _, code, text in map(json.loads, rest) if code == "o")


# Input.


async def test_what_is_typed_is_not_recorded_unless_asked_for(stage: Stage, work: Path) -> None:
    terminal = await stage.open(work)
    await stage.recordings.before_input(terminal.id, b"typed")
    assert (stage.recordings.records_input, stage.texts(terminal, "i")) == (False, [])


async def test_what_the_terminal_does_not_echo_is_never_recorded(stage: Stage, work: Path) -> None:
    stage.settings = RecordingSettings(input=True)
    terminal = await stage.open(work)
    await stage.recordings.before_input(terminal.id, b"at the prompt")
    command = await begun(stage.rt, "read -r -s -p 'Password: ' secret; cat", work, prints="Password")
    asking = stage.rt.terminals(busy=True)[0]
    stage.recordings.follow(asking)
    await until_echo(asking, on=False)
    for key in (b"hun", b"ter2\n"):
        await stage.recordings.before_input(asking.id, key)
        asking.write(key)
    await until_echo(asking, on=True)
    await stage.recordings.before_input(asking.id, "ü".encode())
    await stage.recordings.before_input(asking.id, b"\x04")
    asking.write(b"\x04")
    await over(command)
    assert stage.texts(terminal, "i") == ["at the prompt"]
    assert stage.texts(asking, "i") == ["ü", "\x04"]


async def until_echo(terminal: Terminal, *, on: bool) -> None:
    async def look() -> bool:
        return (await terminal.pty.inspect()).echo is on

    await so(look)
