"""One MCP server over some terminals: tools, resources, updates. Both eras of the protocol are served."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult
from mcp.types import Resource as ListedResource
from pydantic import ValidationError

from hermitty.adapters.mcp.clients import session_namer
from hermitty.adapters.mcp.resources import Bus, Updates, add_resources, live_resources
from hermitty.adapters.mcp.rights import check_rights
from hermitty.adapters.mcp.sessions import Sessions
from hermitty.adapters.mcp.spec_tools import build_spec_tools
from hermitty.adapters.mcp.terminals import Terminals
from hermitty.adapters.mcp.tools import build_tools
from hermitty.version import __version__

NAME = "hermitty"
INSTRUCTIONS = """\
Real terminals that stay: run commands with exact exit codes, answer programs that ask, watch servers and builds.
- run waits up to yield_s; what takes longer goes on. Follow it with wait, read it with read, end it with kill.
- Handles: c_… is a command, t_… a terminal, a_… a complete output. Pass them on exactly.
- Commands that change things may need a person's approval. If one is refused, say so; do not look for a way around it.
"""


class TerminalServer(MCPServer[Any]):
    """The server. Made by `serving`."""

    def __init__(self, terminals: Terminals, sessions: Sessions, bus: Bus) -> None:
        tools = [*build_tools(terminals, sessions), *build_spec_tools(terminals, sessions)]
        super().__init__(
            NAME,
            title="hermitty terminals",
            instructions=INSTRUCTIONS,
            version=__version__,
            tools=tools,
            subscriptions=bus,
            middleware=[check_rights],
            log_level="WARNING",
        )
        self._terminals = terminals
        self._names = [tool.name for tool in tools]
        add_resources(self, terminals)

    async def list_resources(self) -> list[ListedResource]:
        """List the fixed resources, and those of the terminals that are open."""
        return [*await super().list_resources(), *await live_resources(self._terminals)]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: "Context[Any, Any] | None" = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; what is wrong with its arguments is told in a few words."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            tool = self._tool_manager.get_tool(name)
            if tool is None:
                raise ToolError(f"there is no tool {name[:80]!r}; there are: {', '.join(self._names)}") from error
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_wrong_arguments(name, error.__cause__, tool.parameters)) from error.__cause__
            raise


@asynccontextmanager
async def serving(terminals: Terminals) -> AsyncIterator[TerminalServer]:
    """Make the server over some terminals; at the end, what calls left behind is stopped."""
    bus = Bus()
    sessions = Sessions(session_namer(), terminals.release)
    server = TerminalServer(terminals, sessions, bus)
    updates = Updates(terminals, bus)
    updates.serve(server)
    try:
        yield server
    finally:
        sessions.close()
        await updates.aclose()
        await terminals.aclose()


def _wrong_arguments(name: str, error: ValidationError, schema: dict[str, Any]) -> str:
    takes = ", ".join(schema.get("properties", {})) or "no arguments"
    found = []
    for each in error.errors(include_url=False, include_input=False):
        place = ".".join(str(part) for part in each["loc"])[:80]
        what = {
            "extra_forbidden": "there is no such argument",
            "missing": "it is needed",
        }.get(each["type"], each["msg"])
        found.append(f"{place}: {what}")
    return f"{name}: {'; '.join(found[:5])}. It takes: {takes}"
