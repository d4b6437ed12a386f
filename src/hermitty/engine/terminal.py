"""One shell on one PTY, with its log, its screen and the command it runs.

The way in: the host calls `on_output`; bytes go to the log, to the screen, and through scanner and tracker, whose
events `_apply` turns into facts about commands. The way out: `start` waits for the prompt and types one line, once.
Everything that takes time belongs to a task of the terminal and ends with it.
"""

import asyncio
import hashlib
import os
import re
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal

from hermitty.config import RunSettings, TerminalSettings
from hermitty.engine import stopping
from hermitty.engine.answers import Answers
from hermitty.engine.command import Command, build_result
from hermitty.engine.flag import Alarm
from hermitty.engine.keeping import KEEP_EVERY, keep_screen, keep_state
from hermitty.engine.observer import NoObserver, Observer
from hermitty.engine.prompt import PROMPT_TIMEOUT_S, SENTINEL_LOOK_S, Prompt
from hermitty.engine.pulse import Pulse
from hermitty.engine.viewing import Viewing
from hermitty.engine.waiting import judge
from hermitty.errors import TerminalBusy, TerminalClosed, TerminalPaused
from hermitty.events import CommandFinished, CommandStarted, CwdChanged, TerminalEnded, TerminalEvent
from hermitty.host.base import HostedPty, Log, Waiting
from hermitty.model import (
    CommandId,
    CommandResult,
    ExitStatus,
    NeedsInput,
    Quality,
    Size,
    State,
    TerminalId,
    checked_line,
    checked_time,
)
from hermitty.paths import canonical
from hermitty.sandbox.spec import Confinement, Effective
from hermitty.shell import tracker as shell
from hermitty.shell.dialect import ENV_FILE, Dialect, ShellOptions
from hermitty.vt.keys import key_bytes
from hermitty.vt.markers import MarkerScanner
from hermitty.vt.screen import Screen

if TYPE_CHECKING:
    from hermitty.engine.adopting import Replay

# A line that may end in the shell's `exit`, after which some shells say so themselves.
_TELLS_TO_EXIT = re.compile(r"\b(exit|logout)\b")
# How long a shell may take to give up a line that is not complete, before it is told once more.
_BREAK_OFF_S = (0.1, 0.2, 0.4, 0.8, 1.6)
_REPLACED = "the shell was replaced by another program (exec), and the terminal will end with it"


class Terminal:
    """A terminal that understands its commands. Made by `opening.open_terminal`."""

    def __init__(
        self,
        terminal_id: TerminalId,
        dialect: Dialect,
        *,
        nonce: str,
        directory: str,
        cwd: str,
        size: Size,
        screen: Screen,
        options: ShellOptions,
        settings: TerminalSettings,
        run_settings: RunSettings,
        emit: Callable[[TerminalEvent], None],
        observer: Observer | None = None,
    ) -> None:
        self.id = terminal_id
        self.shell = dialect.name
        self.dialect = dialect
        self.settings = settings
        self.run_settings = run_settings
        self.cwd: str | None = cwd
        self.started_with: dict[str, str] = {}  # the variables its shell was given
        self.sandbox: Confinement | None = None  # what it was asked to be confined by, for as long as it lives
        self.quality = Quality.NONE
        self.takes_commands = True
        self.paused_by: str | None = None  # the person who has it, if not agents
        self.screen = screen
        self.current: Command | None = None
        self.last: Command | None = None
        self.closed_because: str | None = None
        self.alarm = Alarm()  # for everybody who waits here
        self.prompt = Prompt(self)
        self.integration_failed: str | None = None
        self.pty: HostedPty
        self.nonce = nonce
        self.directory = directory
        self.options = options
        self._emit = emit
        self.observer: Observer = observer or NoObserver()
        self._size = size
        self.scanner = MarkerScanner(nonce)
        self.tracker = shell.CommandTracker(prelude=dialect.prelude)
        self.uses_sentinel = False
        self._answers = Answers(self)
        self._environment_told = Pulse()
        self.viewing = Viewing(self)
        self.replay: Replay | None = None  # of output that another process has seen before
        self.exit_status: ExitStatus | None = None  # of its shell, once it has ended
        self._kept_at = 0  # the offset at which screen and state were kept last
        self.understood = 0  # the end of the output that scanner and tracker have seen
        self._tasks: set[asyncio.Task[None]] = set()
        self.kill_timer: asyncio.TimerHandle | None = None
        self.clearing: asyncio.Task[None] | None = None  # of the command that was killed last
        self._closing = False

    # What the host tells it.

    def glance(self, data: bytes) -> None:
        """Look at bytes that come in a moment, while their program goes on."""
        if self.replay is None:
            self.screen.glance(data)

    def on_output(self, data: bytes) -> None:
        """Take the next bytes of the PTY."""
        if self.replay is not None:
            self.replay.take(self, data)
        else:
            self.take(data)
        if self.pty.is_durable and self.log.end - self._kept_at >= KEEP_EVERY:
            self.keep()
        self.viewing.tell()

    def take(self, data: bytes) -> None:
        """Show bytes on the screen, understand them, and answer what programs ask."""
        asked_by_program = self.tracker.phase is shell.Phase.RUNNING
        answer = self.screen.feed(data)
        self.understand(data, plain=self.screen.fed_plain)
        if not answer:
            return
        if not asked_by_program:
            self.type(answer, answers_to=self.log.end)
        elif self.tracker.phase is shell.Phase.RUNNING and self._answers.add(answer):
            self.spawn(self._answers.deliver())

    def understand(self, data: bytes, *, plain: bool = False) -> None:
        """Follow the shell through bytes that are on the screen."""
        for piece in self.scanner.feed(data, plain=plain):
            self.understood = piece.end
            for event in self.tracker.feed(piece):
                self._apply(event)

    def keep(self) -> None:
        """Keep everything that another process would need to go on from here, if the PTY outlives this one."""
        if self.pty.is_durable and self.is_open and self.replay is None and not self.viewing.is_awaiting:
            self._kept_at = self.log.end
            keep_screen(self)

    def resume(self, command: Command, kept: dict[str, Any], limit: tuple[float, float] | None) -> None:
        """Go on with a command that another process began."""
        self.current = command
        self.observer.resumed(self, command, kept)
        if limit is not None:
            self.kill_later(command, *limit)

    def lose_track(self, command: Command) -> None:
        """End a command whose end was told by output that nobody has: the shell is at its prompt."""
        command.warnings.append("nobody saw the end of this command; its exit code is not known")
        self.tracker.go_on_from(shell.TrackerState(shell.Phase.AT_PROMPT, None, None, b"", False))
        self.prompt.is_there.set()
        self._end_command(command, State.DONE, None)

    def forget_unsent(self, command: Command) -> None:
        """End a command that another process could not send any more."""
        self.observer.resumed(self, command, {})
        self._end_command(command, State.LOST, None)

    def on_lost(self, reason: str) -> None:
        """Note that the host is gone, and what ran there with it."""
        if (command := self.current) is not None:
            command.warnings.append(f"terminal {self.id} is lost: {reason}")
            self._end_command(command, State.LOST, None)
        self._retire(reason)

    def on_exit(self, status: ExitStatus) -> None:
        """Note that the shell is gone; end what depends on it."""
        self.exit_status = status
        for piece in self.scanner.flush():
            for event in self.tracker.feed(piece):
                self._apply(event)
        reason = f"its shell {status}"
        command = self.current
        if command is not None:
            command.warnings.append(f"terminal {self.id} is closed: {reason}")
            # A shell that exits in an orderly way has run `exit`, or `exec`, or stopped at an error (set -e): its
            # code is the line's code. One that was killed takes the line's fate with it, and one that left before
            # it started the line never ran it.
            code = status.code if command.has_begun else None
            if code is not None and _TELLS_TO_EXIT.search(command.line or ""):
                command.farewell = self.dialect.farewell
            self._end_command(command, State.LOST if code is None else State.DONE, code)
        self._retire(reason)

    # What callers ask and do.

    @property
    def has_begun(self) -> bool:
        """Tell whether there is a PTY yet: one that is being opened, or taken over, has none."""
        return hasattr(self, "pty")

    @property
    def log(self) -> Log:
        """Return the newest output by offset."""
        return self.pty.log

    @property
    def sandbox_effective(self) -> Effective | None:
        """Return what really confines its programs; None: nothing was asked for."""
        return self.pty.sandbox if self.has_begun else None

    @property
    def size(self) -> Size:
        """Return columns and rows."""
        return self._size

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call back whenever there is new output, or the terminal ends; return the function that stops it.

        It is called in the midst of the event loop's work, and must be quick.
        """
        return self.viewing.watch(watcher)

    @property
    def is_open(self) -> bool:
        """Tell whether the terminal can be used."""
        return self.closed_because is None

    @property
    def is_busy(self) -> bool:
        """Tell whether a command runs, an agent's or a person's."""
        return self.current is not None

    def pause(self, by: str) -> None:
        """Let a person have the terminal: what agents send is refused until `unpause`. What runs goes on."""
        self.check_open()
        self.paused_by = by

    def unpause(self) -> None:
        """Hand the terminal back to agents."""
        self.paused_by = None

    async def start(
        self,
        line: str,
        *,
        kill_after_s: float | None = None,
        verify: bool = False,
        command_id: CommandId | None = None,
        decided: tuple[str, str | None] | None = None,
    ) -> Command:
        """Send a command to the shell, once, and return its handle as soon as it is sent.

        With `verify`, the shell tells which line it runs; one that is not ours is killed. `decided` says who allowed
        it, and by which rule. Cancelling before the line was sent sends nothing and leaves the terminal idle.
        """
        checked_line(line)
        checked_time("kill_after_s", kill_after_s)
        command = Command(self, line, "agent", command_id)
        command.decided = decided
        limit_s = None if kill_after_s is None or self.run_settings.exempts(line) else kill_after_s
        await self.prompt.send(command, line, verify=verify, limit_s=limit_s)
        return command

    async def run(self, line: str, *, wait_s: float | None = None, kill_after_s: float | None = None) -> CommandResult:
        """Run a command and wait for its end, a question, or `wait_s`; then it goes on in the background.

        Cancelling kills the command: whoever cancels has nobody left to stop it.
        """
        checked_time("wait_s", wait_s)
        command = await self.start(line, kill_after_s=kill_after_s)
        try:
            return await command.wait(wait_s)
        except asyncio.CancelledError:
            self.abandon(command)
            raise

    def write(self, text: str | bytes) -> None:
        """Type into the terminal, whatever it is doing."""
        self.check_open()
        if self.current is not None:
            self.current.touch()
            self.prompt.typed_ahead = True
        else:
            self.prompt.person_types()
        self.type(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)

    def type(self, data: bytes, *, answers_to: int = 0) -> None:
        """Send bytes as if typed; the next command starts with an empty line nevertheless."""
        self.prompt.may_hold_text = True
        self.pty.write(data, answers_to=answers_to)

    def send_key(self, key: str) -> None:
        """Press a key by name."""
        self.check_open()
        self.write(key_bytes(key, application_cursor=self.screen.application_cursor_keys))

    def resize(self, cols: int, rows: int) -> None:
        """Change the size; programs are told."""
        size = Size.checked(cols, rows)
        self.check_open()
        self._size = size
        report = self.screen.resize(size)
        self.pty.resize(size)
        if report:
            self.type(report)
        self.keep()  # what comes next is drawn for this size

    def interrupt(self, command: Command) -> None:
        """Interrupt the program in front, as Ctrl-C would, even when it switched the terminal's signals off."""
        self.stop_as(command, State.INTERRUPTED)
        stopping.forget_input(self, command)
        self.spawn(stopping.interrupt(self, command))

    def stop_as(self, command: Command, state: State) -> None:
        """Note how the end of a command is to be called, also by a process that takes over before it comes."""
        command.stop_as(state)
        if self.pty.is_durable and self.is_open and self.replay is None:
            keep_state(self, self.scanner.offset)

    async def kill(self, command: Command) -> None:
        """End a command and everything it started: ask, then insist, then make sure. Cancelling does not stop it."""
        await asyncio.shield(stopping.kill(self, command))

    def abandon(self, command: Command) -> None:
        """Kill a command in the background: whoever waited for it was cancelled."""
        if command.is_running and self.is_open:
            stopping.kill(self, command)

    async def environment(self) -> dict[str, str]:
        """Return the variables the shell exports, as they were after its last command."""
        self.check_open()
        how = self.dialect.dump_environment(self.directory)
        if isinstance(how, bytes) and not self.uses_sentinel:
            await self._press_for_environment(how)
        elif isinstance(how, str):
            await (await self._send_quietly(how)).wait()
        return self.dialect.parse_environment(await self.pty.get_file(ENV_FILE) or b"")

    async def change_directory(self, path: str) -> bool:
        """Go to a directory, and tell whether the shell says it is there. The shell's history does not see it."""
        line = self.dialect.change_directory(path)
        result = await self.run_quietly(line)
        # The shell may name it in another way: through no symbolic link, or all of them.
        return result.exit_code == 0 and self.cwd is not None and canonical(self.cwd) == canonical(path)

    async def run_quietly(self, line: str) -> CommandResult:
        """Run a line of our own, which nobody is told of."""
        command = await self._send_quietly(line)
        return await command.wait(PROMPT_TIMEOUT_S, until_input=False)

    async def close(self, reason: str = "it was closed") -> None:
        """End the shell and everything started from it. A second close raises TerminalClosed."""
        if self._closing:
            raise TerminalClosed(self.id, self.closed_because or reason)
        self._closing = True
        if (command := self.current) is not None:
            command.stop_as(State.KILLED)
            command.warnings.append(f"terminal {self.id} is closed: {reason}")
            self._end_command(command, State.KILLED, None)
        self._retire(reason)
        await self.finished()

    async def finished(self) -> None:
        """Wait until everything of a closed terminal is gone."""
        while others := self._tasks - {asyncio.current_task()}:
            await asyncio.wait(others)

    # What happens inside.

    async def look(self, command: Command) -> NeedsInput | None:
        """Ask the kernel what the program in front is doing; notice an end that no marker told."""
        if not command.is_running or not self.is_open:
            return None
        state = await self.pty.inspect()
        if command is not self.current:
            return None  # it ended meanwhile
        if state.shell_replaced and _REPLACED not in command.warnings:
            command.warnings.append(_REPLACED)
        quiet_s = time.monotonic() - command.last_activity
        if self.uses_sentinel and command.has_begun and state.shell_in_front and quiet_s >= SENTINEL_LOOK_S:
            if state.waiting in (Waiting.READING, Waiting.POLLING):
                command.warnings.append("the shell is back at its prompt, but did not tell the exit code")
                self.cwd = state.cwd or self.cwd
                self._end_command(command, State.DONE, None)
            return None
        if not command.has_begun:
            return None
        last_line = command.output(max(0, self.log.end - 4096)).text.rpartition("\n")[2]
        return judge(state, quiet_s=quiet_s, last_line=last_line, full_screen=self.screen.alternate)

    def use_sentinel(self) -> None:
        """Go on without integration: commands are wrapped, and the prompt is seen from outside."""
        self.uses_sentinel = True
        self.quality = Quality.NONE

    async def shell_waits(self) -> bool:
        """Tell whether the shell itself reads from the terminal; without knowledge of the kernel, assume so."""
        state = await self.pty.inspect()
        if state.waiting is Waiting.UNKNOWN:
            return True
        return bool(state.shell_in_front) and state.waiting is not Waiting.NO

    def result_of(self, command: Command, needs_input: NeedsInput | None) -> CommandResult:
        """Make the result of one of its commands."""
        return build_result(command, self, needs_input)

    async def _send_quietly(self, line: str) -> Command:
        command = Command(self, line, "internal")
        await self.prompt.send(command, line)
        return command

    def _apply(self, event: shell.Event) -> None:
        match event:
            case shell.PromptReady():
                self.prompt.drawn()
            case shell.PropertyReported(name, value):
                self._property(name, value)
            case _ if self.prompt.recovering:
                pass
            case shell.Output(offset, data):
                if (command := self.current) is not None:
                    command.take(offset, data)
                    if command.origin != "internal":
                        self.observer.output(self, command, data)
            case shell.CommandBegan(offset, line):
                self._command_began(offset, line)
            case shell.CommandFinished():
                self._command_finished(event)
            case shell.MoreInputWanted():
                if self.current is not None:
                    self.current.reject_incomplete()
                    self.spawn(self._break_off(self.current))

    async def _break_off(self, command: Command) -> None:
        """Break off a line that is not complete. A shell that is about to read may miss the key: it gets another."""
        for within_s in _BREAK_OFF_S:
            if not command.is_running or self.tracker.phase is not shell.Phase.CONTINUATION or not self.is_open:
                return
            self.type(b"\x03")
            await command.ended(within_s)

    def tell_start(self, command: Command, source: Literal["agent", "user"]) -> None:
        """Tell everybody that a command was sent, or that a person's began."""
        self.observer.began(self, command)
        self._emit(CommandStarted(self.id, command.id, command.line, source))

    def _command_began(self, offset: int, line: str | None) -> None:
        self.prompt.is_there.clear()
        if self.current is None or not self.current.is_sent:
            # An agent's command that has not been sent yet is not the one that begins: a person was quicker.
            self.prompt.person_began()
            # The same id for whoever reads the same output again.
            own = hashlib.sha256(f"{self.nonce} {offset}".encode()).hexdigest()[:16]
            self.current = Command(self, line, "user", CommandId(f"c_{own}"))
            self.current.is_sent = True
            self.current.mark = self.pty.mark()
            self.tell_start(self.current, "user")
        if not self.current.has_begun:
            self.current.begin(offset)
            if self.current.is_another(line):
                stopping.kill(self, self.current)

    def _command_finished(self, event: shell.CommandFinished) -> None:
        self._answers.drop()
        self.prompt.hooks_lost = event.hooks_lost
        command = self.current
        if command is None:
            return
        if command.origin == "user" and event.line is not None:
            command.line = event.line
        if not command.has_begun:
            command.begin(event.offset)
        if not event.ran and event.exit_code is not None:
            command.warnings.append("the shell ran nothing: the line holds no command")
        exit_code = event.exit_code if event.ran else None
        if self.uses_sentinel or event.hooks_lost:
            self.spawn(self._end_where_it_is(command, exit_code))  # nobody has told where that is
        else:
            self._end_command(command, State.DONE, exit_code)

    async def _end_where_it_is(self, command: Command, exit_code: int | None) -> None:
        cwd = (await self.pty.inspect()).cwd
        if cwd is not None and not self._is_at(cwd):
            self.cwd = cwd
            self._emit(CwdChanged(self.id, cwd))
        if self.current is command:
            self._end_command(command, State.DONE, exit_code)

    def _is_at(self, real: str) -> bool:
        """Tell whether the shell is where it was, by another name perhaps."""
        return self.cwd is not None and (self.cwd == real or canonical(self.cwd) == real)

    def _end_command(self, command: Command, state: State, exit_code: int | None) -> None:
        if self.kill_timer is not None:
            self.kill_timer.cancel()
            self.kill_timer = None
        self.current = None
        command.finish(state, exit_code)
        if command.origin != "internal":
            self.last = command
            self.observer.ended(self, command)
            self._emit(CommandFinished(self.id, command.id, command.line, command.origin, exit_code))

    async def _press_for_environment(self, key: bytes) -> None:
        """Press the key that makes the shell dump its environment, and wait until it has."""
        if self.current is not None:
            raise TerminalBusy(self.id, self.current.line)
        await self.prompt.wait()
        told = self._environment_told.wait()
        self.pty.write(key)
        async with asyncio.timeout(PROMPT_TIMEOUT_S):
            await told

    def _property(self, name: str, value: bytes) -> None:
        if name == "Cwd":
            cwd = os.fsdecode(value)
            if cwd != self.cwd:
                self.cwd = cwd
                self._emit(CwdChanged(self.id, cwd))
        elif name == "Env":
            self._environment_told.fire()
        elif name == "Prompt" and value == b"lost":
            self._retire("its standard input or error was redirected, and the prompt with it")
        elif name == "Integration" and value == b"none":
            self.integration_failed = f"this {self.shell} is too old or too restricted for the integration"
            self.prompt.is_there.set()

    def kill_later(self, command: Command, limit_s: float, at: float) -> None:
        """Kill a command at a time of the monotonic clock, which all processes share."""
        command.time_limit = (limit_s, at)
        after_s = max(0.0, at - time.monotonic())
        self.kill_timer = asyncio.get_running_loop().call_later(after_s, self._time_is_over, command, limit_s)

    def _time_is_over(self, command: Command, limit_s: float) -> None:
        self.kill_timer = None
        if command.is_running:
            command.warnings.append(f"killed: it ran longer than {limit_s:g} s")
            stopping.kill(self, command)

    def _retire(self, reason: str) -> None:
        """Take the terminal out of use and free what it holds, once the command that did it is told its end."""
        if self.closed_because is not None:
            return
        self.closed_because = reason
        self.prompt.is_there.set()
        self._emit(TerminalEnded(self.id, reason))
        self.viewing.tell()
        self.spawn(self._free())

    async def _free(self) -> None:
        self.viewing.close()
        await self.pty.close()
        self.screen.close()
        self.observer.closed(self)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something in a task that ends before the terminal is finished."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def check_handed_over(self) -> None:
        """Raise TerminalPaused while a person has the terminal."""
        if self.paused_by is not None:
            raise TerminalPaused(self.id, self.paused_by)

    def check_open(self) -> None:
        """Raise TerminalClosed, with the reason, unless the terminal can be used."""
        if self.closed_because is not None:
            raise TerminalClosed(self.id, self.closed_because)
