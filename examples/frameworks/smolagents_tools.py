"""A smolagents agent with terminals, without async: python examples/frameworks/smolagents_tools.py

With HF_TOKEN a model works; without, a script says what one would say.
"""

import os
import sys
from typing import Any

from smolagents import InferenceClientModel, LogLevel, Model, ToolCallingAgent
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

import hermitty
from hermitty.adapters.smolagents import AgentSession, terminal_tools

CALLS = [
    ("run_command", {"command": "echo hello; uname"}),
    ("run_command", {"command": "touch example-of-an-agent"}),
    ("final_answer", {"answer": "That is all."}),
]


def ask(question: hermitty.Question) -> hermitty.Approval:
    """Ask whoever sits at the terminal; nobody there means no."""
    print(f"the agent wants to run: {question.command}  ({'; '.join(question.reasons)})")
    is_yes = sys.stdin.isatty() and input("run it? [y/N] ").strip().lower() == "y"
    return hermitty.Approval("allow" if is_yes else "deny", by="the person at the terminal")


class ScriptedModel(Model):  # type: ignore[misc]
    """Makes one call after the other."""

    def __init__(self) -> None:
        super().__init__(model_id="scripted")
        self._left = list(CALLS)

    def generate(self, messages: list[Any], **kwargs: Any) -> ChatMessage:
        name, arguments = self._left.pop(0)
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id=f"call_{len(self._left)}", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


def main() -> None:
    model = InferenceClientModel() if os.environ.get("HF_TOKEN") else ScriptedModel()
    with hermitty.sync.open(approver=ask) as rt, AgentSession(rt) as session:
        agent = ToolCallingAgent(tools=terminal_tools(session), model=model, verbosity_level=LogLevel.OFF)
        result = agent.run("Which system is this?", return_full_result=True)
        for step in result.steps:
            if step.get("observations"):
                print(step["observations"])
        print(result.output)


if __name__ == "__main__":
    main()
