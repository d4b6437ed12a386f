"""The connection of a gateway to the agent of a node: proofs, requests and their answers, events in order, a pulse."""

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from hermitty.cluster.endpoint import Endpoint, reach
from hermitty.errors import HermittyError, HostUnavailable
from hermitty.host.asking import Asking
from hermitty.version import __version__
from hermitty.wire.hostlink.frames import error_of
from hermitty.wire.hostlink.messages import Failed
from hermitty.wire.nodelink import messages as m
from hermitty.wire.nodelink.frames import MAX_FRAME, Decoder, encode
from hermitty.wire.nodelink.proofs import NONCE_BYTES, is_proof, proof

if TYPE_CHECKING:
    from hermitty.cluster.tunnel import Tunnel

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
        self._tunnel: Tunnel | None = None
        self._nonce = secrets.token_hex(NONCE_BYTES)
        self._secret = b""
        self._is_proved = False
        self._greeting: asyncio.Future[m.Welcome | None] = self._loop.create_future()
        self._asking = Asking()
        self._heard_at = self._loop.time()
        self._asked_at = 0.0  # the first question that may have no answer
        self._pulse: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._times = LinkTimes()
        self._ticks: tuple[int, float] = (0, 0.0)
        self.is_draining = False
        self.on_draining: Callable[[], None] | None = None  # that has changed
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
                self._tunnel = await reach(endpoint, lambda: self)
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
        except HermittyError as exc:
            self.abort("it is refused")
            if self._tunnel is not None:
                await self._tunnel.end()
                if self._tunnel.said:
                    raise HostUnavailable(f"node {self._name} cannot be reached: {self._tunnel.said}") from exc
            raise
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
        return self._asking.ask(lambda number: self.send(request(number)), kind, adopt, undo)

    async def ended(self) -> None:
        """Wait until nothing is left of a connection that was ended, or was never made."""
        if self._transport is not None or self._tunnel is not None:
            await self.gone.wait()

    async def known_gone(self) -> None:
        """Wait until the other end is gone, and whoever reaches it again has been told so."""
        await self.gone.wait()
        await asyncio.sleep(0)

    def abort(self, why: str) -> None:
        """End the connection now."""
        self.why = why
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """End the connection, once everything was sent. Whoever takes nothing is not waited for."""
        if self.is_up and self._transport is not None:
            self._transport.close()
            if self._looking is not None:
                self._looking.cancel()
            self._looking = self._loop.call_later(self._times.answer_s, self.abort, "it takes nothing more")

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
            if isinstance(message, m.DrainChanged) and self._is_proved:
                self._set_draining(message.draining)
            elif isinstance(message, m.Event) and self._is_proved:
                self._on_event(message)
            elif isinstance(message, m.Failed) and self._is_proved:
                self._asking.failed(message.request, error_of(message))
            elif isinstance(message, m.Answer) and self._is_proved:
                self._asking.answered(message.request, message, f"node {self._name}")
            elif isinstance(message, m.Greeting):
                self._greeted(message)
            else:
                self.abort("it does not speak our language")

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the other end is gone, for everybody who waits for an answer."""
        self._transport = None
        for timer in (self._pulse, self._looking):
            if timer is not None:
                timer.cancel()
        if not self._greeting.done():
            self._greeting.set_exception(HostUnavailable(f"node {self._name} ended the connection: {self.why}"))
            self._greeting.exception()
        self._asking.end(f"node {self._name} cannot be reached: {self.why}")
        if self._tunnel is None or self._tunnel.over.is_set():
            self.gone.set()
        else:
            self._tunnel.on_over = self.gone.set
            self._tunnel.kill()  # it is over soon, whatever it does

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
        """Ask whether the node is there: anything that it says is an answer. It hears from us, too."""

        def ponged(pong: m.Pong) -> None:
            self._ticks = (pong.ticks, self._loop.time())
            self._set_draining(pong.draining)

        with contextlib.suppress(HermittyError):
            self.ask(m.Ping, m.Pong, ponged)
            self._pulse = self._loop.call_later(self._times.ping_s, self._ping)
            if self._looking is None or self._heard_at >= self._asked_at:
                # The first question without an answer counts, not the last.
                if self._looking is not None:
                    self._looking.cancel()
                self._asked_at = self._loop.time()
                self._looking = self._loop.call_later(self._times.answer_s, self._look)

    def _look(self, *, is_late: bool = False) -> None:
        """End a connection without an answer."""
        self._looking = None
        if self._heard_at >= self._asked_at:
            return
        if is_late:
            self.abort(f"no answer within {self._times.answer_s:g} s")
        else:
            # It may be this process that was busy: what waits in the socket is read first.
            self._looking = self._loop.call_later(_LATE_S, partial(self._look, is_late=True))

    def _set_draining(self, draining: bool) -> None:
        before, self.is_draining = self.is_draining, draining
        if before != draining and self.on_draining is not None:
            self.on_draining()
