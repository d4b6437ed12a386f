"""What a durable host tells of its terminals, as messages have it."""

import contextlib
import os
from pathlib import Path

from hermitty.host.kept import KeptPty
from hermitty.host.local import inspect
from hermitty.model import ExitStatus
from hermitty.wire.hostlink import messages as m


def opened(request: int, kept: KeptPty) -> m.Opened:
    """Tell a user what he needs to use a terminal."""
    return m.Opened(
        request,
        kept.handle,
        kept.pty.pid,
        str(kept.directory),
        kept.geometry.size,
        kept.start,
        kept.end,
        kept.writes,
        kept.input_bytes,
        kept.input_taken,
        kept.sandbox,
    )


def found(kept: KeptPty) -> m.FoundItem:
    """Tell the next user of a terminal."""
    status = kept.status or ExitStatus()
    return m.FoundItem(
        kept.terminal,
        kept.pty.pid,
        str(kept.directory),
        kept.size.cols,
        kept.size.rows,
        kept.start,
        kept.end,
        kept.writes,
        kept.answered,
        kept.status is not None,
        status.code,
        status.signal,
    )


def state(request: int, kept: KeptPty) -> m.State:
    """Tell what the operating system says of a terminal."""
    seen = inspect(kept.pty)
    return m.State(
        request,
        seen.waiting.name,
        seen.shell_in_front,
        seen.shell_replaced,
        seen.echo,
        seen.canonical,
        seen.cwd,
    )


def report(kept: KeptPty) -> m.TerminalReport:
    """Tell whoever asks how a terminal is."""
    return m.TerminalReport(
        kept.terminal,
        kept.pty.pid,
        kept.size.cols,
        kept.size.rows,
        kept.end,
        kept.end - kept.acknowledged,
        kept.geometry.size,
        kept.is_used,
        kept.is_paused,
        kept.status is not None,
    )


def memory_bytes() -> int | None:
    """Return how much memory this process takes, or None when the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None
