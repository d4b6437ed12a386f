"""For those who write agents: run a command, and let the client show it in the best way that it can.

    reporter = CommandReporter(conn, runtime, client_capabilities)
    done = await reporter.run(session_id, "pytest -q", cwd=cwd)

A client that asked for it (`_meta.terminal_output`) gets the output as it comes, in a terminal that it only shows; the
command runs here. Otherwise a client that has terminals runs the command itself, if that is wanted. All others get the
text when the command is over.
"""

import asyncio
import codecs
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from acp.helpers import text_block, tool_content, tool_terminal_ref
from acp.interfaces import Client
from acp.schema import ClientCapabilities, ToolCallProgress, ToolCallStart

from hermitty.adapters.acp.tail import TailText
from hermitty.adapters.acp.terminals import Exit, exit_of
from hermitty.errors import HermittyError
from hermitty.runtime.api import Runtime

Way = Literal["display", "client", "text"]

# Output that a slow client has not taken yet; older output is dropped, and the text says so.
_WAITING_BYTES = 1024 * 1024
_FOR_EVER_S = 1e9


@dataclass(frozen=True, slots=True)
class Reported:
    """What became of a command: how it ended, and what a model should read of its output."""

    way: Way | Literal["draft"]
    exit: Exit
    text: str
    truncated: bool = False


def way_for(capabilities: ClientCapabilities | None, *, client_runs: bool = True) -> Way:
    """Choose how a command is run and shown. `client_runs`: the client may run it, if it shows nothing of ours."""
    meta = capabilities.field_meta if capabilities is not None else None
    if isinstance(meta, dict) and meta.get("terminal_output") is True:
        return "display"
    return "client" if client_runs and capabilities is not None and capabilities.terminal else "text"


class CommandReporter:
    """Runs commands for one connection. Where they run here, the runtime's policy decides about them."""

    def __init__(
        self,
        client: Client,
        runtime: Runtime,
        capabilities: ClientCapabilities | None,
        *,
        client_runs: bool = True,
        output_byte_limit: int = 1024 * 1024,
    ) -> None:
        self.way = way_for(capabilities, client_runs=client_runs)
        self._client = client
        self._runtime = runtime
        self._limit = output_byte_limit

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
        line = command if isinstance(command, str) else shlex.join(command)
        call_id = tool_call_id or f"call_{secrets.token_hex(8)}"
        call = _Call(self._client, session_id, call_id, title or line, {"command": command, "cwd": cwd})
        try:
            match self.way:
                case "display":
                    return await self._displayed(call, session_id, command, cwd)
                case "client":
                    return await self._by_client(call, session_id, command, cwd)
                case "text":
                    return await self._told(call, session_id, command, cwd)
        except HermittyError as exc:
            await call.change(status="failed", content=[tool_content(text_block(str(exc)))])
            raise
        except asyncio.CancelledError:
            await asyncio.shield(call.change(status="failed"))
            raise

    async def _displayed(self, call: "_Call", session_id: str, command: str | Sequence[str], cwd: str) -> Reported:
        terminal_id = f"term_{secrets.token_hex(16)}"
        await call.begin(
            content=[tool_terminal_ref(terminal_id)], meta={"terminal_info": {"terminal_id": terminal_id, "cwd": cwd}}
        )
        feed = _Feed(call, terminal_id)
        try:
            result = await self._runtime.run(
                command,
                cwd=cwd,
                session=session_id,
                provider="pipe",
                wait_s=_FOR_EVER_S,
                on_output=feed.output,
                merged=True,
            )
        finally:
            await feed.close()
        ended = exit_of(result)
        told = {"terminal_id": terminal_id, "exit_code": ended.code, "signal": ended.signal}
        await call.change(status=_status(ended), meta={"terminal_exit": told})
        return Reported("display", ended, result.text, result.truncated)

    async def _by_client(self, call: "_Call", session_id: str, command: str | Sequence[str], cwd: str) -> Reported:
        words = [command] if isinstance(command, str) else list(command)
        created = await self._client.create_terminal(
            session_id=session_id, command=words[0], args=words[1:] or None, cwd=cwd, output_byte_limit=self._limit
        )
        at = {"session_id": session_id, "terminal_id": created.terminal_id}
        try:
            await call.begin(content=[tool_terminal_ref(created.terminal_id)])
            ended = await self._client.wait_for_terminal_exit(**at)
            output = await self._client.terminal_output(**at)
        finally:
            await asyncio.shield(self._client.release_terminal(**at))
        how = Exit(ended.exit_code, ended.signal)
        await call.change(status=_status(how))
        return Reported("client", how, output.output, output.truncated)

    async def _told(self, call: "_Call", session_id: str, command: str | Sequence[str], cwd: str) -> Reported:
        await call.begin()
        result = await self._runtime.run(
            command, cwd=cwd, session=session_id, provider="pipe", wait_s=_FOR_EVER_S, merged=True
        )
        ended = exit_of(result)
        await call.change(status=_status(ended), content=[tool_content(text_block(result.text))])
        return Reported("text", ended, result.text, result.truncated)


class _Call:
    """One tool call, told to the client."""

    def __init__(self, client: Client, session_id: str, call_id: str, title: str, raw_input: dict[str, Any]) -> None:
        self._client = client
        self._session_id = session_id
        self._id = call_id
        self._title = title
        self._raw_input = raw_input
        self._has_begun = False

    async def begin(self, *, content: list[Any] | None = None, meta: dict[str, Any] | None = None) -> None:
        self._has_begun = True
        await self._client.session_update(
            self._session_id,
            ToolCallStart(
                session_update="tool_call",
                tool_call_id=self._id,
                title=self._title,
                kind="execute",
                status="in_progress",
                content=content,
                raw_input=self._raw_input,
                field_meta=meta,
            ),
        )

    async def change(
        self,
        *,
        status: Literal["completed", "failed"] | None = None,
        content: list[Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        if not self._has_begun:
            await self.begin()
        await self._client.session_update(
            self._session_id,
            ToolCallProgress(
                session_update="tool_call_update",
                tool_call_id=self._id,
                status=status,
                content=content,
                field_meta=meta,
            ),
        )


class _Feed:
    """Sends output as fast as the client takes it, in order, in as few messages as that needs."""

    def __init__(self, call: _Call, terminal_id: str) -> None:
        self._call = call
        self._terminal_id = terminal_id
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = TailText(_WAITING_BYTES)
        self._more = asyncio.Event()
        self._is_over = False
        self._task = asyncio.get_running_loop().create_task(self._send())

    def output(self, stream: object, data: bytes) -> None:
        """Take output."""
        self._waiting.append(self._decoder.decode(data))
        self._more.set()

    async def close(self) -> None:
        """Send the rest."""
        self._waiting.append(self._decoder.decode(b"", final=True))
        self._is_over = True
        self._more.set()
        await self._task

    async def _send(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            waiting, self._waiting = self._waiting, TailText(_WAITING_BYTES)
            text = waiting.text()
            if waiting.is_truncated:
                text = f"\n[{waiting.total_bytes - len(text.encode())} bytes came too fast to be shown]\n{text}"
            if text:
                told = {"terminal_id": self._terminal_id, "data": text}
                await self._call.change(meta={"terminal_output": told})
            elif self._is_over:
                return
            if self._is_over:
                self._more.set()


def _status(ended: Exit) -> Literal["completed", "failed"]:
    return "completed" if ended.code == 0 else "failed"
