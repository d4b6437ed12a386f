"""Where the agent of a node can be reached, and what must be known to use it."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from hermitty.cluster.tunnel import Tunnel, dig


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A TCP address, a local socket that somebody may have forwarded, or a command that is the connection.

    The secret is never shown. An agent that a command starts is told it first, and has no other.
    """

    host: str = ""
    port: int = 0
    unix: str = ""
    command: tuple[str, ...] = ()
    secret: bytes = field(default=b"", repr=False)
    authority: str = ""  # a file with the certificates that are believed: the connection is encrypted

    @property
    def address(self) -> str:
        """Return it for people."""
        return " ".join(self.command) or self.unix or f"{self.host}:{self.port}"


async def reach(endpoint: Endpoint, make: Callable[[], asyncio.Protocol]) -> Tunnel | None:
    """Connect; return the process of the connection, if it has one. Raises OSError when nobody is there."""
    loop = asyncio.get_running_loop()
    if endpoint.command:
        return await dig(endpoint.command, endpoint.secret.hex().encode() + b"\n", make)
    if endpoint.unix:
        await loop.create_unix_connection(make, endpoint.unix)
        return None
    context = None
    if endpoint.authority:
        context = ssl.create_default_context(cafile=endpoint.authority)
        # Nodes come and go with their addresses. That it is the right one is proved with the secret.
        context.check_hostname = False
    await loop.create_connection(make, endpoint.host, endpoint.port, ssl=context)
    return None
