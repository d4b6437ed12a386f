"""A process with pipes instead of a terminal."""

import asyncio
import contextlib
import fcntl
import os
import signal
from collections.abc import Callable, Mapping, Sequence

from hermitty.errors import HostUnavailable, InputOverflow
from hermitty.model import ExitStatus
from hermitty.pty import processes
from hermitty.pty.exits import ExitWatch
from hermitty.pty.posix import end_group
from hermitty.pty.spawn import FileAction, handed_down, spawn
from hermitty.pty.wrapped import Wrapped
from hermitty.pty.write_queue import INPUT_LIMIT, WriteQueue
from hermitty.sandbox.plan import Prepared

_READ_TURN = 64 * 1024
_KILL_GRACE_S = 2.0
# After the process has ended, a daemon that it left behind may hold its pipes open for ever.
_DRAIN_TURNS = 64


class PipeProcess:
    """Owns a child's pipes; its children are found by session and by mark."""

    def __init__(
        self,
        owner: str,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        stdin: bool,
        merged: bool = False,
        descriptor_limit: int | None,
        on_output: Callable[[int, bytes], None],
        on_exit: Callable[[ExitStatus], None],
        sandbox: Prepared | None = None,
    ) -> None:
        self._owner = owner
        self._since = processes.ticks_now() - 1
        self._group = None if sandbox is None else sandbox.group
        self._on_output = on_output
        self._on_exit = on_exit
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._status: ExitStatus | None = None
        self._readers: dict[int, int] = {}  # descriptor -> 1 or 2
        opened: list[int] = []
        try:
            out_read, out_write = _pipe(opened)
            err_read, err_write = (-1, out_write) if merged else _pipe(opened)
            in_read, in_write = _pipe(opened) if stdin else (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), -1)
            if not stdin:
                opened.append(in_read)
            actions: list[FileAction] = [
                (os.POSIX_SPAWN_DUP2, in_read, 0),
                (os.POSIX_SPAWN_DUP2, out_write, 1),
                (os.POSIX_SPAWN_DUP2, err_write, 2),
            ]
            if sandbox is not None:
                actions += handed_down(sandbox.descriptors)
            self.pid = spawn(
                argv if sandbox is None else sandbox.argv,
                cwd=cwd,
                env={**(env if sandbox is None else sandbox.env), processes.OWNER_VARIABLE: owner},
                actions=actions,
                descriptor_limit=descriptor_limit,
                brand=processes.brand_of(owner),
                groups=() if self._group is None else self._group.members_files,
            )
            if sandbox is not None:
                sandbox.started()
        except OSError as exc:
            _close_all(opened)
            raise HostUnavailable(f"cannot start a process: {exc.strerror or exc}") from exc
        except BaseException:
            _close_all(opened)
            raise
        self._wrapped = Wrapped(self.pid) if sandbox is not None and sandbox.wraps else None
        _close_all(list({in_read, out_write, err_write}))
        try:
            self._watch = ExitWatch(self.pid, self._process_ended)
        except OSError as exc:
            _close_all([descriptor for descriptor in (out_read, err_read, in_write) if descriptor >= 0])
            processes.end_unwatched(self.pid)
            raise HostUnavailable(f"cannot start a process: {exc.strerror or exc}") from exc
        self._input: WriteQueue | None = None
        if in_write >= 0:
            os.set_blocking(in_write, False)
            self._input = WriteQueue(in_write)
        for descriptor, stream in ((out_read, 1), (err_read, 2))[: 1 if merged else 2]:
            os.set_blocking(descriptor, False)
            self._readers[descriptor] = stream
            self._loop.add_reader(descriptor, self._readable, descriptor)

    def write(self, data: bytes) -> None:
        """Queue input."""
        if self._input is None:
            return
        if self._input.waiting + len(data) > INPUT_LIMIT:
            raise InputOverflow(self._owner, self._input.waiting, INPUT_LIMIT)
        self._input.write(data)

    def close_input(self) -> None:
        """End the input."""
        if self._input is not None:
            self._input.finish()

    def pause_reading(self) -> None:
        """Let the process wait, once its pipes are full: whoever is told its output cannot take more."""
        for descriptor in self._readers:
            self._loop.remove_reader(descriptor)

    def resume_reading(self) -> None:
        """Go on reading."""
        for descriptor in self._readers:
            self._loop.add_reader(descriptor, self._readable, descriptor)

    def signal(self, number: int) -> int:
        """Signal the process and everything it started."""
        table = processes.process_table()
        ended = self._ended.is_set()
        mine = processes.belongs_to(table, self.pid, self._owner, root_ended=ended, since=self._since)
        if not ended and self.pid in table:
            mine.add(self.pid)
        if self._wrapped is not None and number != signal.SIGKILL:
            mine -= self._wrapped.around()
        return processes.send(table, mine, number)

    async def close(self) -> None:
        """Kill what is left and free the pipes."""
        deadline = self._loop.time() + _KILL_GRACE_S
        while self.signal(signal.SIGKILL) or not self._ended.is_set():
            if self._loop.time() > deadline:
                break
            await asyncio.sleep(0.002)  # nothing tells when somebody else's child is gone
        self._stop_reading()
        if self._input is not None:
            self._input.close()
        self._watch.close()
        if self._group is not None:
            await end_group(self._group, deadline)
        if self._wrapped is not None:
            self._wrapped.close()

    def _readable(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, _READ_TURN)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._on_output(self._readers[descriptor], data)
            return
        self._loop.remove_reader(descriptor)
        del self._readers[descriptor]
        os.close(descriptor)
        self._report_end()

    def _process_ended(self, status: ExitStatus) -> None:
        self._status = status if self._wrapped is None else self._wrapped.exact(status)
        self._ended.set()
        for _ in range(_DRAIN_TURNS):
            for descriptor in list(self._readers):
                self._readable(descriptor)
        self._stop_reading()
        self._report_end()

    def _report_end(self) -> None:
        if self._status is not None and not self._readers:
            status, self._status = self._status, None
            self._on_exit(status)

    def _stop_reading(self) -> None:
        for descriptor in list(self._readers):
            self._loop.remove_reader(descriptor)
            os.close(descriptor)
        self._readers.clear()


def _pipe(opened: list[int]) -> tuple[int, int]:
    pair = []
    for descriptor in os.pipe():
        if descriptor < 3:
            # A program started without standard streams gets these numbers; they are the child's own.
            low, descriptor = descriptor, fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
            os.close(low)
        opened.append(descriptor)
        pair.append(descriptor)
    return pair[0], pair[1]


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
