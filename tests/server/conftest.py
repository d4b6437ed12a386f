"""Servers on a free port, with real shells in an empty home, and somebody who talks to them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from hermitty.runtime.api import SettingsSource
from hermitty.runtime.places import Places
from hermitty.server.serving import Options, serving
from tests.server.talking import Client
from tests.support.runtimes import Gate, settings_in

OWN_TOKEN = "the-token-of-the-owner-0123456789abcdef"

StartServer = Callable[..., Awaitable[Client]]


@pytest.fixture
def gate(work: Path) -> Gate:
    """What commands in `work` wait for."""
    return Gate(work / "gate")


def source_for(home: Path, places: Places, **values: object) -> SettingsSource:
    """Settings for shells in an empty home, as arguments; `group__field` sets more. The file counts for the rest."""
    usual = settings_in(home)
    names = (
        *("terminal.shell", "terminal.env", "terminal.shell_integration_timeout_s", "run.wait_s"),
        *("tools.wait_temporary_s", "tools.wait_persistent_s", "reuse.spares", "session.cooling_limit_s"),
    )
    arguments: dict[str, object] = {name: usual.value(name) for name in names}
    arguments |= {name.replace("__", "."): value for name, value in values.items()}
    return SettingsSource(config_file=places.config_file, environ={}, arguments=arguments, tell=lambda text: None)


@pytest.fixture
async def start(home: Path, places: Places) -> AsyncIterator[StartServer]:
    """Starts a server and returns a client with the owner's token; settings by `group__field`."""
    from contextlib import AsyncExitStack

    async with AsyncExitStack() as stack:

        async def begin(options: Options | None = None, **values: object) -> Client:
            chosen = options or Options(port=0, token=OWN_TOKEN)
            server = await stack.enter_async_context(
                serving(chosen, places=places, settings=source_for(home, places, **values))
            )
            return await stack.enter_async_context(Client(server, OWN_TOKEN))

        yield begin


@pytest.fixture
async def api(start: StartServer) -> Client:
    """A server that asks nobody, and a client with the owner's token."""
    return await start(policy__mode="off")
