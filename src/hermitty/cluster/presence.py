"""Whether a node is there: its agent is found, reached, and reached again, for as long as somebody wants it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Protocol

from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.link import LinkTimes, NodeLink
from hermitty.errors import HermittyError, HostUnavailable
from hermitty.wire.nodelink import messages as m

# How often a node that cannot be reached is looked for: soon at first.
_FIRST_TRY_S = 0.05
_LAST_TRY_S = 1.0


class NodeState(Enum):
    """How a gateway sees a node."""

    CONNECTING = "connecting"  # it has never been reached
    LIVE = "live"
    UNREACHABLE = "unreachable"  # its terminals wait
    LOST = "lost"  # and are given up


class Dependent(Protocol):
    """Who needs the node."""

    def on_event(self, event: m.Event) -> None:
        """Take what the node tells by itself."""

    async def resume(self, link: NodeLink, welcome: m.Welcome) -> None:
        """Go on with a new connection, before anybody else uses it."""

    def on_cut(self, why: str) -> None:
        """Note that the connection is gone."""

    def on_given_up(self, reason: str) -> None:
        """Note that the node is lost."""

    def on_change(self) -> None:
        """Note that the state is another one."""


class Presence:
    """The connection to a node. `link` is there while it is, also while things are being resumed."""

    def __init__(
        self,
        name: str,
        find: Callable[[], Awaitable[Endpoint]],
        dependent: Dependent,
        *,
        gateway: str,
        programs: tuple[str, ...],
        times: LinkTimes,
    ) -> None:
        self.name = name
        self.times = times
        self.programs = programs
        self.state = NodeState.CONNECTING
        self.problem = ""  # why it cannot be reached
        self.link: NodeLink | None = None
        self._find = find
        self._dependent = dependent
        self._gateway = gateway
        self._is_ready = asyncio.Event()
        self._is_stopped = False
        self._latest: NodeLink | None = None  # the connection, or what should become one
        self._task: asyncio.Task[None] | None = None
        self._giving_up: asyncio.TimerHandle | None = None

    @property
    def is_live(self) -> bool:
        """Tell whether the node can be asked for something now."""
        return self._is_ready.is_set()

    def look(self) -> None:
        """Begin to look for the node."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._stay_connected())

    async def ready(self) -> NodeLink:
        """Wait for the connection. Raises HostUnavailable when it does not come."""
        if not self._is_ready.is_set() and not self._is_stopped:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.times.ready_s):
                    await self._is_ready.wait()
        if self.link is None or not self._is_ready.is_set() or self._is_stopped:
            raise HostUnavailable(f"node {self.name} cannot be reached: {self.problem or 'it does not answer'}")
        return self.link

    async def settled(self) -> None:
        """Wait until it is known whether the connection that there was is still one."""
        while (link := self.link) is not None and not link.is_up:
            await link.known_gone()

    def give_up(self, reason: str) -> None:
        """Count the node as lost. It is looked for all the same."""
        self._stop_timer()
        if self.state is not NodeState.LOST and not self._is_ready.is_set():
            self._change(NodeState.LOST, reason)
            self._dependent.on_given_up(reason)

    def stop(self) -> None:
        """Stop looking. The connection, if there is one, is given to nobody any more."""
        self._is_stopped = True
        self._stop_timer()
        if self._task is not None:
            self._task.cancel()

    def close(self) -> None:
        """Stop looking, and end the connection."""
        self.stop()
        if self.link is not None:
            self.link.close()

    async def closed(self) -> None:
        """Wait until nothing is left of it."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        if self._latest is not None:
            await self._latest.ended()
        self.link = None

    async def _stay_connected(self) -> None:
        delay_s = _FIRST_TRY_S
        while True:
            link = NodeLink(self.name, "gateway", self._gateway, self.programs, self._dependent.on_event)
            self._latest = link
            try:
                await self._connect(link)
            except (HermittyError, OSError) as error:
                link.abort(str(error))
                if self.link is link:
                    self._cut(str(error))
                self.problem = str(error)
                if self.state is NodeState.CONNECTING:
                    self._dependent.on_change()
                await asyncio.sleep(delay_s)
                delay_s = min(delay_s * 2, _LAST_TRY_S)
                continue
            except BaseException:
                link.abort("nobody needs it")
                raise
            delay_s = _FIRST_TRY_S
            await link.gone.wait()
            self._cut(link.why)

    async def _connect(self, link: NodeLink) -> None:
        welcome = await link.greet(await self._find(), self.times)
        assert welcome is not None
        self.link = link
        await self._dependent.resume(link, welcome)
        if not link.is_up:
            raise HostUnavailable(link.why)
        self._stop_timer()
        link.on_draining = self._dependent.on_change
        self._is_ready.set()
        self._change(NodeState.LIVE, "")

    def _cut(self, why: str) -> None:
        self.link = None
        self._is_ready.clear()
        self._dependent.on_cut(why)
        if self.state is NodeState.LIVE:
            loop, limit_s = asyncio.get_running_loop(), self.times.lost_s
            self._giving_up = loop.call_later(limit_s, self.give_up, f"out of reach for {limit_s:g} s")
            self._change(NodeState.UNREACHABLE, why)

    def _change(self, state: NodeState, problem: str) -> None:
        self.problem = problem
        if self.state is not state:
            self.state = state
            self._dependent.on_change()

    def _stop_timer(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
