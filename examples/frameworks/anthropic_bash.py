"""Claude's bash tool on a real terminal: python examples/frameworks/anthropic_bash.py

With ANTHROPIC_API_KEY a model works; without, a script says what one would say.
"""

import asyncio
import os
import sys
from typing import Any

import anthropic
import httpx2

import hermitty
from hermitty.adapters.anthropic import AgentSession, bash_tool

LINES = ["cd /tmp && echo $PWD", "echo still in $PWD", "touch example-of-an-agent"]


def ask(question: hermitty.Question) -> hermitty.Approval:
    """Ask whoever sits at the terminal; nobody there means no."""
    print(f"the agent wants to run: {question.command}  ({'; '.join(question.reasons)})")
    is_yes = sys.stdin.isatty() and input("run it? [y/N] ").strip().lower() == "y"
    return hermitty.Approval("allow" if is_yes else "deny", by="the person at the terminal")


class ScriptedApi:
    """Answers as the API does, with one command after the other."""

    def __init__(self) -> None:
        self._left = list(LINES)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        content: dict[str, object] = {"type": "text", "text": "That is all."}
        stop = "end_turn"
        if self._left:
            call = {"command": self._left.pop(0)}
            content = {"type": "tool_use", "id": f"toolu_{len(self._left)}", "name": "bash", "input": call}
            stop = "tool_use"
        message = {"id": f"msg_{len(self._left)}", "type": "message", "role": "assistant", "model": "scripted"}
        usage = {"input_tokens": 0, "output_tokens": 0}
        return httpx2.Response(200, json={**message, "content": [content], "stop_reason": stop, "usage": usage})


def client_with_a_key_or_a_script() -> anthropic.AsyncAnthropic:
    if os.environ.get("ANTHROPIC_API_KEY"):
        return anthropic.AsyncAnthropic()
    transport = httpx2.MockTransport(ScriptedApi())
    return anthropic.AsyncAnthropic(api_key="none", http_client=httpx2.AsyncClient(transport=transport))


async def main() -> None:
    async with (
        client_with_a_key_or_a_script() as client,
        hermitty.open(approver=ask) as rt,
        AgentSession(rt) as session,
    ):
        runner = client.beta.messages.tool_runner(
            model=os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-4-5"),
            max_tokens=2000,
            tools=[bash_tool(session)],
            messages=[{"role": "user", "content": "Which of the files in /tmp are the largest?"}],
        )
        async for message in runner:
            for block in message.content:
                if block.type == "text":
                    print(block.text)
                elif block.type == "tool_use":
                    print("$", block.input)
            answer: Any = await runner.generate_tool_call_response()  # what the runner is about to send
            for result in answer["content"] if answer is not None else []:
                print(result["content"])


if __name__ == "__main__":
    asyncio.run(main())
