"""A command that runs here for a client that only shows it: how it is run, and how its output is sent.

Both versions of the protocol report commands in this way; they differ in the messages.
"""

import asyncio
import secrets
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from hermitty.adapters.acp.terminals import Exit
from hermitty.model import CommandResult
from hermitty.runtime.api import Runtime

# Output that a slow client has not taken yet; older output is dropped, and the client is told.
WAITING_BYTES = 1024 * 1024
_FOR_EVER_S = 1e9

Way = Literal["display", "client", "text"]


@dataclass(frozen=True, slots=True)
class Reported:
    """What became of a command: how it ended, and what a model should read of its output."""

    way: Way | Literal["draft"]
    exit: Exit
    text: str
    truncated: bool = False


def line_of(command: str | Sequence[str]) -> str:
    """Return a command as a person reads it."""
    return command if isinstance(command, str) else shlex.join(command)


def new_call_id() -> str:
    """Return an id for a tool call."""
    return f"call_{secrets.token_hex(8)}"


def new_terminal_id() -> str:
    """Return an id for a terminal that a client shows."""
    return f"term_{secrets.token_hex(16)}"


async def run_to_its_end(
    runtime: Runtime,
    command: str | Sequence[str],
    *,
    cwd: str,
    session_id: str,
    on_output: Callable[[object, bytes], None] | None = None,
    command_id: str | None = None,
) -> CommandResult:
    """Run a command by the runtime's policy, however long it takes. Cancelling kills it."""
    return await runtime.run(
        command,
        cwd=cwd,
        session=session_id,
        provider="pipe",
        wait_s=_FOR_EVER_S,
        on_output=on_output,
        merged=True,
        command_id=command_id,
    )


class Feed:
    """Sends output as fast as the client takes it, in order, in as few messages as that needs.

    `take` keeps output until it is sent, within its limit; `send` sends all that is kept, also what comes meanwhile.
    """

    def __init__(self, take: Callable[[bytes], None], send: Callable[[], Awaitable[None]]) -> None:
        self._take = take
        self._send = send
        self._more = asyncio.Event()
        self._is_over = False
        self._task = asyncio.get_running_loop().create_task(self._run())

    def output(self, stream: object, data: bytes) -> None:
        """Take output."""
        self._take(data)
        self._more.set()

    async def close(self) -> None:
        """Send the rest."""
        self._is_over = True
        self._more.set()
        await self._task

    async def _run(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            await self._send()
            if self._is_over:
                return
