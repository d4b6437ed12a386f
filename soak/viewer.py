"""Somebody who watches a terminal, leaves in the midst of it and comes back with the offset they have."""

import asyncio
import contextlib
import json
import random

import aiohttp

from soak.lines import between
from soak.server import Server

_RETRY_S = 0.05
_SEARCHED = 4096


class Viewer:
    """One viewer from offset 0 on. `data` is everything from `start`; a reset, where one may come, begins it anew."""

    def __init__(
        self, http: aiohttp.ClientSession, server: Server, terminal: str, dice: random.Random, *, acks: bool = False
    ) -> None:
        self._http = http
        self._server = server
        self._terminal = terminal
        self._dice = dice
        self._acks = acks
        self.data = bytearray()
        self.start = 0
        self.pieces: list[tuple[int, bytes]] = []  # what was seen before a reset
        self.resets = 0
        self.visits = 0
        self.problems: list[str] = []

    @property
    def offset(self) -> int:
        """Return the offset of the next byte."""
        return self.start + len(self.data)

    def seen(self, begin: bytes, end: bytes) -> bytes | None:
        """Return what was seen between two lines, if nothing is missing."""
        return between(self.data, begin, end)

    async def watch(self, until: bytes) -> None:
        """Read until something was printed, over any number of visits."""
        while not self._has(until):
            await self._server.up.wait()
            try:
                await self._visit(until)
            except (aiohttp.ClientError, ConnectionError):
                await asyncio.sleep(_RETRY_S)  # it was killed, and that is noted in a moment

    async def _visit(self, until: bytes) -> None:
        leave_at = self.offset + self._dice.randrange(100_000, 2_000_000)
        url = f"{self._server.url}/ws/terminal/{self._terminal}?since={self.offset}"
        async with self._http.ws_connect(url, max_msg_size=0) as socket:
            self.visits += 1
            if not self._hello(await socket.receive()):
                return
            painted = False
            async for message in socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    painted = self._hear(json.loads(message.data), painted)
                elif message.type is aiohttp.WSMsgType.BINARY and painted:
                    painted = False
                elif message.type is aiohttp.WSMsgType.BINARY:
                    self.data += message.data
                    if self._has(until):
                        return
                    if self.offset >= leave_at:
                        return
                    if self._acks:
                        with contextlib.suppress(ConnectionError):  # the next read tells
                            await socket.send_json({"type": "ack", "offset": self.offset})

    def _hello(self, message: aiohttp.WSMessage) -> bool:
        """Hear the first message; False: it is none, because the server has just ended."""
        if message.type is not aiohttp.WSMsgType.TEXT:
            return False
        hello = json.loads(message.data)
        if hello["type"] != "hello":
            self.problems.append(f"the first message is {hello}")
        elif hello["replay"] == "snapshot":
            self._begin_anew(hello["offset"])
        elif hello["offset"] != self.offset:
            self.problems.append(f"came back with {self.offset}, and is at {hello['offset']}")
        return True

    def _hear(self, told: dict[str, object], painted: bool) -> bool:
        if told["type"] == "reset":
            offset = told["offset"]
            assert isinstance(offset, int)
            self._begin_anew(offset)
        return told["type"] == "snapshot" or painted

    def _begin_anew(self, offset: int) -> None:
        self.resets += 1
        self.pieces.append((self.start, bytes(self.data)))
        self.data.clear()
        self.start = offset

    def _has(self, until: bytes) -> bool:
        return self.data.find(until, max(0, len(self.data) - _SEARCHED - len(until))) >= 0
