"""The bytes that show a viewer what is on a screen, and what scrolled off it."""

from typing import Protocol

from hermitty.errors import HermittyError


class Painted(Protocol):
    """What is needed of a screen."""

    @property
    def alternate(self) -> bool:
        """Whether a full-screen program shows the alternate screen."""

    def text(self) -> str:
        """Read the visible rows."""

    def history_text(self) -> str:
        """Read the rows that scrolled off, and then the visible ones."""

    def repaint(self) -> bytes:
        """Write bytes that bring a fresh terminal to the state of this one."""


def paint(screen: Painted, *, rows: int, history_bytes: int) -> bytes:
    """Write bytes that bring a fresh terminal of the same size to the state of this screen.

    Rows that scrolled off come first, as text: each is written, and pushed off by what follows.
    """
    try:
        picture = screen.repaint()
    except HermittyError:
        # Noise can bring the emulator into a state that it cannot write. The text is better than nothing.
        picture = "\r\n".join(screen.text().split("\n")).encode(errors="replace")
    lines = _scrolled_off(screen, history_bytes)
    if not lines:
        return picture
    # Written from the top, a line break for each row of the screen pushes off whatever is on it, and no more.
    return b"\r\n".join(lines) + b"\r\n" * rows + b"\x1b[H" + picture


def _scrolled_off(screen: Painted, limit_bytes: int) -> list[bytes]:
    """Return the newest rows above the screen that fit into a limit."""
    if limit_bytes <= 0 or screen.alternate:
        return []  # the alternate screen has no history, and hides that of the other
    everything, visible = screen.history_text(), screen.text()
    lines = everything.split("\n") if everything else []
    if visible:
        del lines[-visible.count("\n") - 1 :]
    kept: list[bytes] = []
    room = limit_bytes
    for line in reversed(lines):
        row = line.encode(errors="replace")
        room -= len(row) + 2
        if room < 0:
            break
        kept.append(row)
    kept.reverse()
    return kept
