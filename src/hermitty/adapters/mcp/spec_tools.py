"""The specification's four tools, with the names, words and schemas of `hermitty.runtime.tools`."""

from typing import Annotated, Any

from mcp.server.mcpserver import Elicit, Resolve
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations

from hermitty.adapters.mcp import schemas
from hermitty.adapters.mcp.answers import answer, explaining
from hermitty.adapters.mcp.approvals import Said, asking, consent_of
from hermitty.adapters.mcp.clients import AnyContext, SessionOf
from hermitty.adapters.mcp.terminals import Line, Terminals
from hermitty.adapters.mcp.tools import ACTS, KILLS, OPENS, strict
from hermitty.runtime.tools import TOOLS


def build_spec_tools(terminals: Terminals, session_of: SessionOf) -> list[Tool]:
    """Make the tools over some terminals."""
    ask = asking(terminals)
    explained = explaining(terminals)

    async def call(name: str, ctx: AnyContext, said: Said | None, **arguments: Any) -> CallToolResult:
        consent = None if said is None else consent_of(said, arguments["command"], ctx)
        given = {key: value for key, value in arguments.items() if value is not None}
        done = await terminals.call_tool(name, given, session=session_of(ctx, None), consent=consent)
        return answer(done.text, done.data)

    async def approve(command: str, cwd: str | None, ctx: AnyContext) -> Elicit[Any] | None:
        return await ask(Line(command, session_of(ctx, None), cwd), ctx)

    async def approve_there(command: str, persistent_terminal_id: str, ctx: AnyContext) -> Elicit[Any] | None:
        return await ask(Line(command, session_of(ctx, None), terminal=persistent_terminal_id), ctx)

    @explained
    async def run_command(
        ctx: AnyContext, said: Annotated[Said, Resolve(approve)], command: str, cwd: str | None = None
    ) -> Annotated[CallToolResult, schemas.SpecCommandOutput]:
        return await call("run_command", ctx, said, command=command, cwd=cwd)

    @explained
    async def open_persistent_terminal(
        ctx: AnyContext, cwd: str | None = None
    ) -> Annotated[CallToolResult, schemas.SpecOpenOutput]:
        return await call("open_persistent_terminal", ctx, None, cwd=cwd)

    @explained
    async def run_persistent_command(
        ctx: AnyContext, said: Annotated[Said, Resolve(approve_there)], command: str, persistent_terminal_id: str
    ) -> Annotated[CallToolResult, schemas.SpecCommandOutput]:
        return await call(
            "run_persistent_command", ctx, said, command=command, persistent_terminal_id=persistent_terminal_id
        )

    @explained
    async def kill_persistent_terminal(
        ctx: AnyContext, persistent_terminal_id: str
    ) -> Annotated[CallToolResult, schemas.SpecKillOutput]:
        return await call("kill_persistent_terminal", ctx, None, persistent_terminal_id=persistent_terminal_id)

    return [
        _tool(run_command, ACTS),
        _tool(open_persistent_terminal, OPENS),
        _tool(run_persistent_command, ACTS),
        _tool(kill_persistent_terminal, KILLS),
    ]


def _tool(function: Any, annotations: ToolAnnotations) -> Tool:
    known = TOOLS[function.__name__]
    made = Tool.from_function(function, name=known.name, description=known.description, annotations=annotations)
    return strict(made, known.schema())
