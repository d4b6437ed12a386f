"""From the commands of terminals to entries of the history.

A command that takes a while is recorded before it ends, too: one that outlives its runtime is in the history.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hermitty.engine.command import Command
from hermitty.engine.terminal import Terminal
from hermitty.model import CommandId, TerminalId, signal_of_exit_code
from hermitty.runtime.history.entry import HistoryEntry

# Most commands are over before anybody could ask for them.
_TAKES_A_WHILE_S = 0.5

# Session and workspace of a terminal.
Owner = tuple[str | None, str | None]


@dataclass(slots=True)
class _Started:
    terminal: Terminal
    command: Command
    cwd: str | None
    at: float
    is_recorded: bool = False


class HistoryRecorder:
    """Is told by an observer of terminals; `owner_of` knows whose one is, `is_on` whether there is a history."""

    def __init__(
        self,
        record: Callable[[HistoryEntry], object],
        owner_of: Callable[[TerminalId], Owner],
        is_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self._record = record
        self._owner_of = owner_of
        self._is_on = is_on
        self._running: dict[CommandId, _Started] = {}
        self._look: asyncio.TimerHandle | None = None

    def began(self, terminal: Terminal, command: Command) -> None:
        """Note the start, and record it if there is no end soon."""
        self._running[command.id] = _Started(terminal, command, terminal.cwd, time.time())
        if self._look is None:
            self._look = asyncio.get_running_loop().call_later(_TAKES_A_WHILE_S, self._record_started)

    def state_of(self, command: Command) -> tuple[str | None, float] | None:
        """Return where and when a command began, for another process."""
        started = self._running.get(command.id)
        return None if started is None else (started.cwd, started.at)

    def resumed(self, terminal: Terminal, command: Command, state: Sequence[Any] | None) -> None:
        """Go on with a command that began in another process."""
        self.began(terminal, command)
        # It began just when its terminal was kept, or a moment later.
        ago_s = time.monotonic() - command.started
        cwd, at = (terminal.cwd, time.time() - ago_s) if state is None else (state[0], float(state[1]))
        self._running[command.id] = _Started(terminal, command, cwd, at)

    def ended(self, terminal: Terminal, command: Command, artifact: str | None) -> None:
        """Record the end."""
        started = self._running.pop(command.id, None)
        if started is not None and self._is_on():
            self._record(self._entry(started, artifact))

    def close(self) -> None:
        """Record nothing more of what runs: its end is another process's to tell."""
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def _record_started(self) -> None:
        """Record what has been running for a while, and look again as long as something new runs."""
        self._look = None
        fresh = [started for started in self._running.values() if not started.is_recorded]
        for started in fresh:
            # What a person typed may be known at the end only.
            if started.command.line and started.command.duration_s >= _TAKES_A_WHILE_S:
                started.is_recorded = True
                self._record(self._entry(started))
        if any(not started.is_recorded for started in fresh):
            self._look = asyncio.get_running_loop().call_later(_TAKES_A_WHILE_S, self._record_started)

    def _entry(self, started: _Started, artifact: str | None = None) -> HistoryEntry:
        terminal, command = started.terminal, started.command
        session, workspace = self._owner_of(terminal.id)
        is_over = not command.is_running
        return HistoryEntry(
            command_id=command.id,
            command=command.line or "",
            source="user" if command.origin == "user" else "agent",
            started_at=started.at,
            state=command.state,
            duration_s=command.duration_s if is_over else None,
            exit_code=command.exit_code,
            signal=signal_of_exit_code(command.exit_code),
            session=session,
            workspace=workspace,
            terminal=terminal.id,
            shell=terminal.shell,
            cwd=started.cwd,
            cwd_after=terminal.cwd if is_over else None,
            output_bytes=command.capture.total if is_over else 0,
            decision=command.decided[0] if command.decided else None,
            rule=command.decided[1] if command.decided else None,
            artifact=artifact,
        )
