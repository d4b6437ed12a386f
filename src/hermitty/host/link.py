"""The connection of a user to the durable host: requests and their answers, and events in order."""

import asyncio
import os
import socket
from collections.abc import Callable
from typing import TypeVar

from hermitty.errors import HostUnavailable
from hermitty.host.asking import Asking
from hermitty.host.place import is_same_user
from hermitty.version import __version__
from hermitty.wire.hostlink import messages as m
from hermitty.wire.hostlink.frames import Decoder, encode, error_of

T = TypeVar("T")
AnswerT = TypeVar("AnswerT", bound=m.Answer)


class Link(asyncio.Protocol):
    """Tells `on_event` everything that was not asked for, and `on_lost` once when the other end is gone."""

    def __init__(self, on_event: Callable[[m.Event], None], on_lost: Callable[[], None]) -> None:
        self._on_event = on_event
        self._on_lost = on_lost
        self._decoder = Decoder()
        self._asking = Asking()
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._greeting: asyncio.Future[m.Welcome | m.Refused] = self._loop.create_future()
        self._host = "the host of terminals"
        self.gone = asyncio.Event()

    @property
    def is_up(self) -> bool:
        """Tell whether the other end can be talked to."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def unsent_bytes(self) -> int:
        """Return how much the kernel has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    async def greet(self, connection: socket.socket, token: str) -> m.Welcome:
        """Begin. Raises what the host says when it takes no such user, and ConnectionError when it just went away."""
        if not is_same_user(connection):
            connection.close()
            raise HostUnavailable("the socket of the host is served by another user")
        await self._loop.create_unix_connection(lambda: self, sock=connection)
        self.send(m.Hello(m.VERSION, __version__, "user", os.getpid(), token))
        answer = await self._greeting
        if isinstance(answer, m.Refused):
            if answer.code == m.ENDING:
                raise ConnectionResetError(answer.message)
            raise error_of(answer)
        if answer.version != m.VERSION:
            raise HostUnavailable(f"the host answers with version {answer.version} instead of {m.VERSION}")
        self._host = f"the host of terminals (pid {answer.pid})"
        return answer

    def send(self, message: m.Message) -> None:
        """Say something. What is said to nobody is lost."""
        if self._transport is not None:
            self._transport.write(encode(message))

    def ask(
        self,
        request: Callable[[int], m.Request],
        kind: type[AnswerT],
        adopt: Callable[[AnswerT], T],
        undo: Callable[[T], None] | None = None,
    ) -> "asyncio.Future[T]":
        """Send a request; return what will be made of its answer. Raises HostUnavailable when the host is gone."""
        if not self.is_up:
            raise HostUnavailable(f"{self._host} is gone")
        return self._asking.ask(lambda number: self.send(request(number)), kind, adopt, undo)

    def close(self) -> None:
        """End the connection, once everything was sent."""
        if self._transport is not None:
            self._transport.close()

    # What the transport tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note how to reach the other end."""
        # The loop of a server may be of another make, whose transports are of another class.
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Pass on what was said, in order."""
        for message in self._decoder.feed(data):
            if isinstance(message, m.Event):
                self._on_event(message)
            elif isinstance(message, m.Failed):
                self._asking.failed(message.request, error_of(message))
            elif isinstance(message, m.Answer):
                self._asking.answered(message.request, message, self._host)
            elif isinstance(message, m.Welcome | m.Refused) and not self._greeting.done():
                self._greeting.set_result(message)
            elif self._transport is not None:
                self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the other end is gone, for everybody who waits for an answer."""
        self._transport = None
        if not self._greeting.done():
            self._greeting.set_exception(ConnectionResetError("the host ended the connection"))
            self._greeting.exception()  # perhaps nobody waits for it any more
        self._asking.end(f"{self._host} is gone")
        self.gone.set()
        self._on_lost()
