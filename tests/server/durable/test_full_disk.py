"""A real disk that is really full: commands run and tell exact results, what is not kept is said, and it passes."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hermitty.runtime.places import Places
from tests.server.durable.small_disk import SmallDisks, SmallServer, small_disks, small_server
from tests.support.kernel import so
from tests.support.server_process import TOKEN, asked, call
from tests.support.shells import PATIENCE_S

AFTER = "c_0123456789abcdef"
LINES = 200_000
NUMBERS = f"seq 1 {LINES}; (exit 3)"
PRINTED = sum(len(f"{number}\r\n") for number in range(1, LINES + 1))
NO_ROOM = "No space left on device"


@pytest.fixture
async def disks(places: Places, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SmallDisks]:
    """A small state directory, with the settings in it."""
    places.state.mkdir(mode=0o700)
    monkeypatch.setenv("HERMITTY_CONFIG", str(places.state / "config.toml"))
    async with small_disks({places.state: "4m"}) as disks:
        settings = '[recording]\nenabled = true\n[terminal]\nshell = "bash"\n'
        disks.at(places.state / "config.toml").write_text(settings)
        yield disks


@pytest.fixture
async def server(
    disks: SmallDisks, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[SmallServer]:
    """`hermitty serve` with that disk."""
    monkeypatch.setenv("HOME", str(home))
    async with small_server(disks, tmp_path / "log") as server:
        yield server


async def refused(client: aiohttp.ClientSession, server: SmallServer, method: str, path: str, **body: Any) -> str:
    """Ask for something that cannot be done now, and return what is said about it."""
    url = f"http://127.0.0.1:{server.port}{path}"
    async with asyncio.timeout(PATIENCE_S), client.request(method, url, json=body or None) as response:
        told = await response.json()
        assert (response.status, told["error"]["code"]) == (503, "host_unavailable")
        return str(told["error"]["message"])


async def test_a_full_state_directory_costs_what_is_kept_and_nothing_else(
    server: SmallServer, disks: SmallDisks, client: aiohttp.ClientSession, places: Places, work: Path
) -> None:
    async def ask(method: str, path: str, **body: Any) -> Any:
        return await call(client, server, method, path, **body)

    terminal = (await ask("POST", "/api/terminals", cwd=str(work), workspace="w"))["id"]
    await ask("PUT", "/api/workspaces/w", name="before", root=str(work))
    token = await ask("POST", "/api/tokens", name="doomed", scopes=["view"])
    disks.fill(places.state)

    # Commands are as exact as ever.
    result = await ask("POST", f"/api/terminals/{terminal}/commands", command="echo in; (exit 5)")
    assert (result["exit_code"], result["text"], result["total_bytes"]) == (5, "in\n", 4)
    result = await ask("POST", "/api/run", command=NUMBERS, cwd=str(work))
    assert (result["state"], result["exit_code"], result["total_bytes"]) == ("done", 3, PRINTED)
    assert result["warnings"] == [f"the last {PRINTED} bytes of the output were not kept: ENOSPC"]
    assert result["artifact"] is None
    again = await ask("GET", f"/api/commands/{result['id']}")
    assert again == result
    for shell in ("sh", "bash"):
        opened = await ask("POST", "/api/terminals", cwd=str(work), shell=shell)
        in_it = await ask("POST", f"/api/terminals/{opened['id']}/commands", command="echo $((6 * 7))")
        assert (in_it["exit_code"], in_it["text"]) == (0, "42\n")

    # An answer counts, and is not remembered.
    asking = asyncio.ensure_future(ask("POST", "/api/run", command="touch made", cwd=str(work)))
    (question,) = await asked(client, server)
    await ask("POST", f"/api/approvals/{question['id']}", answer="allow", scope="user")
    result = await asking
    assert (result["exit_code"], (work / "made").exists()) == (0, True)
    (warning,) = result["warnings"]
    assert "could not be remembered" in warning
    assert NO_ROOM in warning

    # What cannot be kept is said, and what was kept is still there.
    assert "full" in await refused(client, server, "PUT", "/api/workspaces/w", name="after")
    assert (await ask("GET", "/api/workspaces/w"))["name"] == "before"
    assert "full" in await refused(client, server, "PUT", "/api/workspaces/w/layout", panes=["x" * 100_000])
    assert NO_ROOM in await refused(client, server, "POST", "/api/tokens", name="new", scopes=["view"])
    assert NO_ROOM in await refused(client, server, "PUT", "/api/settings", **{"terminal.cols": 100})
    assert "from now on" in await refused(client, server, "DELETE", f"/api/tokens/{token['id']}")
    shown = {"Authorization": f"Bearer {token['token']}"}
    async with client.get(f"http://127.0.0.1:{server.port}/api/terminals", headers=shown) as response:
        assert response.status == 401
    async with client.get(
        f"http://127.0.0.1:{server.port}/?token={TOKEN}", headers={"Authorization": ""}, allow_redirects=False
    ) as response:
        assert (response.status, len(response.cookies)) == (303, 1)
    # One that takes a while is noted twice, at its start too.
    assert (missing := (await ask("GET", "/api/history"))["missing"]) >= 4
    async with client.get(f"http://127.0.0.1:{server.port}/metrics") as response:
        numbers = dict(line.rsplit(" ", 1) for line in (await response.text()).splitlines())
    for what in ("artifacts", "decisions", "recordings", "workspaces"):
        assert int(numbers[f'hermitty_not_kept_total{{what="{what}"}}']) > 0, what
    for part in ("history", "state", "recordings", "logins"):
        assert any(part in line for line in server.said), (part, server.said)

    # With room, everything works again; nobody has to do anything for it.
    disks.free(places.state)
    await ask("PUT", "/api/workspaces/w", name="after")
    await ask("PUT", "/api/settings", **{"terminal.cols": 100})
    async with client.delete(f"http://127.0.0.1:{server.port}/api/tokens/{token['id']}") as response:
        assert response.status == 204
    result = await ask("POST", "/api/run", command=NUMBERS, cwd=str(work), id=AFTER)
    assert (result["exit_code"], result["warnings"]) == (3, [])
    page = await ask("GET", f"/api/artifacts/{result['artifact']}")
    assert page["size"] == PRINTED
    history = await ask("GET", "/api/history")
    assert ([entry["command"] for entry in history["entries"]], history["missing"]) == ([NUMBERS], missing)
    await so(lambda: any("recorded again" in line for line in server.said))

    # And nothing half-written is in the way of the next server.
    await server.end(signal.SIGKILL)
    await server.start()
    found = await ask("GET", f"/api/commands/{AFTER}")
    names = ("state", "exit_code", "text", "total_bytes", "artifact", "warnings")
    assert [found[name] for name in names] == [result[name] for name in names]
    assert (await ask("GET", "/api/workspaces/w"))["name"] == "after"
    assert (await ask("GET", "/api/tokens"))["tokens"] == []
    recorded = {each["terminal"] for each in (await ask("GET", "/api/recordings"))["recordings"]}
    assert {terminal, result["terminal"]} <= recorded
    assert not list(disks.at(places.state).glob("*damaged*"))


async def test_a_server_starts_on_a_full_disk_and_goes_on_with_what_runs(
    server: SmallServer, disks: SmallDisks, client: aiohttp.ClientSession, places: Places, work: Path
) -> None:
    terminal = (await call(client, server, "POST", "/api/terminals", cwd=str(work)))["id"]
    commands = f"/api/terminals/{terminal}/commands"
    started = await call(client, server, "POST", commands, command="read line; (exit $line)", wait_s=0, id=AFTER)
    assert started["state"] == "running"
    disks.fill(places.state)
    await server.end(signal.SIGKILL)
    await server.start()
    async with client.post(
        f"http://127.0.0.1:{server.port}/api/terminals/{terminal}/input", json={"text": "7\n"}
    ) as response:
        assert response.status == 204
    result = await call(client, server, "GET", f"/api/commands/{AFTER}?wait_s=30")
    assert (result["state"], result["exit_code"]) == ("done", 7)
    assert any(NO_ROOM in line for line in server.said), server.said
