"""LangChain tools in a loop of our own: python examples/frameworks/langchain_tools.py

With LANGCHAIN_MODEL (such as openai:gpt-5; needs langchain and that provider's package) a model works; without, a
script says what one would say. `create_agent(model, tools=tools)` of langchain is the same with a loop of theirs.
"""

import asyncio
import importlib
import os
import sys
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall

import hermitty
from hermitty.adapters.langchain import AgentSession, terminal_tools


def ask(question: hermitty.Question) -> hermitty.Approval:
    """Ask whoever sits at the terminal; nobody there means no."""
    print(f"the agent wants to run: {question.command}  ({'; '.join(question.reasons)})")
    is_yes = sys.stdin.isatty() and input("run it? [y/N] ").strip().lower() == "y"
    return hermitty.Approval("allow" if is_yes else "deny", by="the person at the terminal")


def model_for(tools: list[Any]) -> Any:
    if name := os.environ.get("LANGCHAIN_MODEL"):
        return importlib.import_module("langchain.chat_models").init_chat_model(name).bind_tools(tools)
    lines = ["echo hello; uname", "touch example-of-an-agent"]
    calls = [ToolCall(name="run_command", args={"command": line}, id=f"call_{line}") for line in lines]
    return GenericFakeChatModel(
        messages=iter([*(AIMessage("", tool_calls=[call]) for call in calls), AIMessage("That is all.")])
    )


async def main() -> None:
    async with hermitty.open(approver=ask) as rt, AgentSession(rt) as session:
        tools = {tool.name: tool for tool in terminal_tools(session)}
        model = model_for(list(tools.values()))
        messages: list[BaseMessage] = [HumanMessage("Which system is this?")]
        while True:
            said = await model.ainvoke(messages)
            messages.append(said)
            if not said.tool_calls:
                break
            for call in said.tool_calls:
                answer = await tools[call["name"]].ainvoke(call)
                print(f"{call['name']} {call['args']}: {answer.status}\n{answer.content}")
                messages.append(answer)
        print(said.content)


if __name__ == "__main__":
    asyncio.run(main())
