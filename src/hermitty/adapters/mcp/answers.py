"""What a tool answers: text for the model and the same as data, or what is wrong and what helps."""

import functools
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict
from typing import Any, ParamSpec

from mcp.types import CallToolResult, ContentBlock, TextContent

from hermitty.adapters.mcp.terminals import Terminals, Waited
from hermitty.adapters.mcp.texts import command_text, waited_text
from hermitty.adapters.tooling import clean, sendable
from hermitty.errors import CommandNotFound, HermittyError, IncompleteCommand
from hermitty.model import CommandResult, State
from hermitty.wire.records import result_to_dict

P = ParamSpec("P")


def answer(text: str, data: dict[str, Any], *more: ContentBlock) -> CallToolResult:
    """Make an answer."""
    return CallToolResult(content=[TextContent(text=sendable(text)), *more], structured_content=clean(data))


def problem(text: str) -> CallToolResult:
    """Make an answer that says what is wrong."""
    return CallToolResult(content=[TextContent(text=sendable(text))], is_error=True)


async def command_answer(result: CommandResult, terminals: Terminals) -> CallToolResult:
    """Answer with the result of a command; after a failure, with what may help."""
    failed = result.state is State.DONE and result.exit_code not in (0, None)
    return answer(command_text(result, await terminals.hints(result) if failed else ()), result_to_dict(result))


def waited_answer(waited: Waited) -> CallToolResult:
    """Answer with the end of a wait."""
    return answer(
        waited_text(waited), {**result_to_dict(waited.result), "reason": waited.reason, "match": waited.match}
    )


def data_of(value: Any) -> dict[str, Any]:
    """Return a value of ours as data."""
    return asdict(value)


def explaining(
    terminals: Terminals,
) -> Callable[[Callable[P, Awaitable[CallToolResult]]], Callable[P, Coroutine[Any, Any, CallToolResult]]]:
    """Make a tool answer with what is wrong instead of raising it, so that the model can do something about it."""

    def decorate(tool: Callable[P, Awaitable[CallToolResult]]) -> Callable[P, Coroutine[Any, Any, CallToolResult]]:
        @functools.wraps(tool)
        async def call(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
            try:
                return await tool(*args, **kwargs)
            except CommandNotFound as error:
                busy = [each.command_id for each in await terminals.listed(None) if each.command_id]
                return problem(f"{error}; running now: {', '.join(busy) or 'none'}")
            except IncompleteCommand as error:
                return problem(f"{error}. Close what is open and send the whole command again")
            except HermittyError as error:
                return problem(str(error))

        return call

    return decorate
