"""The commands of a runtime by their ids: those that run, and the most recent of those that ran."""

import time
from dataclasses import dataclass, replace

from hermitty.engine.command import Command
from hermitty.engine.oneshot import Process
from hermitty.errors import CommandNotFound
from hermitty.model import CommandId, CommandResult, TerminalId

# How many commands that are over can be asked for. Their texts are bounded by the settings, their output is let go.
_REMEMBERED = 500

Handle = Command | Process


@dataclass(frozen=True, slots=True)
class Known:
    """A command, and whose it was when it began."""

    handle: Handle
    terminal: TerminalId | None
    session: str | None
    workspace: str | None
    started_at: float  # seconds since 1970

    def result(self) -> CommandResult:
        """Return what is known of it now."""
        return replace(self.handle.result(), session=self.session)


class Commands:
    """Remembers commands. Nothing here waits."""

    def __init__(self) -> None:
        self._known: dict[CommandId, Known] = {}

    def add(
        self,
        handle: Handle,
        *,
        terminal: TerminalId | None = None,
        session: str | None = None,
        workspace: str | None = None,
        started_at: float | None = None,
    ) -> Known:
        """Note that a command begins."""
        known = Known(handle, terminal, session, workspace, time.time() if started_at is None else started_at)
        self._known[handle.id] = known
        if len(self._known) > 2 * _REMEMBERED:
            over = [each for each, known in self._known.items() if not known.handle.is_running]
            for old in over[:-_REMEMBERED]:
                del self._known[old]
        return known

    def find(self, command_id: str) -> Known:
        """Return a command by its id. Raises CommandNotFound."""
        known = self._known.get(CommandId(command_id))
        if known is None:
            raise CommandNotFound(command_id)
        return known

    def __contains__(self, command_id: str) -> bool:
        """Tell whether a command is remembered."""
        return command_id in self._known

    def newest(self, *, terminal: str | None = None, session: str | None = None) -> list[Known]:
        """Return the commands of a terminal or a session, or all: those that run first, then the newest."""
        wanted = [
            known
            for known in reversed(self._known.values())
            if terminal in (None, known.terminal) and session in (None, known.session)
        ]
        return sorted(wanted, key=lambda known: not known.handle.is_running)
