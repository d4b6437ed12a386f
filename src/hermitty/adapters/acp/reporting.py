"""For those who write agents: run a command, and let the client show it in the best way that it can.

    reporter = CommandReporter(conn, runtime, client_capabilities)
    done = await reporter.run(session_id, "pytest -q", cwd=cwd)

A client that asked for it (`_meta.terminal_output`) gets the output as it comes, in a terminal that it only shows; the
command runs here. Otherwise a client that has terminals runs the command itself, if that is wanted. All others get the
text when the command is over.
"""

import asyncio
import codecs
from collections.abc import Sequence
from typing import Any, Literal

from acp.helpers import text_block, tool_content, tool_terminal_ref
from acp.interfaces import Client
from acp.schema import ClientCapabilities, ToolCallProgress, ToolCallStart

from hermitty.adapters.acp.showing import (
    WAITING_BYTES,
    Feed,
    Reported,
    Way,
    line_of,
    new_call_id,
    new_terminal_id,
    run_to_its_end,
)
from hermitty.adapters.acp.tail import TailText
from hermitty.adapters.acp.terminals import Exit, exit_of
from hermitty.errors import HermittyError
from hermitty.runtime.api import Runtime

__all__ = ["CommandReporter", "Reported", "Way", "way_for"]


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
        raw_input = {"command": command, "cwd": cwd}
        call = _Call(self._client, session_id, tool_call_id or new_call_id(), title or line_of(command), raw_input)
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
        terminal_id = new_terminal_id()
        await call.begin(
            content=[tool_terminal_ref(terminal_id)], meta={"terminal_info": {"terminal_id": terminal_id, "cwd": cwd}}
        )
        kept = _Kept(call, terminal_id)
        feed = Feed(kept.take, kept.send)
        try:
            result = await run_to_its_end(self._runtime, command, cwd=cwd, session_id=session_id, on_output=feed.output)
        finally:
            kept.finish()
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
        result = await run_to_its_end(self._runtime, command, cwd=cwd, session_id=session_id)
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


class _Kept:
    """Output that is still to be sent, as text."""

    def __init__(self, call: _Call, terminal_id: str) -> None:
        self._call = call
        self._terminal_id = terminal_id
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = TailText(WAITING_BYTES)

    def take(self, data: bytes) -> None:
        self._waiting.append(self._decoder.decode(data))

    def finish(self) -> None:
        """Nothing more comes: half a character stays half."""
        self._waiting.append(self._decoder.decode(b"", final=True))

    async def send(self) -> None:
        while True:
            waiting, self._waiting = self._waiting, TailText(WAITING_BYTES)
            text = waiting.text()
            if waiting.is_truncated:
                text = f"\n[{waiting.total_bytes - len(text.encode())} bytes came too fast to be shown]\n{text}"
            if not text:
                return
            await self._call.change(meta={"terminal_output": {"terminal_id": self._terminal_id, "data": text}})


def _status(ended: Exit) -> Literal["completed", "failed"]:
    return "completed" if ended.code == 0 else "failed"
