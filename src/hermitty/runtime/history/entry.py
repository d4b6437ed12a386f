"""One command in the history, and what to look for in it."""

from dataclasses import dataclass, replace
from typing import Literal

from hermitty.model import CommandResult, ProviderName, State
from hermitty.runtime.history.masking import mask_secrets

# Longer command lines are cut: a history is for reading.
COMMAND_LIMIT_BYTES = 100_000
# So much more is looked at for secrets that the cut goes through.
_OVERLAP = 4096
_FIELD_LIMIT = 4096

Source = Literal["agent", "user"]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """What is remembered of one command. Recording the same `command_id` again replaces what was known."""

    command_id: str
    command: str
    source: Source
    started_at: float  # seconds since 1970
    state: State
    duration_s: float | None = None
    exit_code: int | None = None
    signal: str | None = None
    session: str | None = None
    workspace: str | None = None
    terminal: str | None = None
    provider: ProviderName = "pty"
    shell: str | None = None
    cwd: str | None = None  # where it was started
    cwd_after: str | None = None
    decision: str | None = None
    rule: str | None = None
    output_bytes: int = 0
    artifact: str | None = None

    @property
    def cost_bytes(self) -> int:
        """Return about how much memory it takes."""
        return 1024 + 4 * len(self.command)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place between two entries."""

    started_at: float
    number: int


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """Which entries are wanted, newest first. `search` is part of the command line; ASCII letters match in any case."""

    search: str | None = None
    session: str | None = None
    failed: bool = False
    since: float | None = None
    until: float | None = None
    limit: int = 50
    before: Cursor | None = None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Entries, newest first; `next` is where to go on; `missing` commands of that time could not be recorded."""

    entries: list[HistoryEntry]
    next: Cursor | None
    missing: int


def entry_of_result(
    result: CommandResult,
    *,
    started_at: float,
    cwd: str | None,
    source: Source = "agent",
    workspace: str | None = None,
    decision: str | None = None,
    rule: str | None = None,
) -> HistoryEntry:
    """Make an entry of a result; `cwd` is where the command was started."""
    return HistoryEntry(
        command_id=result.id,
        command=result.command,
        source=source,
        started_at=started_at,
        state=result.state,
        duration_s=result.duration_s if result.state.is_final else None,
        exit_code=result.exit_code,
        signal=result.signal,
        session=result.session,
        workspace=workspace,
        terminal=result.terminal,
        provider=result.provider,
        shell=result.shell,
        cwd=cwd,
        cwd_after=result.cwd if result.state.is_final else None,
        decision=decision,
        rule=rule,
        output_bytes=result.total_bytes,
        artifact=result.artifact,
    )


def shortened(command: str) -> str:
    """Return as much of a command line as is looked at before it is stored. Quick."""
    return command[: COMMAND_LIMIT_BYTES + _OVERLAP]


def presentable(entry: HistoryEntry, *, length: int, mask: bool) -> HistoryEntry:
    """Return the entry as it is stored: without secrets, bounded, and with text that can be stored at all.

    `length` is how many characters the command line had before it was shortened.
    """
    command = mask_secrets(entry.command) if mask else entry.command
    data = command.encode("utf-8", "backslashreplace")
    if len(data) > COMMAND_LIMIT_BYTES or length > len(entry.command):
        shown = data[:COMMAND_LIMIT_BYTES].decode("utf-8", "ignore")
        command = f"{shown}… [cut here: the line has {length} characters]"
    else:
        command = data.decode()
    return replace(
        entry,
        command=command,
        session=_bounded(entry.session),
        workspace=_bounded(entry.workspace),
        cwd=_bounded(entry.cwd),
        cwd_after=_bounded(entry.cwd_after),
        rule=_bounded(entry.rule),
    )


def _bounded(text: str | None) -> str | None:
    return None if text is None else text[:_FIELD_LIMIT].encode("utf-8", "backslashreplace").decode()
