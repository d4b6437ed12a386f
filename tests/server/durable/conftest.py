"""Server processes with durable hosts, which are killed and watched from outside."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from hermitty.runtime.places import Places
from tests.support.server_process import TOKEN, ServerProcess, durable_server


@pytest.fixture
def allowed(places: Places) -> None:
    """Everything may run."""
    places.config_file.parent.mkdir(parents=True)
    places.config_file.write_text('[policy]\nmode = "off"\n')


@pytest.fixture
async def server(places: Places, home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ServerProcess]:
    """`hermitty serve` with a durable host of its own."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHELL", "/bin/bash")
    async with durable_server(places.state) as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    """Somebody with the owner's token."""
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {TOKEN}"}) as session:
        yield session
