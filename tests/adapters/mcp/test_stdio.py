"""Over standard input and output, as a process of its own: nothing but the protocol, and nothing is left."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.adapters.mcp.conftest import ERAS, Person, call, data
from tests.adapters.mcp.processes import ARGUMENTS, Raw, environment
from tests.support.kernel import gone, is_alive
from tests.support.notes import Note
from tests.support.shells import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

ALLOW_ALL = {"HERMITTY_POLICY__MODE": "off"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home directory."""
    return tmp_path


async def busy(client: Raw, home: Path) -> int:
    """Start something that does not end, and return its process."""
    with Note(home / "pid") as note:
        begun = await client.call(
            "start", command="sh -c 'trap \"\" INT TERM HUP; echo $$ >pid; while :; do sleep 1; done'"
        )
        assert not begun.get("isError"), begun
        pid = await note.number()
    assert is_alive(pid)
    return pid


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_starts_the_server_and_asks_a_person(home: Path, era: str) -> None:
    person = Person(answer="allow_once")
    parameters = StdioServerParameters(
        command=sys.executable, args=list(ARGUMENTS), env=environment(home), cwd=str(home)
    )
    async with Client(stdio_client(parameters), mode=era, elicitation_callback=person) as client:
        done = await data(client, "run", command="pwd")
        assert (done["text"], done["exit_code"]) == (f"{home}\n", 0)
        await call(client, "run", command="touch new")
    assert (home / "new").exists()
    assert person.asked


# E13


async def test_only_the_protocol_is_on_standard_output(home: Path) -> None:
    client = await Raw.start(home, **ALLOW_ALL)
    inside = await client.call("run", command="ls -l /proc/$PPID/fd/1 /proc/$PPID/fd/0; echo to stdout; echo err >&2")
    text = inside["content"][0]["text"]
    assert "/dev/null" in text
    own = os.readlink(f"/proc/{client.process.pid}/fd/1")
    assert own == os.readlink(f"/proc/{client.process.pid}/fd/2")
    # No child has the descriptor of the protocol.
    shells = await client.call("run", command="for p in $$ self; do ls -l /proc/$p/fd; done")
    mine = {os.readlink(f"/proc/{client.process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{client.process.pid}/fd")}
    pipes = {each for each in mine if each.startswith("pipe:")}
    assert pipes
    assert not [each for each in pipes if each in shells["content"][0]["text"]]
    assert await client.close() == (0, b"", b"")


async def test_what_is_no_message_is_answered_and_forgotten(home: Path) -> None:
    client = await Raw.start(home)
    for noise in (b"not json\n", b"\n", b"[]\n", b'{"jsonrpc": "2.0"}\n', b"\xff\xfe\n", b"[" * 5000 + b"\n"):
        client.send(noise)
    answer = await client.ask("tools/call", {"name": "check", "arguments": {"command": "ls"}})
    assert answer["result"]["structuredContent"]["decision"] == "allow"
    code, _, _ = await client.close()
    assert code == 0


async def test_a_large_message_passes_both_ways(home: Path) -> None:
    client = await Raw.start(home, **ALLOW_ALL)
    done = await client.call("run", command=f"cat <<'END'\n{'x' * 20_000}\nEND")
    assert done["structuredContent"]["text"] == "x" * 20_000 + "\n"
    long = await client.call("run", command="seq 200000")
    page = await client.call("read", target=long["structuredContent"]["id"], limit=100_000)
    assert len(page["structuredContent"]["text"]) > 80_000
    assert (await client.close())[0] == 0


async def test_the_end_of_the_input_is_the_end_of_everything(home: Path) -> None:
    client = await Raw.start(home, **ALLOW_ALL)
    pid = await busy(client, home)
    code, _, err = await client.close()
    assert (code, err) == (0, b"")
    await gone(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_is_the_end_of_everything(home: Path, number: signal.Signals) -> None:
    client = await Raw.start(home, **ALLOW_ALL)
    pid = await busy(client, home)
    client.process.send_signal(number)
    code, _, err = await client.end()
    assert (code, err) == (0, b"")
    await gone(pid)
    assert client.process.stdin is not None
    client.process.stdin.close()


async def test_a_client_that_reads_no_more_does_not_keep_the_server(home: Path) -> None:
    client = await Raw.start(home, **ALLOW_ALL)
    pid = await busy(client, home)
    assert client.process.stdin is not None
    transport = client.process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
    transport.close()
    client.send({"jsonrpc": "2.0", "id": 99, "method": "ping"})
    client.process.stdin.close()
    async with asyncio.timeout(PATIENCE_S):
        await client.process.wait()
        assert client.process.stderr is not None
        await client.process.stderr.read()
    await gone(pid)


async def test_requests_of_a_file_are_answered(home: Path) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    (home / "requests").write_text(json.dumps(request) + "\n")
    with (home / "requests").open("rb") as requests, (home / "answers").open("wb") as answers:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *ARGUMENTS, stdin=requests, stdout=answers, cwd=home, env=environment(home)
        )
        async with asyncio.timeout(PATIENCE_S):
            assert await process.wait() == 0
    assert b'"search_output"' in (home / "answers").read_bytes()
