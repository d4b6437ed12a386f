"""Serving one client over standard input and output.

Standard output belongs to the protocol: it moves to a descriptor of ours that no child inherits, and whatever else is
printed goes to standard error. The end of the input is the end of the client.
"""

import asyncio
import contextlib
import logging
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.mcpserver import MCPServer

# A message that is longer is a mistake, or an attack: nothing that a tool takes comes near it.
_MOST_BYTES = 16 * 1024 * 1024
_QUEUED = 64
_LAST_ANSWERS_S = 0.5

_log = logging.getLogger("hermitty.mcp")


async def serve_stdio(server: "MCPServer[Any]") -> None:
    """Serve whoever is behind standard input and output, until the input ends."""
    low_level = server._lowlevel_server
    async with client_messages() as (read_stream, write_stream):
        await low_level.run(read_stream, write_stream, low_level.create_initialization_options())


@asynccontextmanager
async def client_messages() -> AsyncIterator[
    "tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]"
]:
    """Give the messages of the client and the way back. The first stream ends with the input."""
    with _claimed() as (reads, writes):
        async with _messages(reads, writes) as streams:
            yield streams


@contextlib.contextmanager
def _claimed() -> Iterator[tuple[int, int]]:
    """Take standard input and output away from everybody else, and give them back at the end."""
    sys.stdout.flush()
    own = [os.dup(0), os.dup(1)]  # Python's are not inherited
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        yield own[0], own[1]
    finally:
        sys.stdout.flush()
        for number, each in enumerate(own):
            os.set_blocking(each, True)
            os.dup2(each, number)
            os.close(each)


@asynccontextmanager
async def _messages(
    reads: int, writes: int
) -> AsyncIterator[
    "tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]"
]:
    """Turn two descriptors into streams of messages."""
    into, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](_QUEUED)
    outgoing, out_of = anyio.create_memory_object_stream[SessionMessage](_QUEUED)

    unanswered: set[str | int | None] = set()
    answered = asyncio.Event()

    async def read() -> None:
        async with into:
            async for line in _lines(reads):
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    if isinstance(message, JSONRPCRequest):
                        unanswered.add(message.id)
                    await into.send(SessionMessage(message))
                except ValueError as exc:
                    await into.send(exc)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return
            # The end of the input cancels what is asked; what is nearly done is still answered.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_ANSWERS_S):
                    while unanswered:
                        answered.clear()
                        await answered.wait()

    async def write() -> None:
        try:
            async with out_of, _written(writes) as put:
                async for each in out_of:
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await put(f"{text}\n".encode())
                    if isinstance(each.message, JSONRPCResponse | JSONRPCError):
                        unanswered.discard(each.message.id)
                        answered.set()
        finally:
            unanswered.clear()  # nobody reads any more
            answered.set()

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(_until_gone, write)
        yield incoming, outgoing
        # Nobody asks any more; answers that wait are written.
        outgoing.close()


async def _until_gone(write: Any) -> None:
    try:
        await write()
    except (BrokenPipeError, ConnectionResetError):  # the client has left; its input ends, too
        _log.debug("the client reads no more")


async def _lines(descriptor: int) -> AsyncIterator[bytes]:
    """Yield the lines of a pipe, a socket, a terminal or a file."""
    loop = asyncio.get_running_loop()
    file = os.fdopen(os.dup(descriptor), "rb", buffering=0)
    if not _can_be_watched(descriptor):
        with file:
            for line in file.read(_MOST_BYTES).splitlines(keepends=True):
                yield line
        return
    reader = asyncio.StreamReader(limit=_MOST_BYTES)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    try:
        while True:
            try:
                line = await reader.readline()
            except ValueError:
                _log.error("a message of more than %d bytes came; leaving", _MOST_BYTES)
                return
            if not line:
                return
            if line.strip():
                yield line
    finally:
        transport.close()


@asynccontextmanager
async def _written(descriptor: int) -> AsyncIterator[Any]:
    """Give the function that writes bytes and waits until there is room for more."""
    loop = asyncio.get_running_loop()
    file = os.fdopen(os.dup(descriptor), "wb", buffering=0)
    if not _can_be_watched(descriptor):

        async def put(data: bytes) -> None:
            file.write(data)

        with file:
            yield put
        return
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, file)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)

    async def drained(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    try:
        yield drained
    finally:
        if not transport.is_closing():
            transport.close()


def _can_be_watched(descriptor: int) -> bool:
    """Tell whether an event loop can wait for it. A file is always ready, which none of them understands."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
