"""`hermitty serve --cluster`: the same server in front of several nodes; connections, encrypted or forwarded."""

import asyncio
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from hermitty.cluster.agent import Agent, AgentOptions
from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.local import node_state
from hermitty.cluster.names import whereabouts
from hermitty.cluster.node import NodeFiles
from tests.cluster.conftest import HOLDING, EndLater, Stage
from tests.support.kernel import so
from tests.support.server_process import TOKEN, ServerProcess, call

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
async def server(tmp_path: Path, hosts_end: EndLater, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ServerProcess]:
    """A server whose terminals are on two nodes of this machine."""
    state = tmp_path / "state"
    monkeypatch.setenv("HERMITTY_STATE_DIR", str(state))
    monkeypatch.setenv("HERMITTY_CLUSTER", "local:2")
    monkeypatch.setenv("HOME", str(tmp_path))
    for number in (1, 2):
        hosts_end(node_state(state, number))
    server = ServerProcess()
    yield server
    await server.end(signal.SIGTERM)


async def test_a_server_that_is_killed_finds_its_terminals_on_the_nodes_again(
    server: ServerProcess, tmp_path: Path
) -> None:
    await server.start()
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        asked = [
            call(client, server, "POST", "/api/run", command=f"echo {name}", cwd=str(tmp_path), workspace=f"/{name}")
            for name in ("a", "b")
        ]
        results = await asyncio.gather(*asked)
        assert [result["text"] for result in results] == ["a\n", "b\n"]
        nodes = {whereabouts(result["terminal"]) for result in results}
        assert len(nodes) == 2
        assert None not in nodes

        async with client.get(f"http://127.0.0.1:{server.port}/metrics") as response:
            assert 'hermitty_nodes{state="live"} 2\n' in await response.text()

        await server.end(signal.SIGKILL)
        await server.start()

        terminals = await call(client, server, "GET", "/api/terminals")
        assert {each["id"] for each in terminals["terminals"]} == {result["terminal"] for result in results}
        again = await call(client, server, "POST", "/api/run", command="echo c", cwd=str(tmp_path), workspace="/a")
        assert (again["text"], again["terminal"]) == ("c\n", results[0]["terminal"])


async def test_a_forwarded_socket_is_as_good_as_an_address(stage: Stage, tmp_path: Path) -> None:
    secret = NodeFiles(stage.state).own_secret()
    agent = Agent(AgentOptions(stage.state, secret, "here", host=HOLDING))
    path = str(tmp_path / "s")
    await agent.listen_unix(path)
    try:
        remote = stage.gateway(at=Endpoint(unix=path, secret=secret))
        await remote.ready()
        assert await remote.find_program("no-such-program") is None
    finally:
        await stage.aclose()
        await agent.aclose()


def make_certificate(directory: Path, name: str) -> None:
    words = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=node")
    files = ("-keyout", f"{name}.key", "-out", f"{name}.pem")
    subprocess.run(["openssl", *words, *files], cwd=directory, check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
async def test_a_connection_can_be_encrypted_and_is_to_nobody_else(stage: Stage, tmp_path: Path) -> None:
    for name in ("one", "other"):
        await asyncio.to_thread(make_certificate, tmp_path, name)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "one.pem", tmp_path / "one.key")
    secret = NodeFiles(stage.state).own_secret()
    agent = Agent(AgentOptions(stage.state, secret, "here", host=HOLDING, tls=context))
    host, port = await agent.listen("127.0.0.1", 0)
    endpoint = Endpoint(host=host, port=port, secret=secret, authority=str(tmp_path / "one.pem"))
    try:
        fooled = stage.gateway(at=replace(endpoint, authority=str(tmp_path / "other.pem")))
        await so(lambda: "CERTIFICATE_VERIFY_FAILED" in fooled.problem)
        await fooled.leave()
        remote = stage.gateway(at=endpoint)
        await remote.ready()
        assert await remote.find_program("sh") is not None
    finally:
        await stage.aclose()
        await agent.aclose()
