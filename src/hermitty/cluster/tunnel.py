"""A connection through a process, such as `ssh`: its standard input and output are the connection."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence

_MOST_SAID = 4096


class Tunnel(asyncio.SubprocessProtocol):
    """The process. `over` is set when it has ended and was waited for."""

    def __init__(self) -> None:
        self._transport: asyncio.SubprocessTransport | None = None
        self._said = b""
        self.over = asyncio.Event()
        self.on_over: Callable[[], None] | None = None

    @property
    def said(self) -> str:
        """Return the last thing that it complained about, or nothing."""
        lines = self._said.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def kill(self) -> None:
        """End it now: whoever is at the other end of it notices."""
        if self._transport is not None:
            with contextlib.suppress(ProcessLookupError):
                self._transport.kill()

    async def end(self) -> None:
        """End it and wait until it has."""
        self.kill()
        if self._transport is not None:
            await self.over.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the process."""
        # The loop of a server may be of another make, whose transports are of another class.
        self._transport = transport  # type: ignore[assignment]

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep the last of what it complains about."""
        self._said = (self._said + data)[-_MOST_SAID:]

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that nothing is left of it."""
        if self._transport is not None:
            self._transport.close()
        self.over.set()
        if self.on_over is not None:
            self.on_over()


async def dig(command: Sequence[str], first: bytes, make: Callable[[], asyncio.Protocol]) -> Tunnel:
    """Start a process and make a connection of it, with something that is said first. Raises OSError."""
    loop = asyncio.get_running_loop()
    ours, its = socket.socketpair()
    tunnel = Tunnel()
    try:
        ours.setblocking(False)
        with its:
            # A session of its own: Ctrl-C at the gateway's terminal is not meant for it.
            await loop.subprocess_exec(
                lambda: tunnel,
                *command,
                stdin=its.fileno(),
                stdout=its.fileno(),
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        await loop.sock_sendall(ours, first)
        await loop.create_connection(make, sock=ours)
    except OSError as exc:
        ours.close()
        await tunnel.end()
        if tunnel.said:
            raise ConnectionAbortedError(tunnel.said) from exc
        raise
    except BaseException:
        ours.close()
        tunnel.kill()
        raise
    return tunnel
