"""A PTY on Linux and macOS, and the shell on it."""

import asyncio
import contextlib
import errno
import fcntl
import os
import select
import signal
import struct
import termios
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from hermitty.errors import HostUnavailable, InputOverflow
from hermitty.model import ExitStatus, Size, TerminalId
from hermitty.pty import foreground, processes
from hermitty.pty.exits import ExitWatch
from hermitty.pty.spawn import FileAction, handed_down, open_terminal_actions, spawn, spawn_wrapper
from hermitty.pty.wrapped import Wrapped
from hermitty.pty.write_queue import INPUT_LIMIT, WriteQueue
from hermitty.sandbox.groups import Group
from hermitty.sandbox.plan import Prepared

# One wake-up takes at most this much, so that a flood in one terminal does not starve the others.
READ_TURN = 64 * 1024
# The kernel hands out PTY output in pieces of up to 4 KB; a shorter one means that nothing more is there.
_FULL_READ = 4000
# What the shell wrote last is in the kernel's buffer: at most a few reads. Background jobs may write for ever.
_LAST_TURNS = 16

# How long the shell and its children may take to leave after SIGHUP, and to be gone after SIGKILL.
_HANGUP_GRACE_S = 0.5
_KILL_GRACE_S = 2.0
# Nothing tells when somebody else's child is gone.
_LOOK_S = 0.002


class PosixPty:
    """Owns the master side. Tells `on_output` and `on_exit`, from the event loop.

    A flood is read in turns of many pieces. `glance` is shown each as soon as it is read: the kernel brings the next
    ones meanwhile, and a program that prints does not wait, as it does while somebody looks at a whole turn.
    `on_exit_held` is told when the shell has ended, and its last output waits for `resume_reading`.
    """

    def __init__(
        self,
        terminal: TerminalId,
        argv: Sequence[str],
        *,
        owner: str,
        cwd: str,
        env: Mapping[str, str],
        size: Size,
        descriptor_limit: int | None,
        on_output: Callable[[bytes], None],
        on_exit: Callable[[ExitStatus], None],
        on_exit_held: Callable[[], None] = lambda: None,
        glance: Callable[[bytes], None] = lambda _: None,
        sandbox: Prepared | None = None,
    ) -> None:
        self._terminal = terminal
        self._owner = owner
        self._since = processes.ticks_now() - 1
        self._group = None if sandbox is None else sandbox.group
        self._on_output = on_output
        self._on_exit = on_exit
        self._on_exit_held = on_exit_held
        self._glance = glance
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._is_closed = False
        try:
            # Not pty.openpty: that hides the reason of a failure behind 256 attempts at older devices.
            self._master, slave = os.openpty()
        except OSError as exc:
            raise HostUnavailable(_why_no_pty(exc)) from exc
        try:
            set_size(slave, size)
            self._path = os.ttyname(slave)
            self._device = os.fstat(slave).st_rdev
            actions = open_terminal_actions(self._path)
            brand = processes.brand_of(owner)
            if sandbox is None:
                marked = {**env, processes.OWNER_VARIABLE: owner}
                self.pid = spawn(
                    argv, cwd=cwd, env=marked, actions=actions, descriptor_limit=descriptor_limit, brand=brand
                )
            else:
                self.pid = _spawn_confined(sandbox, owner, cwd, actions, descriptor_limit, brand)
        except BaseException:
            os.close(self._master)
            if sandbox is not None:
                sandbox.abandon()
            raise
        finally:
            # Kept open until the child has it open too: a master without any slave reads as an error.
            os.close(slave)
        if sandbox is not None:
            sandbox.started()
        self._wrapped = Wrapped(self.pid) if sandbox is not None and sandbox.wraps else None
        os.set_blocking(self._master, False)
        self._input = WriteQueue(self._master)
        try:
            self._watch = ExitWatch(self.pid, self._shell_ended)
        except OSError as exc:
            processes.end_unwatched(self.pid)
            os.close(self._master)
            if sandbox is not None:
                sandbox.abandon()
            raise HostUnavailable(_why_no_pty(exc)) from exc
        self._reading = True
        self._paused = False
        self._status: ExitStatus | None = None  # known, but not told yet
        self._last_turns = _LAST_TURNS
        self._loop.add_reader(self._master, self._readable)
        self._program: bytes | None = None

    def write(self, data: bytes) -> None:
        """Queue input for the terminal."""
        if self._input.waiting + len(data) > INPUT_LIMIT:
            raise InputOverflow(self._terminal, self._input.waiting, INPUT_LIMIT)
        self._input.write(data)

    @property
    def descriptor(self) -> int:
        """Return the master side, for somebody who reads and writes it while this pauses; -1 once it is closed."""
        return self._master

    @property
    def input_waiting(self) -> int:
        """Return how many bytes of input the kernel has not taken yet."""
        return self._input.waiting

    def pause_reading(self) -> None:
        """Leave further output in the kernel: once its buffer is full, programs that print wait."""
        if not self._paused:
            self._paused = True
            if self._reading:
                self._loop.remove_reader(self._master)

    def resume_reading(self) -> None:
        """Go on reading; the end of a shell that ended meanwhile is told when its output was read."""
        if self._paused:
            self._paused = False
            if self._reading:
                self._loop.add_reader(self._master, self._readable)
            if self._status is not None:
                self._tell_exit()

    def discard_input(self) -> None:
        """Forget queued input, with what the kernel holds and nobody has read."""
        self._input.discard()
        # From the other side: through the master, the kernel keeps what stands on an unfinished line.
        with contextlib.suppress(OSError, termios.error), self._other_side() as slave:
            if slave is not None:
                termios.tcflush(slave, termios.TCIFLUSH)

    @contextlib.contextmanager
    def _other_side(self) -> Iterator[int | None]:
        """Open the side that programs have; None when this one is closed: the path may be another terminal's by now."""
        if self._master < 0:
            yield None
            return
        slave = os.open(self._path, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            yield slave
        finally:
            os.close(slave)

    def resize(self, size: Size) -> None:
        """Change the window size."""
        if self._master >= 0:
            set_size(self._master, size)

    @property
    def shell_pid(self) -> int:
        """Return the process of the shell: in a sandbox it is not the one that was started."""
        return self.pid if self._wrapped is None else self._wrapped.find() or self.pid

    def remember_program(self) -> None:
        """Note what the shell's process runs, to notice when `exec` replaces it."""
        self._program = foreground.command_line(self.shell_pid)

    @property
    def is_replaced(self) -> bool:
        """Tell whether the shell's process runs another program than when it was remembered."""
        if self._program is None or self._ended.is_set():
            return False
        return foreground.command_line(self.shell_pid) not in (self._program, None, b"")

    def modes(self) -> tuple[bool, bool]:
        """Return (echo, canonical)."""
        try:
            return foreground.terminal_modes(self._master)
        except (termios.error, ValueError):
            return True, True

    def foreground_group(self) -> int | None:
        """Return the process group in front, or None."""
        return foreground.foreground_group(self._master) if self._master >= 0 else None

    def blocked(self) -> tuple[bool, bool] | None:
        """Tell whether the programs in front are (reading from the terminal, polling)."""
        group = self.foreground_group()
        found = foreground.blocked_in(group, self._device) if group else None
        if found is not None and self._wrapped is not None and group == self.pid:
            # Of a program in the group of what is around it, which polls all the time, only reading can be told.
            return (True, False) if found[0] else None
        return found

    def has_unread_output(self) -> bool:
        """Tell whether programs have printed something that was not read yet."""
        return self._master >= 0 and _is_readable(self._master)

    def has_unread_input(self) -> bool:
        """Tell whether something was typed that whoever reads next will get at once."""
        if self._input.waiting:
            return True
        with contextlib.suppress(OSError), self._other_side() as slave:
            return slave is not None and _is_readable(slave)
        return False

    def signal_foreground(self, number: int, *, unless: Collection[int] = ()) -> int | None:
        """Signal the process group in front, unless it is one of those, and return it."""
        group = self.foreground_group()
        if group is not None and group not in unless:
            if group == self.pid and self._wrapped is not None:
                # A program that made no group of its own is in that of what is around it, which would die of a signal.
                table = processes.process_table()
                members = {pid for pid, process in table.items() if process.group == group}
                processes.send(table, members - self._around(), number)
                return group
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
        return group

    def signal_since(self, mark: int, number: int) -> int:
        """Signal every process of this terminal that started at or after `mark`."""
        table = processes.process_table()
        mine = self._mine(table) - self._around()
        return processes.send(table, [pid for pid in mine if table[pid].started >= mark], number)

    async def close(self) -> None:
        """End the shell and everything started from it; free the descriptors."""
        if self._is_closed:
            return
        self._stop_reading()
        self._tell_exit()
        self._input.close(owns_descriptor=False)
        table = self._table()
        mine = self._mine(table)
        if not self._ended.is_set():
            mine.add(self.pid)
            # An interactive bash ignores SIGTERM, but SIGHUP tells it that its terminal is gone, and it exits. What is
            # around it in a sandbox would die of it, and everything inside at once.
            hung_up = mine - self._around()
            tidying = {pid: table[pid] for pid in hung_up if pid in table and not processes.ignores(pid, signal.SIGHUP)}
            processes.send(table, hung_up, signal.SIGHUP)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_HANGUP_GRACE_S):
                    await self._ended.wait()
                    # Programs that heard it may still remove their lock files, say.
                    while processes.send(tidying, tidying, 0):
                        await asyncio.sleep(_LOOK_S)
        if mine:
            await self._kill({pid: table[pid] for pid in mine if pid in table})
        if self._group is not None:
            await end_group(self._group, self._loop.time() + _KILL_GRACE_S)
        self._watch.close()
        if self._wrapped is not None:
            self._wrapped.close()
        self._close_master()
        self._is_closed = True

    def _close_master(self) -> None:
        # Somebody else may have closed it in the meantime.
        master, self._master = self._master, -1
        if master >= 0:
            os.close(master)

    def _table(self) -> processes.ProcessTable:
        try:
            return processes.shared_table()
        except OSError:
            # No descriptor is left to read it with. The terminal's own is one, and the kernel hangs up its session.
            self._close_master()
            return processes.shared_table()

    def _mine(self, table: processes.ProcessTable) -> set[int]:
        ended = self._ended.is_set()
        return processes.belongs_to(table, self.pid, self._owner, root_ended=ended, since=self._since)

    def _around(self) -> set[int]:
        return set() if self._wrapped is None else self._wrapped.around()

    async def _kill(self, known: dict[int, processes.ProcessInfo]) -> None:
        """Kill known processes, and those that belong to the terminal, until nothing is left.

        Somebody known may have lost the parent by which he was found.
        """
        deadline = self._loop.time() + _KILL_GRACE_S
        while True:
            table = self._table()
            known |= {pid: table[pid] for pid in self._mine(table)}
            if not self._ended.is_set() and self.pid in table:
                known[self.pid] = table[self.pid]
            alive = processes.send(known, known, signal.SIGKILL)
            if (alive == 0 and self._ended.is_set()) or self._loop.time() > deadline:
                return
            # A killed process takes a moment to leave.
            await asyncio.sleep(_LOOK_S)

    def _readable(self) -> None:
        chunks: list[bytes] = []
        total = 0
        while total < READ_TURN:
            try:
                data = os.read(self._master, READ_TURN - total)
            except BlockingIOError:
                break
            except OSError:
                # Linux reports the end of a PTY as EIO, macOS as an empty read. Both mean that nobody has the
                # other side open any more.
                data = b""
            if not data:
                self._stop_reading()
                break
            chunks.append(data)
            total += len(data)
            if total >= _FULL_READ:
                self._glance(data)
            if len(data) < _FULL_READ:
                break
        if chunks:
            self._on_output(chunks[0] if len(chunks) == 1 else b"".join(chunks))

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            if not self._paused:
                self._loop.remove_reader(self._master)

    def _shell_ended(self, status: ExitStatus) -> None:
        self._status = status if self._wrapped is None else self._wrapped.exact(status)
        self._ended.set()
        self._tell_exit()

    def _tell_exit(self) -> None:
        """Read what the shell left behind, then tell how it ended. Somebody who paused lets it go on later."""
        while self._reading and not self._paused and self._last_turns and self._status is not None:
            self._last_turns -= 1
            self._readable()
        if self._status is None:
            return
        if self._reading and self._paused and self._last_turns:
            self._on_exit_held()
            return
        self._stop_reading()
        status, self._status = self._status, None
        self._on_exit(status)


def _spawn_confined(
    sandbox: Prepared, owner: str, cwd: str, actions: list[FileAction], descriptor_limit: int | None, brand: int | None
) -> int:
    env = {**sandbox.env, processes.OWNER_VARIABLE: owner}
    actions = [*actions, *handed_down(sandbox.descriptors)]
    group = sandbox.group or Group()
    if sandbox.wraps and group.can_be_lent:
        with group.lent():
            return spawn_wrapper(sandbox.argv, env=env, actions=actions, descriptor_limit=descriptor_limit, brand=brand)
    return spawn(
        sandbox.argv,
        cwd=cwd,
        env=env,
        actions=actions,
        descriptor_limit=descriptor_limit,
        brand=brand,
        groups=group.members_files,
    )


async def end_group(group: Group, deadline: float) -> None:
    """Kill whoever is still in a control group, and remove it; what cannot be removed is left to the next host."""
    while not group.remove():
        group.kill()
        if asyncio.get_running_loop().time() > deadline:
            return
        await asyncio.sleep(_LOOK_S)  # nothing tells when the last one has left


def _is_readable(descriptor: int) -> bool:
    """Tell whether a read would get something, of what is on its way through the kernel, too."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return any(events & select.POLLIN for _, events in poll.poll(0))


def set_size(descriptor: int, size: Size) -> None:
    """Change the window size of a PTY; programs get SIGWINCH if it is another one."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.cols, 0, 0))


def _why_no_pty(exc: OSError) -> str:
    if exc.errno in (errno.EMFILE, errno.ENFILE):
        return "cannot open another terminal: too many open files; raise the limit (ulimit -n) or close terminals"
    if exc.errno in (errno.ENOSPC, errno.EAGAIN, errno.ENOENT):
        return "cannot open another terminal: the system has no PTY left (kernel.pty.max); close terminals"
    return f"cannot open another terminal: {exc.strerror or exc}"
