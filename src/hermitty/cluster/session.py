"""One connection of an agent: who it is, and the terminals of the node for a gateway.

A gateway has the terminals for as long as its connection lives: each has a connection of its own to the durable host,
which ends with it. So nothing is kept here that the next gateway would need.
"""

import asyncio
import contextlib
import os
import secrets
import shutil
from collections.abc import Coroutine
from functools import partial
from typing import Any, Protocol

from hermitty.cluster.lease import Lease
from hermitty.errors import HermittyError, HostBusy, HostMismatch, HostUnavailable
from hermitty.host.client import HostClient
from hermitty.pty import processes
from hermitty.version import __version__
from hermitty.wire.hostlink.frames import failure
from hermitty.wire.nodelink import messages as m
from hermitty.wire.nodelink.frames import MAX_FRAME, Decoder, encode
from hermitty.wire.nodelink.proofs import NONCE_BYTES, is_proof, proof

# So long may somebody take to prove who he is.
_GREETING_S = 10.0
_LATE_S = 0.05
# What the transport may hold before terminals wait.
_HIGH_WATER = 256 * 1024


class Keeper(Protocol):
    """The agent."""

    secret: bytes
    lease_s: float

    def joined(self, session: "Session") -> None:
        """Note a new connection."""

    def left(self, session: "Session") -> None:
        """Note that one is over."""

    async def lease(self, session: "Session", gateway: str) -> HostClient:
        """Give a gateway the terminals. Raises HostBusy when another one has them."""

    def welcome(self, client: HostClient, programs: dict[str, str]) -> m.Welcome:
        """Describe the node."""

    async def report(self, request: int) -> m.NodeReport:
        """Tell how the node is."""

    def drain(self, *, on: bool) -> None:
        """Say whether the node shall be left alone."""

    def is_draining(self) -> bool:
        """Tell whether the node shall get no new terminals."""


class Session(asyncio.Protocol):
    """A gateway, or somebody who only looks."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._decoder = Decoder()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._hello: m.Hello | None = None
        self._nonce = secrets.token_hex(NONCE_BYTES)
        self._is_proved = False
        self._lease: Lease | None = None  # of a gateway
        self._tasks: set[asyncio.Task[None]] = set()
        self._ending: asyncio.Task[None] | None = None
        self._heard_at = self._loop.time()
        self._looking: asyncio.TimerHandle | None = self._loop.call_later(_GREETING_S, self._look_alive)
        self.is_full = False
        self.gone = asyncio.Event()
        self.ended = asyncio.Event()  # the terminals are free for the next one

    @property
    def gateway(self) -> str:
        """Return who has the terminals, or nothing."""
        return self._hello.gateway if self._hello is not None and self._lease is not None else ""

    @property
    def peer_gateway(self) -> str:
        """Return who is here, or comes."""
        return self._hello.gateway if self._hello is not None else ""

    # The transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the greeting."""
        # The loop may be of another make, whose transports are of another class.
        self._transport = transport  # type: ignore[assignment]
        assert self._transport is not None
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)
        self._keeper.joined(self)

    def data_received(self, data: bytes) -> None:
        """Do what was said, in order."""
        self._heard_at = self._loop.time()
        self._decoder.add(data)
        while (
            self._transport is not None
            and not self._transport.is_closing()
            and (message := self._decoder.next()) is not None
        ):
            try:
                self._take(message)
            except (HermittyError, OSError):
                self.abort()  # nobody who speaks our language says this

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of everything."""
        self._transport = None
        self.gone.set()
        if self._looking is not None:
            self._looking.cancel()
        self._ending = self._loop.create_task(self._end())

    def pause_writing(self) -> None:
        """Stop sending; what comes stays in the rings."""
        self.is_full = True

    def resume_writing(self) -> None:
        """Go on, each terminal in its turn."""
        self.is_full = False
        if self._lease is not None:
            self._lease.go_on()

    def send(self, message: m.Message) -> None:
        """Say something. What is said to nobody is lost."""
        if self._transport is not None:
            self._transport.write(encode(message))

    def abort(self) -> None:
        """End the connection now."""
        if self._transport is not None:
            self._transport.abort()

    async def _end(self) -> None:
        try:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._lease is not None:
                await self._lease.end()
        finally:
            self._lease = None
            self.ended.set()
            self._keeper.left(self)

    def _look_alive(self, *, is_late: bool = False) -> None:
        """End a connection whose other end is silent: a gateway that is gone must not keep the terminals."""
        limit_s = self._keeper.lease_s if self._is_proved else _GREETING_S
        silent_s = self._loop.time() - self._heard_at
        if silent_s < limit_s:
            self._looking = self._loop.call_later(limit_s - silent_s, self._look_alive)
        elif not is_late:
            # It may be this process that was busy: what waits in the socket is read first.
            self._looking = self._loop.call_later(_LATE_S, partial(self._look_alive, is_late=True))
        else:
            self._looking = None
            self.abort()

    # What is said.

    def _take(self, message: m.Message) -> None:
        # Keys come first.
        if isinstance(message, m.Told) and self._lease is not None:
            self._lease.tell(message)
        elif isinstance(message, m.Request) and self._is_proved:
            self._ask(message)
        elif isinstance(message, m.ToldProcess) and self._lease is not None:
            self._lease.tell_process(message)
        elif isinstance(message, m.Hello) and self._hello is None:
            self._greet(message)
        elif isinstance(message, m.Proof) and self._hello is not None and not self._is_proved:
            self._proved(message)
        else:
            self.abort()

    def _greet(self, hello: m.Hello) -> None:
        self._hello = hello
        mine = proof(self._keeper.secret, "agent", hello.nonce, self._nonce)
        self.send(m.Challenge(m.VERSION, __version__, self._nonce, mine))

    def _proved(self, given: m.Proof) -> None:
        assert self._hello is not None
        if not is_proof(given.proof, self._keeper.secret, "gateway", self._hello.nonce, self._nonce):
            self._refuse(HostUnavailable("the secret of the node is another one"))
            return
        if self._hello.role == "gateway" and self._hello.version != m.VERSION:
            told = f"the agent speaks version {m.VERSION}, the gateway version {self._hello.version}"
            self._refuse(HostMismatch(f"{told}; run the same hermitty on every node"))
            return
        self._is_proved = True
        self._decoder.limit = MAX_FRAME
        if self._looking is not None:
            self._looking.cancel()
        self._look_alive()  # by the lease from now on
        if self._hello.role == "gateway":
            self._run(self._admit(self._hello))

    def _refuse(self, error: HermittyError) -> None:
        self.send(m.Refused(error.code, error.message))
        if self._transport is not None:
            self._transport.close()

    async def _admit(self, hello: m.Hello) -> None:
        try:
            client = await self._keeper.lease(self, hello.gateway)
        except HermittyError as error:
            self._refuse(error)
            return
        if self._transport is None:
            await client.leave()
            return
        self._lease = lease = Lease(client, self)
        programs = {name: path for name in hello.programs if (path := shutil.which(name)) is not None}
        self.send(self._keeper.welcome(client, programs))
        self._run(self._watch(lease))

    async def _watch(self, lease: Lease) -> None:
        """Tell when the host of the terminals has ended."""
        reason = await lease.host_is_gone()
        if reason is not None:
            self.send(m.HostGone(reason))
            if self._transport is not None:
                self._transport.close()

    def _ask(self, request: m.Request) -> None:
        if isinstance(request, m.Ping):
            self.send(m.Pong(request.request, processes.ticks_now(), self._keeper.is_draining()))
        elif isinstance(request, m.Drain):
            self._keeper.drain(on=request.draining)
            self.send(m.Done(request.request))
        elif isinstance(request, m.Status):
            self._run(self._answer(request.request, self._keeper.report(request.request)))
        elif self._lease is None:
            self.abort()
        else:
            self._run(self._answer(request.request, self._lease.answer(request)))

    async def _answer(self, number: int, work: Coroutine[Any, Any, m.Answer | None]) -> None:
        try:
            answer = await work
        except HermittyError as error:
            self.send(failure(number, error, tuple(getattr(error, "known", ()))))
        except (OSError, ValueError, OverflowError) as error:
            self.send(failure(number, HostUnavailable(f"it failed at the node: {error}")))
        else:
            if answer is not None:
                self.send(answer)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def busy(gateway: str, other: str) -> HostBusy:
    """Return the error for a gateway that comes while another one is there."""
    return HostBusy(
        f"gateway {other} has the terminals of this node; {gateway or 'another one'} may come when it is gone"
    )


def node_name() -> str:
    """Return what people call this machine."""
    with contextlib.suppress(OSError):
        return os.uname().nodename
    return "node"
