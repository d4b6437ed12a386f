"""Live terminals in an empty home directory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import hermitty
from hermitty.config import ReuseSettings, Settings, TerminalSettings
from hermitty.runtime.api import Runtime, Terminal
from tests.support.shells import SHELLS


def settings_for(home: Path, **changes: object) -> Settings:
    """Settings whose shells read their files from `home`, and give a slow machine time."""
    values: dict[str, object] = {
        "env": {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / ".local")},
        "shell_integration_timeout_s": 60.0,
        **changes,
    }
    terminal = TerminalSettings(**values)  # type: ignore[arg-type]
    return Settings(terminal=terminal, reuse=ReuseSettings(spares=0))


@pytest.fixture
async def runtime(home: Path) -> AsyncIterator[Runtime]:
    """A runtime whose shells start in an empty home."""
    async with hermitty.open(settings_for(home)) as runtime:
        yield runtime


@pytest.fixture
async def bash(runtime: Runtime, work: Path) -> Terminal:
    """A bash terminal."""
    return await runtime.open_terminal(shell="bash", cwd=work)


@pytest.fixture(params=SHELLS)
async def terminal(request: pytest.FixtureRequest, runtime: Runtime, work: Path) -> Terminal:
    """A terminal of every shell there is."""
    return await runtime.open_terminal(shell=request.param, cwd=work)
