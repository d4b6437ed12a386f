"""A real fish with our integration."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermitty.shell.fish import Fish
from tests.support.raw_shell import OpenShell, Ran, RawShell, ShellContract, installed


@pytest.fixture
def open_shell(tmp_path: Path) -> Iterator[OpenShell]:
    with contextlib.ExitStack() as stack:
        yield OpenShell(stack, Fish(), installed("fish"), tmp_path)


class TestFish(ShellContract):
    syntax_error_code = 123
    export = "set -x {name} {value}"
    last_status = "echo $status"
    history = "builtin history search"
