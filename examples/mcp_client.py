"""Start `hermitty mcp` as an agent would, run a command, answer a program, be asked: python examples/mcp_client.py"""

import asyncio
import os
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, ElicitResult, TextContent


async def ask_a_person(context: object, params: Any) -> ElicitResult:
    """Show what a person would see, and say yes for this time."""
    print(params.message.splitlines()[2].strip(), "-> allow_once")
    return ElicitResult(action="accept", content={"answer": "allow_once"})


def show(result: CallToolResult) -> None:
    first = result.content[0]
    print(first.text if isinstance(first, TextContent) else first)


async def main() -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "hermitty.cli.main", "mcp"], env=dict(os.environ), cwd=os.getcwd()
    )
    async with Client(stdio_client(server), elicitation_callback=ask_a_person) as client:
        show(await client.call_tool("run", {"command": "echo hello; ls /nowhere"}))

        await client.call_tool("run", {"command": "touch example-file"})  # changes something: a person is asked

        started = await client.call_tool("run", {"command": "cat", "yield_s": 0})
        assert started.structured_content is not None
        command = started.structured_content["id"]
        await client.call_tool("write", {"target": command, "text": "typed by an agent", "enter": True})
        show(await client.call_tool("wait", {"target": command, "until": "match", "pattern": "agent"}))
        await client.call_tool("send_keys", {"target": command, "keys": ["ctrl-d"]})
        show(await client.call_tool("wait", {"target": command}))


if __name__ == "__main__":
    asyncio.run(main())
