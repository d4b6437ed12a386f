"""Nodes whose durable hosts end with the test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from hermitty.cluster.agent import Agent, AgentOptions
from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.link import LinkTimes
from hermitty.cluster.node import NodeFiles
from hermitty.cluster.remote import RemoteHost
from hermitty.host.control import host_status, stop_host
from hermitty.host.daemon import DaemonOptions
from tests.support.kernel import gone_now
from tests.support.shells import PATIENCE_S

pytest.register_assert_rewrite("tests.contract.host_contract")

# Nothing is cut off because a machine is busy; agents hear often enough from their gateways.
PATIENT = LinkTimes(ping_s=1.0, answer_s=PATIENCE_S, greet_s=PATIENCE_S, ready_s=PATIENCE_S, lost_s=PATIENCE_S)
HOLDING = DaemonOptions(grace_s=PATIENCE_S, adopt_s=PATIENCE_S)

EndLater = Callable[[Path], Path]


@pytest.fixture
def hosts_end() -> Iterator[EndLater]:
    """Says which state directories have a durable host that ends with the test."""
    states: list[Path] = []

    def note(state: Path) -> Path:
        states.append(state)
        return state

    yield note
    for state in states:
        running = host_status(state)
        if running is not None:
            stop_host(state)
            gone_now(running.welcome.pid)  # it said its last word, and needs a moment to exit


class Stage:
    """Agents in this process, and gateways of theirs."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self._agents: list[Agent] = []
        self._remotes: list[RemoteHost] = []
        self.endpoint = Endpoint()

    async def listen(self, *, lease_s: float = PATIENCE_S) -> Agent:
        """Start an agent of the node."""
        secret = NodeFiles(self.state).own_secret()
        agent = Agent(AgentOptions(self.state, secret, "here", lease_s=lease_s, host=HOLDING))
        host, port = await agent.listen("127.0.0.1", 0)
        self.endpoint = Endpoint(host=host, port=port, secret=secret)
        self._agents.append(agent)
        return agent

    def gateway(self, name: str = "g1", *, times: LinkTimes = PATIENT, at: Endpoint | None = None) -> RemoteHost:
        """Make a gateway that looks for the node."""

        async def find() -> Endpoint:
            return at or self.endpoint

        remote = RemoteHost("here", find, gateway=name, programs=("sh", "bash"), times=times)
        remote.look()
        self._remotes.append(remote)
        return remote

    async def connected(self, name: str = "g1", *, times: LinkTimes = PATIENT) -> RemoteHost:
        """Make a gateway that has the terminals of the node."""
        remote = self.gateway(name, times=times)
        await remote.ready()
        return remote

    async def aclose(self) -> None:
        """End everything."""
        await asyncio.gather(*(remote.leave() for remote in self._remotes))
        for agent in self._agents:
            await agent.aclose()


@pytest.fixture
async def stage(tmp_path: Path, hosts_end: EndLater) -> AsyncIterator[Stage]:
    """A node with an agent in this process."""
    stage = Stage(hosts_end(tmp_path / "node"))
    await stage.listen()
    yield stage
    await stage.aclose()
