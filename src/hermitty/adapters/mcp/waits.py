"""Waiting for something of a command (its end, a text, silence, a question), and telling how far it is meanwhile."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator

from hermitty.adapters.mcp.terminals import Glimpse, Reason, Until, Waited
from hermitty.errors import CommandNotFound, InvalidRequest, NotSupported
from hermitty.model import CommandResult, State
from hermitty.runtime.api import Command, Runtime
from hermitty.runtime.commands import Known
from hermitty.runtime.outputs import wait_for_text

# How often a call that waits is told how far the command is.
_GLIMPSE_S = 0.25
_LAST_BYTES = 4096
_LAST_CHARACTERS = 200


async def wait_for(
    runtime: Runtime,
    known: Known,
    until: Until,
    *,
    timeout_s: float,
    pattern: str | None = None,
    idle_s: float = 2.0,
) -> Waited:
    """Wait, and say why the wait is over. The end of the command ends every wait, a question every one but `match`."""
    if until == "match" and not pattern:
        raise InvalidRequest("until is match: give the pattern to wait for")
    handle = known.handle
    if not isinstance(handle, Command) or known.terminal is None:
        if until not in ("exit", "idle"):
            raise NotSupported("this command has no terminal; wait until exit, and read its output")
        return _reached(await handle.wait(timeout_s))
    match until:
        case "match":
            return await _until_match(runtime, handle, known.terminal, pattern or "", timeout_s)
        case "idle":
            return await _until_idle(handle, idle_s, timeout_s)
        case "exit" | "needs_input":
            return _reached(await handle.wait(timeout_s))


def glimpse_of(runtime: Runtime, command_id: str) -> Glimpse | None:
    """Return how far a command is; None as long as it has not started."""
    try:
        handle = runtime.command(command_id).handle
    except CommandNotFound:
        return None
    if not isinstance(handle, Command):
        return Glimpse(0, "")
    end = handle.output_to or 0
    text = handle.output(max(0, end - _LAST_BYTES)).text.rstrip()
    return Glimpse(end - (handle.output_from or 0), text.rpartition("\n")[2].strip()[-_LAST_CHARACTERS:])


@contextlib.contextmanager
def glimpsing(runtime: Runtime, command_id: str, tell: Callable[[Glimpse | None], None] | None) -> Iterator[None]:
    """Tell how far a command is, now and then, as long as the context is open."""
    if tell is None:
        yield
        return
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer
        tell(glimpse_of(runtime, command_id))
        timer = loop.call_later(_GLIMPSE_S, look)

    timer = loop.call_later(_GLIMPSE_S, look)
    try:
        yield
    finally:
        timer.cancel()


def _reached(result: CommandResult) -> Waited:
    reason: Reason = "exit" if result.state.is_final else "timeout"
    return Waited(result, "needs_input" if result.state is State.NEEDS_INPUT else reason)


async def _until_match(runtime: Runtime, command: Command, terminal_id: str, pattern: str, timeout_s: float) -> Waited:
    found = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            found = await wait_for_text(runtime, command, terminal_id, pattern)
    if found is not None:
        return Waited(command.result(), "match", found)
    # It ended, or the time is over; what it asks for meanwhile is told.
    return _reached(await command.wait(0))


async def _until_idle(command: Command, idle_s: float, timeout_s: float) -> Waited:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while True:
        seen = command.output_to
        left_s = deadline - loop.time()
        result = await command.wait(max(0.0, min(idle_s, left_s)))
        if result.state is not State.RUNNING:
            return _reached(result)
        if left_s <= idle_s:
            return Waited(result, "timeout")
        if command.output_to == seen:
            return Waited(result, "idle")
