"""A user of the durable host in a process of its own, to be killed: `python user_process.py STATE WHAT ...`.

`copy FILE`: goes on with terminal t_1, or opens it with the script in $SCRIPT, and appends its output to FILE. What is
in the file is acknowledged, so the length of the file tells the next one from where to go on.
`type FILE`: goes on with t_1 and appends its output to FILE; for each line that is printed it types the next one.
`write`: opens t_1 with $SCRIPT, and writes numbered lines for ever.
`pipes`: starts $SCRIPT with pipes, and prints what it prints.
`hold`: opens t_1 with $SCRIPT, and waits.
"""

import asyncio
import os
import sys
from pathlib import Path

from hermitty.host.base import Host, HostedPty, PipeSpec, PtySpec, Stream
from hermitty.host.starter import connect
from hermitty.model import ExitStatus, Size, TerminalId

TERMINAL = TerminalId("t_1")


class Copier:
    """Writes output to a descriptor, and acknowledges it."""

    def __init__(self, descriptor: int, offset: int) -> None:
        self._descriptor = descriptor
        self.offset = offset
        self.pty: HostedPty | None = None
        self.ended = asyncio.Event()
        self.news = asyncio.Event()

    def glance(self, data: bytes) -> None:
        """Ignore it."""

    def on_output(self, data: bytes) -> None:
        self.news.set()
        assert os.write(self._descriptor, data) == len(data)
        self.offset += len(data)
        assert self.pty is not None
        self.pty.acknowledge(self.offset)

    def on_exit(self, status: ExitStatus) -> None:
        self.ended.set()

    def on_lost(self, reason: str) -> None:
        sys.exit(reason)


class Printer:
    """Prints what a piped process prints."""

    def on_output(self, stream: Stream, data: bytes) -> None:
        os.write(1, data)

    def on_exit(self, status: ExitStatus) -> None:
        os.write(1, b"ended")

    def on_lost(self, reason: str) -> None:
        sys.exit(reason)


async def open_terminal(host: Host, sink: Copier) -> HostedPty:
    spec = PtySpec(
        terminal=TERMINAL,
        program="/bin/sh",
        args=("-c", os.environ["SCRIPT"]),
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        size=Size(),
        directory=await host.make_directory(TERMINAL),
    )
    return await host.open(spec, sink)


async def copy(host: Host, path: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sink = Copier(descriptor, os.fstat(descriptor).st_size)
    if await host.found():
        sink.pty = await host.take_over(TERMINAL, sink, since=sink.offset)
    else:
        sink.pty = await open_terminal(host, sink)
    await sink.ended.wait()
    await host.leave()


async def type_lines(host: Host, path: str) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    sink = Copier(descriptor, os.fstat(descriptor).st_size)
    sink.pty = await host.take_over(TERMINAL, sink, since=sink.offset)
    while True:
        sink.news.clear()
        number = sink.pty.writes + 1
        sink.pty.write(b"%d\n" % number, answers_to=number)
        await sink.news.wait()


async def write(host: Host) -> None:
    sink = Copier(1, 0)
    sink.pty = await open_terminal(host, sink)
    number = 0
    while True:
        for _ in range(50):
            number += 1
            sink.pty.write(b"%d\n" % number, answers_to=number)
        await asyncio.sleep(0)


async def pipes(host: Host) -> None:
    spec = PipeSpec(
        owner="c_1", argv=("/bin/sh", "-c", os.environ["SCRIPT"]), cwd="/", env={"PATH": os.environ["PATH"]}, stdin=True
    )
    await host.start(spec, Printer())
    await asyncio.Event().wait()


async def hold(host: Host) -> None:
    sink = Copier(1, 0)
    sink.pty = await open_terminal(host, sink)
    await asyncio.Event().wait()


async def main() -> None:
    host = await connect(Path(sys.argv[1]), start=False)
    modes = {"copy": copy, "type": type_lines, "write": write, "pipes": pipes, "hold": hold}
    await modes[sys.argv[2]](host, *sys.argv[3:])  # type: ignore[operator]


if __name__ == "__main__":
    if os.environ.get("USE_UVLOOP"):
        import uvloop

        uvloop.run(main())
    else:
        asyncio.run(main())
