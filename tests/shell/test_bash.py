"""A real bash with our integration."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.shell.bash import Bash
from tests.support.raw_shell import OpenShell, Ran, RawShell, ShellContract, installed


@pytest.fixture
def open_shell(tmp_path: Path) -> Iterator[OpenShell]:
    with contextlib.ExitStack() as stack:
        yield OpenShell(stack, Bash(), installed("bash"), tmp_path)


class TestBash(ShellContract):
    history = "history"
