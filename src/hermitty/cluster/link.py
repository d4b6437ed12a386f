"""The connection of a gateway to the agent of a node: proofs, requests and their answers, events in order, a pulse."""

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from hermitty.cluster.endpoint import Endpoint, reach
from hermitty.errors import HermittyError, HostUnavailable
from hermitty.version import __version__
from hermitty.wire.hostlink.frames import error_of
from hermitty.wire.hostlink.messages import Failed
from hermitty.wire.nodelink import messages as m
from hermitty.wire.nodelink.frames import MAX_FRAME, Decoder, encode
from hermitty.wire.nodelink.proofs import NONCE_BYTES, is_proof, proof

_LATE_S = 0.05

T = TypeVar("T")
AnswerT = TypeVar("AnswerT", bound=m.Answer)


@dataclass(frozen=True, slots=True)
class LinkTimes:
    """How long a gateway waits for a node."""

    ping_s: float = 2.0  # how often it is asked whether it is there
    answer_s: float = 2.0  # and how long it may take to answer, with anything at all
    greet_s: float = 10.0
    ready_s: float = 15.0  # a request waits so long for a node that is being reached
    lost_s: float = 30.0  # a node that cannot be reached for so long is lost


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that waits for its answer. What the answer means is made of it at once, before the next event."""

    answer: "asyncio.Future[Any]"
    adopt: Callable[[Any], Any]
    undo: Callable[[Any], None] | None  # for an answer that nobody waits for any more


class NodeLink(asyncio.Protocol):
    """Tells `on_event` everything that was not asked for. `gone` is set once the other end is, and says `why`."""

    def __init__(
        self, name: str, role: m.Role, gateway: str, programs: tuple[str, ...], on_event: Callable[[m.Event], None]
    ) -> None:
        self._name = name
        self._role: m.Role = role
        self._gateway = gateway
        self._programs = programs
        self._on_event = on_event
        self._decoder = Decoder()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._nonce = secrets.token_hex(NONCE_BYTES)
        self._secret = b""
        self._is_proved = False
        self._greeting: asyncio.Future[m.Welcome | None] = self._loop.create_future()
        self._asked: dict[int, _Asked] = {}
        self._last_request = 0
        self._heard_at = self._loop.time()
        self._pulse: asyncio.TimerHandle | None = None
        self._times = LinkTimes()
        self._ticks: tuple[int, float] = (0, 0.0)
        self.is_draining = False
        self.why = "the connection ended"
        self.gone = asyncio.Event()

    @property
    def is_up(self) -> bool:
        """Tell whether the other end can be talked to."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def unsent_bytes(self) -> int:
        """Return how much the kernel has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def ticks(self) -> int:
        """Return the node's idea of now, in hundredths of a second: never later than it is there."""
        ticks, at = self._ticks
        return ticks + int((self._loop.time() - at) * 100)

    async def greet(self, endpoint: Endpoint, times: LinkTimes) -> m.Welcome | None:
        """Connect and prove; an observer gets no welcome. Raises HostUnavailable with the reason."""
        self._secret, self._times = endpoint.secret, times
        try:
            async with asyncio.timeout(times.greet_s):
                await reach(endpoint, lambda: self)
                hello = m.Hello(m.VERSION, __version__, self._role, self._gateway, self._nonce, self._programs)
                self.send(hello)
                welcome = await self._greeting
        except TimeoutError as exc:
            self.abort("it does not answer")
            raise HostUnavailable(f"node {self._name} at {endpoint.address} does not answer") from exc
        except (OSError, ValueError) as exc:
            self.abort("it cannot be reached")
            reason = getattr(exc, "strerror", None) or exc
            raise HostUnavailable(f"node {self._name} at {endpoint.address} cannot be reached: {reason}") from exc
        except BaseException:
            self.abort("nobody waits for it")
            raise
        if welcome is not None:
            self._ticks = (welcome.ticks, self._loop.time())
            self.is_draining = welcome.draining
            self._pulse = self._loop.call_later(times.ping_s, self._ping)
        return welcome

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
        """Send a request; return what will be made of its answer. Raises HostUnavailable when the node is gone."""
        if not self.is_up:
            raise HostUnavailable(f"node {self._name} cannot be reached: {self.why}")
        self._last_request += 1
        number = self._last_request
        self.send(request(number))
        answer: asyncio.Future[T] = self._loop.create_future()

        def checked(given: m.Answer) -> T:
            if not isinstance(given, kind):
                raise HostUnavailable(f"node {self._name} answered with {type(given).__name__}")
            return adopt(given)

        self._asked[number] = _Asked(answer, checked, undo)
        return answer

    def abort(self, why: str) -> None:
        """End the connection now."""
        self.why = why
        if self._transport is not None:
            self._transport.abort()

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
        self._heard_at = self._loop.time()
        self._decoder.add(data)
        while self.is_up and (message := self._decoder.next()) is not None:
            if isinstance(message, m.Event) and self._is_proved:
                self._on_event(message)
            elif isinstance(message, m.Answer) and self._is_proved:
                self._answered(message)
            elif isinstance(message, m.Greeting):
                self._greeted(message)
            else:
                self.abort("it does not speak our language")

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the other end is gone, for everybody who waits for an answer."""
        self._transport = None
        if self._pulse is not None:
            self._pulse.cancel()
        if not self._greeting.done():
            self._greeting.set_exception(HostUnavailable(f"node {self._name} ended the connection: {self.why}"))
            self._greeting.exception()
        for asked in self._asked.values():
            if not asked.answer.done():
                asked.answer.set_exception(HostUnavailable(f"node {self._name} cannot be reached: {self.why}"))
                asked.answer.exception()  # whoever asked may have gone, too
        self._asked.clear()
        self.gone.set()

    def _greeted(self, message: m.Greeting) -> None:
        if self._greeting.done():
            self.abort("it greets twice")
        elif isinstance(message, m.Challenge) and not self._is_proved:
            if not is_proof(message.proof, self._secret, "agent", self._nonce, message.nonce):
                # Whoever this is, it is not the node; it is told nothing.
                self.abort("it does not know the secret of the node")
                return
            self._is_proved = True
            self._decoder.limit = MAX_FRAME
            self.send(m.Proof(proof(self._secret, "gateway", self._nonce, message.nonce)))
            if self._role == "observer":
                self._greeting.set_result(None)
        elif isinstance(message, m.Welcome) and self._is_proved:
            self._greeting.set_result(message)
        elif isinstance(message, m.Refused):
            self._greeting.set_exception(error_of(Failed(0, message.code, message.message, "", ())))
            self._greeting.exception()
        else:
            self.abort("it does not speak our language")

    def _ping(self) -> None:
        """Ask whether the node is there. Anything that it says is an answer."""
        asked_at = self._loop.time()

        def ponged(pong: m.Pong) -> None:
            self._ticks = (pong.ticks, self._loop.time())
            self.is_draining = pong.draining

        def look(*, is_late: bool = False) -> None:
            if self._heard_at < asked_at and not is_late:
                # It may be this process that was busy: what waits in the socket is read first.
                self._pulse = self._loop.call_later(_LATE_S, partial(look, is_late=True))
            elif self._heard_at < asked_at:
                self.abort(f"no answer within {self._times.answer_s:g} s")
            elif self.is_up:
                self._pulse = self._loop.call_later(max(0.0, self._times.ping_s - self._times.answer_s), self._ping)

        with contextlib.suppress(HermittyError):
            self.ask(m.Ping, m.Pong, ponged)
            self._pulse = self._loop.call_later(self._times.answer_s, look)

    def _answered(self, answer: m.Answer) -> None:
        asked = self._asked.pop(answer.request, None)
        if asked is None:
            return
        if isinstance(answer, m.Failed):
            if not asked.answer.done():
                asked.answer.set_exception(error_of(answer))
                asked.answer.exception()
            return
        try:
            made = asked.adopt(answer)
        except HermittyError as error:
            if not asked.answer.done():
                asked.answer.set_exception(error)
                asked.answer.exception()
            return
        if not asked.answer.done():
            asked.answer.set_result(made)
        elif asked.undo is not None:
            asked.undo(made)
