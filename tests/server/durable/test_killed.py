"""A server process that is killed again and again: nobody who watches or asks loses anything."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.kernel import is_alive
from tests.support.server_process import ServerProcess, asked, call
from tests.support.shells import PATIENCE_S

KILLS = 20
COMMAND = "c_0123456789abcdef"


class Viewer:
    """Somebody who watches a terminal, and comes back with the offset they have whenever the connection is lost."""

    def __init__(self, client: aiohttp.ClientSession, server: ServerProcess, terminal: str) -> None:
        self._client = client
        self._server = server
        self._terminal = terminal
        self.data = b""
        self.replays: list[str] = []
        self._has_more = asyncio.Event()
        self._is_over = False

    async def watch(self, until: bytes) -> None:
        """Read until something was printed."""
        try:
            while until not in self.data[-4096:]:
                try:
                    await self._attached(until)
                except (aiohttp.ClientError, OSError):
                    await self._server.is_up.wait()
        finally:
            self._is_over = True
            self._has_more.set()

    async def more(self) -> None:
        """Wait until something more was printed, or nothing more is read."""
        if self._is_over:
            return
        self._has_more.clear()
        async with asyncio.timeout(PATIENCE_S):
            await self._has_more.wait()

    async def _attached(self, until: bytes) -> None:
        url = f"ws://127.0.0.1:{self._server.port}/ws/terminal/{self._terminal}?since={len(self.data)}"
        async with self._client.ws_connect(url, max_msg_size=0) as socket:
            hello = json.loads(await socket.receive_str())
            assert (hello["type"], hello["offset"]) == ("hello", len(self.data))
            self.replays.append(hello["replay"])
            async for message in socket:
                if message.type is aiohttp.WSMsgType.BINARY:
                    self.data += message.data
                    self._has_more.set()
                    if until in self.data[-4096:]:
                        return
                else:
                    assert json.loads(message.data)["type"] not in ("reset", "snapshot"), message.data


@pytest.mark.usefixtures("allowed")
async def test_a_server_that_is_killed_twenty_times_loses_no_byte_and_no_exit_code(
    server: ServerProcess, client: aiohttp.ClientSession, work: Path
) -> None:
    # Bursts of numbered lines, faster than anybody reads, with pauses between them, so that kills meet both.
    (work / "count.sh").write_text(
        "n=0; while [ ! -e stop ]; do seq -f 'line %.0f' $((n + 1)) $((n + 5000)); n=$((n + 5000)); sleep 0.1; done; "
        'echo "counted to $n"; exit 7\n'
    )
    terminal = (await call(client, server, "POST", "/api/terminals", cwd=str(work)))["id"]
    viewer = Viewer(client, server, terminal)
    watching = asyncio.ensure_future(viewer.watch(b"counted to "))
    started = await call(
        client, server, "POST", f"/api/terminals/{terminal}/commands", command="sh count.sh", wait_s=0, id=COMMAND
    )
    assert (started["id"], started["state"]) == (COMMAND, "running")
    for _ in range(KILLS):
        await viewer.more()  # each server has shown something before it is killed
        await server.end(signal.SIGKILL)
        await server.start()
    (work / "stop").touch()
    async with asyncio.timeout(PATIENCE_S):
        await watching
    printed = viewer.data.replace(b"\r\n", b"\n")
    lines = printed[printed.index(b"line 1\n") : printed.index(b"counted to ")]
    count = lines.count(b"\n")
    assert lines == b"".join(b"line %d\n" % number for number in range(1, count + 1))
    assert len(viewer.replays) > KILLS
    result = await call(client, server, "GET", f"/api/commands/{COMMAND}?wait_s=30")
    assert (result["state"], result["exit_code"]) == ("done", 7)
    assert result["total_bytes"] == len(lines) + count + len(f"counted to {count}\r\n")
    entries = (await call(client, server, "GET", "/api/history"))["entries"]
    assert [each["exit_code"] for each in entries if each["command"] == "sh count.sh"] == [7]


@pytest.mark.usefixtures("allowed")
async def test_a_server_that_is_told_to_end_leaves_its_terminals_and_the_next_one_has_them(
    server: ServerProcess, client: aiohttp.ClientSession, work: Path
) -> None:
    made = await call(client, server, "POST", "/api/terminals", cwd=str(work), name="mine", workspace="w")
    await call(client, server, "POST", f"/api/terminals/{made['id']}/commands", command="export A=1")
    await server.end(signal.SIGTERM)
    assert is_alive(made["pid"])
    await server.start()
    (found,) = (await call(client, server, "GET", "/api/workspaces/w/terminals"))["terminals"]
    assert (found["id"], found["name"], found["pid"]) == (made["id"], "mine", made["pid"])
    result = await call(client, server, "POST", f"/api/terminals/{made['id']}/commands", command="echo $A")
    assert result["text"] == "1\n"


async def test_a_question_is_still_asked_after_a_kill_and_its_answer_counts(
    server: ServerProcess, client: aiohttp.ClientSession, work: Path
) -> None:
    (work / "build").mkdir()
    asking = asyncio.ensure_future(
        call(client, server, "POST", "/api/run", command="rm -r build", cwd=str(work), id=COMMAND)
    )
    (before,) = await asked(client, server)
    await server.end(signal.SIGKILL)
    with pytest.raises(aiohttp.ClientError):
        await asking
    await server.start()
    (question,) = (await call(client, server, "GET", "/api/approvals"))["approvals"]
    assert (question["id"], question["expires_at"]) == (before["id"], before["expires_at"])
    await call(client, server, "POST", f"/api/approvals/{question['id']}", answer="allow")
    result = await call(client, server, "GET", f"/api/commands/{COMMAND}?wait_s=60")
    assert (result["state"], result["exit_code"]) == ("done", 0)
    assert not (work / "build").exists()


async def test_a_request_that_is_sent_again_while_its_question_waits_is_one_question_and_one_run(
    server: ServerProcess, client: aiohttp.ClientSession, work: Path
) -> None:
    async def send() -> Any:
        line = "echo ran >> ran"
        return await call(client, server, "POST", "/api/run", command=line, cwd=str(work), id=COMMAND)

    asking = asyncio.ensure_future(send())
    await asked(client, server)
    await server.end(signal.SIGKILL)
    with pytest.raises(aiohttp.ClientError):
        await asking
    await server.start()
    waiting = await call(client, server, "GET", f"/api/commands/{COMMAND}")
    assert waiting["state"] == "running", "it is known, and waits"
    again = asyncio.ensure_future(send())
    (question,) = await asked(client, server)
    await call(client, server, "POST", f"/api/approvals/{question['id']}", answer="allow")
    result = await again
    assert (result["id"], result["state"], result["exit_code"]) == (COMMAND, "done", 0)
    assert (await call(client, server, "GET", "/api/approvals"))["approvals"] == []
    assert (work / "ran").read_text() == "ran\n"


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("path", ["/api/run", "terminal"])
async def test_a_command_that_is_asked_for_again_after_a_restart_does_not_run_again(
    server: ServerProcess, client: aiohttp.ClientSession, work: Path, path: str
) -> None:
    if path == "terminal":
        terminal = (await call(client, server, "POST", "/api/terminals", cwd=str(work)))["id"]
        path, body = f"/api/terminals/{terminal}/commands", {}
    else:
        body = {"cwd": str(work)}
    wanted = {"command": "echo once >>ran; (exit 3)", "id": COMMAND, **body}
    first = await call(client, server, "POST", path, **wanted)
    await server.end(signal.SIGKILL)
    await server.start()
    again = await call(client, server, "POST", path, **wanted)
    assert (again["id"], again["state"], again["exit_code"]) == (first["id"], "done", 3)
    assert (work / "ran").read_text() == "once\n"
