"""An agent of version 2, the draft, with our reporter: its prompt is a line of the shell, which it runs and shows.

The prompt `ask LINE` asks for permission first; `silent LINE` ends the turn without saying why.
"""

import asyncio
import contextlib
import os
import sys
from typing import Any

from acp.stdio import stdio_streams

from hermitty.adapters.acp.connection import AcpConnection
from hermitty.adapters.acp.draft_reporting import DraftReporter
from hermitty.adapters.acp.frames import FrameTransport
from hermitty.errors import HermittyError
from hermitty.runtime.api import Runtime, build_runtime

SESSION = "draft-session"
INFO = {"name": "draft-agent", "version": "1"}
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Agent:
    """One connection."""

    def __init__(self, transport: Any, runtime: Runtime, *, observers: Any = None) -> None:
        self.connection = AcpConnection(self.answer, transport, observers=observers)
        self.reporter = DraftReporter(self.connection.send_notification, runtime)
        self.cwd = os.getcwd()
        self.turn: asyncio.Task[None] | None = None

    async def answer(self, method: str, params: Any, is_notification: bool) -> Any:
        match method:
            case "initialize":
                return {"protocolVersion": 2, "info": INFO, "capabilities": {"session": {}}}
            case "session/new":
                self.cwd = params["cwd"]
                return {"sessionId": SESSION}
            case "session/prompt":
                work = self.work(params["prompt"][0]["text"])
                self.turn = asyncio.get_running_loop().create_task(work)
                return {"messageId": "m1"}
            case "session/cancel":
                if self.turn is not None:
                    self.turn.cancel()
            case "terminal/cancel":
                return await self.reporter.cancel(params["sessionId"], params["terminalId"])
        return {}

    async def work(self, text: str) -> None:
        await self.tell(sessionUpdate="state_update", state="running")
        verb, _, line = text.partition(" ")
        reason: str | None = "end_turn"
        try:
            if verb == "ask":
                subject = {"type": "command", "command": line, "cwd": self.cwd}
                asked = {"sessionId": SESSION, "title": "Run it?", "subject": subject, "options": OPTIONS}
                said = (await self.connection.send_request("session/request_permission", asked))["outcome"]
                if said != {"outcome": "selected", "optionId": "yes"}:
                    line = f"echo refused: {said.get('optionId')}"
            done = await self.reporter.run(SESSION, line if verb in ("ask", "silent") else text, cwd=self.cwd)
            await self.say(done.text)
            reason = None if verb == "silent" else reason
        except HermittyError as exc:
            await self.say(str(exc))
            reason = "refusal"
        except asyncio.CancelledError:
            reason = "cancelled"
        finally:
            await self.tell(sessionUpdate="state_update", state="idle", **({"stopReason": reason} if reason else {}))

    async def say(self, text: str) -> None:
        content = {"type": "text", "text": text}
        await self.tell(sessionUpdate="agent_message_chunk", messageId="m2", content=content)

    async def tell(self, **update: Any) -> None:
        await self.connection.send_notification("session/update", {"sessionId": SESSION, "update": update})

    async def close(self) -> None:
        await self.connection.close()
        if self.turn is not None:
            self.turn.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.turn


async def main() -> None:
    async with build_runtime() as runtime:
        agent = Agent(FrameTransport(*await stdio_streams()), runtime)
        await agent.connection.ended.wait()
        await agent.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
