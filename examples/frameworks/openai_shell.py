"""An agent of OpenAI's Agents SDK with a shell: python examples/frameworks/openai_shell.py

With OPENAI_API_KEY a model works; without, a script says what one would say.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, ToolCallOutputItem, Usage
from openai.types.responses import ResponseFunctionShellToolCall, ResponseOutputMessage

import hermitty
from hermitty.adapters.openai import AgentSession, shell_tool

LINES = ["cd /tmp && echo $PWD", "echo still in $PWD", "touch example-of-an-agent"]


def ask(question: hermitty.Question) -> hermitty.Approval:
    """Ask whoever sits at the terminal; nobody there means no."""
    print(f"the agent wants to run: {question.command}  ({'; '.join(question.reasons)})")
    is_yes = sys.stdin.isatty() and input("run it? [y/N] ").strip().lower() == "y"
    return hermitty.Approval("allow" if is_yes else "deny", by="the person at the terminal")


class ScriptedModel(Model):
    """Sends one command after the other."""

    def __init__(self) -> None:
        self._left = list(LINES)

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        item: Any
        if self._left:
            item = ResponseFunctionShellToolCall.model_validate(
                {
                    "id": f"call_{len(self._left)}",
                    "call_id": f"call_{len(self._left)}",
                    "type": "shell_call",
                    "status": "completed",
                    "action": {"commands": [self._left.pop(0)]},
                }
            )
        else:
            text = {"type": "output_text", "text": "That is all.", "annotations": []}
            item = ResponseOutputMessage.model_validate(
                {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def main() -> None:
    has_key = bool(os.environ.get("OPENAI_API_KEY"))
    model = os.environ.get("OPENAI_MODEL") if has_key else ScriptedModel()
    async with hermitty.open(approver=ask) as rt, AgentSession(rt) as session:
        agent = Agent(name="Worker", model=model, tools=[shell_tool(session)])
        result = await Runner.run(
            agent, "Which of the files in /tmp are the largest?", run_config=RunConfig(tracing_disabled=not has_key)
        )
        for item in result.new_items:
            if isinstance(item, ToolCallOutputItem):
                print(item.output)
        print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
