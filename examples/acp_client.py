"""An agent and its client, by the Agent Client Protocol: python examples/acp_client.py

The client gives the agent terminals and answers its questions; the agent runs a command and lets the client show it.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

from acp import run_agent
from acp.schema import ClientCapabilities, InitializeResponse, NewSessionResponse, PromptResponse

import hermitty
from hermitty.adapters.acp.audience import NoListener
from hermitty.adapters.acp.client import running_agent
from hermitty.adapters.acp.permissions import with_grants
from hermitty.adapters.acp.reporting import CommandReporter
from hermitty.adapters.acp.updates import CallChanged, Change


class Audience(NoListener):
    """Prints what the agent does."""

    def on_update(self, session_id: str, raw: Mapping[str, Any], change: Change) -> None:
        if isinstance(change, CallChanged) and change.call.is_over:
            print(change.call.title, "->", change.call.status)


async def refuse(question: hermitty.Question) -> hermitty.Approval:
    """Say no to whatever the policy does not allow by itself."""
    return hermitty.Approval("deny", by="the example")


async def client() -> None:
    cwd = os.getcwd()
    me = [sys.executable, __file__, "agent"]
    async with (
        hermitty.open(approver=with_grants(refuse)) as runtime,
        running_agent(runtime, me, cwd=cwd, listener=Audience()) as agent,
    ):
        session_id = await agent.new_session(cwd)
        print(await agent.prompt(session_id, "echo hello from $PWD"))
        print(await agent.prompt(session_id, "ls no-such-file"))


class Runner:
    """An agent that runs its prompt, in the way that its client can show best."""

    def __init__(self, runtime: hermitty.Runtime) -> None:
        self._runtime = runtime

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_: Any
    ) -> InitializeResponse:
        self._reporter = CommandReporter(self._client, self._runtime, client_capabilities)
        return InitializeResponse(protocol_version=1)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        self._cwd = cwd
        return NewSessionResponse(session_id="only")

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        await self._reporter.run(session_id, prompt[0].text, cwd=self._cwd)
        return PromptResponse(stop_reason="end_turn")


async def agent() -> None:
    async with hermitty.open() as runtime:
        await run_agent(Runner(runtime))  # type: ignore[arg-type]


if __name__ == "__main__":
    asyncio.run(agent() if sys.argv[1:] == ["agent"] else client())
