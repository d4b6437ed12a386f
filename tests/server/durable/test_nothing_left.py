"""What many terminals leave behind in a server and its host: nothing. What a host leaves that dies: nothing either."""

import asyncio
import json
import os
from pathlib import Path

import aiohttp
import pytest

from hermitty.host.control import host_status
from hermitty.runtime.places import Places
from tests.support.kernel import gone, so
from tests.support.server_process import ServerProcess, call
from tests.support.shells import PATIENCE_S

TERMINALS = 200
AT_ONCE = 20


def held_by(pid: int) -> tuple[int, int, int]:
    """How many descriptors, threads and children a process has."""
    process = Path("/proc", str(pid))
    children = [child for task in (process / "task").iterdir() for child in (task / "children").read_text().split()]
    return len(os.listdir(process / "fd")), len(os.listdir(process / "task")), len(children)


@pytest.mark.usefixtures("allowed")
async def test_two_hundred_terminals_come_and_go_without_a_trace(
    server: ServerProcess, client: aiohttp.ClientSession, places: Places, work: Path
) -> None:
    host = await asyncio.to_thread(host_status, places.state)
    assert host is not None
    one_at_most = asyncio.Semaphore(AT_ONCE)
    pids = []

    async def come_and_go() -> None:
        async with one_at_most:
            made = await call(client, server, "POST", "/api/terminals", cwd=str(work), shell="sh")
            pids.append(made["pid"])
            path = f"/api/terminals/{made['id']}"
            result = await call(client, server, "POST", f"{path}/commands", command="sleep 1000 & echo started")
            assert result["exit_code"] == 0
            await _delete(client, server, path)

    # Once, so that everything that is made at first use is there.
    await asyncio.gather(*(come_and_go() for _ in range(AT_ONCE)))
    before = held_by(server.pid), held_by(host.welcome.pid)
    await asyncio.gather(*(come_and_go() for _ in range(TERMINALS)))
    await gone(*pids)
    await so(lambda: (held_by(server.pid), held_by(host.welcome.pid)) <= before)
    listed = await call(client, server, "GET", "/api/terminals")
    assert listed["terminals"] == []


@pytest.mark.usefixtures("allowed")
async def test_viewers_of_a_host_that_dies_are_told_and_the_terminal_is_not_there_any_more(
    server: ServerProcess, client: aiohttp.ClientSession, places: Places, work: Path
) -> None:
    made = await call(client, server, "POST", "/api/terminals", cwd=str(work))
    url = f"ws://127.0.0.1:{server.port}/ws/terminal/{made['id']}"
    host = await asyncio.to_thread(host_status, places.state)
    assert host is not None
    async with client.ws_connect(url) as socket:
        os.kill(host.welcome.pid, 9)
        async with asyncio.timeout(PATIENCE_S):
            told = [json.loads(each.data)["type"] async for each in socket if each.type is aiohttp.WSMsgType.TEXT]
    assert told[-1] == "exit"
    await gone(made["pid"])
    async with client.ws_connect(url) as socket:
        await socket.receive()
        assert socket.close_code == 4004


async def _delete(client: aiohttp.ClientSession, server: ServerProcess, path: str) -> None:
    async with asyncio.timeout(PATIENCE_S), client.delete(f"http://127.0.0.1:{server.port}{path}") as response:
        assert response.status == 204
