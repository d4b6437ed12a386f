"""The tools: names, descriptions, arguments and annotations, in one fixed order.

Handles are arguments: a command's id, a terminal's id. No tool changes a rule, a setting or a decision.
"""

import base64
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Elicit, Resolve
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ImageContent, ToolAnnotations
from pydantic import Field

from hermitty.adapters.mcp import schemas
from hermitty.adapters.mcp.answers import answer, command_answer, data_of, explaining, waited_answer
from hermitty.adapters.mcp.approvals import Asking, Said, ask
from hermitty.adapters.mcp.clients import AnyContext, SessionOf
from hermitty.adapters.mcp.progress import progress
from hermitty.adapters.mcp.terminals import LONGEST_WAIT_S, Line, SandboxMode, Terminals, Until
from hermitty.adapters.mcp.texts import found_text, opened_text, piece_text, screen_text, terminals_text
from hermitty.errors import InvalidRequest
from hermitty.runtime.approvals import Question

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)
OPENS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
KILLS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

_WAIT_S = 30.0
_MOST_BYTES = 100_000

Command = Annotated[str, Field(description="The command line, as one would type it in a shell.")]
Cwd = Annotated[
    str | None, Field(description="Directory to work in. Default: where the session is. Not together with terminal_id.")
]
Shell = Annotated[str | None, Field(description="bash, zsh, fish, sh, pwsh. Default: the user's.")]
Env = Annotated[dict[str, str] | None, Field(description="Variables set for this terminal.")]
TerminalArgument = Annotated[
    str | None, Field(description="Run in this terminal (t_…) instead of choosing one: keeps its variables and cwd.")
]
Terminal = Annotated[str, Field(description="A terminal's id (t_…), as run, open or list gave it.")]
Running = Annotated[
    str, Field(description="A command's id (c_…), or a terminal's id (t_…) for the command in it.", min_length=1)
]
OutputName = Annotated[
    str, Field(description="A command's id (c_…), a terminal's (t_…), or an artifact (a_…).", min_length=1)
]
Session = Annotated[
    str | None, Field(description="Name of the piece of work this belongs to. Default: one for this connection.")
]
Yield = Annotated[
    float,
    Field(
        ge=0,
        le=LONGEST_WAIT_S,
        description=f"Seconds to wait for the end, at most {LONGEST_WAIT_S:g}. A command that takes longer goes on, "
        "and the result says state running.",
    ),
]
Sandbox = Annotated[
    SandboxMode | None,
    Field(description="Confine it: workspace (writes there only, no network) or strict. Never less than the settings."),
]
Limit = Annotated[int, Field(ge=1, le=_MOST_BYTES, description="Most bytes to return.")]


def build_tools(terminals: Terminals, session_of: SessionOf) -> list[Tool]:
    """Make the tools over some terminals."""
    asking = Asking(terminals)
    explained = explaining(terminals)

    async def foresee(
        command: str,
        cwd: str | None,
        terminal_id: str | None,
        shell: str | None,
        env: dict[str, str] | None,
        session: str | None,
        sandbox: SandboxMode | None,
        ctx: AnyContext,
    ) -> Question | None:
        line = Line(command, session_of(ctx, session), cwd, terminal_id, shell, env or {}, sandbox=sandbox)
        return asking.foresee(line, ctx)

    async def approve(asked: Annotated[Question | None, Resolve(foresee)]) -> Elicit[Any] | None:
        return ask(asked)

    @explained
    async def run(
        ctx: AnyContext,
        asked: Annotated[Question | None, Resolve(foresee)],
        said: Annotated[Said, Resolve(approve)],
        command: Command,
        cwd: Cwd = None,
        terminal_id: TerminalArgument = None,
        yield_s: Yield = _WAIT_S,
        kill_after_s: Annotated[
            float | None, Field(ge=0, description="Kill the command after so many seconds. Default: never.")
        ] = None,
        shell: Shell = None,
        env: Env = None,
        session: Session = None,
        sandbox: Sandbox = None,
    ) -> Annotated[CallToolResult, schemas.CommandOutput]:
        line = Line(command, session_of(ctx, session), cwd, terminal_id, shell, env or {}, kill_after_s, sandbox)
        consent = await asking.consent(line, asked, said, ctx)
        async with progress(ctx) as tell:
            result = await terminals.run(line, wait_s=yield_s, consent=consent, glimpse=tell)
        return await command_answer(result, terminals)

    @explained
    async def start(
        ctx: AnyContext,
        asked: Annotated[Question | None, Resolve(foresee)],
        said: Annotated[Said, Resolve(approve)],
        command: Command,
        cwd: Cwd = None,
        terminal_id: TerminalArgument = None,
        shell: Shell = None,
        env: Env = None,
        session: Session = None,
        sandbox: Sandbox = None,
    ) -> Annotated[CallToolResult, schemas.CommandOutput]:
        line = Line(command, session_of(ctx, session), cwd, terminal_id, shell, env or {}, sandbox=sandbox)
        result = await terminals.run(line, wait_s=0, consent=await asking.consent(line, asked, said, ctx))
        return await command_answer(result, terminals)

    @explained
    async def wait(
        ctx: AnyContext,
        target: Running,
        until: Annotated[
            Until,
            Field(description="exit: it ends; match: it prints pattern; idle: no output for idle_s; needs_input."),
        ] = "exit",
        pattern: Annotated[
            str | None, Field(description="Regular expression (RE2) for until match, case-sensitive.", max_length=1000)
        ] = None,
        idle_s: Annotated[float, Field(ge=0.1, le=LONGEST_WAIT_S, description="Silence for until idle.")] = 2.0,
        timeout_s: Annotated[
            float, Field(ge=0, le=LONGEST_WAIT_S, description=f"Most seconds, up to {LONGEST_WAIT_S:g}; call again.")
        ] = _WAIT_S,
    ) -> Annotated[CallToolResult, schemas.WaitOutput]:
        async with progress(ctx) as tell:
            waited = await terminals.wait(
                target, until, timeout_s=timeout_s, pattern=pattern, idle_s=idle_s, glimpse=tell
            )
        return waited_answer(waited)

    @explained
    async def read(
        target: OutputName,
        offset: Annotated[int | None, Field(description="First byte; negative counts from the end.")] = None,
        limit: Limit = 20_000,
        line: Annotated[
            int | None,
            Field(description="First line (1 is the first) instead of offset; negative counts from the end."),
        ] = None,
        count: Annotated[int, Field(ge=1, le=10_000, description="How many lines, with line.")] = 100,
    ) -> Annotated[CallToolResult, schemas.ReadOutput]:
        if line is not None and offset is not None:
            raise InvalidRequest("give offset or line, not both")
        if line is not None:
            piece = await terminals.read_lines(target, first=line, count=count, limit=limit)
        else:
            piece = await terminals.read(target, offset=offset or 0, limit=limit)
        data = data_of(piece)
        data["next_offset"] = data.pop("next")
        return answer(piece_text(piece), data)

    @explained
    async def search_output(
        target: OutputName,
        pattern: Annotated[
            str, Field(description="Regular expression (RE2), in any case.", min_length=1, max_length=1000)
        ],
        offset: Annotated[int, Field(ge=0, description="Where to begin, in bytes.")] = 0,
    ) -> Annotated[CallToolResult, schemas.SearchOutput]:
        found = await terminals.search(target, pattern, offset=offset)
        data = {
            "matches": [data_of(match) for match in found.matches],
            "literal": found.literal,
            "next_offset": found.next,
            "size": found.size,
        }
        return answer(found_text(found), data)

    @explained
    async def write(
        target: Running,
        text: Annotated[str, Field(description="What to type. A line ends with \\n.")],
        enter: Annotated[bool, Field(description="Press Enter after it.")] = False,
    ) -> Annotated[CallToolResult, schemas.TypedOutput]:
        typed = f"{text}\r" if enter else text
        command_id = await terminals.write(target, typed)
        return answer(
            f"[typed {len(typed)} characters for {command_id}; use wait or screen to see what it does]",
            {"command_id": command_id, "typed": len(typed)},
        )

    @explained
    async def send_keys(
        target: Running,
        keys: Annotated[
            list[str],
            Field(description='Keys by name: "enter", "ctrl-c", "up", "f5", "alt-x", or one character.', min_length=1),
        ],
    ) -> Annotated[CallToolResult, schemas.TypedOutput]:
        command_id = await terminals.press(target, keys)
        return answer(
            f"[pressed {len(keys)} keys for {command_id}; use wait or screen to see what it does]",
            {"command_id": command_id, "typed": len(keys)},
        )

    @explained
    async def screen(
        terminal_id: Terminal,
        format: Annotated[  # noqa: A002 - what models call it
            Literal["text", "image"], Field(description="image: a PNG, with colours.")
        ] = "text",
    ) -> Annotated[CallToolResult, schemas.ScreenOutput]:
        shown = await terminals.screen(terminal_id, picture=format == "image")
        data = data_of(shown)
        png = data.pop("png")
        pictures = [ImageContent(data=base64.b64encode(png).decode(), mime_type="image/png")] if png else []
        return answer(screen_text(shown), data, *pictures)

    @explained
    async def list_terminals(
        ctx: AnyContext,
        session: Session = None,
        all_sessions: Annotated[bool, Field(description="Those of other sessions, too.")] = False,
    ) -> Annotated[CallToolResult, schemas.ListOutput]:
        found = await terminals.listed(None if all_sessions else session_of(ctx, session))
        return answer(terminals_text(found), {"terminals": [data_of(each) for each in found]})

    @explained
    async def open_terminal(
        ctx: AnyContext,
        cwd: Annotated[str | None, Field(description="Directory to begin in. Default: where the session is.")] = None,
        shell: Shell = None,
        name: Annotated[str | None, Field(description="A name for people who watch.", max_length=100)] = None,
        env: Env = None,
        cols: Annotated[int | None, Field(ge=1, le=4096)] = None,
        rows: Annotated[int | None, Field(ge=1, le=4096)] = None,
        session: Session = None,
        sandbox: Sandbox = None,
    ) -> Annotated[CallToolResult, schemas.TerminalOutput]:
        opened = await terminals.open(
            session=session_of(ctx, session),
            cwd=cwd,
            shell=shell,
            name=name,
            env=env,
            cols=cols,
            rows=rows,
            sandbox=sandbox,
        )
        return answer(opened_text(opened), data_of(opened))

    @explained
    async def kill(
        target: Annotated[
            str,
            Field(
                description="A command (c_…): ends it and everything it started. A terminal (t_…): closes it.",
                min_length=1,
            ),
        ],
    ) -> Annotated[CallToolResult, schemas.KillOutput]:
        result = await terminals.kill(target)
        if result is None:
            return answer(
                f"[terminal {target} is closed, and everything that ran in it has ended]",
                {"target": target, "state": "closed", "exit_code": None},
            )
        done = await command_answer(result, terminals)
        data = {"target": target, "state": result.state.value, "exit_code": result.exit_code}
        return done.model_copy(update={"structured_content": data})

    @explained
    async def check(
        ctx: AnyContext, command: Command, cwd: Cwd = None, shell: Shell = None, session: Session = None
    ) -> Annotated[CallToolResult, schemas.CheckOutput]:
        decision = await terminals.check(command, cwd=cwd, shell=shell, session=session_of(ctx, session))
        reasons = "; ".join(decision["reasons"]) or "it only looks at things"
        says = {"allow": "it runs without a question", "ask": "a person is asked first", "block": "it is refused"}
        return answer(
            f"{decision['decision']} ({decision['level']}): {says[decision['decision']]}\n{reasons}", decision
        )

    return [
        _tool(
            run,
            "run",
            "Run a command in a real terminal and return its output and exact exit code. The session keeps its "
            "directory between commands. Interactive programs, servers and REPLs work: the result then says running or "
            "needs_input, with the ids for wait, write, send_keys, screen and kill.",
            ACTS,
        ),
        _tool(
            start,
            "start",
            "Start a command and return at once: for servers, watchers and long builds. Follow it with wait and read.",
            ACTS,
        ),
        _tool(
            wait,
            "wait",
            "Wait for a command: its end, a text it prints, silence, or a question. Use this instead of polling.",
            READS,
        ),
        _tool(
            read,
            "read",
            "Read the complete output of a command, while it runs and after its end, in pages of bytes or lines.",
            READS,
        ),
        _tool(search_output, "search_output", "Find lines of a command's complete output, with their numbers.", READS),
        _tool(
            write,
            "write",
            "Type text for the program that runs in a terminal: an answer to its question, a line for a REPL. Shell "
            "commands go through run.",
            ACTS,
        ),
        _tool(
            send_keys,
            "send_keys",
            "Press keys for the program that runs: arrows, Enter, Ctrl-C. No Enter is added.",
            ACTS,
        ),
        _tool(screen, "screen", "Look at the screen of a terminal: for full-screen programs and menus.", READS),
        _tool(list_terminals, "list", "List the open terminals and what runs in them.", READS),
        _tool(
            open_terminal,
            "open",
            "Open a terminal of your own, which nothing else uses. run needs none: it finds or opens one by itself.",
            OPENS,
        ),
        _tool(kill, "kill", "End a command with everything it started, or close a terminal.", KILLS),
        _tool(
            check,
            "check",
            "Say what the policy makes of a command (allow, ask, block) and why, without running it.",
            READS,
        ),
    ]


def _tool(function: Any, name: str, description: str, annotations: ToolAnnotations) -> Tool:
    tool = Tool.from_function(function, name=name, description=description, annotations=annotations)
    return strict(tool)


def strict(tool: Tool, parameters: dict[str, Any] | None = None) -> Tool:
    """Make a tool refuse arguments that it does not have, and say so in its schema."""
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    if parameters is None:
        properties = {name: _plain(each) for name, each in tool.parameters["properties"].items()}
        required = tool.parameters.get("required", [])
        parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return tool.model_copy(update={"parameters": parameters})


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an argument without what models need not read: its title, and that null means left out."""
    kinds = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    plain = {name: value for name, value in schema.items() if name != "title"}
    if len(kinds) != 1:
        return plain
    del plain["anyOf"]
    if plain.get("default", "") is None:
        del plain["default"]
    return {**kinds[0], **plain}
