"""Where the agent of a node can be reached, and what must be known to use it."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A TCP address, or a local socket that somebody may have forwarded. The secret is never shown."""

    host: str = ""
    port: int = 0
    unix: str = ""
    secret: bytes = field(default=b"", repr=False)
    authority: str = ""  # a file with the certificates that are believed: the connection is encrypted

    @property
    def address(self) -> str:
        """Return it for people."""
        return self.unix or f"{self.host}:{self.port}"


async def reach(endpoint: Endpoint, make: Callable[[], asyncio.Protocol]) -> None:
    """Connect. Raises OSError when nobody is there."""
    loop = asyncio.get_running_loop()
    if endpoint.unix:
        await loop.create_unix_connection(make, endpoint.unix)
        return
    context = None
    if endpoint.authority:
        context = ssl.create_default_context(cafile=endpoint.authority)
        # Nodes come and go with their addresses. That it is the right one is proved with the secret.
        context.check_hostname = False
    await loop.create_connection(make, endpoint.host, endpoint.port, ssl=context)
