"""The commands of a runtime by their ids: those that run, and the most recent of those that ran."""

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hermitty.engine.command import Command
from hermitty.engine.oneshot import Process
from hermitty.errors import CommandNotFound
from hermitty.model import CommandId, CommandResult, TerminalId
from hermitty.runtime.delayed import Delayed

if TYPE_CHECKING:
    from hermitty.runtime.surviving import KeptResults

# How many commands that are over can be asked for. Their texts are bounded by the settings, their output is let go.
_REMEMBERED = 500
# Most commands are over before it matters that they run.
_TAKES_A_WHILE_S = 1.0

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

    def __init__(self, kept: "KeptResults | None" = None) -> None:
        self._known: dict[CommandId, Known] = {}
        self._kept = kept
        self._looks = Delayed(_TAKES_A_WHILE_S)

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
        if self._kept is not None and terminal is None:
            self._kept.put(known.result())
        elif self._kept is not None:
            # Until then, what is kept with its terminal tells of it.
            self._looks.add(lambda: self._keep_running(known))
        if len(self._known) > 2 * _REMEMBERED:
            over = [each for each, known in self._known.items() if not known.handle.is_running]
            for old in over[:-_REMEMBERED]:
                del self._known[old]
        return known

    def _keep_running(self, known: Known) -> None:
        if self._kept is not None and known.handle.is_running:
            self._kept.put(known.result())

    def over(self, handle: Handle) -> None:
        """Note that a command has ended, and keep its result if results are kept."""
        if self._kept is not None and (known := self._known.get(handle.id)) is not None:
            self._kept.put(known.result())

    def kept(self, command_id: str) -> CommandResult:
        """Return the result of a command of an earlier process. Raises CommandNotFound."""
        result = self._kept.get(command_id) if self._kept is not None else None
        if result is None:
            raise CommandNotFound(command_id)
        return result

    def took_s(self, command_id: str) -> float | None:
        """Return how long a command took whose end an earlier process has seen and kept."""
        result = self._kept.get(command_id) if self._kept is not None else None
        return result.duration_s if result is not None and result.state.is_final else None

    def forget_kept(self) -> None:
        """Keep no more results: where they are kept is about to close."""
        self._kept = None

    @property
    def running(self) -> set[str]:
        """Return the ids of the commands that run."""
        return {each for each, known in self._known.items() if known.handle.is_running}

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
