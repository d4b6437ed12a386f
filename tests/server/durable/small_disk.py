"""A machine with small disks: the state directory and shared memory are file systems of a few megabytes.

They are mounted in a mount namespace of their own, which a process holds for as long as the test lasts. Servers that
are started in it see them; the test reaches them through the holder's root.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.server_process import ServerProcess
from tests.support.shells import PATIENCE_S

MEMORY = Path("/dev/shm")
_FILLER = "filler"
_MOUNT = (
    'while [ $# -gt 0 ]; do mount -t tmpfs -o "size=$2,mode=700" tmpfs "$1" || exit 1; shift 2; done; echo; exec cat'
)


class SmallDisks:
    """The namespace."""

    def __init__(self, holder: int) -> None:
        self._holder = holder

    @property
    def enter(self) -> tuple[str, ...]:
        """Return what runs a program with these disks."""
        return ("nsenter", "--mount", "-t", str(self._holder), "--")

    def at(self, path: Path) -> Path:
        """Return where this process finds what programs in the namespace find at a path."""
        return Path(f"/proc/{self._holder}/root{path}")

    def fill(self, disk: Path) -> None:
        """Leave no room on a disk."""
        with (self.at(disk) / _FILLER).open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    def free(self, disk: Path) -> None:
        """Give the room back."""
        (self.at(disk) / _FILLER).unlink()

    async def run(self, *words: str) -> None:
        """Run a program of hermitty's command line with these disks."""
        program = await asyncio.create_subprocess_exec(
            *(*self.enter, sys.executable, "-m", "hermitty.cli.main", *words), stdout=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(PATIENCE_S):
            await program.wait()


class SmallServer(ServerProcess):
    """`hermitty serve` on such a machine; its log goes to a file."""

    def __init__(self, disks: SmallDisks, log: Path) -> None:
        super().__init__(entering=disks.enter, log=log)
        self._file = log

    @property
    def said(self) -> list[str]:
        """Return the lines of its log."""
        return self._file.read_text().splitlines()


@asynccontextmanager
async def small_disks(sizes: dict[Path, str]) -> AsyncIterator[SmallDisks]:
    """Make a namespace with disks of these sizes; skips the test where that is not possible."""
    if not sys.platform.startswith("linux") or os.getuid() != 0:
        pytest.skip("only root can mount small disks, and only on Linux")
    if not (shutil.which("unshare") and shutil.which("nsenter")):
        pytest.skip("small disks need unshare and nsenter (util-linux)")
    words = [word for path, size in sizes.items() for word in (str(path), size)]
    holder = await asyncio.create_subprocess_exec(
        *("unshare", "--mount", "sh", "-c", _MOUNT, "sh", *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert holder.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            is_ready = await holder.stdout.readline()
        if not is_ready:
            _, said = await holder.communicate()
            pytest.skip(f"file systems cannot be mounted here: {said.decode().strip()}")
        yield SmallDisks(holder.pid)
    finally:
        await holder.communicate(b"")


@asynccontextmanager
async def small_server(disks: SmallDisks, log: Path) -> AsyncIterator[SmallServer]:
    """Start a server on such a machine; at the end it is killed, and its host stopped."""
    server = SmallServer(disks, log)
    await server.start()
    try:
        yield server
    finally:
        await server.end(signal.SIGKILL)
        await disks.run("host", "stop", "--yes")
