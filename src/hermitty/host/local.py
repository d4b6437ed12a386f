"""A host in this very process."""

import asyncio
import contextlib
import os
import resource
import secrets
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from hermitty.errors import HostUnavailable, InvalidDirectory, TerminalNotFound
from hermitty.host.base import (
    FoundPty,
    Host,
    HostedPty,
    PipeSpec,
    ProcessSink,
    PtySpec,
    Sink,
    TtyState,
    Waiting,
)
from hermitty.host.directories import PrivateDirectories
from hermitty.host.private_files import private_path, read_private, write_private
from hermitty.model import ExitStatus, TerminalId
from hermitty.pty import foreground, processes
from hermitty.pty.pipes import PipeProcess
from hermitty.pty.posix import PosixPty
from hermitty.sandbox.plan import Prepared, prepare
from hermitty.sandbox.probe import abilities, is_known
from hermitty.sandbox.spec import SHELL_DIRECTORY, Confinement, Effective
from hermitty.vt.byte_log import ByteLog


class LocalHost:
    """Owns PTYs and processes directly. Everything ends with it."""

    def __init__(self) -> None:
        self._directories = PrivateDirectories()
        self._ptys: set[LocalPty] = set()
        self._processes: set[LocalProcess] = set()
        self._descriptor_limit = raise_descriptor_limit()
        # Ids are unique in one host only; other hosts on this machine have a t_1 too.
        self.token = secrets.token_hex(8)

    async def at(self, workspace: str | None) -> Host:
        """Return this host: there is no other."""
        return self

    def name_terminal(self, terminal: TerminalId) -> TerminalId:
        """Return the same id: there is only one place."""
        return terminal

    async def make_directory(self, terminal: TerminalId) -> str:
        """Make a private directory for one terminal."""
        try:
            return str(self._directories.make(terminal))
        except OSError as exc:
            raise HostUnavailable(f"cannot make a private directory: {exc.strerror or exc}") from exc

    async def open(self, spec: PtySpec, sink: Sink) -> HostedPty:
        """Start a program on a new PTY."""
        directory = Path(spec.directory)
        log = ByteLog(spec.log_bytes)

        def on_output(data: bytes) -> None:
            log.append(data)
            sink.on_output(data)

        argv = (spec.program, *spec.args)
        prepared: Prepared | None = None
        try:
            prepared = await confined(spec.sandbox, argv, cwd=spec.cwd, env=spec.env, directory=directory)
            for name, data in spec.files.items():
                write_private(private_path(directory, name), data)
            pty = PosixPty(
                spec.terminal,
                argv,
                owner=self._owner(spec.terminal),
                cwd=spec.cwd,
                env=spec.env,
                size=spec.size,
                descriptor_limit=self._descriptor_limit,
                glance=sink.glance,
                on_output=on_output,
                on_exit=sink.on_exit,
                sandbox=prepared,
            )
        except OSError as exc:
            self._undo(prepared, directory)
            raise HostUnavailable(f"cannot open a terminal: {exc.strerror or exc}") from exc
        except BaseException:
            self._undo(prepared, directory)
            raise
        hosted = LocalPty(self, pty, directory, log, None if prepared is None else prepared.effective)
        self._ptys.add(hosted)
        return hosted

    async def start(self, spec: PipeSpec, sink: ProcessSink) -> "LocalProcess":
        """Start a program with pipes."""
        if spec.sandbox is None:
            process = LocalProcess(self, spec, sink, self._owner(spec.owner), self._descriptor_limit)
        else:
            directory = Path(await self.make_directory(TerminalId(spec.owner)))
            prepared: Prepared | None = None
            try:
                prepared = await confined(spec.sandbox, spec.argv, cwd=spec.cwd, env=spec.env, directory=directory)
                process = LocalProcess(
                    self, spec, sink, self._owner(spec.owner), self._descriptor_limit, prepared, directory
                )
            except BaseException:
                self._undo(prepared, directory)
                raise
        self._processes.add(process)
        return process

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
        """Raise InvalidDirectory unless `path` can be entered."""
        _check_directory(path)

    def environment(self) -> dict[str, str]:
        """Return this process's environment."""
        return dict(os.environ)

    def forget(self, hosted: "LocalPty | LocalProcess") -> None:
        """Let go of something that closed itself."""
        if isinstance(hosted, LocalPty):
            self._ptys.discard(hosted)
            self._directories.remove(hosted.directory)
        else:
            self._processes.discard(hosted)
            if hosted.directory is not None:
                self._directories.remove(hosted.directory)

    async def leave(self) -> None:
        """Close everything: nothing here can go on by itself."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close everything."""
        await asyncio.gather(*(pty.close() for pty in self._ptys))
        await asyncio.gather(*(process.close() for process in self._processes))
        self._directories.close()

    def _undo(self, prepared: Prepared | None, directory: Path) -> None:
        if prepared is not None:
            prepared.abandon()
        self._directories.remove(directory)

    def _owner(self, name: str) -> str:
        return f"{self.token}.{name}"


class LocalPty:
    """A `HostedPty` in this process."""

    is_durable = False
    writes = 0  # nobody will ask

    def __init__(
        self, host: LocalHost, pty: PosixPty, directory: Path, log: ByteLog, sandbox: Effective | None
    ) -> None:
        self._host = host
        self.sandbox = sandbox
        self._pty = pty
        self.directory = directory
        self.log = log
        self.pid = pty.pid
        self.discard_input = pty.discard_input
        self.resize = pty.resize

    def write(self, data: bytes, *, answers_to: int = 0) -> None:
        """Queue input."""
        self._pty.write(data)

    def acknowledge(self, offset: int) -> None:
        """Ignore it: what the log lets go of nobody takes over."""

    async def signal_foreground(self, number: int, *, unless: Collection[int] = ()) -> int | None:
        """Signal the process group in front."""
        return self._pty.signal_foreground(number, unless=unless)

    def put_file(self, name: str, data: bytes) -> None:
        """Write a file of the private directory."""
        write_private(private_path(self.directory, name), data)

    async def get_file(self, name: str) -> bytes | None:
        """Read a file of the private directory."""
        return read_private(private_path(self.directory, name))

    def drop_file(self, name: str) -> None:
        """Delete a file of the private directory."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(private_path(self.directory, name))

    def mark(self) -> int:
        """Return now, in the kernel's ticks."""
        return processes.ticks_now()

    def remember_program(self) -> None:
        """Note what the shell's process runs now."""
        self._pty.remember_program()

    async def inspect(self) -> TtyState:
        """Ask the kernel."""
        return inspect(self._pty)

    async def signal_since(self, mark: int, number: int) -> int:
        """Signal the processes that started after `mark`."""
        return self._pty.signal_since(mark, number)

    async def close(self) -> None:
        """End everything of this terminal."""
        await self._pty.close()
        self._host.forget(self)


class LocalProcess:
    """A `HostedProcess` in this process."""

    def __init__(
        self,
        host: LocalHost,
        spec: PipeSpec,
        sink: ProcessSink,
        owner: str,
        limit: int | None,
        sandbox: Prepared | None = None,
        directory: Path | None = None,
    ) -> None:
        self._host = host
        self._sink = sink
        self.sandbox = None if sandbox is None else sandbox.effective
        self.directory = directory
        self._process = PipeProcess(
            owner,
            spec.argv,
            cwd=spec.cwd,
            env=spec.env,
            stdin=spec.stdin,
            merged=spec.merged,
            descriptor_limit=limit,
            on_output=self._output,
            on_exit=self._exit,
            sandbox=sandbox,
        )
        self.pid = self._process.pid
        self.write = self._process.write
        self.close_input = self._process.close_input
        self.pause_reading = self._process.pause_reading
        self.resume_reading = self._process.resume_reading

    async def signal(self, number: int) -> int:
        """Signal the process and everything it started."""
        return self._process.signal(number)

    async def close(self) -> None:
        """Kill what is left."""
        await self._process.close()
        self._host.forget(self)

    def _output(self, stream: int, data: bytes) -> None:
        self._sink.on_output("stdout" if stream == 1 else "stderr", data)

    def _exit(self, status: ExitStatus) -> None:
        self._sink.on_exit(status)


async def confined(
    order: Confinement | None, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], directory: Path
) -> Prepared | None:
    """Prepare a program for its sandbox, if it gets one. What the machine can do is found out in a thread, once."""
    if order is None:
        return None
    if not is_known():
        await asyncio.to_thread(abilities)
    shared = directory / SHELL_DIRECTORY
    shared.mkdir(mode=0o700, exist_ok=True)
    return prepare(order, argv, cwd=cwd, env=env, directory=str(shared))


def inspect(pty: PosixPty) -> TtyState:
    """Ask the kernel what a terminal is doing."""
    echo, canonical = pty.modes()
    shell = pty.shell_pid
    group = pty.foreground_group()
    # First whether all input was read, then who waits for more, then what they have said before.
    has_input = pty.has_unread_input()
    blocked = pty.blocked()
    if blocked is None:
        waiting = Waiting.UNKNOWN
    else:
        reading, polling = blocked
        waiting = Waiting.READING if reading else Waiting.POLLING if polling else Waiting.NO
        if waiting is not Waiting.NO and (has_input or pty.has_unread_output()):
            # It is about to read that, or what it has printed is the end of its command.
            waiting = Waiting.NO
    return TtyState(
        waiting=waiting,
        # In a sandbox, a shell without job control is in the group of what is around it.
        shell_in_front=None if group is None else group in (shell, pty.pid),
        shell_replaced=pty.is_replaced,
        echo=echo,
        canonical=canonical,
        cwd=foreground.working_directory(shell),
    )


def _check_directory(path: str) -> None:
    if not os.path.isdir(path):
        raise InvalidDirectory(path, "is not a directory" if os.path.lexists(path) else "does not exist")
    if not os.access(path, os.X_OK):
        raise InvalidDirectory(path, "may not be entered (permission denied)")


def raise_descriptor_limit() -> int | None:
    """Allow this process as many descriptors as the system permits; return the limit that children shall have.

    A terminal takes two, and the usual soft limit of 1024 exists for programs that call select(2). Children are such
    programs, so they get the old limit back.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= 65_536 or soft == hard:
        return None
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return None
    return soft
