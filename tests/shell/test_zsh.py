"""A real zsh with our integration."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.shell.zsh import Zsh
from tests.support.raw_shell import OpenShell, Ran, RawShell, ShellContract, installed


@pytest.fixture
def open_shell(tmp_path: Path) -> Iterator[OpenShell]:
    with contextlib.ExitStack() as stack:
        yield OpenShell(stack, Zsh(), installed("zsh"), tmp_path)


class TestZsh(ShellContract):
    syntax_error_code = 1
    history = "fc -l 1"
