"""What is found out about the disk: every path is followed as the system follows it."""

import contextlib
import os
import socket
from pathlib import Path

import pytest

from hermitty.sandbox.plan import disk_facts


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path.resolve()
    (root / "home/.config/pip").mkdir(parents=True)
    (root / "home/.config/pip/pip.conf").touch()
    (root / "elsewhere/deep").mkdir(parents=True)
    (root / "elsewhere/deep/file").touch()
    (root / "home/link").symlink_to("../elsewhere")
    (root / "home/chain").symlink_to("link/deep")
    (root / "home/dangling").symlink_to("nowhere")
    (root / "home/loop").symlink_to("loop")
    (root / "home/file").symlink_to("../elsewhere/deep/file")
    return root


@pytest.mark.parametrize(
    "name",
    [
        *("home", "home/", "home/.config/pip/pip.conf", "home/.config/pip/", "home/link", "home/link/deep/file"),
        *("home/chain/file", "home/chain/../deep", "home/./.config", "home/link/..", "home/file", "home//.config"),
        *("home/dangling", "home/dangling/x", "home/loop", "home/missing", "home/file/x", "missing/home", ""),
    ],
)
def test_a_path_is_followed_as_the_system_does(tree: Path, name: str) -> None:
    path = f"{tree}/{name}"
    facts = disk_facts(str(tree / "home"))
    expected = os.path.realpath(path) if os.path.exists(path) else None
    for _ in range(2):
        assert facts.real(path) == expected
        if expected is not None:
            assert facts.is_directory(expected) == os.path.isdir(path)


def test_the_root_and_what_is_in_it() -> None:
    facts = disk_facts("/")
    assert [facts.real(path) for path in ("/", "/usr", "/usr/..", "/nothing at all")] == ["/", "/usr", "/", None]
    assert facts.real("/bin") == os.path.realpath("/bin")
    assert facts.real("a\0b") is None
    assert facts.real("/a\0b") is None


def test_names_in_the_kernel_are_looked_at_once_and_others_each_time(tree: Path) -> None:
    facts = disk_facts(str(tree))
    assert facts.names(str(tree / "home/.config/pip")) == ["pip.conf"]
    (tree / "home/.config/pip/pip.conf").unlink()
    assert facts.names(str(tree / "home/.config/pip")) == []
    assert facts.names(str(tree / "nothing")) is None
    assert "kernel" in (facts.names("/proc/sys") or [])
    assert facts.names("/proc/nothing") is None


def test_only_what_can_be_read_has_to_be_hidden(tree: Path) -> None:
    facts = disk_facts(str(tree))
    (tree / "filled").write_text("x")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(f"{tree}/socket")
        found = {
            name: facts.has_to_read(f"{tree}/{name}") for name in ("filled", "elsewhere/deep/file", "home", "socket")
        }
    assert found == {"filled": True, "elsewhere/deep/file": False, "home": True, "socket": True}
    assert not facts.has_to_read(f"{tree}/nothing")
