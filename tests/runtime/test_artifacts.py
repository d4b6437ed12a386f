"""Artifacts: the complete output of long commands, on disk."""

import asyncio
import importlib.util
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import ArtifactNotFound, InvalidArtifact, InvalidOffset, InvalidPattern, InvalidRequest
from hermitty.output.search import Match
from hermitty.runtime.artifacts import ArtifactInfo, ArtifactStore, SearchResult

needs_re2 = pytest.mark.skipif(importlib.util.find_spec("re2") is None, reason="google-re2 is not installed")
on_posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions, limits and locks")

COMMAND = "c_0123456789abcdef"
ID = "a_0123456789abcdef"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "state" / "artifacts"


@pytest.fixture
def store(directory: Path) -> Iterator[ArtifactStore]:
    """A store whose writers keep 10 bytes in memory."""
    store = ArtifactStore(directory, memory_bytes=10)
    yield store
    store.close()


def written(store: ArtifactStore, data: bytes, command: str = COMMAND) -> str:
    """The id of an artifact with that content."""
    writer = store.open(command)
    writer.append(data)
    artifact_id = writer.keep()
    writer.close()
    assert artifact_id is not None
    return artifact_id


async def content(store: ArtifactStore, artifact_id: str) -> bytes:
    parts: list[bytes] = []
    at: int | None = 0
    while at is not None:
        page = await store.read(artifact_id, at)
        parts.append(page.data)
        at = page.next
    return b"".join(parts)


def info(size: int, *, is_live: bool = False, lost: int | None = 0, reason: str | None = None) -> tuple[object, ...]:
    return (size, is_live, lost, reason)


def facts(found: ArtifactInfo) -> tuple[object, ...]:
    return (found.size, found.is_live, found.lost, found.reason)


# Writing.


def test_output_that_fits_into_memory_leaves_no_trace(store: ArtifactStore, directory: Path) -> None:
    writer = store.open(COMMAND)
    writer.append(b"0123456789")
    writer.close()
    assert (writer.id, writer.total, writer.lost, writer.problem) == (None, 10, 0, None)
    assert store.artifacts() == []
    assert not directory.exists()


async def test_a_long_output_is_there_byte_for_byte_with_its_unterminated_last_line(store: ArtifactStore) -> None:
    data = b"".join(b"line %d\r\n" % number for number in range(100_000)) + b"\x00\xff no newline"
    writer = store.open(COMMAND)
    for at in range(0, len(data), 4096):
        writer.append(data[at : at + 4096])
    writer.close()
    assert writer.id == ID
    assert await content(store, ID) == data
    assert store.info(ID).is_complete
    assert facts(store.info(ID)) == info(len(data))


async def test_short_output_is_kept_on_request_before_and_after_the_end(store: ArtifactStore) -> None:
    writer = store.open(COMMAND)
    writer.append(b"short")
    assert writer.keep() == ID
    writer.append(b", more")
    assert writer.keep() == ID
    writer.close()
    late = store.open("c_aaaaaaaaaaaaaaaa")
    late.append(b"late")
    late.close()
    assert late.keep() == "a_aaaaaaaaaaaaaaaa"
    assert (await content(store, ID), await content(store, "a_aaaaaaaaaaaaaaaa")) == (b"short, more", b"late")
    assert [found.is_complete for found in store.artifacts()] == [True, True]


def test_no_output_is_never_kept(store: ArtifactStore, directory: Path) -> None:
    writer = store.open(COMMAND)
    assert writer.keep() is None
    writer.close()
    assert writer.keep() is None
    assert not directory.exists()


@pytest.mark.parametrize("is_closed", [False, True])
def test_what_is_discarded_is_gone(store: ArtifactStore, directory: Path, is_closed: bool) -> None:
    writer = store.open(COMMAND)
    writer.append(b"x" * 100)
    if is_closed:
        writer.close()
    assert len(os.listdir(directory)) == 1
    writer.discard()
    assert (writer.id, os.listdir(directory)) == (None, [])
    assert writer.keep() is None


async def test_several_outputs_of_one_command_have_ids_of_their_own(store: ArtifactStore) -> None:
    first, second, named = written(store, b"1"), written(store, b"2"), written(store, b"3", "whatever/../it is")
    assert first == ID
    assert len({first, second, named}) == 3
    assert [await content(store, each) for each in (first, second, named)] == [b"1", b"2", b"3"]


@given(st.lists(st.binary(max_size=50)), st.integers(0, 40), st.integers(1, 30))
def test_any_bytes_in_any_pieces_come_back_the_same(pieces: list[bytes], memory: int, limit: int) -> None:
    data = b"".join(pieces)
    with tempfile.TemporaryDirectory() as name:
        store = ArtifactStore(name, memory_bytes=memory)
        writer = store.open(COMMAND)
        for piece in pieces:
            writer.append(piece)
            assert writer.total == writer.size
        writer.close()
        assert (writer.id is not None) == (len(data) > memory)
        artifact_id = writer.keep()

        async def pages() -> bytes:
            parts: list[bytes] = []
            at: int | None = 0
            while artifact_id and at is not None:
                page = await store.read(artifact_id, at, limit)
                parts.append(page.data)
                at = page.next
            return b"".join(parts)

        assert asyncio.run(pages()) == data


@on_posix
def test_only_the_owner_can_read_files_and_directory(store: ArtifactStore, directory: Path) -> None:
    directory.mkdir(parents=True, mode=0o755)
    before = os.umask(0)
    try:
        written(store, b"secret")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (directory, *directory.iterdir())]
    assert modes == [0o700, 0o600]


# Reading.


async def test_a_page_has_the_number_of_its_first_line(store: ArtifactStore) -> None:
    artifact_id = written(store, b"line 1\nline 2\nline 3\nrest")
    page = await store.read(artifact_id, 14)
    assert (page.line, page.data, page.starts_inside, page.next) == (3, b"line 3\nrest", False, None)
    assert (await store.lines(artifact_id, 2, 2)).data == b"line 2\nline 3\n"
    assert (await store.read(artifact_id, 0, 3)).next == 3


async def test_pages_have_40_kilobytes_by_default(store: ArtifactStore) -> None:
    artifact_id = written(store, b"x" * 100_000)
    assert len((await store.read(artifact_id)).data) == 40 * 1024


@pytest.mark.parametrize("offset", [-1, 6, 7])
async def test_an_offset_outside_is_an_error(store: ArtifactStore, offset: int) -> None:
    artifact_id = written(store, b"a\nb\nc\n")
    with pytest.raises(InvalidOffset):
        await store.read(artifact_id, offset)
    with pytest.raises(InvalidOffset):
        await store.search(artifact_id, "x", offset=offset)
    with pytest.raises(InvalidOffset):
        await store.lines(artifact_id, 4, 1)


@pytest.mark.parametrize(
    "artifact_id",
    [
        "",
        "..",
        "../a_0123456789abcdef",
        "a_0123456789abcdef/..",
        "/etc/passwd",
        "a_../../etc/passwd",
        "a_0123456789ABCDEF",
        "a_0123456789abcde",
        "a_0123456789abcdef0",
        "a_0123456789abcdef.raw",
        "a_0123456789abcdef\n",
        "a_0123456789abcdef\0",
        "a_０123456789abcdef",
        "c_0123456789abcdef",
        "*",
        "x" * 100_000,
    ],
)
async def test_other_names_than_ids_are_refused(store: ArtifactStore, artifact_id: str) -> None:
    written(store, b"there")
    for ask in (store.read(artifact_id), store.lines(artifact_id, 1, 1), store.search(artifact_id, "x")):
        with pytest.raises(InvalidArtifact) as raised:
            await ask
        assert len(raised.value.message) < 300
    with pytest.raises(InvalidArtifact):
        store.info(artifact_id)


async def test_an_unknown_id_names_some_that_exist(store: ArtifactStore) -> None:
    with pytest.raises(ArtifactNotFound, match="there are: none"):
        await store.read(ID)
    for number in range(15):
        written(store, b"x", f"c_{number:016x}")
    with pytest.raises(ArtifactNotFound) as raised:
        await store.read(ID)
    assert len(raised.value.known) == 10
    assert raised.value.message.endswith("and 5 more")


@on_posix
async def test_what_is_no_file_of_ours_is_neither_read_nor_touched(store: ArtifactStore, directory: Path) -> None:
    os.makedirs(directory)
    (directory / "notes.txt").write_text("mine")
    (directory / "a_00000000000000aa.raw").symlink_to("notes.txt")
    (directory / "a_00000000000000bb.raw").mkdir()
    os.mkfifo(directory / "a_00000000000000cc.raw")
    for artifact_id in ("a_00000000000000aa", "a_00000000000000bb", "a_00000000000000cc"):
        with pytest.raises(ArtifactNotFound):
            await store.read(artifact_id)
    small = ArtifactStore(directory, max_artifacts=1, max_total_bytes=10)
    written(small, b"x")
    assert len(os.listdir(directory)) == 5


# Searching.


async def test_matches_have_line_and_offset_and_no_match_is_an_answer(store: ArtifactStore) -> None:
    artifact_id = written(store, b"one\r\nTwo error\r\nthree")
    assert await store.search(artifact_id, "ERROR") == SearchResult(
        (Match(2, 9, "Two error"),), literal=True, problem=None, stopped=None, next=None, size=21
    )
    assert (await store.search(artifact_id, "nothing")).matches == ()
    with pytest.raises(InvalidPattern):
        await store.search(artifact_id, "")
    with pytest.raises(InvalidRequest):
        await store.search(artifact_id, "x", max_matches=0)


async def test_an_invalid_expression_is_searched_for_literally(store: ArtifactStore) -> None:
    artifact_id = written(store, b"x\nf([1])\n")
    found = await store.search(artifact_id, "([1]")
    assert ([match.line for match in found.matches], found.literal) == ([2], True)
    assert found.problem


@needs_re2
async def test_a_hostile_expression_leaves_the_loop_free(store: ArtifactStore) -> None:
    artifact_id = written(store, (b"a" * 50_000 + b"!\n") * 100)
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(take_turns())
    found = await store.search(artifact_id, "(a+)+$")
    ticking.cancel()
    assert (found.matches, found.literal, found.stopped) == ((), False, None)
    assert turns > 10


async def test_a_search_goes_on_where_its_limit_ended_it(store: ArtifactStore) -> None:
    artifact_id = written(store, b"".join(b"hit %d\r\nmiss\r\n" % number for number in range(50)))
    lines: list[int] = []
    at: int | None = 0
    while at is not None:
        found = await store.search(artifact_id, "hit", offset=at, max_matches=7)
        assert (found.stopped == "matches") == (found.next is not None)
        lines += [match.line for match in found.matches]
        at = found.next
    assert lines == list(range(1, 100, 2))


async def test_a_search_without_time_stops_and_tells_where(store: ArtifactStore) -> None:
    artifact_id = written(store, b"x\n" * 200_000 + b"hit")
    found = await store.search(artifact_id, "hit", time_limit_s=0)
    assert (found.matches, found.stopped) == ((), "time")
    at = found.next
    assert at is not None
    while at is not None:
        found = await store.search(artifact_id, "hit", offset=at, time_limit_s=0)
        at = found.next
    assert [match.line for match in found.matches] == [200_001]


@needs_re2
async def test_a_search_from_inside_a_line_does_not_take_it_for_a_beginning(store: ArtifactStore) -> None:
    artifact_id = written(store, b"ab\nbc\n")
    assert (await store.search(artifact_id, "^b", offset=1)).matches == (Match(2, 3, "bc"),)


async def test_a_line_of_16_megabytes_is_read_and_searched_in_bounded_memory(store: ArtifactStore) -> None:
    writer = store.open(COMMAND)
    block = b"x" * 65_536
    for _ in range(256):
        writer.append(block)
    writer.append(b"needle")
    writer.close()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        found = await store.search(ID, "needle")
        page = await store.read(ID, 16_000_000)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert [(match.line, match.offset) for match in found.matches] == [(1, 16_777_216)]
    assert (page.line, page.starts_inside, len(page.data)) == (1, True, 40 * 1024)
    assert len(found.matches[0].text) < 300
    assert peak < 4_000_000


# While it is written.


async def test_a_live_artifact_is_read_up_to_its_last_byte(store: ArtifactStore) -> None:
    writer = store.open(COMMAND)
    data = b""
    for number in range(200):
        piece = b"piece %d\n" % number
        writer.append(piece)
        data += piece
        if writer.id:
            assert await content(store, ID) == data
            assert facts(store.info(ID)) == info(len(data), is_live=True)
    assert [match.line for match in (await store.search(ID, "piece 199")).matches] == [200]
    writer.close()
    assert facts(store.info(ID)) == info(len(data))


async def test_many_readers_of_a_growing_artifact_see_exact_pages(store: ArtifactStore) -> None:
    data = b"".join(b"%07d\n" % number for number in range(50_000))
    writer = store.open(COMMAND)
    writer.append(data[:80])

    async def read_along() -> None:
        at = 0
        while at < len(data):
            if at < writer.size:
                page = await store.read(ID, at, 30_000)
                assert page.data == data[at : at + len(page.data)]
                assert page.line == at // 8 + 1
                at += len(page.data)
            else:
                await asyncio.sleep(0)

    async with asyncio.timeout(60), asyncio.TaskGroup() as readers:
        for _ in range(4):
            readers.create_task(read_along())
        for at in range(80, len(data), 9_973):
            writer.append(data[at : at + 9_973])
            await asyncio.sleep(0)
        writer.close()


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads that take turns so often that a race shows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
def test_an_artifact_is_found_while_it_gets_its_last_name(directory: Path) -> None:
    store = ArtifactStore(directory, memory_bytes=10)
    for number in range(600):
        writer = store.open(f"c_{number:016x}")
        writer.append(b"x" * 100)
        start = threading.Barrier(2)
        found: list[int] = []

        def look(artifact_id: str, start: threading.Barrier, found: list[int]) -> None:
            start.wait()
            for _ in range(6):
                with store._opened(artifact_id) as (_, size, _):
                    found.append(size)

        assert writer.id is not None
        looking = threading.Thread(target=look, args=(writer.id, start, found))
        looking.start()
        start.wait()
        writer.close()
        looking.join()
        assert found == [100] * 6


# Bounds.


async def test_an_artifact_stops_at_its_limit_and_counts_the_rest(directory: Path) -> None:
    store = ArtifactStore(directory, memory_bytes=10, max_bytes_per_artifact=100)
    writer = store.open(COMMAND)
    for _ in range(30):
        writer.append(b"0123456")
    writer.close()
    assert (writer.lost, writer.reason, writer.total) == (110, "limit", 210)
    assert writer.problem == "the last 110 bytes of the output were not kept: it reached its limit"
    assert await content(store, ID) == (b"0123456" * 30)[:100]
    assert facts(store.info(ID)) == info(100, lost=110, reason="limit")
    assert not store.info(ID).is_complete


def age(directory: Path, artifact_id: str, seconds: float) -> None:
    (path,) = directory.glob(f"{artifact_id}.*")
    os.utime(path, (seconds, seconds))


def test_the_oldest_make_room_and_live_ones_stay(directory: Path) -> None:
    store = ArtifactStore(directory, memory_bytes=10, max_total_bytes=1000, max_age_s=1e12)
    live = store.open("c_1111111111111111")
    live.append(b"x" * 300)
    old = [written(store, b"x" * 100, f"c_000000000000000{number}") for number in range(5)]
    for number, artifact_id in enumerate([live.id, *old]):
        assert artifact_id is not None
        age(directory, artifact_id, 1000.0 + number)
    newest = written(store, b"x" * 300, "c_2222222222222222")
    there = {found.id for found in store.artifacts()}
    assert live.id in there
    assert newest in there
    # 1100 bytes are too many; what goes is the oldest, until there is some room.
    assert [artifact_id in there for artifact_id in old] == [False, False, True, True, True]
    live.close()


def test_too_many_files_and_too_old_ones_go(directory: Path) -> None:
    clock = [1_000_000.0]
    store = ArtifactStore(directory, max_artifacts=10, max_age_s=3600.0, now=lambda: clock[0])
    for number in range(25):
        age(directory, written(store, b"x", f"c_{number:016x}"), clock[0] + number)
        assert len(store.artifacts()) <= 10
    assert store.artifacts()[0].id == f"a_{24:016x}"
    clock[0] += 8000.0
    newest = written(store, b"new")
    assert [found.id for found in store.artifacts()] == [newest]


def test_when_only_live_ones_are_left_the_total_holds_by_cutting(directory: Path) -> None:
    store = ArtifactStore(directory, memory_bytes=10, max_total_bytes=1000)
    writers = [store.open(f"c_000000000000000{number}") for number in range(3)]
    for _ in range(10):
        for writer in writers:
            writer.append(b"x" * 50)
            writer.flush()
    assert sum(writer.size for writer in writers) == 1000
    assert sum(writer.lost for writer in writers) == 500
    assert {writer.reason for writer in writers} == {"total_limit"}
    late = store.open("c_3333333333333333")
    late.append(b"x" * 20)
    late.close()
    assert (late.id, late.lost, late.reason) == (None, 20, "total_limit")
    store.close()


# Faults.


def test_a_directory_that_cannot_be_made_costs_the_artifact_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = ArtifactStore(tmp_path / "file" / "artifacts", memory_bytes=10)
    writer = store.open(COMMAND)
    for _ in range(5):
        writer.append(b"0123456789")
    writer.close()
    assert (writer.id, writer.keep(), writer.total, writer.lost) == (None, None, 50, 50)
    assert writer.reason in ("ENOTDIR", "EEXIST", "ENOENT")
    assert store.artifacts() == []


FULL = """
import asyncio, json, resource, sys
from hermitty.runtime.artifacts import ArtifactStore
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
store = ArtifactStore(sys.argv[1])
writer = store.open("c_0123456789abcdef")
for number in range(40_000):
    writer.append(b"%07d\\n" % number)
writer.close()
page = asyncio.run(store.read(writer.id, 99_992))
print(json.dumps([writer.id, writer.total, writer.lost, writer.reason, page.text, page.next]))
"""


@on_posix
def test_a_file_that_can_grow_no_more_is_cut_exactly_and_says_so_after_a_restart(directory: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FULL, str(directory)], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(run.stdout) == [ID, 320_000, 220_000, "EFBIG", "0012499\n", None]
    assert facts(ArtifactStore(directory).info(ID)) == info(100_000, lost=220_000, reason="EFBIG")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_never_raises_into_the_command(store: ArtifactStore, directory: Path) -> None:
    writer = store.open(COMMAND)
    writer.append(b"x" * 1000)
    full = os.open("/dev/full", os.O_WRONLY)
    assert writer._descriptor is not None
    os.dup2(full, writer._descriptor)
    os.close(full)
    writer.append(b"y" * 300_000)
    writer.append(b"z" * 7)
    writer.close()
    assert (writer.total, writer.lost, writer.reason) == (301_007, 300_007, "ENOSPC")
    assert os.listdir(directory) == [f"{ID}.300007-ENOSPC.cut"]
    assert facts(store.info(ID)) == info(1000, lost=300_007, reason="ENOSPC")


async def test_artifacts_survive_a_restart(store: ArtifactStore, directory: Path) -> None:
    written(store, b"complete\n" * 10)
    again = ArtifactStore(directory)
    assert await content(again, ID) == b"complete\n" * 10
    assert again.artifacts() == store.artifacts()
    assert again.info(ID).is_complete


DYING = """
import os, sys
from hermitty.runtime.artifacts import ArtifactStore
writer = ArtifactStore(sys.argv[1], memory_bytes=10).open("c_0123456789abcdef")
writer.append(b"x" * 1000)
writer.append(b"never written")
print("written", flush=True)
sys.stdin.readline()
os._exit(1)
"""


@on_posix
def test_what_another_process_writes_is_live_until_it_dies(directory: Path) -> None:
    store = ArtifactStore(directory, max_total_bytes=1000)
    with subprocess.Popen(
        [sys.executable, "-c", DYING, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "written\n"
        assert facts(store.info(ID)) == info(1000, is_live=True, lost=None)
        store.room_for(500)
        assert (directory / f"{ID}.part").read_bytes() == b"x" * 1000
        other.communicate("die\n", timeout=60)
    assert facts(store.info(ID)) == info(1000, lost=None, reason="died")
    assert not store.info(ID).is_complete
    store.room_for(500)
    assert store.artifacts() == []


async def test_an_artifact_deleted_while_it_is_read_is_read_to_its_end(store: ArtifactStore, directory: Path) -> None:
    written(store, b"x" * 1000)
    with store._opened(ID) as (read, size, _):
        (directory / f"{ID}.raw").unlink()
        assert read(0, size) == b"x" * 1000
    with pytest.raises(ArtifactNotFound):
        await store.read(ID)


async def test_a_directory_that_vanishes_under_a_writer_does_no_harm(store: ArtifactStore, directory: Path) -> None:
    writer = store.open(COMMAND)
    writer.append(b"x" * 100)
    (directory / f"{ID}.part").unlink()
    os.rmdir(directory)
    writer.append(b"y" * 300_000)
    writer.close()
    assert writer.total == 300_100
    with pytest.raises(ArtifactNotFound):
        await store.read(ID)


async def test_a_cancelled_search_ends(store: ArtifactStore) -> None:
    artifact_id = written(store, b"x\n" * 2_000_000)
    searching = asyncio.create_task(store.search(artifact_id, "nothing", time_limit_s=3600))
    await asyncio.sleep(0)
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching


@pytest.mark.parametrize("ended", [False, True], ids=["still written", "finished"])
async def test_another_process_goes_on_from_where_the_state_was_kept(
    store: ArtifactStore, directory: Path, ended: bool
) -> None:
    before, after = b"begun " * 10, b"and gone on with\n" * 10
    first = store.open(COMMAND)
    first.append(before)
    state = json.loads(json.dumps(first.state()))
    first.append(after)
    if ended:  # the state was kept before the end, and the process killed after it
        first.close()
        assert first.keep() is not None
    else:
        first.leave()

    other = ArtifactStore(directory, memory_bytes=10)
    second = other.open(COMMAND)
    second.go_on_from(state)
    second.append(after)
    second.close()
    artifact = second.keep()
    assert (artifact, second.lost, second.problem) == (state["id"], 0, None)
    assert await content(other, state["id"]) == before + after
    other.close()
