"""A Pydantic AI agent with terminals: python examples/frameworks/pydantic_ai_toolset.py

With PYDANTIC_AI_MODEL (such as anthropic:claude-sonnet-4-5, and its key) a model works; without, a script says what one
would say.
"""

import asyncio
import os
import re
import sys

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import hermitty
from hermitty.adapters.pydantic_ai import AgentSession, terminal_toolset


def ask(question: hermitty.Question) -> hermitty.Approval:
    """Ask whoever sits at the terminal; nobody there means no."""
    print(f"the agent wants to run: {question.command}  ({'; '.join(question.reasons)})")
    is_yes = sys.stdin.isatty() and input("run it? [y/N] ").strip().lower() == "y"
    return hermitty.Approval("allow" if is_yes else "deny", by="the person at the terminal")


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Open a terminal and run one command after the other in it."""
    said = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    lines = ["cd /tmp", "echo in $PWD", "touch example-of-an-agent"]
    if not said:
        return ModelResponse(parts=[ToolCallPart("open_persistent_terminal", {})])
    if len(said) > len(lines):
        return ModelResponse(parts=[TextPart("That is all.")])
    terminal = re.findall(r"\bt_\w+", str(said[0].content))[0]
    arguments = {"command": lines[len(said) - 1], "persistent_terminal_id": terminal}
    return ModelResponse(parts=[ToolCallPart("run_persistent_command", arguments)])


async def main() -> None:
    async with hermitty.open(approver=ask) as rt, AgentSession(rt) as session:
        model = os.environ.get("PYDANTIC_AI_MODEL") or FunctionModel(scripted)
        agent = Agent(model, toolsets=[terminal_toolset(session)])
        result = await agent.run("Which of the files in /tmp are the largest?")
        for message in result.all_messages():
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    print(f"{part.tool_name}: {part.content}")
        print(result.output)


if __name__ == "__main__":
    asyncio.run(main())
