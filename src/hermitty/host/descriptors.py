"""Handing descriptors from a host to its user, through a connection of its own: streams of messages cannot carry them.

A message is the number of a terminal, with the descriptors. The host sends it before it tells of it elsewhere, so that
the user finds it without waiting.
"""

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Sequence

from hermitty.version import __version__
from hermitty.wire.hostlink import messages as m
from hermitty.wire.hostlink.frames import Decoder, encode

_NUMBER = struct.Struct("!I")
_MOST_DESCRIPTORS = 8


def send_descriptors(connection: socket.socket, handle: int, descriptors: Sequence[int]) -> bool:
    """Hand descriptors over, or tell that it cannot be done now."""
    try:
        return socket.send_fds(connection, [_NUMBER.pack(handle)], list(descriptors)) == _NUMBER.size
    except OSError:
        return False


class Inbox:
    """The side of the user."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def take(self, handle: int) -> list[int]:
        """Return what was handed over for a terminal; none when it is not there. What came before it is let go."""
        while True:
            try:
                told, descriptors, _, _ = socket.recv_fds(
                    self._connection, _NUMBER.size, _MOST_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
                )
            except OSError:
                return []
            if len(told) == _NUMBER.size and _NUMBER.unpack(told)[0] == handle:
                return descriptors
            for descriptor in descriptors:
                os.close(descriptor)
            if not told:
                return []

    def close(self) -> None:
        """Let go of what was never taken, too."""
        self.take(-1)
        self._connection.close()


async def open_inbox(address: str) -> Inbox | None:
    """Connect once more to the host that this process uses. None: it does not hand over anything."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with contextlib.ExitStack() as undo:
        undo.callback(connection.close)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        decoder = Decoder()
        answers: list[m.Message] = []
        with contextlib.suppress(OSError):
            connection.connect(address)
            await loop.sock_sendall(connection, encode(m.Hello(m.VERSION, __version__, "descriptors", os.getpid(), "")))
            while not answers and (data := await loop.sock_recv(connection, 4096)):
                answers = decoder.feed(data)
        if answers and isinstance(answers[0], m.Welcome):
            undo.pop_all()
            return Inbox(connection)
    return None
