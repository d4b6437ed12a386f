"""OpenAI: the Agents SDK's shell tools, and function tools for any client of the APIs: pip install 'hermitty[openai]'

    async with hermitty.open(approver=ask) as rt, AgentSession(rt) as session:
        agent = Agent(name="…", tools=[shell_tool(session)])

`function_schemas` and `dispatch` need no package of OpenAI's. Commands of the shell tools run in the conversation's one
terminal, whose output is one stream; `streams="separate"` runs each without a terminal, where no directory is kept.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from hermitty.adapters.agent_session import AgentSession
from hermitty.adapters.tooling import Reply, chosen_tools, find_tool, missing, strict_schema
from hermitty.model import State

if TYPE_CHECKING:
    from agents import FunctionTool, LocalShellTool, ShellTool
    from agents.tool_context import ToolContext

__all__ = ["AgentSession", "dispatch", "function_schemas", "function_tools", "local_shell_tool", "shell_tool"]

Streams = Literal["terminal", "separate"]

# What `hermitty run` exits with when a command may not run. The API takes no answer without a number.
_NOT_RUN = 126
# No process ends with this.
_NOT_KNOWN = -1


def function_schemas(
    *, api: Literal["responses", "chat"] = "responses", names: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return the tools as strict function tools, for `tools=` of the Responses or the Chat Completions API."""
    functions = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": strict_schema(tool),
            "strict": True,
        }
        for tool in chosen_tools(names)
    ]
    if api == "chat":
        return [{"type": "function", "function": each} for each in functions]
    return [{"type": "function", **each} for each in functions]


async def dispatch(session: AgentSession, name: str, arguments: str | Mapping[str, Any] | None) -> str:
    """Do what a function call of the model asks for, and return the text of its output. What is wrong is text, too."""
    return (await session.call(name, arguments)).text


def function_tools(session: AgentSession, names: Sequence[str] | None = None) -> "list[FunctionTool]":
    """Make the tools for an agent of the Agents SDK, with any model."""
    try:
        from agents import FunctionTool
    except ModuleNotFoundError as exc:
        missing("openai", exc, "agents")

    def made(name: str) -> FunctionTool:
        async def invoke(context: "ToolContext[Any]", arguments: str) -> str:
            return await dispatch(session, name, arguments)

        tool = find_tool(name)
        return FunctionTool(name, tool.description, strict_schema(tool), invoke, strict_json_schema=True)

    return [made(tool.name) for tool in chosen_tools(names)]


def shell_tool(session: AgentSession, *, streams: Streams = "terminal") -> "ShellTool":
    """Make the shell tool of an agent of the Agents SDK."""
    try:
        from agents import ShellCallOutcome, ShellCommandOutput, ShellCommandRequest, ShellResult, ShellTool
    except ModuleNotFoundError as exc:
        missing("openai", exc, "agents")

    def output_of(command: str, reply: Reply) -> ShellCommandOutput:
        result = reply.command
        if result is None or reply.is_error:
            return ShellCommandOutput("", reply.text, ShellCallOutcome("exit", _NOT_RUN), command)
        outcome = ShellCallOutcome("timeout")
        # Without a terminal, what takes too long is killed.
        if result.state.is_final and not (streams == "separate" and result.state is State.KILLED):
            code = _NOT_KNOWN if result.exit_code is None else result.exit_code
            outcome = ShellCallOutcome("exit", code)
        is_apart = streams == "separate" and result.stdout is not None
        return ShellCommandOutput(
            stdout=(result.stdout or "") if is_apart else reply.text,
            stderr=_stderr(reply) if is_apart else "",
            outcome=outcome,
            command=command,
            provider_data={"hermitty": reply.data},
        )

    async def execute(request: ShellCommandRequest) -> ShellResult:
        action = request.data.action
        wait_s = None if action.timeout_ms is None else max(0, action.timeout_ms) / 1000
        outputs: list[ShellCommandOutput] = []
        for command in action.commands:
            run = session.run if streams == "terminal" else session.run_apart
            outputs.append(output_of(command, await run(command, wait_s=wait_s)))
        return ShellResult(outputs, max_output_length=action.max_output_length)

    return ShellTool(executor=execute)


def local_shell_tool(session: AgentSession) -> "LocalShellTool":
    """Make the older shell tool, which sends a program with its arguments; each runs without a terminal."""
    try:
        from agents import LocalShellCommandRequest, LocalShellTool
    except ModuleNotFoundError as exc:
        missing("openai", exc, "agents")

    async def execute(request: LocalShellCommandRequest) -> str:
        action = request.data.action
        if action.user:
            return "[not done: commands run as the user whose terminals these are; leave user out]"
        wait_s = None if action.timeout_ms is None else max(0, action.timeout_ms) / 1000
        reply = await session.run_apart(
            list(action.command), wait_s=wait_s, cwd=action.working_directory, env=action.env or None
        )
        return reply.text

    return LocalShellTool(executor=execute)


def _stderr(reply: Reply) -> str:
    result = reply.command
    assert result is not None
    notes = list(result.warnings)
    if result.state is not State.DONE:
        notes.insert(0, result.state.value)
    return "\n".join(part for part in (result.stderr, *(f"[{note}]" for note in notes)) if part)
