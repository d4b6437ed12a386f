"""An agent of the Python SDK that does what its prompt says: a JSON list of calls, [name, arguments].

The names are methods of the SDK's connection, or `say`, `stderr`, `stdout`, `die`, `spawn` and `raw`. "$T" stands for
the last terminal. What the calls return is the text of its message, as JSON.
"""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

from acp import PROTOCOL_VERSION, run_agent
from acp.exceptions import RequestError
from acp.helpers import update_agent_message_text
from acp.schema import InitializeResponse, NewSessionResponse, PromptResponse


class Scripted:
    def __init__(self) -> None:
        self.cancelled = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=PROTOCOL_VERSION)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id=f"session-{os.getpid()}")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        self.cancelled.clear()
        terminal = ""
        results: list[Any] = []
        try:
            calls = json.loads(prompt[0].text)
        except ValueError:
            calls = [["say", {"text": f"you said: {prompt[0].text}"}]]
        for name, arguments in calls:
            arguments = {key: terminal if value == "$T" else value for key, value in arguments.items()}
            try:
                result = await self.call(name, session_id, arguments)
            except RequestError as exc:
                results.append({"error": exc.code})
                continue
            terminal = result.get("terminalId", terminal) if isinstance(result, dict) else terminal
            results.append(result)
            if name == "until_cancelled":
                return PromptResponse(stop_reason="cancelled")
        if not any(name == "say" for name, _ in calls):
            await self.conn.session_update(session_id, update_agent_message_text(json.dumps(results)))
        return PromptResponse(stop_reason="end_turn")

    async def call(self, name: str, session_id: str, arguments: dict[str, Any]) -> Any:
        match name:
            case "say":
                return await self.conn.session_update(session_id, update_agent_message_text(arguments["text"]))
            case "stderr":
                sys.stderr.write("e" * arguments["bytes"] + "\n" + arguments.get("last", "") + "\n")
                return sys.stderr.flush()
            case "stdout":
                os.write(1, arguments["text"].encode() * arguments.get("times", 1))
                return None
            case "die":
                os._exit(arguments["code"])
            case "spawn":
                child = subprocess.Popen(  # noqa: ASYNC220
                    ["sleep", "1000"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
                )
                return child.pid
            case "until_cancelled":
                return await self.cancelled.wait()
            case "raw":
                return await self.conn._conn.send_request(
                    arguments["method"], {"sessionId": session_id, **arguments["params"]}
                )
            case "update":
                return await self.conn._conn.send_notification(
                    "session/update", {"sessionId": session_id, "update": arguments}
                )
            case _:
                answer = await getattr(self.conn, name)(session_id=session_id, **arguments)
                return answer.model_dump(by_alias=True, exclude_none=True) if answer is not None else {}


if __name__ == "__main__":
    asyncio.run(run_agent(Scripted()))  # type: ignore[arg-type]
