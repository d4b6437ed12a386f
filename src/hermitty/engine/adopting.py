"""Going on with a terminal that another process opened and left, or that outlived it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from hermitty.config import Settings
from hermitty.engine import keeping
from hermitty.engine.observer import Observer
from hermitty.engine.terminal import Terminal
from hermitty.errors import HermittyError, InvalidRequest
from hermitty.events import TerminalEvent
from hermitty.host.base import FoundPty, Host, Waiting, shell_directory
from hermitty.model import Size, State
from hermitty.sandbox.spec import Confinement
from hermitty.shell.launch import DIALECTS
from hermitty.vt.markers import MarkerScanner
from hermitty.vt.screen import Screen

GetFile = Callable[[str], Awaitable[bytes | None]]


class Replay:
    """Output that another process has seen before, as far as it was not kept what it meant.

    The screen needs what comes after `shown`, the tracker what comes after `understood`. Queries before `answered` were
    answered, and those that the tracker does not see are too old for anybody to wait.
    """

    def __init__(self, at: int, until: int, *, shown: int, understood: int, answered: int) -> None:
        self.start = self._at = at
        self._until = until
        self._shown = shown
        self._understood = understood
        self._answered = answered
        self.is_over = asyncio.Event()
        if at >= until:
            self.is_over.set()

    def take(self, terminal: Terminal, data: bytes) -> None:
        """Take the next bytes; after the last ones the terminal goes on by itself."""
        while data:
            ahead = [at for at in (self._shown, self._understood, self._answered, self._until) if at > self._at]
            part = data[: min(ahead, default=self._at + len(data)) - self._at]
            data = data[len(part) :]
            is_shown, is_understood = self._at < self._shown, self._at < self._understood
            if is_shown or is_understood or self._at < self._answered:
                if not is_shown:
                    terminal.screen.feed(part)
                if not is_understood:
                    terminal.understand(part)
            else:
                terminal.take(part)
            self._at += len(part)
            if self._at >= self._until:
                self.is_over.set()
            if self._at >= max(self._until, self._shown, self._understood, self._answered):
                terminal.replay = None
                if data:
                    terminal.take(data)
                return


async def prepare(
    found: FoundPty,
    get_file: GetFile,
    *,
    settings: Settings,
    new_screen: Callable[[Size], Screen],
    restore_screen: Callable[[bytes], Screen],
    emit: Callable[[TerminalEvent], None],
    observer: Observer,
) -> Terminal | None:
    """Make a terminal of what was kept of it; None when that is not enough, because it was never open."""
    birth = keeping.read_birth(await get_file(keeping.BIRTH))
    kept = keeping.read_state(await get_file(keeping.STATE))
    if birth is None or kept is None or birth.shell not in DIALECTS:
        return None
    sandbox = None if birth.sandbox is None else Confinement.from_json(birth.sandbox)
    screen, shown = await _screen(found, get_file, new_screen, restore_screen)
    terminal = Terminal(
        found.terminal,
        DIALECTS[birth.shell](),
        nonce=birth.nonce,
        directory=shell_directory(found.directory, sandbox),
        cwd=kept.record["cwd"],
        size=found.size,
        screen=screen,
        options=birth.options,
        settings=settings.terminal,
        run_settings=settings.run,
        emit=emit,
        observer=observer,
    )
    terminal.started_with = birth.env
    terminal.sandbox = sandbox
    understood = max(kept.offset, found.start)
    terminal.scanner = MarkerScanner(birth.nonce, offset=understood)
    at = max(found.start, min(shown, understood))
    terminal.replay = Replay(
        at, found.end, shown=max(at, shown), understood=understood, answered=max(found.answered, at)
    )
    return terminal


async def take_over(terminal: Terminal, found: FoundPty, host: Host, get_file: GetFile) -> None:
    """Let a prepared terminal go on, and wait until it is where its output is.

    Raises HostUnavailable, and TerminalNotFound when it is being closed; then nothing has begun.
    """
    replay = terminal.replay
    kept = keeping.read_state(await get_file(keeping.STATE))
    head = await get_file(keeping.HEAD)
    assert replay is not None
    assert kept is not None
    terminal.pty = await host.take_over(found.terminal, terminal, since=replay.start)
    # Before anything else happens: it is told of the output that comes after this state in a later turn of the loop.
    keeping.restore_state(terminal, kept, writes=found.writes, head=head)
    lost = replay.start - kept.offset
    if lost > 0 and terminal.current is not None:
        terminal.current.warnings.append(f"{lost} bytes of its output were lost while no server ran")
    terminal.viewing.wait_for(kept.record["watched"])
    await replay.is_over.wait()
    terminal.replay = None
    if not terminal.is_open:
        return
    if lost > 0:
        await _catch_up(terminal)
    terminal.keep()
    if (command := terminal.current) is not None and command.stopping is State.KILLED:
        terminal.abandon(command)  # somebody wanted it killed, and was killed first


async def _catch_up(terminal: Terminal) -> None:
    """Find out by other means what the lost output would have told."""
    with contextlib.suppress(HermittyError):
        # A full-screen program draws everything again when its size changes.
        size = terminal.size
        terminal.resize(size.cols, size.rows + 1)
        terminal.resize(size.cols, size.rows)
    command = terminal.current
    state = await terminal.pty.inspect()
    if command is not None and state.shell_in_front and state.waiting in (Waiting.READING, Waiting.POLLING):
        terminal.lose_track(command)


async def _screen(
    found: FoundPty,
    get_file: GetFile,
    new_screen: Callable[[Size], Screen],
    restore_screen: Callable[[bytes], Screen],
) -> tuple[Screen, int]:
    """Return the screen as it was kept, and the offset from which on it must be fed."""
    kept = keeping.read_screen(await get_file(keeping.SCREEN))
    if kept is not None:
        offset, size, snapshot = kept
        with contextlib.suppress(InvalidRequest):  # another version of the emulator wrote it
            screen = restore_screen(snapshot)
            if size != found.size:
                screen.resize(found.size)
            return screen, offset
    return new_screen(found.size), found.start
