"""A host in this very process, on Windows. See `hermitty.pty.windows` for what is not there."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Collection
from pathlib import Path

from hermitty.errors import InvalidDirectory, NotSupported, SandboxUnavailable, TerminalNotFound
from hermitty.host.base import FoundPty, Host, HostedProcess, HostedPty, PipeSpec, ProcessSink, PtySpec, Sink, TtyState
from hermitty.model import Size, TerminalId
from hermitty.pty.windows import WindowsPty
from hermitty.vt.byte_log import ByteLog


class WindowsHost:
    """Owns pseudo consoles directly. Everything ends with it."""

    def __init__(self) -> None:
        self._root = tempfile.TemporaryDirectory(prefix="hermitty-")
        self._ptys: set[WindowsHostedPty] = set()

    async def at(self, workspace: str | None) -> Host:
        """Return this host: there is no other."""
        return self

    def name_terminal(self, terminal: TerminalId) -> TerminalId:
        """Return the same id: there is only one place."""
        return terminal

    async def make_directory(self, terminal: TerminalId) -> str:
        """Make a private directory for one terminal."""
        directory = Path(self._root.name, terminal)
        os.mkdir(directory)
        return str(directory)

    async def open(self, spec: PtySpec, sink: Sink) -> HostedPty:
        """Start a program on a new pseudo console."""
        if spec.sandbox is not None:
            raise SandboxUnavailable("there is no sandbox on Windows; leave it out, or use WSL")
        directory = Path(spec.directory)
        log = ByteLog(spec.log_bytes)

        def on_output(data: bytes) -> None:
            log.append(data)
            sink.on_output(data)

        for name, data in spec.files.items():
            (directory / name).write_bytes(data)
        pty = WindowsPty(
            (spec.program, *spec.args),
            cwd=spec.cwd,
            env=spec.env,
            size=spec.size,
            on_output=on_output,
            on_exit=sink.on_exit,
        )
        hosted = WindowsHostedPty(self, pty, directory, log)
        self._ptys.add(hosted)
        return hosted

    async def start(self, spec: PipeSpec, sink: ProcessSink) -> HostedProcess:
        """Refuse: processes without a terminal are not there on Windows yet."""
        raise NotSupported("the pipe provider is not available on Windows yet; use the pty provider")

    async def found(self) -> list[FoundPty]:
        """Return nothing: what was opened here ended with whoever used it."""
        return []

    async def read_file(self, found: FoundPty, name: str) -> bytes | None:
        """Return nothing: there is nothing to take over."""
        return None

    async def take_over(self, terminal: TerminalId, sink: Sink, *, since: int) -> HostedPty:
        """Refuse: there is nothing to take over."""
        raise TerminalNotFound(terminal, [])

    async def find_program(self, name: str) -> str | None:
        """Return the path of a program."""
        return shutil.which(name)

    def known_program(self, name: str) -> str | None:
        """Return the path of a program."""
        return shutil.which(name)

    async def check_directory(self, path: str) -> None:
        """Raise InvalidDirectory unless `path` is a directory."""
        _check_directory(path)

    def environment(self) -> dict[str, str]:
        """Return this process's environment."""
        return dict(os.environ)

    def forget(self, hosted: "WindowsHostedPty") -> None:
        """Let go of a terminal that closed itself."""
        self._ptys.discard(hosted)
        shutil.rmtree(hosted.directory, ignore_errors=True)

    async def leave(self) -> None:
        """Close everything: nothing here can go on by itself."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close everything."""
        for hosted in tuple(self._ptys):
            await hosted.close()
        self._root.cleanup()


class WindowsHostedPty:
    """A `HostedPty` on Windows."""

    is_durable = False
    sandbox = None  # `open` refuses one
    writes = 0  # nobody will ask

    def __init__(self, host: WindowsHost, pty: WindowsPty, directory: Path, log: ByteLog) -> None:
        self._host = host
        self._pty = pty
        self.directory = directory
        self.log = log
        self.pid = pty.pid

    def write(self, data: bytes, *, answers_to: int = 0) -> None:
        """Write input."""
        self._pty.write(data)

    def acknowledge(self, offset: int) -> None:
        """Ignore it: what the log lets go of nobody takes over."""

    def discard_input(self) -> None:
        """Do nothing: input is not queued here."""

    def resize(self, size: Size) -> None:
        """Change the window size."""
        self._pty.resize(size)

    def put_file(self, name: str, data: bytes) -> None:
        """Write a file of the private directory."""
        (self.directory / name).write_bytes(data)

    async def get_file(self, name: str) -> bytes | None:
        """Read a file of the private directory."""
        path = self.directory / name
        return path.read_bytes() if path.exists() else None

    def drop_file(self, name: str) -> None:
        """Delete a file of the private directory."""
        (self.directory / name).unlink(missing_ok=True)

    def mark(self) -> int:
        """Return now."""
        return time.monotonic_ns()

    def remember_program(self) -> None:
        """Do nothing: Windows has no exec."""

    async def inspect(self) -> TtyState:
        """Know nothing: Windows does not tell what a program waits for."""
        return TtyState()

    async def signal_foreground(self, number: int, *, unless: Collection[int] = ()) -> int | None:
        """Press Ctrl-C, once; other signals do not exist."""
        if number == signal.SIGINT and self.pid not in unless:
            self._pty.interrupt()
        return self.pid

    async def signal_since(self, mark: int, number: int) -> int:
        """Find nobody: without process groups, only closing the console ends what a command started."""
        return 0

    async def close(self) -> None:
        """End everything of this terminal."""
        await self._pty.close()
        self._host.forget(self)


def _check_directory(path: str) -> None:
    if not os.path.isdir(path):
        raise InvalidDirectory(path, "is not a directory" if os.path.lexists(path) else "does not exist")
