"""A gateway in a process of its own, to be killed: opens a terminal, and copies its output to a file."""

import asyncio
import os
import sys

from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.remote import RemoteHost
from hermitty.host.base import HostedPty, PtySpec
from hermitty.model import ExitStatus, Size, TerminalId


class Copier:
    """Writes output to a file, and acknowledges it."""

    pty: HostedPty | None = None

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)

    def glance(self, data: bytes) -> None:
        """Ignore it."""

    def on_output(self, data: bytes) -> None:
        assert os.write(self._descriptor, data) == len(data)
        assert self.pty is not None
        self.pty.acknowledge(self.pty.log.end)

    def on_exit(self, status: ExitStatus) -> None:
        """Go on until this process is killed."""

    def on_lost(self, reason: str) -> None:
        sys.exit(reason)


async def main() -> None:
    host, port, secret, path, script = sys.argv[1:]

    async def find() -> Endpoint:
        return Endpoint(host=host, port=int(port), secret=bytes.fromhex(secret))

    remote = RemoteHost("there", find, gateway="to be killed")
    remote.look()
    await remote.ready()
    terminal, sink = TerminalId("t_1"), Copier(path)
    spec = PtySpec(
        terminal=terminal,
        program="/bin/sh",
        args=("-c", script),
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        size=Size(),
        directory=await remote.make_directory(terminal),
    )
    sink.pty = await remote.open(spec, sink)
    await asyncio.Event().wait()


asyncio.run(main())
