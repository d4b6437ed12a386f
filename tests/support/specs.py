"""What tests of hosts start: scripts of sh on a PTY."""

import os

from hermitty.host.base import Host, PtySpec
from hermitty.model import Size, TerminalId


async def spec_of(host: Host, script: str, name: str = "t_1") -> PtySpec:
    """A script on a PTY, with a private directory and hardly any variables."""
    terminal = TerminalId(name)
    return PtySpec(
        terminal=terminal,
        program="/bin/sh",
        args=("-c", script),
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        size=Size(cols=81, rows=25),
        directory=await host.make_directory(terminal),
    )
