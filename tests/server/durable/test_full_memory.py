"""Shared memory, where terminals have their rings and files, that is really full."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.server.durable.small_disk import MEMORY, SmallDisks, SmallServer, small_disks, small_server
from tests.support.server_process import call
from tests.support.shells import PATIENCE_S

NO_ROOM = "No space left on device"
WARNING = f"what the next server needs to go on with this command could not be kept: {NO_ROOM}"


@pytest.fixture
async def disks() -> AsyncIterator[SmallDisks]:
    async with small_disks({MEMORY: "8m"}) as disks:
        yield disks


@pytest.fixture
async def server(
    disks: SmallDisks, allowed: None, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[SmallServer]:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHELL", "/bin/bash")
    async with small_server(disks, tmp_path / "log") as server:
        yield server


async def status_of(client: aiohttp.ClientSession, server: SmallServer, method: str, path: str, **body: Any) -> int:
    url = f"http://127.0.0.1:{server.port}{path}"
    async with asyncio.timeout(PATIENCE_S), client.request(method, url, json=body or None) as response:
        return response.status


async def test_commands_run_without_room_to_keep_anything_of_them(
    server: SmallServer, disks: SmallDisks, client: aiohttp.ClientSession, work: Path
) -> None:
    async def ask(method: str, path: str, **body: Any) -> Any:
        return await call(client, server, method, path, **body)

    terminal = (await ask("POST", "/api/terminals", cwd=str(work), name="before"))["id"]
    commands = f"/api/terminals/{terminal}/commands"
    # The ring has all its memory when it was full once.
    await ask("POST", commands, command="seq 1 300000")
    disks.fill(MEMORY)
    result = await ask("POST", commands, command="echo in; (exit 5)")
    assert (result["exit_code"], result["text"], result["warnings"]) == (5, "in\n", [WARNING])
    result = await ask("POST", commands, command="seq 1 300000; (exit 3)")
    assert (result["state"], result["exit_code"]) == ("done", 3)
    assert result["total_bytes"] == sum(len(f"{number}\r\n") for number in range(1, 300_001))
    assert WARNING in result["warnings"]
    assert await status_of(client, server, "PATCH", f"/api/terminals/{terminal}", name="during") == 200
    assert await status_of(client, server, "POST", f"/api/terminals/{terminal}/resize", cols=90, rows=20) == 200
    assert await status_of(client, server, "POST", "/api/terminals", cwd=str(work)) == 503
    disks.free(MEMORY)
    result = await ask("POST", commands, command="export A=7; (exit 6)")
    assert (result["exit_code"], result["warnings"]) == (6, [])
    assert await status_of(client, server, "PATCH", f"/api/terminals/{terminal}", name="after") == 200
    opened = await ask("POST", "/api/terminals", cwd=str(work))
    assert list(disks.at(MEMORY).rglob("*.new")) == []
    await server.end(signal.SIGKILL)
    await server.start()
    listed = (await ask("GET", "/api/terminals"))["terminals"]
    assert [(each["id"], each["name"]) for each in listed] == [(terminal, "after"), (opened["id"], None)]
    result = await ask("POST", commands, command="echo $A")
    assert (result["exit_code"], result["text"]) == (0, "7\n")
