"""A machine with small disks: the state directory and shared memory are file systems of a few megabytes.

They are mounted in a mount namespace of their own, which a process holds for as long as the test lasts. Servers that
are started in it see them; the test reaches them through the holder's root.
"""

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.server_process import TOKEN, ServerProcess
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
        super().__init__()
        self._disks = disks
        self._log = log

    @property
    def said(self) -> list[str]:
        """Return the lines of its log."""
        return self._log.read_text().splitlines()

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(*self._disks.enter, sys.executable, "-m", "hermitty.cli.main", "serve"),
                *("--port", str(self.port), "--token", TOKEN),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self._process.stdout.readline()
        self.port = int(line.decode().partition("127.0.0.1:")[2].partition("/")[0])


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
