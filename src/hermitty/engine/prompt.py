"""The shell's prompt: what may stand there, and how an agent's line gets there, once.

A person may type at the same prompt. Whoever is first has the terminal; a line of ours never joins half a line of his.
"""

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from hermitty.engine.command import Command
from hermitty.engine.flag import Flag
from hermitty.engine.keeping import keep_state
from hermitty.engine.typed import LEFT_S, let_it_be_read, settle
from hermitty.errors import HermittyError, NotSupported, TerminalBusy
from hermitty.shell.dialect import Submission
from hermitty.shell.sentinel import submit_with_sentinel

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermitty.engine.terminal import Terminal

# A prompt that is slower than this after a command is not coming.
PROMPT_TIMEOUT_S = 30.0
# How often the kernel is asked whether a shell without integration is back at its prompt.
SENTINEL_LOOK_S = 0.02


class Prompt:
    """The place of one terminal where lines are typed."""

    def __init__(self, terminal: "Terminal") -> None:
        self._terminal = terminal
        self.is_there = Flag(terminal.alarm)
        self.typed = 0  # how many prompts must come before nothing is left of what a person typed
        self.typed_ahead = False  # a program was typed to, and may have left some of it to the shell
        self.hooks_lost = False
        self.recovering = False
        self.may_hold_text = True  # something may stand on the line, or be on its way there
        self._next: Callable[[], None] | None = None  # sends the command that waits for the prompt

    def person_types(self) -> None:
        """Note that a person types while no command runs."""
        self.typed = 1 if self.is_there.is_set() else 2

    def person_began(self) -> None:
        """Note that a person's line runs: he was quicker than whoever waits."""
        self._next = None

    def drawn(self) -> None:
        """Note a new prompt; what waits for it is sent at once."""
        self.typed = max(0, self.typed - 1)
        self.recovering = False
        self.is_there.set()
        send, self._next = self._next, None
        if send is not None and not self.hooks_lost and not self.typed and not self.typed_ahead:
            # Whoever waits would do the same, a turn of the event loop later, and be told what is wrong with it.
            with contextlib.suppress(HermittyError, OSError):
                send()

    async def wait(self) -> None:
        """Wait until a line can be typed."""
        terminal = self._terminal
        if terminal.uses_sentinel:
            while not await terminal.shell_waits():
                await asyncio.sleep(SENTINEL_LOOK_S)  # the kernel does not tell when a process starts to read
        elif not await self.is_there.wait(PROMPT_TIMEOUT_S):
            raise TerminalBusy(terminal.id, "its prompt, which does not come back")
        terminal.check_open()

    async def send(self, command: Command, line: str, *, verify: bool = False, limit_s: float | None = None) -> None:
        """Type the line of a command; everything about the command is known by then."""
        terminal = self._terminal
        if terminal.clearing is not None and not terminal.clearing.done():
            # Whatever has started since the command before is being killed.
            await asyncio.wait({terminal.clearing})
        if self.typed_ahead and terminal.current is not None and terminal.current.origin == "user":
            await terminal.current.ended(LEFT_S)  # what a program left to the shell
        terminal.check_open()
        terminal.check_handed_over()
        if not terminal.takes_commands:
            raise NotSupported(
                f"terminal {terminal.id} has no shell integration ({terminal.integration_failed}); it can be typed "
                "into, but commands cannot be run in it; use the pipe provider"
            )
        if terminal.current is not None:
            raise TerminalBusy(terminal.id, terminal.current.line)
        terminal.current = command

        def send() -> None:
            submission = self._submission(line)
            self._put_files(submission)  # for which there may be no room
            command.mark = terminal.pty.mark()
            command.is_sent = True
            if limit_s is not None:
                terminal.kill_later(command, limit_s, time.monotonic() + limit_s)
            command.expected = submission.told if verify else None
            self._type(submission, tell=verify)
            if command.origin == "agent":
                terminal.tell_start(command, "agent")

        try:
            self._next = send
            await self.wait()
            self._next = None
            if not command.is_sent:
                if self.typed_ahead:
                    await let_it_be_read(terminal, command)
                self._claim(command)
                if self.typed and not terminal.uses_sentinel:
                    await settle(terminal, command)
                if self.hooks_lost:
                    await self._recover_hooks()
                self._claim(command)
                send()
        except BaseException:
            self._next = None
            if command.is_sent:
                terminal.abandon(command)  # nobody has its handle
            elif terminal.current is command:
                terminal.current = None
            raise

    def _claim(self, command: Command) -> None:
        """Have the terminal for a command that waited for its prompt; a person's line may have come and gone."""
        terminal = self._terminal
        if terminal.current is None:
            terminal.current = command
        elif terminal.current is not command:
            raise TerminalBusy(terminal.id, terminal.current.line)

    async def _recover_hooks(self) -> None:
        """Install the hooks again that a command removed. What that prints belongs to no command."""
        self.hooks_lost = False
        submission = self._terminal.dialect.recover(self._terminal.directory, self._terminal.options)
        if submission is None:
            return
        self._put_files(submission)
        self.recovering = True  # until the next prompt
        self._type(submission)
        await self.wait()

    def _submission(self, line: str) -> Submission:
        terminal = self._terminal
        if terminal.uses_sentinel:
            return submit_with_sentinel(line, terminal.directory, terminal.nonce)
        return terminal.dialect.submit(line, terminal.directory, terminal.options)

    def _put_files(self, submission: Submission) -> None:
        for name, data in submission.files.items():
            self._terminal.pty.put_file(name, data)

    def _type(self, submission: Submission, *, tell: bool = False) -> None:
        terminal = self._terminal
        keys = submission.keys + (submission.tell if tell else b"") + submission.accept
        if self.may_hold_text:
            # A person's half line, or an answer to a program that has left, is not part of this line.
            self.may_hold_text = False
            terminal.pty.discard_input()
            keys = submission.clear + keys
        terminal.tracker.submitted(is_confirmed=submission.is_confirmed)
        self.is_there.clear()
        if terminal.pty.is_durable:
            keep_state(terminal, terminal.understood, is_line=True)
        terminal.pty.write(keys)
