"""What was typed just before an agent's command: settled first, so that each gets its own line.

Neither the line editor nor the kernel tells when typed keys have all been read, so the shell is watched until it waits.
"""

import asyncio
import signal
from typing import TYPE_CHECKING

from hermitty.engine.command import Command
from hermitty.errors import TerminalBusy
from hermitty.host.base import Waiting

if TYPE_CHECKING:
    from hermitty.engine.terminal import Terminal

# A shell that waits for input at so many looks in a row has read what was typed.
_LOOKS = 3
_LOOK_S = 0.01
# How long lines may run that a program left to the shell.
LEFT_S = 5.0
# How long a prompt may take after what stood there was interrupted.
_PROMPT_S = 0.5


async def let_it_be_read(terminal: "Terminal", command: Command) -> None:
    """Let the shell read what a program was typed and did not read: it runs whole lines of it, as it always does."""
    still = 0
    deadline = asyncio.get_running_loop().time() + LEFT_S
    while still < _LOOKS:
        await asyncio.sleep(_LOOK_S)
        state = await terminal.pty.inspect()
        terminal.check_open()
        at_prompt = terminal.uses_sentinel or terminal.prompt.is_there.is_set()
        is_ours = terminal.current in (None, command) and at_prompt
        still = still + 1 if is_ours and state.shell_in_front is not False and state.waiting is not Waiting.NO else 0
        if asyncio.get_running_loop().time() > deadline:
            current = terminal.current
            raise TerminalBusy(terminal.id, None if current is None or current is command else current.line)
    terminal.prompt.typed_ahead = False


async def settle(terminal: "Terminal", command: Command) -> None:
    """Find out what became of what a person typed: a command that runs, a new prompt, or a line to give up."""
    still = 0
    while terminal.prompt.typed and still < _LOOKS:
        await asyncio.sleep(_LOOK_S)
        state = await terminal.pty.inspect()
        terminal.check_open()
        if terminal.current is not command or state.shell_in_front is False:
            current = terminal.current
            raise TerminalBusy(terminal.id, current.line if current not in (None, command) and current else None)
        still = still + 1 if state.waiting is not Waiting.NO else 0
    if terminal.prompt.typed and terminal.dialect.is_posix:
        # The line editor is in the middle of something: a half line, an open quote, half a key.
        terminal.prompt.is_there.clear()
        terminal.pty.discard_input()
        await terminal.pty.signal_foreground(signal.SIGINT)
        if not await terminal.prompt.is_there.wait(_PROMPT_S):
            terminal.prompt.is_there.set()  # what was interrupted was a search or a menu; the line is the same
        terminal.check_open()
    terminal.prompt.typed = 0
