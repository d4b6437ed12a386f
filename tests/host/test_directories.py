"""Private directories: for their owner only, gone with him, and cleared up after one who was killed."""

import fcntl
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.host import directories
from hermitty.host.directories import PrivateDirectories

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs flock")

OWNER = """
import sys, pathlib
from hermitty.host import directories
directories._base = lambda: pathlib.Path(sys.argv[1])
private = directories.PrivateDirectories()
(private.make("t_1") / "secret").write_text("x")
print("made", flush=True)
sys.stdin.read()
private.close()
"""


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place where directories are made."""
    monkeypatch.setattr(directories, "_base", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def owner(base: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process with directories in the same place."""
    command = [sys.executable, "-c", OWNER, str(base)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"made\n"
        yield process
        process.kill()


def test_directories_are_private_and_go_one_by_one_or_all_at_once(base: Path) -> None:
    private = PrivateDirectories()
    assert list(base.iterdir()) == []  # nothing is made before it is needed

    one, two = private.make("t_1"), private.make("t_2")
    (one / "deep").mkdir()
    (one / "deep" / "file").write_text("x")
    [root] = base.iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (root, one, two)] == [0o700] * 3

    private.remove(one)
    private.remove(one)
    assert (one.exists(), two.exists()) == (False, True)

    private.close()
    private.close()
    assert list(base.iterdir()) == []


def test_a_name_is_used_once(base: Path) -> None:
    private = PrivateDirectories()
    private.make("t_1")

    with pytest.raises(FileExistsError):
        private.make("t_1")
    private.close()


def test_a_removed_link_does_not_take_its_target_along(base: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    precious = tmp_path_factory.mktemp("precious") / "file"
    precious.write_text("x")
    private = PrivateDirectories()
    (private.make("t_1") / "link").symlink_to(precious.parent, target_is_directory=True)

    private.close()

    assert precious.read_text() == "x"


def test_a_living_owner_keeps_his(base: Path, owner: subprocess.Popen[bytes]) -> None:
    [his] = base.iterdir()

    private = PrivateDirectories()
    private.make("t_1")
    private.close()

    assert list(base.iterdir()) == [his]
    assert (his / "t_1" / "secret").read_text() == "x"
    owner.communicate()
    assert list(base.iterdir()) == []


def test_what_a_killed_owner_left_is_removed(base: Path, owner: subprocess.Popen[bytes]) -> None:
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    [his] = base.iterdir()

    private = PrivateDirectories()
    mine = private.make("t_1")

    assert list(base.iterdir()) == [mine.parent]
    assert his != mine.parent
    private.close()


def test_what_looks_like_ours_but_is_not_is_left_alone(base: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    prefix = f"hermitty-{os.getuid()}-"
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "lock").write_text("")
    (elsewhere / "precious").write_text("x")
    (base / f"{prefix}link").symlink_to(elsewhere, target_is_directory=True)
    (base / f"{prefix}file").write_text("x")
    (base / f"{prefix}new").mkdir()  # its owner has not come to lock it yet
    (base / f"{prefix}odd").mkdir()
    (base / f"{prefix}odd" / "lock").symlink_to(elsewhere / "lock")
    before = set(base.iterdir())

    private = PrivateDirectories()
    private.make("t_1")
    private.close()

    assert set(base.iterdir()) == before
    assert (elsewhere / "precious").read_text() == "x"


def test_one_taken_for_abandoned_before_it_was_locked_is_made_again(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fcntl.flock
    seen: list[int] = []

    def flock(descriptor: int, operation: int) -> None:
        # Between our making the lock and our taking it, another host comes along.
        if not seen and not operation & fcntl.LOCK_NB:
            seen.append(descriptor)
            directories._remove_abandoned(base)
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    private = PrivateDirectories()

    mine = private.make("t_1")

    assert seen
    assert mine.is_dir()
    assert list(base.iterdir()) == [mine.parent]
    private.close()


def test_the_place_is_in_memory_where_there_is_one() -> None:
    base = directories._base()

    assert base.is_dir()
    assert os.access(base, os.W_OK)
