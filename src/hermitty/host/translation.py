"""What a host tells of its terminals, as the seam has it."""

from hermitty.host.base import FoundPty, TtyState, Waiting
from hermitty.model import ExitStatus, Size, TerminalId
from hermitty.wire.hostlink import messages as m


def found_pty(item: m.FoundItem) -> FoundPty:
    """Return a PTY that nobody uses."""
    return FoundPty(
        terminal=TerminalId(item.terminal),
        pid=item.pid,
        directory=item.directory,
        size=Size(item.cols, item.rows),
        start=item.start,
        end=item.end,
        writes=item.writes,
        answered=item.answered,
        exit_status=ExitStatus(item.exit_code, item.exit_signal) if item.ended else None,
    )


def tty_state(told: m.State) -> TtyState:
    """Return what the kernel knows of a terminal. A word of a later version is unknown."""
    return TtyState(
        waiting=Waiting.__members__.get(told.waiting, Waiting.UNKNOWN),
        shell_in_front=told.shell_in_front,
        shell_replaced=told.shell_replaced,
        echo=told.echo,
        canonical=told.canonical,
        cwd=told.cwd,
    )
