"""Ending a command: interrupt, terminate, kill, and in the end the shell itself.

Each step is taken only when the one before it was not enough, and what is left behind is looked for until nothing is.
"""

import asyncio
import signal
import time
from typing import TYPE_CHECKING

from hermitty.engine.command import Command
from hermitty.model import State

if TYPE_CHECKING:
    from hermitty.engine.terminal import Terminal

# For so long, and in such steps, is looked for programs that an interrupt came too early for.
_INTERRUPT_SETTLES_S = 0.5
_INTERRUPT_LOOK_S = 0.02
# A line that was sent is run by then, unless the shell waits for the rest of it.
_BEGINS_WITHIN_S = 3.0
_BEGIN_LOOK_S = 0.005
# A shell that is still in front after so many looks runs the line itself.
_STARTING_LOOKS = 6
_STARTING_LOOK_S = 0.01
_JUST_STARTED_S = 0.2
_AGAIN_S = 0.1
_KILLED_GRACE_S = 1.0
_LEFTOVER_GRACE_S = 2.0
_LEFTOVER_LOOK_S = 0.005


def forget_input(terminal: "Terminal", command: Command) -> None:
    """Forget what was typed for a program that is to end. Before it has begun, that is the command line itself."""
    if command.has_begun:
        terminal.pty.discard_input()


async def _is_under_way(terminal: "Terminal", command: Command) -> bool:
    """Wait until a command that was just sent runs, in a program or a while in the shell; False when it is over."""
    begins_by = time.monotonic() + _BEGINS_WITHIN_S
    while not command.has_begun and time.monotonic() < begins_by:
        if await command.ended(_BEGIN_LOOK_S) or not terminal.is_open:
            return False
    for _ in range(_STARTING_LOOKS):
        if (await terminal.pty.inspect()).shell_in_front is False:
            return True
        if await command.ended(_STARTING_LOOK_S) or not terminal.is_open:
            return False
    return True


async def interrupt(terminal: "Terminal", command: Command) -> None:
    """Interrupt the group in front, and those that take its place: a shell may have been about to start one.

    A signal that reaches the shell between two steps of a line is forgotten when the next step starts. Once a program
    was reached, the shell gets none: it is on its way to its prompt, where it would draw another one, and that would
    end whatever is run next. Nor does a shell get one before it has told that it runs the line, which it would lose, or
    while it is about to start a program: bash has been seen to tell the end then, and to start it all the same.
    """
    is_new = not command.has_begun or command.duration_s < _JUST_STARTED_S
    if is_new and not await _is_under_way(terminal, command):
        return
    interrupted: set[int] = set()
    reached = False
    deadline = time.monotonic() + _INTERRUPT_SETTLES_S
    # A program that is just being started may lose it between fork and exec; it gets another one, once.
    again_at = time.monotonic() + _AGAIN_S if command.duration_s < _JUST_STARTED_S else deadline
    while command.is_running and terminal.is_open:
        if not reached or (await terminal.pty.inspect()).shell_in_front is False:
            # It may end in this very moment, and the shell be in front again.
            spared = {*interrupted, terminal.pty.pid} if reached else interrupted
            group = await terminal.pty.signal_foreground(signal.SIGINT, unless=spared)
            if group is not None:
                interrupted.add(group)
                reached = reached or group != terminal.pty.pid
        if await command.ended(_INTERRUPT_LOOK_S) or time.monotonic() > deadline:
            return
        if time.monotonic() > again_at:
            again_at = deadline
            interrupted.clear()


def kill(terminal: "Terminal", command: Command) -> "asyncio.Task[None]":
    """Begin to end a command and everything it started, once, whoever asks; return what is over when nothing is left.

    The terminal does it: those who wait for it may be cancelled.
    """
    if command.clearing is None or (command.clearing.done() and command.is_running):  # the last one failed
        command.clearing = terminal.clearing = terminal.spawn(_climb(terminal, command))
    return command.clearing


async def _climb(terminal: "Terminal", command: Command) -> None:
    terminal.stop_as(command, State.KILLED)
    forget_input(terminal, command)
    settings = terminal.run_settings
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(interrupt(terminal, command))
        gone = await command.ended(settings.interrupt_grace_s)
        asking.cancel()
    if not gone:
        await terminal.pty.signal_since(command.mark, signal.SIGTERM)
        gone = await command.ended(settings.terminate_grace_s)
    await _kill_leftovers(terminal, command)
    if not gone and not await command.ended(_KILLED_GRACE_S) and terminal.is_open:
        # What runs is the shell itself, and it does not listen. Nothing less than its end will do.
        await terminal.close(f"`{command.line}` could not be stopped without its shell")


async def _kill_leftovers(terminal: "Terminal", command: Command) -> None:
    """Kill what the command started and left behind, `setsid` children too, until nothing is left."""
    deadline = time.monotonic() + _LEFTOVER_GRACE_S
    while terminal.is_open and await terminal.pty.signal_since(command.mark, signal.SIGKILL):
        if terminal.current not in (None, command):
            command.warnings.append("some of its processes may go on: somebody has typed another command")
            return
        if time.monotonic() > deadline:
            command.warnings.append("some processes of this command could not be killed")
            return
        await asyncio.sleep(_LEFTOVER_LOOK_S)  # nothing tells when somebody else's child is gone
