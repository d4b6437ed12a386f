"""`hermitty serve` is ended in order while clients of its /mcp wait: they are told, and the commands go on."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from hermitty.runtime.places import Places
from tests.adapters.mcp.conftest import data, said
from tests.support.kernel import gone, is_alive, so
from tests.support.notes import Note
from tests.support.server_process import TOKEN, ServerProcess, asked
from tests.support.server_process import call as api
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

OWNER = {"Authorization": f"Bearer {TOKEN}"}


@asynccontextmanager
async def connected(server: ServerProcess, era: str) -> AsyncIterator[Client]:
    """A client of the server's /mcp."""
    async with httpx2.AsyncClient(headers=OWNER, timeout=PATIENCE_S) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{server.port}/mcp", http_client=http)
        async with Client(transport, mode=era) as client:
            await client.list_tools()  # it compares answers with their schemas, and would ask a server that is gone
            yield client


@pytest.fixture
def gate(work: Path) -> Path:
    """A pipe on which commands wait until somebody writes to it."""
    os.mkfifo(work / "gate")
    return work / "gate"


@pytest.fixture
def note(work: Path) -> Iterator[Note]:
    """Where the command writes its process."""
    with Note(work / "pid") as note:
        yield note


# Says who it is, waits at the gate, and ends with a code of its own.
COMMAND = "sh -c 'echo $$ >pid; echo here; read word <gate; echo got $word; exit 3'"


async def open_gate(gate: Path) -> None:
    """Let the command go on."""
    await asyncio.to_thread(gate.write_text, "word\n")


@pytest.mark.parametrize("tool", ["run", "wait"])
async def test_a_call_that_waits_is_told_and_its_command_ends_without_the_server(
    process: ServerProcess, era: str, work: Path, gate: Path, note: Note, tool: str
) -> None:
    heard = asyncio.Event()

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        heard.set()

    async with asyncio.timeout(3 * PATIENCE_S):
        async with connected(process, era) as client:
            if tool == "run":
                arguments: dict[str, Any] = {"command": COMMAND, "cwd": str(work), "yield_s": 55}
            else:
                begun = await data(client, "start", command=COMMAND, cwd=str(work))
                arguments = {"target": begun["id"], "timeout_s": 55}
            waiting = asyncio.create_task(client.call_tool(tool, arguments, progress_callback=progressed))
            pid = await note.number()
            await heard.wait()  # the server has the call, and waits
            await process.end(signal.SIGTERM)
            told = await waiting
        assert not told.is_error, said(told)
        found = told.structured_content
        assert isinstance(found, dict)
        assert found["state"] == "running"
        assert found["warnings"][-1] == (
            f"hermitty's server ends, the command goes on: wait for {found['id']} when it is there again"
        )
        assert is_alive(pid)

        await open_gate(gate)
        await gone(pid)
        await process.start()
        async with connected(process, era) as client:
            over = await data(client, "wait", target=found["id"])
    assert (over["state"], over["exit_code"], over["text"]) == ("done", 3, "here\ngot word\n")


async def test_a_command_that_waits_for_a_person_still_does_when_the_server_is_back(
    process: ServerProcess, places: Places, era: str, work: Path
) -> None:
    places.config_file.write_text('[policy]\nmode = "normal"\n')
    async with asyncio.timeout(3 * PATIENCE_S), aiohttp.ClientSession(headers=OWNER) as http:
        async with connected(process, era) as client:
            waiting = asyncio.create_task(client.call_tool("run", {"command": "touch made", "cwd": str(work)}))

            [question] = await asked(http, process)
            await process.end(signal.SIGTERM)
            found = (await waiting).structured_content
        assert isinstance(found, dict)
        assert found["state"] == "running"
        assert not (work / "made").exists()

        await process.start()
        [again] = (await api(http, process, "GET", "/api/approvals"))["approvals"]
        assert again["id"] == question["id"]
        await api(http, process, "POST", f"/api/approvals/{again['id']}", answer="allow")
        async with connected(process, era) as client:
            await so(lambda: (work / "made").exists())
            over = await data(client, "wait", target=found["id"])
    assert (over["state"], over["exit_code"]) == ("done", 0)
