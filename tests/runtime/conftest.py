"""A runtime in an empty home, with a state directory of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermitty.runtime.api import Runtime, build_runtime
from tests.support.runtimes import Dial, Gate, Listener, settings_in


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A project to run in, with directories in it and one beside it; commands can wait for its `gate`."""
    work = tmp_path / "work"
    for name in ("src/deep", "docs", "../other"):
        (work / name).mkdir(parents=True)
    return work


@pytest.fixture
def gate(work: Path) -> Gate:
    """What commands in `work` wait for."""
    return Gate(work / "gate")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the runtime keeps artifacts and history."""
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def dial(home: Path) -> Dial:
    """The settings of `rt`."""
    return Dial(settings_in(home))


@pytest.fixture
async def rt(dial: Dial, state: Path) -> AsyncIterator[Runtime]:
    """A runtime."""
    async with build_runtime(dial) as runtime:
        yield runtime


@pytest.fixture
def heard(rt: Runtime) -> Listener:
    """What the runtime tells."""
    return Listener(rt)
