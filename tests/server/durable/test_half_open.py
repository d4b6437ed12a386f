"""Terminals that were being opened when their server was killed: the next one has none of them."""

import asyncio
import os
import signal
from pathlib import Path

import aiohttp
import pytest

from tests.support.kernel import gone, so
from tests.support.server_process import ServerProcess, call
from tests.support.shells import SHELLS

COMMAND = "c_0123456789abcdef"


def pids_in(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("shell", [each for each in SHELLS if each.values[0] in ("bash", "zsh")])
@pytest.mark.parametrize("path", ["/api/terminals", "/api/run"])
async def test_a_terminal_that_was_being_opened_is_never_listed_and_its_processes_end(
    server: ServerProcess, client: aiohttp.ClientSession, home: Path, work: Path, path: str, shell: str
) -> None:
    os.mkfifo(home / "fifo")
    # The shell reads this before its first prompt, and goes no further.
    script = 'echo $$ >>"$HOME/pids"; [ -e "$HOME/open" ] || cat "$HOME/fifo"\n'
    for name in (".bashrc", ".zshrc"):
        (home / name).write_text(script)
    wanted = {"cwd": str(work), "shell": shell}
    if path == "/api/run":
        wanted |= {"command": "echo ran >>ran", "id": COMMAND}
    asking = asyncio.ensure_future(call(client, server, "POST", path, **wanted))
    await so(lambda: bool(pids_in(home / "pids")))
    assert not asking.done()
    await server.end(signal.SIGKILL)
    with pytest.raises(aiohttp.ClientError):
        await asking
    await server.start()
    assert (await call(client, server, "GET", "/api/terminals"))["terminals"] == []
    await gone(*pids_in(home / "pids"))
    # Whoever asks again gets it, once.
    (home / "open").touch()
    await call(client, server, "POST", path, **wanted)
    (terminal,) = (await call(client, server, "GET", "/api/terminals"))["terminals"]
    assert (terminal["number"], terminal["shell"]) == (1, shell)
    if path == "/api/run":
        assert (work / "ran").read_text() == "ran\n"
