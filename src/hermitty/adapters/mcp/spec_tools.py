"""The specification's four tools, with the names, words and schemas of `hermitty.runtime.tools`."""

from typing import Annotated, Any

from mcp.server.mcpserver import Elicit, Resolve
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations

from hermitty.adapters.mcp import schemas
from hermitty.adapters.mcp.answers import answer, explaining
from hermitty.adapters.mcp.approvals import Asking, Said, ask
from hermitty.adapters.mcp.clients import AnyContext, SessionOf
from hermitty.adapters.mcp.terminals import Consent, Line, Terminals
from hermitty.adapters.mcp.tools import ACTS, KILLS, OPENS, strict
from hermitty.runtime.approvals import Question
from hermitty.runtime.tools import TOOLS


def build_spec_tools(terminals: Terminals, session_of: SessionOf) -> list[Tool]:
    """Make the tools over some terminals."""
    asking = Asking(terminals)
    explained = explaining(terminals)

    async def call(name: str, ctx: AnyContext, consent: Consent | None, **arguments: Any) -> CallToolResult:
        given = {key: value for key, value in arguments.items() if value is not None}
        done = await terminals.call_tool(name, given, session=session_of(ctx, None), consent=consent)
        return answer(done.text, done.data)

    async def foresee(command: str, cwd: str | None, ctx: AnyContext) -> Question | None:
        return asking.foresee(Line(command, session_of(ctx, None), cwd), ctx)

    async def approve(asked: Annotated[Question | None, Resolve(foresee)]) -> Elicit[Any] | None:
        return ask(asked)

    async def foresee_there(command: str, persistent_terminal_id: str, ctx: AnyContext) -> Question | None:
        return asking.foresee(Line(command, session_of(ctx, None), terminal=persistent_terminal_id), ctx)

    async def approve_there(asked: Annotated[Question | None, Resolve(foresee_there)]) -> Elicit[Any] | None:
        return ask(asked)

    @explained
    async def run_command(
        ctx: AnyContext,
        asked: Annotated[Question | None, Resolve(foresee)],
        said: Annotated[Said, Resolve(approve)],
        command: str,
        cwd: str | None = None,
    ) -> Annotated[CallToolResult, schemas.SpecCommandOutput]:
        consent = await asking.consent(Line(command, session_of(ctx, None), cwd), asked, said, ctx)
        return await call("run_command", ctx, consent, command=command, cwd=cwd)

    @explained
    async def open_persistent_terminal(
        ctx: AnyContext, cwd: str | None = None
    ) -> Annotated[CallToolResult, schemas.SpecOpenOutput]:
        return await call("open_persistent_terminal", ctx, None, cwd=cwd)

    @explained
    async def run_persistent_command(
        ctx: AnyContext,
        asked: Annotated[Question | None, Resolve(foresee_there)],
        said: Annotated[Said, Resolve(approve_there)],
        command: str,
        persistent_terminal_id: str,
    ) -> Annotated[CallToolResult, schemas.SpecCommandOutput]:
        line = Line(command, session_of(ctx, None), terminal=persistent_terminal_id)
        consent = await asking.consent(line, asked, said, ctx)
        return await call(
            "run_persistent_command", ctx, consent, command=command, persistent_terminal_id=persistent_terminal_id
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
