"""Facts that outlive a server: found again, bounded, and nobody's failure when the file is in trouble."""

import asyncio
import contextlib
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.errors import HostUnavailable, InvalidRequest, NotSupported
from hermitty.runtime.history.entry import HistoryQuery
from hermitty.runtime.history.store import MIGRATIONS, Database, HistoryDatabase, read_history
from hermitty.runtime.state.store import LAYOUT_LIMIT_BYTES, StateStore, Workspace
from tests.support.shells import PATIENCE_S


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is; its directory is not there yet."""
    return tmp_path / "state" / "history.db"


@pytest.fixture
def told() -> list[str]:
    """What the store said."""
    return []


@pytest.fixture
def store(path: Path, told: list[str]) -> Iterator[StateStore]:
    """A store that is not used yet."""
    with contextlib.closing(StateStore(path, tell=told.append)) as store:
        yield store


def reopened(path: Path) -> contextlib.closing[StateStore]:
    return contextlib.closing(StateStore(path))


# What is kept.


def test_workspaces_and_their_layouts_are_found_again(store: StateStore, path: Path) -> None:
    assert store.put_workspace("w2", name="two", root="/two")
    assert store.put_workspace("w1")
    assert store.put_layout("w2", b"\x00layout")
    assert store.put_workspace("w2", root="/moved")
    assert store.put_layout("w3", b"3")
    store.close()
    with reopened(path) as again:
        two = Workspace("w2", "two", "/moved")
        assert again.workspaces() == [Workspace("w1", None, None), two, Workspace("w3", None, None)]
        assert (again.workspace("w2"), again.workspace("w9")) == (two, None)
        assert [again.layout(wid) for wid in ("w1", "w2", "w3", "w9")] == [None, b"\x00layout", b"3", None]


def test_sessions_results_and_questions_are_found_again(store: StateStore, path: Path) -> None:
    store.begin_session("b", "/b")
    store.begin_session("a", "/a")
    store.begin_session("b", "/elsewhere")
    store.begin_session("over", "/")
    store.end_session("over")
    store.put_result("c_1", b"{}", 1.0)
    store.put_result("c_1", b'{"new": 1}', 2.0)
    for number in (2, 1, 3):
        store.put_question(f"q_{number}", b"%d" % number)
    store.put_question("q_2", b"changed")
    store.drop_question("q_1")
    store.close()
    with reopened(path) as again:
        assert list(again.sessions().items()) == [("b", "/elsewhere"), ("a", "/a")]
        assert (again.result("c_1"), again.result("c_2")) == (b'{"new": 1}', None)
        assert again.questions() == [b"changed", b"3"]


def test_names_may_hold_bytes_that_are_no_text(store: StateStore) -> None:
    odd = os.fsdecode(b"/caf\xe9") + "\ud83d"
    store.begin_session(odd, odd)
    store.put_workspace(odd, name="\0", root=odd)
    assert store.sessions() == {odd: odd}
    assert store.workspace(odd) == Workspace(odd, "\0", odd)
    store.end_session(odd)
    assert store.sessions() == {}


def test_the_file_is_for_its_owner_alone(store: StateStore, path: Path) -> None:
    before = os.umask(0)
    try:
        store.put_question("q", b"secret")
    finally:
        os.umask(before)
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


# Bounds.


def test_the_newest_results_are_kept(path: Path) -> None:
    with contextlib.closing(StateStore(path, max_results=3)) as store:
        for number in (5, 1, 4, 2, 3):
            store.put_result(f"c_{number}", b"x", float(number))
        assert [number for number in range(6) if store.result(f"c_{number}")] == [3, 4, 5]


def test_results_are_bounded_in_bytes_also_after_a_restart(path: Path) -> None:
    with contextlib.closing(StateStore(path, max_result_bytes=1000)) as store:
        for number in range(5):
            store.put_result(f"c_{number}", b"x" * 300, float(number))
        store.put_result("c_4", b"y" * 400, 4.0)
        assert [number for number in range(5) if store.result(f"c_{number}")] == [2, 3, 4]
    with contextlib.closing(StateStore(path, max_result_bytes=1000)) as store:
        assert store.put_result("c_5", b"x" * 600, 5.0)
        assert [number for number in range(6) if store.result(f"c_{number}")] == [4, 5]
        assert not store.put_result("c_6", b"x" * 1001, 6.0)
        assert [number for number in range(7) if store.result(f"c_{number}")] == [4, 5]


def test_a_layout_that_is_too_long_is_refused(store: StateStore) -> None:
    assert store.put_layout("w", b"x" * LAYOUT_LIMIT_BYTES)
    with pytest.raises(InvalidRequest, match="at most"):
        store.put_layout("w", b"x" * (LAYOUT_LIMIT_BYTES + 1))
    with pytest.raises(InvalidRequest, match="at most"):
        store.put_workspace("w" * 5000)
    assert store.layout("w") == b"x" * LAYOUT_LIMIT_BYTES


def test_of_too_many_questions_and_workspaces_the_oldest_go(path: Path) -> None:
    ticks = iter(range(10_000))
    with contextlib.closing(StateStore(path, clock=lambda: float(next(ticks)))) as store:
        for number in range(1010):
            store.put_question(f"q_{number}", b"%d" % number)
            store.put_workspace(f"w_{number}")
        assert store.questions() == [b"%d" % number for number in range(10, 1010)]
        assert {each.id for each in store.workspaces()} == {f"w_{number}" for number in range(10, 1010)}


def test_what_is_too_long_is_counted_and_told_and_changes_nothing(store: StateStore, told: list[str]) -> None:
    assert not store.put_question("q", b"x" * (5 << 20))
    assert not store.begin_session("s" * 5000, "/")
    assert (store.lost, len(told)) == (2, 2)
    assert (store.questions(), store.sessions()) == ([], {})


# One file for everything.


def test_a_file_of_the_first_schema_gets_the_new_tables_and_keeps_its_history(path: Path) -> None:
    with contextlib.closing(HistoryDatabase(path, migrations=MIGRATIONS[:1])) as old:
        old.write([], missing=3, reason="a test", now=1.0)
    with reopened(path) as store:
        assert store.sessions() == {}
        assert store.begin_session("s", "/")
    assert read_history(path, HistoryQuery()).missing == 3


def test_a_file_of_a_newer_hermitty_is_left_alone(path: Path, told: list[str]) -> None:
    Database(path, migrations=(*MIGRATIONS, ("CREATE TABLE newer (x)",))).close()
    before = path.read_bytes()
    with contextlib.closing(StateStore(path, tell=told.append)) as store:
        with pytest.raises(NotSupported, match="newer hermitty"):
            store.questions()
        assert not store.put_question("q", b"x")
        assert not store.put_question("r", b"x")
    assert (path.read_bytes(), store.lost, len(told)) == (before, 2, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
def test_opening_the_file_twice_keeps_the_locks_of_the_first(path: Path) -> None:
    # Closing any descriptor of a file drops a process's POSIX locks on it; SQLite's shared lock is at this place.
    script = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)"
    with contextlib.closing(Database(path)) as first:
        first.connection.execute("SELECT count(*) FROM commands").fetchone()
        Database(path).close()
        held = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, timeout=PATIENCE_S)
    assert b"BlockingIOError" in held.stderr
    assert subprocess.run([sys.executable, "-c", script, str(path)], timeout=PATIENCE_S).returncode == 0


# Trouble.


def test_a_damaged_file_is_moved_aside_and_a_new_one_begun(store: StateStore, path: Path, told: list[str]) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"this is no database" * 100)
    assert store.put_question("q", b"x")
    assert store.questions() == [b"x"]
    assert len(told) == 1
    assert "was damaged" in told[0]
    assert len(list(path.parent.glob("history.damaged-*.db"))) == 1


def test_a_file_that_disappears_is_begun_again(store: StateStore, path: Path) -> None:
    store.put_result("c_1", b"x", 1.0)
    for each in path.parent.iterdir():
        each.rename(path.parent.parent / each.name)
    assert store.put_result("c_2", b"x", 2.0)
    assert (store.result("c_1"), store.result("c_2")) == (None, b"x")


def test_a_place_that_cannot_be_written_breaks_nothing(tmp_path: Path, told: list[str]) -> None:
    (tmp_path / "file").touch()
    with contextlib.closing(StateStore(tmp_path / "file" / "history.db", tell=told.append)) as store:
        assert not store.put_result("c", b"x", 1.0)
        assert not store.begin_session("s", "/")
        with pytest.raises(HostUnavailable):
            store.sessions()
        assert (store.lost, len(told)) == (2, 1)


def test_a_full_disk_breaks_nothing_and_the_store_goes_on_afterwards(path: Path, told: list[str]) -> None:
    with contextlib.closing(StateStore(path, tell=told.append)) as store:
        store.put_question("q_1", b"x")
        # SQLite reports a database that may not grow as it reports a full disk.
        database = store._file._opened()
        (pages,) = database.connection.execute("PRAGMA page_count").fetchone()
        database.connection.execute(f"PRAGMA max_page_count = {pages}")
        assert [store.put_result(f"c_{number}", b"x" * 100_000, 1.0) for number in range(3)] == [False] * 3
        assert (store.lost, len(told)) == (3, 1)
        assert "full" in told[0]
        assert store.questions() == [b"x"]
        database.connection.execute("PRAGMA max_page_count = 100000")
        assert store.put_result("c_9", b"x" * 100_000, 1.0)
        assert store.result("c_9") is not None


async def test_what_another_process_has_locked_is_stored_later_in_order(store: StateStore, path: Path) -> None:
    store.put_question("q_0", b"0")
    other = sqlite3.connect(path, isolation_level=None)
    with contextlib.closing(other):
        other.execute("BEGIN IMMEDIATE")
        assert store.put_question("q_1", b"1")
        assert store.put_question("q_2", b"2")
        assert store.drop_question("q_1")
        assert store.questions() == [b"0"]
        other.execute("COMMIT")
        async with asyncio.timeout(PATIENCE_S):
            while len(other.execute("SELECT id FROM questions").fetchall()) != 2:
                await asyncio.sleep(0.01)  # another connection is not told of a commit
    assert (store.questions(), store.lost) == ([b"0", b"2"], 0)


def test_what_is_still_locked_at_the_end_is_counted(store: StateStore, path: Path, told: list[str]) -> None:
    store.put_question("q_0", b"0")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert store.put_question("q_1", b"1")
        store.close()
        other.execute("ROLLBACK")
    assert store.lost == 1
    assert "locked" in told[-1]
    assert not store.put_question("q_2", b"2")
    with pytest.raises(HostUnavailable, match="closed"):
        store.questions()


def test_much_that_is_written_ends_in_the_file_itself(store: StateStore, path: Path) -> None:
    side = path.with_name("history.db-wal")

    def put_until_moved() -> int:
        """Write until a thread moves it into the file, and wait for that; return the size of the side file."""
        before, number = store._file._checkpointer, 0
        while (thread := store._file._checkpointer) is before:
            number += 1
            store.put_result(f"c_{number}", bytes(50_000), float(number))
        assert thread is not None
        thread.join(PATIENCE_S)
        return side.stat().st_size

    first = put_until_moved()
    assert path.stat().st_size > 4_000_000
    # The side file is used again from its start once everything is in the file.
    assert {put_until_moved() for _ in range(3)} == {first}


_WRITER = """
import sys
from pathlib import Path
from hermitty.runtime.state.store import StateStore
store = StateStore(Path(sys.argv[1]))
number = 0
while True:
    number += 1
    assert store.put_question(f"q_{number}", b"%d" % number)
    assert store.put_result(f"c_{number}", bytes(20_000), float(number))
    print(number, flush=True)
"""


def test_a_process_that_is_killed_while_it_writes_loses_nothing_it_was_told_is_stored(path: Path) -> None:
    for round_number in range(3):
        child = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        last = 0
        for line in child.stdout:
            last = int(line)
            if last >= 40 * (round_number + 1):
                break
        child.send_signal(signal.SIGKILL)
        rest, _ = child.communicate(timeout=PATIENCE_S)
        last = int(rest.split()[-1]) if rest.endswith("\n") and rest.split() else last
        with reopened(path) as store:
            found = {int(record) for record in store.questions()}
            assert set(range(1, last + 1)) <= found
            assert store.result(f"c_{last}") == bytes(20_000)
            for number in found:
                store.drop_question(f"q_{number}")
