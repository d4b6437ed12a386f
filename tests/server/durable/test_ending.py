"""A server that is told to end: who waits is answered, and nothing is waited for that goes on without it."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hermitty.runtime.places import Places
from hermitty.server.parts import PARTS
from hermitty.server.serving import Options, durable, serving
from tests.server.conftest import OWN_TOKEN, source_for
from tests.server.talking import Client
from tests.support.durable import Place
from tests.support.kernel import so
from tests.support.runtimes import Gate
from tests.support.server_process import ServerProcess, call
from tests.support.shells import PATIENCE_S

COMMAND = "c_0123456789abcdef"
GOES_ON = "the server ends; this command goes on, and the next server knows it by its id"


async def is_running(api: Client) -> None:
    """Wait until a command of the server runs."""
    await so(lambda: any(each.handle.is_running for each in api.parts.runtime.commands()))


@pytest.fixture
async def place(places: Places, home: Path) -> Any:
    place = Place(home)
    yield place
    await place.stop()


@pytest.mark.parametrize("path", ["/api/run", "/api/temporary"])
@pytest.mark.usefixtures("place")
async def test_who_waits_is_told_that_the_command_goes_on_and_nothing_is_left_to_wait_for(
    places: Places, home: Path, work: Path, gate: Gate, path: str
) -> None:
    settings = source_for(home, places, policy__mode="off")
    options = Options(port=0, token=OWN_TOKEN)
    line = "cat gate; (exit 3)"
    async with (
        serving(options, places=places, settings=settings, make_runtime=durable) as server,
        Client(server, OWN_TOKEN) as api,
    ):
        asked = {"command": line, "cwd": str(work), "id": COMMAND, "wait_s": PATIENCE_S}
        waiting = asyncio.ensure_future(api.post(path, asked))
        await is_running(api)
        runs = server.app[PARTS].runs
        (task,) = (run.task for run in runs._runs.values())
        await server.app.shutdown()
        result = (await waiting).json
        assert (result["state"], result["warnings"]) == ("running", [GOES_ON])
        await server.app[PARTS].runtime.leave()
        # Not the last resort of `close`, which cancels: it has ended by itself, and says the same.
        async with asyncio.timeout(PATIENCE_S):
            told = await task
        assert (told.id, told.state.value) == (COMMAND, "running")
    async with (
        serving(options, places=places, settings=settings, make_runtime=durable) as server,
        Client(server, OWN_TOKEN) as api,
    ):
        gate.let("done\n")
        result = (await api.get(f"/api/commands/{COMMAND}?wait_s=30")).json
        assert (result["state"], result["exit_code"], result["text"]) == ("done", 3, "done\n")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/batch", {"commands": ["cat gate", "echo second"]}),
        ("/api/tools/run_command", {"arguments": {"command": "cat gate"}}),
    ],
)
@pytest.mark.usefixtures("allowed")
async def test_who_waits_for_several_commands_is_answered_before_the_server_is_gone(
    server: ServerProcess, client: aiohttp.ClientSession, work: Path, gate: Gate, path: str, body: dict[str, Any]
) -> None:
    if "tools" in path:
        body = {**body, "session": "s", "arguments": {**body["arguments"], "cwd": str(work)}}
    else:
        body = {**body, "cwd": str(work)}

    async def ask() -> tuple[int, Any]:
        async with client.post(f"http://127.0.0.1:{server.port}{path}", json=body) as response:
            return response.status, await response.json()

    waiting = asyncio.ensure_future(ask())

    async def runs() -> bool:
        commands = (await call(client, server, "GET", "/api/commands"))["commands"]
        return any(each["state"] == "running" for each in commands)

    await so(runs)
    await server.end(signal.SIGTERM)
    status, told = await waiting
    assert (status, told["error"]["code"]) == (503, "host_unavailable")
    await server.start()
    (command,) = (await call(client, server, "GET", "/api/commands"))["commands"]
    gate.let("done\n")
    result = await call(client, server, "GET", f"/api/commands/{command['id']}?wait_s=30")
    assert (result["state"], result["exit_code"], result["text"]) == ("done", 0, "done\n")


async def test_a_command_that_ends_with_its_server_is_said_to(start: Any, work: Path, gate: Gate) -> None:
    api = await start(policy__mode="off")
    waiting = asyncio.ensure_future(api.post("/api/run", {"command": "cat gate", "cwd": str(work)}))
    await is_running(api)
    await api.app.shutdown()
    result = (await waiting).json
    assert (result["state"], result["warnings"]) == ("running", ["the server ends, and this command with it"])
