"""A connection that is this process's standard input and output, as a program has it that `ssh` starts."""

import asyncio
import os
import socket
import stat
from typing import Any

_SECRET_DIGITS = 256


def read_secret() -> bytes:
    """Read the secret that whoever started this process says first. Raises ValueError for anything else."""
    line = b""
    while not line.endswith(b"\n"):
        # One by one: what follows is not for us.
        read = os.read(0, 1)
        line += read
        if not read or len(line) > _SECRET_DIGITS:
            raise ValueError("no secret was said on the standard input")
    secret = bytes.fromhex(line.decode("ascii"))
    if not secret:
        raise ValueError("an empty secret was said on the standard input")
    return secret


async def serve_stdio(session: asyncio.Protocol) -> None:
    """Give a protocol the standard input and output as its transport."""
    loop = asyncio.get_running_loop()
    taken, given = os.fstat(0), os.fstat(1)
    if stat.S_ISSOCK(taken.st_mode) and (taken.st_dev, taken.st_ino) == (given.st_dev, given.st_ino):
        await loop.connect_accepted_socket(lambda: session, socket.socket(fileno=os.dup(0)))
        return
    duplex = Duplex(session)
    await loop.connect_write_pipe(lambda: _Writing(duplex), os.fdopen(os.dup(1), "wb", buffering=0))
    await loop.connect_read_pipe(lambda: _Reading(duplex), os.fdopen(os.dup(0), "rb", buffering=0))


class Duplex(asyncio.Transport):
    """Two pipes as one transport. The end of one is the end of both."""

    def __init__(self, session: asyncio.Protocol) -> None:
        super().__init__()
        self.session = session
        self.reading: asyncio.ReadTransport | None = None
        self.writing: asyncio.WriteTransport | None = None
        self._is_closing = False
        self._is_over = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send."""
        if self.writing is not None and not self._is_closing:
            self.writing.write(data)

    def is_closing(self) -> bool:
        """Tell whether it is over, or about to be."""
        return self._is_closing

    def close(self) -> None:
        """End it once everything was sent."""
        self._is_closing = True
        if self.writing is not None:
            self.writing.close()

    def abort(self) -> None:
        """End it now."""
        self._is_closing = True
        if self.writing is not None:
            self.writing.abort()

    def get_write_buffer_size(self) -> int:
        """Return how much waits to be sent."""
        return 0 if self.writing is None else self.writing.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Say how much may wait before the session is told."""
        if self.writing is not None:
            self.writing.set_write_buffer_limits(high, low)

    def ended(self, exc: Exception | None) -> None:
        """Let go of the other pipe, too, and tell the session once."""
        self._is_closing = True
        if self.reading is not None:
            self.reading.close()
        if not self._is_over:
            self._is_over = True
            self.session.connection_lost(exc)


class _Writing(asyncio.BaseProtocol):
    def __init__(self, duplex: Duplex) -> None:
        self._duplex = duplex

    def pause_writing(self) -> None:
        self._duplex.session.pause_writing()

    def resume_writing(self) -> None:
        self._duplex.session.resume_writing()

    def connection_made(self, transport: Any) -> None:
        self._duplex.writing = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._duplex.ended(exc)


class _Reading(asyncio.Protocol):
    def __init__(self, duplex: Duplex) -> None:
        self._duplex = duplex

    def data_received(self, data: bytes) -> None:
        self._duplex.session.data_received(data)

    def connection_made(self, transport: Any) -> None:
        self._duplex.reading = transport
        self._duplex.session.connection_made(self._duplex)

    def connection_lost(self, exc: Exception | None) -> None:
        self._duplex.abort()
