"""A real server in this process, with real shells in an empty home, and clients of it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hermitty.client.finding import ServerAddress
from hermitty.client.runtime import RemoteRuntime
from hermitty.config import Settings
from hermitty.runtime.api import SettingsSource
from hermitty.server.parts import PARTS
from hermitty.server.serving import Options, Serving, serving
from tests.support.runtimes import settings_in
from tests.support.shells import PATIENCE_S

TOKEN = "a-token-of-the-tests-which-is-long-enough"


@dataclass
class Server:
    """A server that runs, and what it has."""

    serving: Serving

    @property
    def url(self) -> str:
        return self.serving.url

    @property
    def address(self) -> ServerAddress:
        return ServerAddress(self.url, TOKEN)

    @property
    def runtime(self):  # type: ignore[no-untyped-def]
        return self.serving.app[PARTS].runtime

    def client(self, **options: object) -> RemoteRuntime:
        return RemoteRuntime(self.address, **options)  # type: ignore[arg-type]


@pytest.fixture
def extra() -> dict[str, object]:
    """Settings of the server that a test wants to have otherwise."""
    return {}


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: dict[str, object]) -> AsyncIterator[Server]:
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("HERMITTY_TOKEN", raising=False)
    monkeypatch.delenv("HERMITTY_URL", raising=False)
    async with started_server(tmp_path, monkeypatch, extra) as running:
        yield running


@contextlib.asynccontextmanager
async def started_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: dict[str, object], port: int = 0
) -> AsyncIterator[Server]:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / ".bashrc").write_text("PS1='ready> '\n")
    wanted = settings_in(home)
    usual = Settings()
    names = ("terminal.shell", "terminal.env", "terminal.shell_integration_timeout_s", "run.wait_s", "reuse.spares")
    values = {name: wanted.value(name) for name in names if wanted.value(name) != usual.value(name)}
    settings = SettingsSource(arguments={**values, "policy.mode": "off", **extra})
    async with serving(Options(port=port, token=TOKEN), settings=settings) as running:
        yield Server(running)


@pytest.fixture
async def rt(server: Server) -> AsyncIterator[RemoteRuntime]:
    async with server.client() as runtime:
        yield runtime


async def until(runtime: RemoteRuntime, fact: Callable[[], bool]) -> None:
    """Wait for an event of the server after which something is so."""
    async with asyncio.timeout(PATIENCE_S):
        while not fact():
            await runtime._connection.changed.wait()
