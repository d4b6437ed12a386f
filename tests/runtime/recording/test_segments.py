"""One recording out of several files, whatever is missing of them."""

from pathlib import Path

import pytest

from hermitty.errors import RecordingNotFound
from hermitty.runtime.recording.segments import Meta, RecordingInfo, info, read_cast, segments
from hermitty.wire.asciicast import CastReader, CastWriter, Event, Header


def put(
    root: Path, number: int, *events: Event, at: float, continues: bool = False, picture: bool = False, cols: int = 80
) -> Path:
    """Write a segment of terminal t."""
    directory = root / "t"
    directory.mkdir(exist_ok=True)
    writer = CastWriter()
    header = Meta(at, continues, picture).put(Header(cols, 24, timestamp=int(at), title="name"))
    path = directory / f"{number:06}.cast"
    path.write_bytes(writer.header(header) + b"".join(writer.event(event) for event in events))
    return path


def out(at_s: float, text: str) -> Event:
    return Event(at_s, "o", text)


def joined(root: Path, version: int = 3) -> tuple[Header | None, list[Event]]:
    reader = CastReader()
    events = [event for line in read_cast(root, "t", version=version) for event in reader.feed(line)]
    assert (reader.version, reader.skipped) == (version, 0)
    return reader.header, events + reader.finish()


def test_segments_that_continue_are_one_without_their_pictures(tmp_path: Path) -> None:
    put(tmp_path, 1, out(0.5, "one"), at=1000.0)
    put(tmp_path, 2, out(0, "PICTURE"), out(1, "two"), at=1010.0, continues=True, picture=True)
    put(
        tmp_path,
        3,
        out(0, "PICTURE"),
        Event(2, "m", "mark"),
        Event(3, "x", "0"),
        at=1020.0,
        continues=True,
        picture=True,
    )
    expected = [out(0.5, "one"), out(11, "two"), Event(22, "m", "mark"), Event(23, "x", "0")]
    assert joined(tmp_path) == (Header(80, 24, timestamp=1000, title="name"), expected)
    assert joined(tmp_path, 2)[1] == [*expected[:3], Event(23, "m", "exit 0")]


def test_what_was_dropped_before_is_said_and_the_picture_stays(tmp_path: Path) -> None:
    put(tmp_path, 7, out(0, "PICTURE"), out(1, "seven"), at=1000.0, continues=True, picture=True)
    put(tmp_path, 8, out(0, "PICTURE"), out(1, "eight"), at=1002.0, continues=True, picture=True)
    marker = Event(0, "m", "the recording before this was dropped")
    assert joined(tmp_path)[1] == [marker, out(0, "PICTURE"), out(1, "seven"), out(3, "eight")]


@pytest.mark.parametrize("number", [2, 3])
def test_after_a_gap_the_screen_is_drawn_anew(tmp_path: Path, number: int) -> None:
    put(tmp_path, 1, out(0.5, "one"), Event(0.75, "r", "90x24"), at=1000.0)
    put(tmp_path, number, out(0, "PICTURE"), out(1, "on"), at=1010.0, continues=number == 3, picture=True, cols=100)
    assert joined(tmp_path)[1] == [
        out(0.5, "one"), Event(0.75, "r", "90x24"), Event(10, "m", "the recording goes on here"),
        Event(10, "r", "100x24"), out(10, "\x18\x1bc"), out(10, "PICTURE"), out(11, "on"),
    ]  # fmt: skip


def test_clocks_that_go_back_do_not_disturb_the_order(tmp_path: Path) -> None:
    put(tmp_path, 1, out(5, "one"), at=1000.0)
    put(tmp_path, 2, out(0, "PICTURE"), out(1, "two"), at=900.0, continues=True, picture=True)
    assert joined(tmp_path)[1] == [out(5, "one"), out(5, "two")]


def test_lines_and_files_that_were_cut_or_damaged_are_left_out(tmp_path: Path) -> None:
    path = put(tmp_path, 1, out(1, "one"), out(2, "half"), at=1000.0)
    path.write_bytes(path.read_bytes()[:-5])
    (tmp_path / "t" / "000002.cast").write_bytes(bytes(100))
    (tmp_path / "t" / "000003.cast").write_bytes(b"")
    (tmp_path / "t" / "notes.txt").write_bytes(b"mine")
    put(tmp_path, 4, out(0, "PICTURE"), at=1010.0, continues=True, picture=True)
    assert [event.text for event in joined(tmp_path)[1] if event.code == "o"] == ["one", "\x18\x1bc", "PICTURE"]
    assert [each.number for each in segments(tmp_path / "t")] == [1, 2, 3, 4]


def test_what_is_known_of_a_recording(tmp_path: Path) -> None:
    assert info(tmp_path / "t") is None
    first = put(tmp_path, 1, out(1, "one"), at=1000.5)
    size = first.stat().st_size
    ended = first.stat().st_mtime
    assert info(tmp_path / "t") == RecordingInfo("t", "name", 1000.5, ended - 1000.5, size, cut=False)
    second = put(tmp_path, 2, at=1001.0, continues=True, picture=True)
    first.rename(tmp_path / "elsewhere")
    found = info(tmp_path / "t")
    assert found is not None
    assert (found.started_at, found.cut, found.bytes) == (1001.0, True, second.stat().st_size)


@pytest.mark.parametrize("name", ["t", "nobody", "", "..", ".", "a/b", "../t", "x" * 300, "a\0b", "ä"])
def test_what_is_no_recording_is_not_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "t").mkdir()
    with pytest.raises(RecordingNotFound):
        read_cast(tmp_path, name)
