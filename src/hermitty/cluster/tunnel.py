"""A connection through a process, such as `ssh`: its standard input and output are the connection.

It is over when the process has ended. What it started may live on, and hold what the process had open: a proxy, or a
connection that `ssh` keeps for later. That is not waited for.
"""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Sequence

_MOST_SAID = 4096
# More than a pipe holds: one read takes all that was said before the end.
_PIPE_BYTES = 1024 * 1024
# A process that was killed is not waited for any longer. The kernel keeps one that waits for a broken disk.
_END_S = 5.0


class Tunnel(asyncio.SubprocessProtocol):
    """The process. `over` is set when it has ended and was waited for, or was killed and does not end."""

    def __init__(self, complaints: int) -> None:
        """Begin to read what it complains about; the descriptor is ours from now on."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.SubprocessTransport | None = None
        self._complaints: int | None = complaints
        self._loop.add_reader(complaints, self._listen)
        self._said = b""
        self._patience: asyncio.TimerHandle | None = None
        self.over = asyncio.Event()
        self.on_over: Callable[[], None] | None = None

    @property
    def said(self) -> str:
        """Return the last thing that it complained about, or nothing."""
        lines = self._said.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def kill(self) -> None:
        """End it now, with the rest of its group: whoever is at the other end of it notices."""
        if self._transport is None:
            self._end()  # it has not begun
        if self._transport is None or self.over.is_set():
            return
        if self._patience is None:
            self._patience = self._loop.call_later(_END_S, self._end)
        pid = self._transport.get_pid()
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended, and the loop hears of it soon
            if os.getsid(pid) == pid:
                os.killpg(pid, signal.SIGKILL)
            else:
                self._transport.kill()

    async def end(self) -> None:
        """End it and wait until it has."""
        self.kill()
        await self.over.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the process."""
        # The loop of a server may be of another make, whose transports are of another class.
        self._transport = transport  # type: ignore[assignment]

    def process_exited(self) -> None:
        """Note that it has ended, whoever still holds what it had open."""
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that nothing is left of it."""
        self._end()

    def _listen(self) -> None:
        """Keep the last of what it complains about."""
        if self._complaints is None:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._complaints, _PIPE_BYTES)
            self._said = (self._said + data)[-_MOST_SAID:]
            if not data:
                self._stop_listening()

    def _stop_listening(self) -> None:
        if self._complaints is not None:
            self._loop.remove_reader(self._complaints)
            os.close(self._complaints)
            self._complaints = None

    def _end(self) -> None:
        if self.over.is_set():
            return
        self._listen()  # its last words
        self._stop_listening()
        if self._patience is not None:
            self._patience.cancel()
        if self._transport is not None:
            self._transport.close()
        self.over.set()
        if self.on_over is not None:
            self.on_over()


async def dig(command: Sequence[str], first: bytes, make: Callable[[], asyncio.Protocol]) -> Tunnel:
    """Start a process and make a connection of it, with something that is said first. Raises OSError."""
    loop = asyncio.get_running_loop()
    ours, its = socket.socketpair()
    try:
        ours.setblocking(False)
        with its:
            tunnel = await _start(command, its.fileno())
        try:
            await loop.sock_sendall(ours, first)
            await loop.create_connection(make, sock=ours)
        except OSError as exc:
            await tunnel.end()
            if tunnel.said:
                raise ConnectionAbortedError(tunnel.said) from exc
            raise
        except BaseException:
            tunnel.kill()
            raise
    except BaseException:
        ours.close()
        raise
    return tunnel


async def _start(command: Sequence[str], connection: int) -> Tunnel:
    complaints, its = os.pipe()
    os.set_blocking(complaints, False)
    tunnel = Tunnel(complaints)
    try:
        # A session of its own: Ctrl-C at the gateway's terminal is not meant for it.
        await asyncio.get_running_loop().subprocess_exec(
            lambda: tunnel, *command, stdin=connection, stdout=connection, stderr=its, start_new_session=True
        )
    except BaseException:
        tunnel.kill()
        raise
    finally:
        os.close(its)
    return tunnel
