"""For those who write agents of version 2, a draft: run a command, and let the client show its terminal.

    reporter = DraftReporter(connection.send_notification, runtime)
    done = await reporter.run(session_id, "pytest -q", cwd=cwd)
    await reporter.cancel(session_id, terminal_id)          # when the client asks for terminal/cancel

The command runs here, by the runtime's policy. The client is told in this order: the tool call with its terminal, the
terminal, its output, its end, the end of the tool call. The Python SDK has no types for this version: messages are
made as the schema of the TypeScript SDK 2.4.0 has them.
"""

import asyncio
import base64
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermitty.adapters.acp import faults
from hermitty.adapters.acp.showing import (
    WAITING_BYTES,
    Feed,
    Reported,
    line_of,
    new_call_id,
    new_terminal_id,
    run_to_its_end,
)
from hermitty.adapters.acp.terminals import Exit, exit_of
from hermitty.errors import CommandEnded, CommandNotFound, HermittyError
from hermitty.model import new_command_id
from hermitty.runtime.api import Runtime

# Sends a notification: a method and its parameters.
Notify = Callable[[str, dict[str, Any]], Awaitable[None]]

_CHUNK_BYTES = 256 * 1024


@dataclass(slots=True, eq=False)
class _Running:
    """A command whose terminal the client may cancel."""

    session_id: str
    command_id: str
    killing: set["asyncio.Task[None]"] = field(default_factory=set)


class DraftReporter:
    """Runs commands for one connection of version 2."""

    def __init__(self, notify: Notify, runtime: Runtime) -> None:
        self._notify = notify
        self._runtime = runtime
        self._running: dict[str, _Running] = {}

    async def run(
        self,
        session_id: str,
        command: str | Sequence[str],
        *,
        cwd: str,
        title: str | None = None,
        tool_call_id: str | None = None,
    ) -> Reported:
        """Run a line of the shell, or a program with its arguments, to its end. Cancelling kills it."""
        line = line_of(command)
        terminal_id = new_terminal_id()
        tell = _Teller(self._notify, session_id, tool_call_id or new_call_id(), terminal_id)
        await tell.call(
            title=title or line,
            kind="execute",
            status="in_progress",
            rawInput={"command": command if isinstance(command, str) else list(command), "cwd": cwd},
            content=[{"type": "terminal", "terminalId": terminal_id}],
        )
        await tell.terminal(command=line, cwd=cwd, capabilities={"cancel": {}})
        running = self._running[terminal_id] = _Running(session_id, new_command_id())
        kept = _Kept(tell)
        feed = Feed(kept.take, kept.send)
        try:
            result = await run_to_its_end(
                self._runtime,
                command,
                cwd=cwd,
                session_id=session_id,
                on_output=feed.output,
                command_id=running.command_id,
            )
            await feed.close()
        except HermittyError as exc:
            await feed.close()
            await tell.terminal(exitStatus={}, capabilities=None)
            text = {"type": "content", "content": {"type": "text", "text": str(exc)}}
            await tell.call(status="failed", content=[text])
            raise
        except asyncio.CancelledError:
            await asyncio.shield(_cancelled(tell, feed))
            raise
        finally:
            del self._running[terminal_id]
            if running.killing:
                await asyncio.wait(running.killing)
        ended = exit_of(result)
        await tell.terminal(exitStatus=_status(ended), capabilities=None)
        await tell.call(status="completed" if ended.code == 0 else "failed")
        return Reported("draft", ended, result.text, result.truncated)

    async def cancel(self, session_id: str, terminal_id: str) -> dict[str, Any]:
        """Answer `terminal/cancel`: the command is about to be killed; its terminal tells when it has ended.

        Raises the protocol's error for a terminal that is unknown, of another session, or over.
        """
        running = self._running.get(terminal_id)
        if running is None or running.session_id != session_id:
            raise faults.invalid(f"terminal {terminal_id[:200]!r} cannot be cancelled: it is over, or there is none")
        task = asyncio.get_running_loop().create_task(self._kill(running.command_id))
        running.killing.add(task)
        return {}

    async def _kill(self, command_id: str) -> None:
        # It may have ended meanwhile, or not have begun: it waits for a person then.
        with contextlib.suppress(CommandEnded, CommandNotFound):
            await self._runtime.command(command_id).handle.kill()


class _Teller:
    """Tells the client of one tool call and its terminal."""

    def __init__(self, notify: Notify, session_id: str, call_id: str, terminal_id: str) -> None:
        self._notify = notify
        self._session_id = session_id
        self._call_id = call_id
        self._terminal_id = terminal_id

    async def call(self, **fields: Any) -> None:
        await self._update("tool_call_update", toolCallId=self._call_id, **fields)

    async def terminal(self, **fields: Any) -> None:
        await self._update("terminal_update", terminalId=self._terminal_id, **fields)

    async def chunk(self, data: bytes) -> None:
        await self._update("terminal_output_chunk", terminalId=self._terminal_id, data=_base64(data))

    async def snapshot(self, data: bytes) -> None:
        await self.terminal(output={"data": _base64(data)})

    async def _update(self, name: str, /, **fields: Any) -> None:
        update = {"sessionUpdate": name, **fields}
        await self._notify("session/update", {"sessionId": self._session_id, "update": update})


class _Kept:
    """Output that is still to be sent, as bytes. Where some was dropped, a snapshot takes the place of a chunk."""

    def __init__(self, tell: _Teller) -> None:
        self._tell = tell
        self._waiting = bytearray()
        self._has_gap = False

    def take(self, data: bytes) -> None:
        self._waiting += data
        if len(self._waiting) > WAITING_BYTES:
            del self._waiting[: len(self._waiting) - WAITING_BYTES // 2]
            self._has_gap = True

    async def send(self) -> None:
        while self._waiting:
            has_gap, self._has_gap = self._has_gap, False
            size = len(self._waiting) if has_gap else _CHUNK_BYTES
            data = bytes(self._waiting[:size])
            del self._waiting[:size]
            await (self._tell.snapshot(data) if has_gap else self._tell.chunk(data))


async def _cancelled(tell: _Teller, feed: Feed) -> None:
    await feed.close()
    await tell.terminal(exitStatus={}, capabilities=None)
    await tell.call(status="cancelled")


def _status(ended: Exit) -> dict[str, Any]:
    if ended.signal is not None:
        return {"signal": ended.signal}
    return {} if ended.code is None else {"exitCode": ended.code}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
