"""LangChain: the tools as a list of `StructuredTool`: pip install 'hermitty[langchain]'

    async with hermitty.open(approver=ask) as rt, AgentSession(rt) as session:
        agent = create_agent(model, tools=terminal_tools(session))

A `ToolMessage` has the text as content and the `CommandResult` as artifact; what could not be done has status `error`.
Over `hermitty.sync.open()`, or from another thread, `invoke` works as `ainvoke` does.
"""

from collections.abc import Sequence
from typing import Any

from hermitty.adapters.agent_session import AgentSession
from hermitty.adapters.tooling import Reply, chosen_tools, missing
from hermitty.runtime.tools import Tool

try:
    from langchain_core.tools import BaseTool, StructuredTool, ToolException
except ModuleNotFoundError as exc:
    missing("langchain", exc, "langchain_core")

__all__ = ["AgentSession", "terminal_tools"]


def terminal_tools(session: AgentSession, names: Sequence[str] | None = None) -> list[BaseTool]:
    """Make the tools of a session: all, or those of these names."""
    return [_made(session, tool) for tool in chosen_tools(names)]


def _made(session: AgentSession, tool: Tool) -> BaseTool:
    async def call(**arguments: Any) -> tuple[str, dict[str, Any]]:
        return _said(await session.call(tool.name, arguments))

    def call_and_wait(**arguments: Any) -> tuple[str, dict[str, Any]]:
        return _said(session.blocking(session.call(tool.name, arguments)))

    return StructuredTool.from_function(
        func=call_and_wait,
        coroutine=call,
        name=tool.name,
        description=tool.description,
        args_schema=tool.schema(),
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _said(reply: Reply) -> tuple[str, dict[str, Any]]:
    if reply.is_error:
        raise ToolException(reply.text)
    return reply.text, reply.data
