"""Pydantic AI: the tools as a toolset: pip install 'hermitty[pydantic-ai]'

    async with hermitty.open(approver=ask) as rt, AgentSession(rt) as session:
        agent = Agent("…", toolsets=[terminal_toolset(session)])

A tool returns its text; the `CommandResult` is the metadata of the `ToolReturnPart`, which the model does not see.
Questions are hermitty's own: they know the command, and what a person said once may become a rule.
"""

from collections.abc import Sequence
from typing import Any

from hermitty.adapters.agent_session import AgentSession
from hermitty.adapters.tooling import chosen_tools, missing
from hermitty.runtime.tools import Tool as TableTool

try:
    from pydantic_ai import FunctionToolset, Tool, ToolReturn
except ModuleNotFoundError as exc:
    missing("pydantic-ai", exc, "pydantic_ai")

__all__ = ["AgentSession", "terminal_toolset"]


def terminal_toolset(session: AgentSession, names: Sequence[str] | None = None) -> FunctionToolset[Any]:
    """Make the toolset of a session: with all tools, or those of these names."""
    return FunctionToolset([_made(session, tool) for tool in chosen_tools(names)], id=session.name)


def _made(session: AgentSession, tool: TableTool) -> Tool[Any]:
    async def call(**arguments: Any) -> ToolReturn[Any]:
        reply = await session.call(tool.name, arguments)
        return ToolReturn(reply.text, metadata=reply.data)

    return Tool.from_schema(call, tool.name, tool.description, tool.schema())
