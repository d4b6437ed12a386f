"""The agent of a node: serves the terminals of its durable host to one gateway at a time.

It holds no state: when it is killed, another one goes on with the same host, and when its gateway is, the next gateway
finds everything as it was left.
"""

import asyncio
import contextlib
import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from hermitty.cluster.node import NodeFiles, machine_size
from hermitty.cluster.session import Session, busy
from hermitty.errors import HostUnavailable
from hermitty.host.client import HostClient
from hermitty.host.control import host_status
from hermitty.host.daemon import DaemonOptions
from hermitty.host.starter import connect
from hermitty.pty import processes
from hermitty.version import __version__
from hermitty.wire.nodelink import messages as m

# A host of a cluster waits long for the next gateway: nobody may be there to see a gap.
HOST_OPTIONS = DaemonOptions(grace_s=120.0, adopt_s=120.0)
# So many connections may be there that have not proved anything, or only look.
_MOST_CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How an agent serves."""

    state: Path
    secret: bytes
    name: str
    lease_s: float = 12.0  # a gateway that is silent for so long is gone
    host: DaemonOptions = HOST_OPTIONS
    tls: ssl.SSLContext | None = None


class Agent:
    """Listens, and knows who has the terminals."""

    def __init__(self, options: AgentOptions) -> None:
        self._options = options
        self._files = NodeFiles(options.state)
        self._key = self._files.key()
        self._sessions: set[Session] = set()
        self._holder: Session | None = None
        self._turn = asyncio.Lock()
        self._server: asyncio.Server | None = None
        self.secret = options.secret
        self.lease_s = options.lease_s

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Begin to take connections; return where."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Session(self), host, port, ssl=self._options.tls)
        address = self._server.sockets[0].getsockname()
        return str(address[0]), int(address[1])

    async def listen_unix(self, path: str) -> None:
        """Begin to take connections at a local socket, which somebody may forward."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: Session(self), path)
        os.chmod(path, 0o600)

    async def aclose(self) -> None:
        """End every connection; terminals go on."""
        if self._server is not None:
            self._server.close()
        for session in list(self._sessions):
            session.abort()
        for session in list(self._sessions):
            await session.ended.wait()

    def joined(self, session: Session) -> None:
        """Note a new connection."""
        self._sessions.add(session)
        if len(self._sessions) > _MOST_CONNECTIONS:
            session.abort()

    def left(self, session: Session) -> None:
        """Note that one is over."""
        self._sessions.discard(session)
        if self._holder is session:
            self._holder = None

    async def lease(self, session: Session, gateway: str) -> HostClient:
        """Give a gateway the terminals: one that comes again takes the place of its old connection."""
        async with self._turn:
            if (holder := self._holder) is not None:
                if holder.peer_gateway != gateway:
                    raise busy(gateway, holder.peer_gateway)
                holder.abort()
                await holder.ended.wait()
            self._holder = session
            try:
                return await connect(self._options.state, options=self._options.host)
            except BaseException:
                self._holder = None
                raise

    def welcome(self, client: HostClient, programs: dict[str, str]) -> m.Welcome:
        """Describe the node."""
        return m.Welcome(
            self._key,
            self._options.name,
            client.incarnation,
            client.environment(),
            programs,
            processes.ticks_now(),
            self.is_draining(),
            *machine_size(),
        )

    async def report(self, request: int) -> m.NodeReport:
        """Tell how the node is."""
        status = None
        with contextlib.suppress(HostUnavailable):
            status = await asyncio.to_thread(host_status, self._options.state)
        terminals = () if status is None else status.report.terminals
        return m.NodeReport(
            request,
            self._key,
            self._options.name,
            __version__,
            "" if status is None else status.welcome.incarnation,
            "" if self._holder is None else self._holder.gateway,
            self.is_draining(),
            len(terminals),
            sum(terminal.output_bytes for terminal in terminals),
            None if status is None else status.report.memory_bytes,
        )

    def drain(self, *, on: bool) -> None:
        """Say whether the node shall be left alone; that outlives this process."""
        self._files.drain(on=on)
        if self._holder is not None and self._holder.gateway:
            self._holder.send(m.DrainChanged(on))

    def is_draining(self) -> bool:
        """Tell whether the node shall get no new terminals."""
        return self._files.is_draining()
