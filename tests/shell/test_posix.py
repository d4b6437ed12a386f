"""A real POSIX shell (dash) with our integration."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.shell.posix import Posix
from tests.support.raw_shell import OpenShell, Ran, RawShell, ShellContract, installed


@pytest.fixture
def open_shell(tmp_path: Path) -> Iterator[OpenShell]:
    with contextlib.ExitStack() as stack:
        yield OpenShell(stack, Posix(), installed("dash"), tmp_path)


class TestPosix(ShellContract):
    pass
