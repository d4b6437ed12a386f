"""Where places of the output are on a screen: found by printing the newest output once more.

A screen does not remember which row an offset of the log became. A fresh one that is fed the same bytes tells; from
such a place down to the cursor it has to show what the real one shows. Where it does not (the size has changed, the
screen was cleared, the beginning is missing), the place is unknown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hermitty.vt.ghostty import GhosttyScreen
from hermitty.vt.screen import Screen

# All rows of the output are kept meanwhile. A row of 120 columns takes about 1 KB.
_ROOM_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class Place:
    """Rows above that of the cursor, and the column."""

    above: int
    column: int


@dataclass(frozen=True, slots=True)
class _Noted:
    row: int  # from the first row of the output on
    column: int
    line_row: int  # of the line that ends here: this one, or the one above the first column
    line: str


def places_of(cuts: Sequence[int], data: bytes, screen: Screen) -> list[Place | None]:
    """Return where the cursor was at each cut of the newest output, whose end `screen` shows; cuts never go down."""
    unknown: list[Place | None] = [None] * len(cuts)
    if screen.alternate:
        return unknown
    fresh = GhosttyScreen(screen.size, scrollback_bytes=_ROOM_BYTES)
    try:
        noted: list[_Noted | None] = []
        at = 0
        for cut in cuts:
            fresh.feed(data[at:cut])
            noted.append(_note(fresh))
            at = cut
        fresh.feed(data[at:])
        if fresh.alternate or fresh.cursor.col != screen.cursor.col:
            return unknown
        shown, real = _rows(fresh), _rows(screen)
    finally:
        fresh.close()
    equal = 0
    while equal < min(len(shown), len(real)) and shown[-1 - equal] == real[-1 - equal]:
        equal += 1
    last = len(shown) - 1

    def place(each: _Noted | None) -> Place | None:
        if each is None or last - each.line_row >= equal:
            return None
        # A line that is another one now was overwritten; one that was not finished may have grown.
        now = shown[each.line_row]
        if now != each.line and not (each.column and now.startswith(each.line)):
            return None
        return Place(last - each.row, each.column)

    return [place(each) for each in noted]


def _note(screen: GhosttyScreen) -> _Noted | None:
    cursor = screen.cursor
    up = 0 if cursor.col else 1
    if screen.alternate or cursor.row < up:
        return None
    rows = screen.text().split("\n")
    line = rows[cursor.row - up] if cursor.row - up < len(rows) else ""
    row = screen.history_rows + cursor.row
    return _Noted(row, cursor.col, row - up, line)


def _rows(screen: Screen) -> list[str]:
    """Read everything down to the row of the cursor; nothing of a screen that is empty."""
    everything, visible = screen.history_text(), screen.text()
    if not visible:
        return []
    rows = everything.split("\n")
    count = len(rows) - visible.count("\n") + screen.cursor.row
    return (rows + [""] * (count - len(rows)))[:count]
