"""A runtime in an empty home, and agents in front of it: played by a test over pipes, or processes of their own."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp._transport import memory_transport_pair

from hermitty.adapters.acp.audience import Listener, Offers
from hermitty.adapters.acp.client import AcpClient, connected
from hermitty.adapters.acp.permissions import with_grants
from hermitty.runtime.api import Runtime, build_runtime
from hermitty.runtime.approvals import Approval, Question
from tests.adapters.acp.frames import Frames
from tests.support.runtimes import Dial
from tests.support.shells import PATIENCE_S

AGENTS = Path(__file__).parent / "agents"


def agent(name: str, *arguments: str) -> list[str]:
    """The command that starts one of the test agents."""
    return [sys.executable, str(AGENTS / f"{name}.py"), *arguments]


class Person:
    """Answers questions as told, and remembers what was asked. Without an answer the question waits."""

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.answer: Approval | None = Approval("deny", by="a person")
        self.was_asked = asyncio.Event()

    async def __call__(self, question: Question) -> Approval:
        self.asked.append(question)
        self.was_asked.set()
        if self.answer is None:
            await asyncio.get_running_loop().create_future()
        assert self.answer is not None
        return self.answer


@pytest.fixture
def person() -> Person:
    """Who is asked by `rt`."""
    return Person()


@pytest.fixture
async def rt(dial: Dial, person: Person) -> AsyncIterator[Runtime]:
    """A runtime that asks `person`."""
    async with build_runtime(dial, approver=with_grants(person)) as runtime:
        yield runtime


class Peer:
    """An agent that a test plays. It says hello by itself; everything else is up to the test."""

    def __init__(self, transport: Any) -> None:
        self.transport = transport
        self.client: AcpClient
        self.session_id = "s1"
        self.hello: dict[str, Any] = {"protocolVersion": 1}
        self.notifications: list[dict[str, Any]] = []
        self.prompts: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._answers: dict[int | str, asyncio.Future[dict[str, Any]]] = {}
        self._next = 0
        self._was_told = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._listen())

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request, and return the frame that answers it."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.begin(method, **params)[1]

    def begin(self, method: str, **params: Any) -> tuple[int, "asyncio.Future[dict[str, Any]]"]:
        """Send a request; return its id, and what will hold the answer."""
        self._next += 1
        self._answers[self._next] = asyncio.get_running_loop().create_future()
        self.write({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next, self._answers[self._next]

    async def result(self, method: str, **params: Any) -> Any:
        """Send a request of this session that works, and return its result."""
        answer = await self.ask(method, **{"sessionId": self.session_id, **params})
        assert "result" in answer, answer
        return answer["result"]

    async def error(self, method: str, **params: Any) -> int:
        """Send a request of this session that does not work, and return the code of the error."""
        answer = await self.ask(method, **{"sessionId": self.session_id, **params})
        assert "error" in answer, answer
        return int(answer["error"]["code"])

    async def create(self, command: str, *args: str, **params: Any) -> str:
        """Start a command, and return the id of its terminal."""
        given = {"args": list(args)} if args else {}
        return str((await self.result("terminal/create", command=command, **given, **params))["terminalId"])

    async def over(self, terminal_id: str) -> dict[str, Any]:
        """Wait for the end of a command, and return its output and exit status."""
        await self.result("terminal/wait_for_exit", terminalId=terminal_id)
        return dict(await self.result("terminal/output", terminalId=terminal_id))

    def update(self, session_update: str, **fields: Any) -> None:
        """Tell of something."""
        update = {"sessionUpdate": session_update, **fields}
        self.notify("session/update", sessionId=self.session_id, update=update)

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def reply(self, request: dict[str, Any], **result: Any) -> None:
        """Answer a request of the client."""
        self.write({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def write(self, message: dict[str, Any]) -> None:
        """Send a frame."""
        self.transport._outbox.put_nowait(json.loads(json.dumps(message)))

    async def told(self, method: str) -> dict[str, Any]:
        """Wait for a notification of the client."""
        async with asyncio.timeout(PATIENCE_S):
            while not (found := [each for each in self.notifications if each["method"] == method]):
                self._was_told.clear()
                await self._was_told.wait()
        return found[0]

    async def close(self) -> None:
        """Leave."""
        self._task.cancel()
        await asyncio.wait({self._task})
        await self.transport.close()

    async def _listen(self) -> None:
        while (message := await self.transport.receive()) is not None:
            if "method" not in message:
                self._answers.pop(message["id"]).set_result(message)
            elif "id" not in message:
                self.notifications.append(message)
                self._was_told.set()
            elif message["method"] == "initialize":
                self.reply(message, **self.hello)
            elif message["method"] == "session/new":
                self.reply(message, sessionId=self.session_id)
            elif message["method"] == "session/close":
                self.reply(message)
            else:
                self.prompts.put_nowait(message)


Play = Callable[..., AbstractAsyncContextManager[Peer]]


@pytest.fixture
def play(rt: Runtime, work: Path) -> Play:
    """Connects an agent that the test plays, in memory, and begins a session. What we send it fits the schema."""

    @asynccontextmanager
    async def played(
        *, offers: Offers | None = None, listener: Listener | None = None, is_tame: bool = False
    ) -> AsyncIterator[Peer]:
        ours, theirs = memory_transport_pair()
        frames = Frames()
        peer = Peer(theirs)
        try:
            async with connected(rt, ours, offers=offers, listener=listener, observers=[frames]) as client:
                peer.client = client
                assert await client.new_session(str(work)) == peer.session_id
                yield peer
        finally:
            await peer.close()
        assert frames.problems(of_agent=is_tame) == []

    return played


@pytest.fixture
async def peer(play: Play) -> AsyncIterator[Peer]:
    """An agent that the test plays."""
    async with play() as peer:
        yield peer


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False
