"""JSON-RPC messages as lines of bytes, within bounds.

A line that is no JSON object is noise (an agent that prints where it must not): it is counted and left out. One that is
too long is the end of the connection, because nobody can tell any more what was asked or answered.
"""

import asyncio
import json
from typing import Any, NoReturn

from hermitty.errors import TooLarge

# What the TypeScript SDK takes.
MAX_FRAME_BYTES = 32 * 1024 * 1024
_READ_BYTES = 64 * 1024
_NOISE_BYTES = 2048


class FrameTransport:
    """Moves messages over a pair of streams. It is a transport of the SDK."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, max_frame_bytes: int = MAX_FRAME_BYTES
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._max_frame_bytes = max_frame_bytes
        self._splitter = LineSplitter(max_frame_bytes)
        self._lines: list[bytes] = []
        self._at_end = False
        self.noise_lines = 0
        self.noise = b""  # the beginning of it

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message; a slow reader makes this wait. Raises TooLarge, and sends nothing then."""
        data = encode(message)
        if len(data) > self._max_frame_bytes:
            raise TooLarge("a message", self._max_frame_bytes)
        self._writer.write(data)
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, or None at the end. Raises TooLarge."""
        while True:
            while self._lines:
                line = self._lines.pop()
                message = decode(line)
                if message is not None:
                    return message
                if line.strip():
                    self.noise_lines += 1
                    self.noise = (self.noise + line + b"\n")[:_NOISE_BYTES]
            if self._at_end:
                return None
            data = await self._reader.read(_READ_BYTES)
            self._at_end = not data
            lines = self._splitter.feed(data) if data else self._splitter.finish()
            self._lines = lines[::-1]

    async def close(self) -> None:
        """Close the way out; the other side sees the end of its input."""
        self._writer.close()


class LineSplitter:
    """Cuts a stream into lines."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes, and return the lines that they complete. Raises TooLarge for one beyond the limit."""
        first, newline, rest = data.partition(b"\n")
        self._rest += first
        lines: list[bytes] = []
        while newline:
            self._check()
            lines.append(bytes(self._rest))
            first, newline, rest = rest.partition(b"\n")
            self._rest = bytearray(first)
        self._check()
        return lines

    def finish(self) -> list[bytes]:
        """Return the last line, if no newline ended it."""
        rest, self._rest = bytes(self._rest), bytearray()
        return [rest] if rest else []

    def _check(self) -> None:
        if len(self._rest) > self._limit_bytes:
            raise TooLarge("a message of the agent", self._limit_bytes)


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as one line."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Half a character, as in the arguments of a process, is no UTF-8.
    return text.encode("utf-8", "replace") + b"\n"


def decode(line: bytes) -> dict[str, Any] | None:
    """Return the object in a line, or None if there is none."""
    try:
        message = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
