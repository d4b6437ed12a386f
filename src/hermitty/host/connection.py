"""One connection of the durable host: bytes to messages, and back."""

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from hermitty.errors import HermittyError
from hermitty.host.descriptors import send_descriptors
from hermitty.host.place import is_same_user, peer_process
from hermitty.pty.processes import ProcessInfo, read_process
from hermitty.wire.hostlink import messages as m
from hermitty.wire.hostlink.frames import Decoder, encode

if TYPE_CHECKING:
    import socket

_OBSERVERS_ASK = (m.Status, m.Stop)


class Keeper(Protocol):
    """Who owns the terminals."""

    def connected(self, connection: "Connection") -> None:
        """Note a new connection."""

    def welcome(self, connection: "Connection", hello: m.Hello) -> m.Welcome | m.Refused:
        """Decide who may use the terminals."""

    def disconnected(self, connection: "Connection") -> None:
        """Note that somebody has gone."""

    def malformed(self, connection: "Connection", problem: str) -> None:
        """Note that somebody does not speak our language."""

    def tell(self, message: m.Told) -> None:
        """Do what needs no answer."""

    def ask(self, connection: "Connection", request: m.Request) -> None:
        """Answer a request."""


class Connection(asyncio.Protocol):
    """A user or an observer, as the host sees him."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._decoder = Decoder()
        self._transport: asyncio.Transport | None = None
        self._notices: dict[int, int] = {}  # output that he has not been told of
        self._is_full = False
        self._is_scheduled = False
        self._loop = asyncio.get_running_loop()
        self._courier: socket.socket | None = None
        self.hello: m.Hello | None = None
        self.peer: int | None = None  # the process at the other end, as the kernel says
        self.process: ProcessInfo | None = None  # the same, not to be taken for a later one; of users only
        self.since = time.time()
        self.said_goodbye = False
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Look who it is."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._keeper.connected(self)
        other = transport.get_extra_info("socket")
        self.peer = peer_process(other)
        if not is_same_user(other):
            self._give_up("it is run by another user")

    def data_received(self, data: bytes) -> None:
        """Do what was said, in order."""
        for message in self._decoder.feed(data):
            if self._transport is None or self._transport.is_closing():
                return
            try:
                self._take(message)
            except HermittyError as error:
                self._give_up(error.message)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end."""
        self._transport = None
        if self._courier is not None:
            self._courier.close()
            self._courier = None
        self._notices.clear()
        self.gone.set()
        self._keeper.disconnected(self)

    def pause_writing(self) -> None:
        """He does not read: what changes is told when he does. An observer is not listened to until then."""
        self._is_full = True
        if self._transport is not None and (self.hello is None or self.hello.role != "user"):
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Tell what has changed meanwhile."""
        self._is_full = False
        if self._transport is not None and not self._transport.is_reading():
            self._transport.resume_reading()
        self._tell_output()

    def send(self, message: m.Message) -> None:
        """Say something, after the output that came before it."""
        self._tell_output(even_if_full=True)
        if self._transport is not None:
            self._transport.write(encode(message))

    def notice(self, handle: int, end: int) -> None:
        """Say that a terminal has output up to `end`: the first time in a turn at once, then all others together."""
        self._notices[handle] = end
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._turn_is_over)
            self._tell_output()

    def hand_over(self, handle: int, descriptors: Sequence[int]) -> bool:
        """Give somebody who came for descriptors those of a terminal, or tell that it cannot be done now."""
        if self._transport is None:
            return False
        if self._courier is None:
            # What the loop has of the socket cannot send them.
            try:
                self._courier = self._transport.get_extra_info("socket").dup()
            except OSError:
                return False  # no descriptor is left
        return send_descriptors(self._courier, handle, descriptors)

    def close(self) -> None:
        """End it once everything was sent."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End it now."""
        if self._transport is not None:
            self._transport.abort()

    def _turn_is_over(self) -> None:
        self._is_scheduled = False
        self._tell_output()

    def _tell_output(self, *, even_if_full: bool = False) -> None:
        if self._notices and self._transport is not None and (even_if_full or not self._is_full):
            notices = b"".join(encode(m.Output(handle, end)) for handle, end in self._notices.items())
            self._notices.clear()
            self._transport.write(notices)

    def _take(self, message: m.Message) -> None:
        # Keys come first.
        if isinstance(message, m.Told) and self.hello is not None and self.hello.role == "user":
            self._keeper.tell(message)
        elif isinstance(message, m.Hello):
            self._greet(message)
        elif isinstance(message, m.Malformed):
            self._give_up(message.problem)
        elif isinstance(message, m.Request) and self.hello is not None:
            if self.hello.role == "user" or isinstance(message, _OBSERVERS_ASK):
                self._keeper.ask(self, message)
            else:
                self._give_up(f"an observer may not ask for {type(message).__name__}")
        else:
            self._give_up(f"{type(message).__name__} makes no sense here")

    def _greet(self, hello: m.Hello) -> None:
        if self.hello is not None:
            self._give_up("a second greeting")
            return
        answer = self._keeper.welcome(self, hello)
        if isinstance(answer, m.Welcome):
            self.hello = hello
            if hello.role == "user" and self.peer is not None:
                self.process = read_process(self.peer)
        self.send(answer)
        if isinstance(answer, m.Refused):
            self.close()

    def _give_up(self, problem: str) -> None:
        self._keeper.malformed(self, problem)
        self.abort()
