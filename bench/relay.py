"""The bare relay: bash on a PTY, and every byte of it to every viewer. The least that a server of terminals does.

Whatever a wake-up finds, up to 64 KB, becomes one WebSocket frame, which is built once and written to every transport.
There is no log, no screen, no login and no flow control. Run as a process of its own (`python -m bench.relay`); it
prints its port. `/ws/terminal/NAME` is the terminal of that name, started for its first viewer.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import cast

from bench.floor import end_child, spawn_on_pty
from bench.websockets import BINARY, CLOSE, Frames, accept_answer, server_frame

_TURN_BYTES = 64 * 1024
_PREFIX = "/ws/terminal/"


class RelayedPty:
    """One shell and those who watch it."""

    def __init__(self) -> None:
        self.viewers: set[asyncio.Transport] = set()
        self._pid, self._master = spawn_on_pty(["bash", "-i"])
        self._loop = asyncio.get_running_loop()
        os.set_blocking(self._master, False)
        self._loop.add_reader(self._master, self._readable)

    def write(self, data: bytes) -> None:
        """Type."""
        os.write(self._master, data)

    def close(self) -> None:
        """Kill the shell."""
        self._loop.remove_reader(self._master)
        end_child(self._pid, self._master)

    def _readable(self) -> None:
        parts: list[bytes] = []
        room = _TURN_BYTES
        while room > 0:
            try:
                data = os.read(self._master, room)
            except OSError:  # nothing more for now, or the shell has ended
                break
            parts.append(data)
            room -= len(data)
        if not parts:
            self._loop.remove_reader(self._master)
            return
        frame = server_frame(BINARY, b"".join(parts))
        for viewer in self.viewers:
            viewer.write(frame)


class RelayProtocol(asyncio.Protocol):
    """The connection of one viewer."""

    def __init__(self, find: Callable[[str], RelayedPty]) -> None:
        self._find = find
        self._request = b""
        self._frames = Frames()
        self._pty: RelayedPty | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._pty is not None:
            self._pty.viewers.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        if self._pty is None:
            self._request += data
            if b"\r\n\r\n" not in self._request:
                return
            data = self._upgrade()
        assert self._pty is not None
        for kind, payload in self._frames.feed(data):
            if kind == BINARY:
                self._pty.write(payload)
            elif kind == CLOSE:
                self._transport.close()

    def _upgrade(self) -> bytes:
        head, _, rest = self._request.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(b":") for line in lines)}
        path = first.split()[1].decode()
        self._transport.write(accept_answer(headers[b"sec-websocket-key"]))
        self._pty = self._find(path.removeprefix(_PREFIX))
        self._pty.viewers.add(self._transport)
        return rest


async def _serve() -> None:
    ptys: dict[str, RelayedPty] = {}

    def find(name: str) -> RelayedPty:
        if name not in ptys:
            ptys[name] = RelayedPty()
        return ptys[name]

    loop = asyncio.get_running_loop()
    enough = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, enough.set)
    server = await loop.create_server(lambda: RelayProtocol(find), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await enough.wait()
    server.close()
    for each in ptys.values():
        each.close()


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Make the fast event loop, where it is installed: the one that hermitty's server takes, too."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _main() -> int:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve())
    return 0


if __name__ == "__main__":
    sys.exit(_main())
