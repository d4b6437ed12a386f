"""Anthropic's bash tool (`bash_20250124`) on a real terminal: pip install 'hermitty[anthropic]'

    async with hermitty.open(approver=ask) as rt, AgentSession(rt) as session:
        runner = client.beta.messages.tool_runner(tools=[bash_tool(session)], model=…, max_tokens=…, messages=…)

Without the runner: give `BASH_TOOL` to `client.messages.create`, and answer its `tool_use` blocks with `tool_result`.
The conversation has one terminal, which ends with the session: the runner closes nothing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hermitty.adapters.agent_session import AgentSession
from hermitty.adapters.tooling import Reply, missing

try:
    from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool, ToolError
except ModuleNotFoundError as exc:
    missing("anthropic", exc, "anthropic")

if TYPE_CHECKING:
    from anthropic.types import ToolBash20250124Param, ToolResultBlockParam, ToolUseBlock
    from anthropic.types.beta import BetaToolBash20250124Param, BetaToolUseBlock

__all__ = ["BASH_TOOL", "AgentSession", "BashTool", "SyncBashTool", "bash_tool", "sync_bash_tool", "tool_result"]

BASH_TOOL: "ToolBash20250124Param" = {"type": "bash_20250124", "name": "bash"}


async def tool_result(session: AgentSession, block: "ToolUseBlock | BetaToolUseBlock") -> "ToolResultBlockParam":
    """Do what a `tool_use` block of the bash tool asks for, and return the `tool_result` block for it."""
    if block.name != BASH_TOOL["name"]:
        return _block(block.id, Reply(f"[not done: this is the tool bash, and not {block.name[:80]!r}]", {}, True))
    return _block(block.id, await _reply(session, block.input))


def bash_tool(session: AgentSession) -> "BashTool":
    """Make the tool for an asynchronous client's tool runner."""
    return BashTool(session)


def sync_bash_tool(session: AgentSession) -> "SyncBashTool":
    """Make the tool for the tool runner of a client without `async`."""
    return SyncBashTool(session)


class BashTool(BetaAsyncBuiltinFunctionTool):
    """The bash tool of `AsyncAnthropic().beta.messages.tool_runner`."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session

    def to_dict(self) -> "BetaToolBash20250124Param":
        """Return what the model is told."""
        return {"type": "bash_20250124", "name": "bash"}

    async def call(self, input: object) -> str:  # noqa: A002 - the SDK's name
        """Do what the model asks for."""
        return _said(await _reply(self._session, input))


class SyncBashTool(BetaBuiltinFunctionTool):
    """The bash tool of `Anthropic().beta.messages.tool_runner`."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session

    def to_dict(self) -> "BetaToolBash20250124Param":
        """Return what the model is told."""
        return {"type": "bash_20250124", "name": "bash"}

    def call(self, input: object) -> str:  # noqa: A002 - the SDK's name
        """Do what the model asks for."""
        return _said(self._session.blocking(_reply(self._session, input)))


async def _reply(session: AgentSession, given: object) -> Reply:
    values: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    if values.get("restart") is True:
        return await session.restart()
    command = values.get("command")
    if not isinstance(command, str) or not command.strip():
        return Reply("[not done: give a command, or restart: true]", {}, True)
    return await session.run(command)


def _said(reply: Reply) -> str:
    if reply.is_error:
        raise ToolError(reply.text)
    return reply.text


def _block(tool_use_id: str, reply: Reply) -> "ToolResultBlockParam":
    block: ToolResultBlockParam = {"type": "tool_result", "tool_use_id": tool_use_id, "content": reply.text}
    if reply.is_error:
        block["is_error"] = True
    return block
