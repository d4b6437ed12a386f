"""The command line as its users start it: a process of its own, in an empty home."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.shells import PATIENCE_S

if TYPE_CHECKING:
    from tests.cli.desk import Desk

COMMAND = (sys.executable, "-m", "hermitty.cli.main")
Run = Callable[..., subprocess.CompletedProcess[bytes]]
SitDown = Callable[..., "Desk"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty home and bash as the shell."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    return {**kept, "HOME": str(tmp_path), "SHELL": "/bin/bash"}


@pytest.fixture
def hermitty(environment: dict[str, str], tmp_path: Path) -> Run:
    """Runs `hermitty ARGS...` to its end."""

    def run(*args: str, **changes: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*COMMAND, *args],
            cwd=tmp_path,
            env={**environment, **changes},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )

    return run


@pytest.fixture
def desk(environment: dict[str, str], tmp_path: Path) -> Iterator[SitDown]:
    """Sits somebody down at `hermitty ARGS...`."""
    from tests.cli.desk import Desk  # there are no such terminals on Windows

    with contextlib.ExitStack() as stack:

        def sit_down(*args: str) -> Desk:
            desk = Desk(*args, environment=environment, cwd=tmp_path)
            stack.callback(desk.close)
            return desk

        yield sit_down
