"""Files of private directories: one that is not there is not the same as one that cannot be read now."""

import os
import socket
import sys
from pathlib import Path

import pytest

from hermitty.errors import HostUnavailable
from hermitty.host.private_files import read_private
from tests.support.kernel import few_descriptors


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\0one\xff")

    assert read_private(f"{tmp_path}/file") == b"\0one\xff"


def test_what_is_no_file_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"one")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))

    names = ("nothing", "file/below", "link", "directory", "pipe", "socket")
    assert {name: read_private(f"{tmp_path}/{name}") for name in names} == dict.fromkeys(names)


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_a_file_that_cannot_be_opened_now_may_be_there(tmp_path: Path) -> None:
    (tmp_path / "kept.owner").write_bytes(b"one")

    with few_descriptors(0), pytest.raises(HostUnavailable, match=r"kept\.owner: Too many open files"):
        read_private(f"{tmp_path}/kept.owner")

    assert read_private(f"{tmp_path}/kept.owner") == b"one"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_file_that_cannot_be_read_now_may_have_something_in_it() -> None:
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(HostUnavailable, match="mem: Input/output error"):
        read_private("/proc/self/mem")  # a file whose first page is not there

    assert len(os.listdir("/proc/self/fd")) == before
