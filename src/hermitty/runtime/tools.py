"""The tools of the specification, as one table: names, words and schemas for the model, and what each one does.

Whoever offers them to a model (MCP, a framework, a prompt) reads this table; nobody writes a schema of their own.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hermitty.errors import InvalidRequest
from hermitty.model import CommandResult, State

if TYPE_CHECKING:
    from hermitty.runtime.runtime import Runtime

ParameterType = Literal["string", "number", "boolean"]
_PYTHON_TYPES: dict[ParameterType, tuple[type, ...]] = {"string": (str,), "number": (int, float), "boolean": (bool,)}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool."""

    name: str
    description: str
    type: ParameterType = "string"
    required: bool = True


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call whose arguments were checked."""

    arguments: Mapping[str, Any]
    session: str | None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gives back: text for the model, the same as data, and the result of the command if one ran."""

    text: str
    data: dict[str, Any]
    command: CommandResult | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. All of them can change things, so all need approval of kind `terminal`."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    handler: "Callable[[Runtime, ToolCall], Awaitable[ToolResult]]"
    approval: Literal["terminal"] = "terminal"

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": {each.name: {"type": each.type, "description": each.description} for each in self.parameters},
            "required": [each.name for each in self.parameters if each.required],
            "additionalProperties": False,
        }

    async def call(self, runtime: "Runtime", arguments: Mapping[str, Any], *, session: str | None = None) -> ToolResult:
        """Check the arguments and do it."""
        return await self.handler(runtime, ToolCall(self._checked(arguments), session))

    def _checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        known = {each.name: each for each in self.parameters}
        if not isinstance(arguments, Mapping):
            raise InvalidRequest(f"the arguments of tool {self.name} must be an object")
        for name, value in arguments.items():
            if name not in known:
                raise InvalidRequest(
                    f"tool {self.name} has no argument {name!r}; it takes {', '.join(known) or 'none'}"
                )
            wanted = known[name].type
            is_right = isinstance(value, _PYTHON_TYPES[wanted]) and (wanted == "boolean" or not isinstance(value, bool))
            if not is_right and not (value is None and not known[name].required):
                raise InvalidRequest(f"argument {name!r} of tool {self.name} must be a {wanted}")
        for each in self.parameters:
            if each.required and each.name not in arguments:
                raise InvalidRequest(f"tool {self.name} needs the argument {each.name!r}: {each.description}")
        return {name: value for name, value in arguments.items() if value is not None}


async def _run_command(runtime: "Runtime", call: ToolCall) -> ToolResult:
    result = await runtime.run_temporary(call.arguments["command"], cwd=call.arguments.get("cwd"), session=call.session)
    return _of_command(result)


async def _open_persistent_terminal(runtime: "Runtime", call: ToolCall) -> ToolResult:
    terminal = await runtime.open_terminal(cwd=call.arguments.get("cwd"), session=call.session)
    text = f"Terminal {terminal.id} is open in {terminal.cwd} ({terminal.shell})."
    return ToolResult(text, {"persistent_terminal_id": terminal.id, "cwd": terminal.cwd, "shell": terminal.shell})


async def _run_persistent_command(runtime: "Runtime", call: ToolCall) -> ToolResult:
    terminal_id = call.arguments["persistent_terminal_id"]
    wait_s = runtime.settings.tools.wait_persistent_s
    result = await runtime.run_in(terminal_id, call.arguments["command"], wait_s=wait_s, session=call.session)
    return _of_command(result)


async def _kill_persistent_terminal(runtime: "Runtime", call: ToolCall) -> ToolResult:
    terminal_id = call.arguments["persistent_terminal_id"]
    await runtime.close_terminal(terminal_id)
    return ToolResult(f"Terminal {terminal_id} is closed, and everything that ran in it has ended.", {})


def _of_command(result: CommandResult) -> ToolResult:
    reason: dict[str, Any]
    match result.state:
        case State.DONE:
            reason = {"type": "done", "exit_code": result.exit_code}
            how = f"exit code {result.exit_code}" if result.exit_code is not None else "exit code not known"
        case State.RUNNING:
            reason = {"type": "timeout"}
            how = f"still running in terminal {result.terminal}"
        case State.NEEDS_INPUT:
            asked = result.needs_input
            reason = {"type": "needs_input", "prompt": asked.prompt if asked else ""}
            how = f"waiting for input in terminal {result.terminal}"
        case State.KILLED if any(warning.startswith("killed: ") for warning in result.warnings):
            reason = {"type": "timeout", "exit_code": result.exit_code}
            how = "killed: it took too long"
        case _:
            reason = {"type": result.state.value, "exit_code": result.exit_code}
            how = result.state.value
    notes = "".join(f"\n[{warning}]" for warning in result.warnings)
    more = f"\n[the complete output is artifact {result.artifact}]" if result.artifact else ""
    data = {
        "result": result.text,
        "resolve_reason": reason,
        "terminal": result.terminal,
        "cwd": result.cwd,
        "truncated": result.truncated,
        "artifact": result.artifact,
    }
    end = "" if result.text.endswith("\n") or not result.text else "\n"
    return ToolResult(f"{result.text}{end}[{how}]{notes}{more}", data, result)


_COMMAND = Parameter("command", "The command line, as one would type it in a shell.")
_CWD = Parameter("cwd", "The directory to work in. Default: the session's own directory.", required=False)
_TERMINAL = Parameter("persistent_terminal_id", "The id that open_persistent_terminal returned.")

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "run_command",
            "Run a command in a terminal of its own, which is gone afterwards, and return its output and exit code. "
            "A command that takes longer than a minute is ended, and what it printed so far is returned: use a "
            "persistent terminal for servers, watchers and other long work, and for commands that share variables.",
            (_COMMAND, _CWD),
            _run_command,
        ),
        Tool(
            "open_persistent_terminal",
            "Open a terminal that stays: its directory, variables and running programs are kept between commands.",
            (_CWD,),
            _open_persistent_terminal,
        ),
        Tool(
            "run_persistent_command",
            "Run a command in a persistent terminal. After half a minute the output so far is returned and the "
            "command goes on in the background.",
            (_COMMAND, _TERMINAL),
            _run_persistent_command,
        ),
        Tool(
            "kill_persistent_terminal",
            "Close a persistent terminal and end everything that runs in it.",
            (_TERMINAL,),
            _kill_persistent_terminal,
        ),
    )
}
