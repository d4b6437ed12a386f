"""What the adapters for agent frameworks share: which tools there are, their schemas, and what a model reads.

The tools are those of `hermitty.runtime.tools`, and two more to follow what goes on in a terminal. Nothing here waits,
and no tool changes a rule, a setting or a decision.
"""

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, cast

from hermitty.adapters.mcp.typing_into import check_text
from hermitty.errors import HermittyError, InvalidRequest, NotSupported, ToolNotFound
from hermitty.model import CommandResult, State
from hermitty.runtime.tools import TOOLS, Parameter, Tool, ToolCall, ToolResult
from hermitty.wire.records import result_to_dict

if TYPE_CHECKING:
    from hermitty.runtime.api import Command, Runtime

# No call of a tool waits for longer, whatever the model asks for.
LONGEST_WAIT_S = 600.0
_MOST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool says: text for the model, the same as data, and whether it could not be done.

    `data` is the `CommandResult` where a command ran. A command that fails is no error: its exit code says so.
    """

    text: str
    data: dict[str, Any]
    is_error: bool = False
    command: CommandResult | None = None


def reply_of(result: ToolResult) -> Reply:
    """Make a reply of what a tool returned."""
    data = result.data if result.command is None else result_to_dict(result.command)
    return Reply(sendable(result.text), clean(data), command=result.command)


def reply_of_error(error: HermittyError) -> Reply:
    """Make a reply of what could not be done."""
    return Reply(
        f"[not done: {sendable(str(error))}]", {"error": {"code": error.code, "message": clean(str(error))}}, True
    )


def reply_of_command(result: CommandResult) -> Reply:
    """Make a reply of where a command stands."""
    end = "" if not result.text or result.text.endswith("\n") else "\n"
    notes = "\n".join(f"[{note}]" for note in (standing(result), *result.warnings))
    return Reply(sendable(f"{result.text}{end}{notes}"), clean(result_to_dict(result)), command=result)


def standing(result: CommandResult) -> str:
    """Say in a few words where a command stands."""
    match result.state:
        case State.DONE:
            return f"exit code {'not known' if result.exit_code is None else result.exit_code}"
        case State.RUNNING:
            return f"`{_shown(result.command)}` is still running in terminal {result.terminal}"
        case State.NEEDS_INPUT:
            asked = result.needs_input.prompt.strip() if result.needs_input is not None else ""
            return f"`{_shown(result.command)}` waits for input in terminal {result.terminal}: {asked!r}"
        case _:
            return result.state.value


# Following what goes on in a persistent terminal.


async def _wait_persistent_command(runtime: "Runtime", call: ToolCall) -> ToolResult:
    command = _last_command(runtime, call)
    wait_s = call.arguments.get("wait_s", runtime.settings.tools.wait_persistent_s)
    return _told(await command.wait(min(max(0.0, wait_s), LONGEST_WAIT_S)))


async def _type_into_persistent_terminal(runtime: "Runtime", call: ToolCall) -> ToolResult:
    command = _last_command(runtime, call)
    if not command.is_running:
        terminal = call.arguments["persistent_terminal_id"]
        raise InvalidRequest(
            f"nothing runs in terminal {terminal}, so nothing reads what is typed; use run_persistent_command"
        )
    text = call.arguments["text"]
    # Shells and line editors take a carriage return for Enter.
    typed = text if text and check_text(text) else f"{text.removesuffix(chr(10))}\r"
    sent = cast("Any", command).write(typed)
    if inspect.isawaitable(sent):  # to a server
        await sent
    return _told(await command.wait(runtime.settings.tools.wait_persistent_s))


def _last_command(runtime: "Runtime", call: ToolCall) -> "Command":
    terminal = call.arguments["persistent_terminal_id"]
    command = runtime.last_command(terminal)
    if command is None:
        raise InvalidRequest(f"no command has run in terminal {terminal} yet; use run_persistent_command")
    return command


def _told(result: CommandResult) -> ToolResult:
    reply = reply_of_command(result)
    return ToolResult(reply.text, reply.data, result)


_TERMINAL = Parameter("persistent_terminal_id", "The id that open_persistent_terminal returned.")

FOLLOWING: tuple[Tool, ...] = (
    Tool(
        "wait_persistent_command",
        "Wait for the command that runs in a persistent terminal, and return its output so far, or all of it and the "
        "exit code once it has ended.",
        (
            _TERMINAL,
            Parameter("wait_s", "Seconds to wait at most. Default: half a minute.", "number", required=False),
        ),
        _wait_persistent_command,
    ),
    Tool(
        "type_into_persistent_terminal",
        "Type a line for the program that runs in a persistent terminal and asks for input; Enter is pressed after it. "
        "Shell commands go through run_persistent_command.",
        (_TERMINAL, Parameter("text", "What to type, without the line end.")),
        _type_into_persistent_terminal,
    ),
)

TERMINAL_TOOLS: dict[str, Tool] = {**TOOLS, **{tool.name: tool for tool in FOLLOWING}}


def find_tool(name: str) -> Tool:
    """Return a tool by its name, or raise ToolNotFound."""
    if name not in TERMINAL_TOOLS:
        raise ToolNotFound(name[:_MOST_SHOWN], list(TERMINAL_TOOLS))
    return TERMINAL_TOOLS[name]


def chosen_tools(names: Sequence[str] | None) -> list[Tool]:
    """Return the tools of these names, in this order; None means all."""
    return list(TERMINAL_TOOLS.values()) if names is None else [find_tool(name) for name in names]


def strict_schema(tool: Tool) -> dict[str, Any]:
    """Return the arguments of a tool as OpenAI's strict mode wants them: all required, the optional ones nullable."""
    schema = tool.schema()
    optional = {each.name for each in tool.parameters if not each.required}
    properties = {
        name: {**each, "type": [each["type"], "null"]} if name in optional else each
        for name, each in schema["properties"].items()
    }
    return {**schema, "properties": properties, "required": list(properties)}


def parsed_arguments(arguments: Mapping[str, Any] | str | None) -> dict[str, Any]:
    """Return the arguments of a call, which some APIs send as JSON text, or raise InvalidRequest."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as exc:
            raise InvalidRequest(f"the arguments are not JSON: {exc}") from exc
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise InvalidRequest("the arguments must be a JSON object")
    return {str(name): value for name, value in arguments.items()}


def missing(extra: str, exc: ModuleNotFoundError, *packages: str) -> NoReturn:
    """Raise what helps when the packages of an extra are not installed; any other missing module stays what it is."""
    if (exc.name or "").partition(".")[0] not in packages:
        raise exc
    raise NotSupported(f"hermitty.adapters needs {packages[0]} for this: pip install 'hermitty[{extra}]'") from exc


def sendable(text: str) -> str:
    """Return text that is UTF-8: bytes that were none become replacement characters."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def clean(value: Any) -> Any:
    """Return plain values whose texts are UTF-8."""
    match value:
        case str():
            return sendable(value)
        case dict():
            return {name: clean(each) for name, each in value.items()}
        case list() | tuple():
            return [clean(each) for each in value]
    return value


def _shown(line: str) -> str:
    return line if len(line) <= _MOST_SHOWN else f"{line[: _MOST_SHOWN - 1]}…"
