"""`hermitty mcp` on the command line: HTTP with its token, and what it refuses."""

import asyncio
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.cli.conftest import COMMAND, Run
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends signals")


@asynccontextmanager
async def served(environment: dict[str, str], home: Path, *arguments: str) -> AsyncIterator[tuple[str, str]]:
    """A server on a free port: its address, and what it says about it. It ends by SIGTERM with exit code 0."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *("mcp", "--http", "--port", "0", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=home,
        env={**environment, "HERMITTY_STATE_DIR": str(home / "state"), "HERMITTY_CONFIG": os.devnull},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            line = (await process.stdout.readline()).decode()
        yield line.split()[4], line
    finally:
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_S):
            rest = await process.stdout.read(), await process.stderr.read()
            code = await process.wait()
    assert (code, rest) == (0, (b"", b""))


async def answer(url: str, token: str | None) -> str:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http,
        Client(streamable_http_client(url, http_client=http), mode="2026-07-28") as client,
    ):
        result = await client.call_tool("run", {"command": "pwd"})
        assert isinstance(result.structured_content, dict)
        return str(result.structured_content["text"])


async def test_it_serves_http_with_the_token_of_the_server(environment: dict[str, str], tmp_path: Path) -> None:
    async with served(environment, tmp_path) as (url, line):
        file = tmp_path / "state" / "token"
        assert line == f"hermitty mcp is at {url} (token in {file})\n"
        assert url.startswith("http://127.0.0.1:")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert await answer(url, file.read_text().strip()) == f"{tmp_path}\n"
        async with httpx2.AsyncClient() as http:
            assert (await http.post(url, json={})).status_code == 401


async def test_the_token_can_be_chosen_or_left_out(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    async with served(environment, tmp_path, "--token", "chosen-token", "--cwd", "work") as (url, _):
        assert await answer(url, "chosen-token") == f"{tmp_path}/work\n"
    async with served(environment, tmp_path, "--no-token") as (url, line):
        assert line == f"hermitty mcp is at {url}\n"
        assert await answer(url, None) == f"{tmp_path}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--http", "--host", "0.0.0.0"), "can be reached from other machines; choose a token with --token"),
        (("--http", "--host", "0.0.0.0", "--token", "chosen-token", "--no-token"), "can be reached"),
        (("--http", "--port", "70000"), "--port must be 0 to 65535"),
        (("--http", "--token", "short"), "a token has 8 or more"),
        (("--cwd", "/nowhere"), "--cwd '/nowhere' cannot be used"),
    ],
)
def test_what_makes_no_sense_is_refused(hermitty: Run, arguments: tuple[str, ...], told: str) -> None:
    done = hermitty("mcp", *arguments)
    assert (done.returncode, done.stdout) == (125, b"")
    assert told in done.stderr.decode()


def test_without_input_it_ends(hermitty: Run) -> None:
    done = hermitty("mcp")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
