"""An agent that reports its commands in the best way that the client knows."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from acp._transport import memory_transport_pair
from acp.core import AgentSideConnection
from acp.schema import ClientCapabilities, InitializeResponse, NewSessionResponse, PromptResponse

from hermitty.adapters.acp.audience import Offers
from hermitty.adapters.acp.client import AcpClient, connected
from hermitty.adapters.acp.reporting import CommandReporter, Reported, Way, way_for
from hermitty.adapters.acp.terminals import Exit
from hermitty.errors import CommandDenied
from hermitty.runtime.api import Runtime
from tests.adapters.acp.conftest import Person
from tests.adapters.acp.frames import Frames
from tests.support.kernel import gone
from tests.support.notes import Note
from tests.support.runtimes import Dial
from tests.support.shells import PATIENCE_S

SHOWS = ClientCapabilities(field_meta={"terminal_output": True}, terminal=True)
RUNS = ClientCapabilities(terminal=True)


@pytest.mark.parametrize(
    ("capabilities", "client_runs", "way"),
    [
        (SHOWS, True, "display"),
        (RUNS, True, "client"),
        (RUNS, False, "text"),
        (ClientCapabilities(), True, "text"),
        (ClientCapabilities(field_meta={"terminal_output": "yes"}), True, "text"),
        (None, True, "text"),
    ],
)
def test_the_way_is_what_the_client_asked_for(
    capabilities: ClientCapabilities | None, client_runs: bool, way: Way
) -> None:
    assert way_for(capabilities, client_runs=client_runs) == way


class Runner:
    """An agent that runs its prompt."""

    def __init__(self, runtime: Runtime, cwd: Path) -> None:
        self.done: list[Reported] = []
        self.failed: list[Exception] = []
        self._runtime = runtime
        self._cwd = str(cwd)
        self._turn: asyncio.Task[Reported] | None = None

    def on_connect(self, conn: Any) -> None:
        self._conn = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_: Any
    ) -> InitializeResponse:
        self._reporter = CommandReporter(self._conn, self._runtime, client_capabilities)
        return InitializeResponse(protocol_version=1)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id="s1")

    async def cancel(self, session_id: str, **_: Any) -> None:
        assert self._turn is not None
        self._turn.cancel()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        text = prompt[0].text
        command = text.split("|") if "|" in text else text
        self._turn = asyncio.ensure_future(self._reporter.run(session_id, command, cwd=self._cwd, tool_call_id="c1"))
        try:
            self.done.append(await self._turn)
        except CommandDenied as exc:
            self.failed.append(exc)
        except asyncio.CancelledError:
            return PromptResponse(stop_reason="cancelled")
        return PromptResponse(stop_reason="end_turn")


@contextlib.asynccontextmanager
async def running(rt: Runtime, work: Path, offers: Offers) -> AsyncIterator[tuple[AcpClient, Runner]]:
    """A client that offers so much, and an agent of the SDK with a reporter; every frame fits the schema."""
    ours, theirs = memory_transport_pair()
    frames = Frames()
    agent = Runner(rt, work)
    connection = AgentSideConnection(agent, theirs)  # type: ignore[arg-type]
    try:
        async with connected(rt, ours, offers=offers, observers=[frames]) as client:
            await client.new_session(str(work))
            yield client, agent
    finally:
        await connection.close()
    assert frames.problems() == []


LINE = "printf 'n\\303\\251\\n'; printf x >&2; exit 3"
OFFERS: dict[Way, Offers] = {
    "display": Offers(),
    "client": Offers(display=False),
    "text": Offers(terminal=False, display=False),
}


@pytest.mark.parametrize("way", ["display", "client", "text"])
async def test_a_command_is_run_and_shown(rt: Runtime, work: Path, way: Way) -> None:
    async with running(rt, work, OFFERS[way]) as (client, agent), asyncio.timeout(PATIENCE_S):
        assert await client.prompt("s1", LINE) == "end_turn"
        (done,) = agent.done
        assert (done.way, done.exit) == (way, Exit(3))
        assert sorted(done.text) == sorted("né\nx")
        call = client.state("s1").calls["c1"]
        assert (call.kind, call.status, call.command) == ("execute", "failed", LINE)
        (part,) = call.parts
        if way == "text":
            assert sorted(getattr(part, "text")) == sorted("né\nx")  # noqa: B009
        else:
            shown = client.shown("s1", getattr(part, "terminal_id"))  # noqa: B009
            assert shown is not None
            assert (sorted(shown.text), shown.exit) == (sorted("né\nx"), Exit(3))


@pytest.mark.parametrize("way", ["display", "client", "text"])
async def test_words_are_a_program_and_its_arguments(rt: Runtime, work: Path, way: Way) -> None:
    async with running(rt, work, OFFERS[way]) as (client, agent), asyncio.timeout(PATIENCE_S):
        await client.prompt("s1", "printf|%s|$HOME;")
        (done,) = agent.done
        assert (done.text, done.exit) == ("$HOME;", Exit(0))
        assert client.state("s1").calls["c1"].status == "completed"


async def test_much_output_comes_in_order_and_in_few_messages(rt: Runtime, work: Path) -> None:
    async with running(rt, work, Offers()) as (client, _), asyncio.timeout(PATIENCE_S):
        await client.prompt("s1", "seq 1 30000")
        (part,) = client.state("s1").calls["c1"].parts
        shown = client.shown("s1", getattr(part, "terminal_id"))  # noqa: B009
        assert shown is not None
        assert shown.text == "".join(f"{number}\n" for number in range(1, 30001))


@pytest.mark.parametrize("way", ["display", "text"])
async def test_what_is_not_allowed_fails_and_says_why(
    rt: Runtime, dial: Dial, person: Person, work: Path, way: Way
) -> None:
    dial.turn(policy__mode="normal")
    async with running(rt, work, OFFERS[way]) as (client, agent), asyncio.timeout(PATIENCE_S):
        await client.prompt("s1", "touch made")
        assert len(agent.failed) == 1
        call = client.state("s1").calls["c1"]
        assert call.status == "failed"
        assert "a person said no" in str(call.parts)


@pytest.mark.parametrize("way", ["display", "client", "text"])
async def test_cancelling_ends_the_command(rt: Runtime, work: Path, way: Way) -> None:
    with Note(work / "pid") as note:
        async with running(rt, work, OFFERS[way]) as (client, _), asyncio.timeout(PATIENCE_S):
            turn = asyncio.ensure_future(client.prompt("s1", "exec sh -c 'echo $$ >pid; exec sleep 1000'"))
            pid = await note.number()
            await client.cancel("s1")
            assert await turn in ("cancelled", "end_turn")
            await gone(pid)
