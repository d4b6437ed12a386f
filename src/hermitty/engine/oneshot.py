"""A one-shot process without a terminal: no shell state, standard output and error apart."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Sequence

from hermitty.config import Settings
from hermitty.engine.opening import find_shell
from hermitty.engine.pulse import Pulse
from hermitty.errors import CommandEnded, InvalidCommand
from hermitty.host.base import Host, HostedProcess, PipeSpec, Stream
from hermitty.model import (
    CommandId,
    CommandResult,
    ExitStatus,
    Quality,
    State,
    checked_time,
    is_encodable,
    new_command_id,
    signal_name,
)
from hermitty.output.model_text import model_text
from hermitty.sandbox.denials import Outcome, explain_denials
from hermitty.sandbox.hidden import confined_environment
from hermitty.sandbox.spec import Confinement
from hermitty.shell.launch import terminal_environment
from hermitty.shell.quoting import quote_posix
from hermitty.vt.capture import HeadTail

_KILLED_GRACE_S = 2.0

# Is told the raw output of a process as it comes.
Listener = Callable[[CommandId, Stream, bytes], None]


class Process:
    """A process that runs, or has run. Made by `start_process`; cancelling a wait leaves it alone."""

    def __init__(
        self,
        command: str,
        shell: str | None,
        cwd: str,
        settings: Settings,
        listener: Listener | None = None,
        command_id: CommandId | None = None,
    ) -> None:
        self.id = command_id or new_command_id()
        self.command = command
        self.warnings: list[str] = []
        self._shell = shell
        self._cwd = cwd
        self._settings = settings
        self._listener = listener
        limits = settings.terminal
        self._all = HeadTail(limits.capture_head_bytes, limits.capture_tail_bytes)
        self._streams = {
            name: HeadTail(limits.capture_head_bytes, limits.capture_tail_bytes) for name in ("stdout", "stderr")
        }
        self.hosted: HostedProcess
        self.sandbox: Confinement | None = None  # what it was asked to be confined by
        self._started = time.monotonic()
        self._duration: float | None = None
        self._status: ExitStatus | None = None
        self._ended = asyncio.Event()
        self._grown = Pulse()
        self._stopping: State | None = None
        self._kill_timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def on_output(self, stream: Stream, data: bytes) -> None:
        """Take output."""
        self._all.append(data)
        self._streams[stream].append(data)
        if self._listener is not None:
            self._listener(self.id, stream, data)
        self._grown.fire()

    def on_exit(self, status: ExitStatus) -> None:
        """Note the end."""
        self._status = status
        self._duration = time.monotonic() - self._started
        if self._kill_timer is not None:
            self._kill_timer.cancel()
        self._ended.set()
        self._grown.fire()

    def on_lost(self, reason: str) -> None:
        """Note that nobody knows what became of it."""
        self._stopping = State.LOST
        self.warnings.append(f"the process is lost: {reason}")
        self.on_exit(ExitStatus())

    @property
    def is_running(self) -> bool:
        """Tell whether the process has not ended yet."""
        return not self._ended.is_set()

    async def wait(self, timeout_s: float | None = None) -> CommandResult:
        """Wait for the end, or for the time-out; then the process goes on."""
        checked_time("timeout_s", timeout_s)
        try:
            async with asyncio.timeout(timeout_s):
                await self._ended.wait()
        except TimeoutError:
            pass
        return self.result()

    def write(self, text: str | bytes) -> None:
        """Write to its standard input."""
        self._check_running()
        self.hosted.write(text.encode() if isinstance(text, str) else text)

    def close_input(self) -> None:
        """End its standard input."""
        self.hosted.close_input()

    async def interrupt(self) -> None:
        """Send SIGINT to the process and everything it started."""
        self._check_running()
        self._stopping = State.INTERRUPTED
        await self.hosted.signal(signal.SIGINT)

    async def kill(self) -> CommandResult:
        """Kill the process and everything it started: ask, insist, make sure."""
        self._check_running()
        await self._climb()
        return self.result()

    def kill_later(self, after_s: float) -> None:
        """Kill it when that much time has passed and it still runs, unless the settings exempt it."""
        if self._settings.run.exempts(self.command):
            return
        self._kill_timer = asyncio.get_running_loop().call_later(after_s, self._time_is_over, after_s)

    def abandon(self) -> None:
        """Kill it in the background: whoever waited was cancelled."""
        if self._task is None:  # otherwise it is being killed already
            self._task = asyncio.get_running_loop().create_task(self.close())

    async def close(self) -> None:
        """Kill what is left of it, and free its pipes."""
        if self._kill_timer is not None:
            self._kill_timer.cancel()
        task = self._task
        if task is not None and task is not asyncio.current_task() and not task.done():
            await asyncio.wait([task])
        if self.is_running and self._stopping is None:
            self._stopping = State.KILLED
        await self.hosted.close()

    def result(self) -> CommandResult:
        """Return what is known now."""
        limits = self._settings.terminal
        state = State.RUNNING if self.is_running else self._stopping or State.DONE
        status = self._status or ExitStatus()
        shown = {
            name: model_text(
                capture,
                rows=limits.rows,
                max_lines=limits.output_line_limit,
                max_chars=limits.output_character_limit,
                compress_progress=limits.compress_progress_bar,
            )
            for name, capture in (("all", self._all), *self._streams.items())
        }
        exit_code = status.code if status.signal is None else 128 + status.signal
        effective = self.hosted.sandbox
        denials = explain_denials(Outcome(exit_code, shown["all"].text), self.sandbox, effective)
        return CommandResult(
            id=self.id,
            command=self.command,
            terminal=None,
            provider="pipe",
            shell=self._shell,
            state=state,
            # A shell would report a child that died of signal N as 128+N; so do we.
            exit_code=exit_code,
            signal=None if status.signal is None else signal_name(status.signal),
            quality=Quality.BASIC,
            text=shown["all"].text,
            truncated=shown["all"].truncated,
            omitted_bytes=shown["all"].omitted_bytes,
            total_bytes=self._all.total,
            stdout=shown["stdout"].text,
            stderr=shown["stderr"].text,
            cwd=self._cwd,
            duration_s=self._duration if self._duration is not None else time.monotonic() - self._started,
            warnings=[*self.warnings, *(denials if state.is_final else ())],
            sandbox=None if effective is None else effective.summary,
        )

    async def _climb(self) -> None:
        self._stopping = State.KILLED
        graces = self._settings.run
        for number, grace_s in (
            (signal.SIGINT, graces.interrupt_grace_s),
            (signal.SIGTERM, graces.terminate_grace_s),
            (signal.SIGKILL, _KILLED_GRACE_S),
        ):
            await self.hosted.signal(number)
            try:
                async with asyncio.timeout(grace_s):
                    await self._ended.wait()
                break
            except TimeoutError:
                continue
        await self.hosted.close()

    def _time_is_over(self, limit_s: float) -> None:
        if self.is_running:
            self.warnings.append(f"killed: it ran longer than {limit_s:g} s")
            self._task = asyncio.get_running_loop().create_task(self._climb())

    def _check_running(self) -> None:
        if not self.is_running:
            raise CommandEnded(self.id)


async def start_process(
    host: Host,
    command: str | Sequence[str],
    *,
    cwd: str,
    shell: str | None,
    env: dict[str, str],
    settings: Settings,
    stdin: bool = False,
    merged: bool = False,
    listener: Listener | None = None,
    command_id: CommandId | None = None,
    sandbox: Confinement | None = None,
) -> Process:
    """Start a shell line, or a program with its arguments exactly as given."""
    await host.check_directory(cwd)
    base = confined_environment(host.environment(), sandbox)
    name: str | None = None
    if isinstance(command, str):
        wanted = settings.terminal.shell if shell is None else shell
        program, dialect = await find_shell(host, wanted)
        name = dialect.name
        argv: tuple[str, ...] = (program, *dialect.one_shot(command))
        line = command
    else:
        argv, line = await checked_argv(host, command, cwd)
    full_env = terminal_environment(base, {**settings.terminal.env, **env})
    process = Process(line, name, cwd, settings, listener, command_id)
    process.sandbox = sandbox
    spec = PipeSpec(owner=process.id, argv=argv, cwd=cwd, env=full_env, stdin=stdin, merged=merged, sandbox=sandbox)
    process.hosted = await host.start(spec, process)
    return process


async def checked_argv(host: Host, command: Sequence[str], cwd: str) -> tuple[tuple[str, ...], str]:
    """Return the words that start a program, and the line that a person would write for them."""
    argv = tuple(command)
    if not argv or not argv[0]:
        raise InvalidCommand("the command is empty")
    if any(not isinstance(word, str) or "\0" in word or not is_encodable(word) for word in argv):
        raise InvalidCommand("arguments are text without NUL bytes")
    program = await host.find_program(os.path.join(cwd, argv[0]) if "/" in argv[0] else argv[0])
    if program is None:
        raise InvalidCommand(f"program {argv[0]!r} was not found")
    return (program, *argv[1:]), " ".join(map(quote_posix, argv))
