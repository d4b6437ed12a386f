"""smolagents: the tools as `Tool` objects: pip install 'hermitty[smolagents]'

    with hermitty.sync.open(approver=ask) as rt, AgentSession(rt) as session:
        agent = ToolCallingAgent(tools=terminal_tools(session), model=model)

The framework is synchronous. In an asynchronous program, run the agent in a thread (`asyncio.to_thread(agent.run, …)`):
the tools wait there for the session's event loop.
"""

from collections.abc import Sequence
from typing import Any

from hermitty.adapters.agent_session import AgentSession
from hermitty.adapters.tooling import chosen_tools, missing
from hermitty.runtime.tools import Tool

try:
    import smolagents
except ModuleNotFoundError as exc:
    missing("smolagents", exc, "smolagents")

__all__ = ["AgentSession", "TerminalTool", "terminal_tools"]


def terminal_tools(session: AgentSession, names: Sequence[str] | None = None) -> "list[smolagents.Tool]":
    """Make the tools of a session: all, or those of these names."""
    return [TerminalTool(session, tool) for tool in chosen_tools(names)]


class TerminalTool(smolagents.Tool):  # type: ignore[misc]  # the package has no types
    """One tool of the table."""

    # The arguments are those of the table, which checks them itself.
    skip_forward_signature_validation = True
    output_type = "string"

    def __init__(self, session: AgentSession, tool: Tool) -> None:
        self.name = tool.name
        self.description = tool.description
        self.inputs = {
            each.name: {
                "type": each.type,
                "description": each.description,
                **({} if each.required else {"nullable": True}),
            }
            for each in tool.parameters
        }
        self._session = session
        super().__init__()

    def forward(self, *values: Any, **arguments: Any) -> str:
        """Do what the model asks for, and return the text. What is wrong is text, too."""
        if len(values) > len(self.inputs):
            raise TypeError(f"{self.name} takes {len(self.inputs)} arguments: {', '.join(self.inputs)}")
        given = {**dict(zip(self.inputs, values, strict=False)), **arguments}
        return self._session.blocking(self._session.call(self.name, given)).text
