"""Lines of text that a moving cursor edits: what is left of output once it has overwritten itself.

A page is a screen of `rows` lines that starts at its top and has all lines that scrolled off above it. Unlike a
screen it has no right edge: lines never wrap, because the text is for reading and not for a window.

A line is a list of cells. A cell holds one character with its combining marks; the further cells of a wide
character or a tab are empty strings, so joining the cells gives the text and the index of a cell is its column.
"""

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# No terminal is wider (the limit of model.MAX_CELLS): a cursor is sent no further, and cells are not shifted in
# lines that are longer, which would have wrapped.
_MAX_COLUMN = 4095
_TAB_WIDTH = 8
# Marks beyond this many on one cell are noise, and adding to an ever longer cell is not linear.
_MAX_CELL_CHARS = 64
# Latin, box drawing, block elements and braille: the characters of ordinary text and of progress bars.
_NARROW = re.compile("[ -~\xa0-\u02ff\u2500-\u259f\u2800-\u28ff]*+")


class Page:
    """A cursor and the lines it has written. Rows count from the top of the screen, columns from 0."""

    __slots__ = ("_blanks_left", "_bottom", "_done", "_lines", "_rows", "_saved", "_top", "col", "row")

    def __init__(self, rows: int, max_blanks: int) -> None:
        """Make an empty page; `max_blanks` limits the cells that are filled only because the cursor skipped them."""
        self._rows = max(1, rows)
        self._blanks_left = max_blanks
        self.reset()

    def reset(self) -> None:
        """Forget everything (RIS)."""
        self._done: list[str] = []
        self._lines: list[list[str]] = [[]]
        self._saved = (0, 0)
        self._top, self._bottom = 0, self._rows - 1
        self.row = self.col = 0

    def text(self) -> str:
        """Return all lines. Empty ones at the end, below the cursor, are what an erased display leaves: no text."""
        last = len(self._lines)
        while last > self.row + 1 and not self._lines[last - 1]:
            last -= 1
        if self.row + 1 < last < len(self._lines):
            last += 1  # the text below the cursor ended with a newline
        return "\n".join([*self._done, *map("".join, self._lines[:last])])

    def write(self, run: str) -> None:
        """Put characters (no controls) at the cursor, over what is there."""
        cells: Sequence[str] = run
        if not (run.isascii() or _NARROW.fullmatch(run)):
            marks, cells = _cells(run)
            if marks:
                self._attach(marks, cells)
        line = self._line()
        at, size = self.col, len(line)
        if at > size:
            at = size = self._pad(line)
        end = at + len(cells)
        if at == size:
            line.extend(cells)
        else:
            if not line[at]:
                _split(line, at)
            if end < size and not line[end]:
                _split(line, end)
            line[at:end] = cells
        self.col = end

    def tab(self) -> None:
        """Go to the next tab stop. At the end of a line this leaves a tab, elsewhere it is only a move."""
        line = self._line()
        width = _TAB_WIDTH - self.col % _TAB_WIDTH
        if self.col < len(line):
            self.col += width
            return
        at = self._pad(line)
        line.append("\t")
        line.extend([""] * (width - 1))
        self.col = at + width

    def repeat(self, count: int) -> None:
        """Write the character left of the cursor again (REP)."""
        line = self._line()
        cell = line[self.col - 1] if 0 < self.col <= len(line) else ""
        count = min(count, self._blanks_left, _MAX_COLUMN)
        if cell and cell != "\t":
            self._blanks_left -= count
            self.write(cell[0] * count)

    def carriage_return(self) -> None:
        """Go to the beginning of the line."""
        self.col = 0

    def back(self) -> None:
        """Go one column left, if there is one."""
        if self.col:
            self.col -= 1

    def up(self, count: int) -> None:
        """Move up, at most to the top of the scroll region or of the screen."""
        limit = self._top if self.row >= self._top else 0
        self.row = max(limit, self.row - count)

    def down(self, count: int) -> None:
        """Move down, at most to the bottom of the scroll region or of the screen."""
        limit = self._bottom if self.row <= self._bottom else self._rows - 1
        self.row = min(limit, self.row + count)

    def left(self, count: int) -> None:
        """Move left, at most to the beginning of the line."""
        self.col = max(0, self.col - count)

    def right(self, count: int) -> None:
        """Move right. Only printing gets a cursor beyond the widest terminal."""
        self.col = max(self.col, min(self.col + count, _MAX_COLUMN))

    def lines_up(self, count: int) -> None:
        """Go to the beginning of a line above."""
        self.up(count)
        self.col = 0

    def lines_down(self, count: int) -> None:
        """Go to the beginning of a line below."""
        self.down(count)
        self.col = 0

    def place(self, *, row: int | None = None, col: int | None = None) -> None:
        """Send the cursor to a row of the screen, a column, or both."""
        if row is not None:
            self.row = min(row, self._rows - 1)
        if col is not None:
            self.col = min(col, _MAX_COLUMN)

    def save(self) -> None:
        """Remember where the cursor is."""
        self._saved = (self.row, self.col)

    def restore(self) -> None:
        """Put the cursor where it was saved."""
        self.row, self.col = self._saved

    def index(self) -> None:
        """Move down one line, scrolling at the bottom of the scroll region."""
        self._line()
        if self.row == self._bottom:
            if self._top == 0:
                self._done.append("".join(self._lines[0]))
            del self._lines[self._top]
            self._lines.insert(self._bottom, [])
        elif self.row < self._rows - 1:
            self.row += 1
            self._line()

    def newline(self) -> None:
        """Move to the beginning of the next line."""
        self.index()
        self.col = 0

    def reverse_index(self) -> None:
        """Move up one line, scrolling down at the top of the scroll region."""
        if self.row == self._top:
            self._shift_down(self._top, 1)
        else:
            self.row = max(0, self.row - 1)

    def scroll_region(self, top: int, bottom: int) -> None:
        """Let only these rows scroll, the last one included, and send the cursor home (DECSTBM)."""
        bottom = min(bottom, self._rows - 1)
        if 0 <= top < bottom:
            self._top, self._bottom = top, bottom
            self.row = self.col = 0

    def insert_lines(self, count: int) -> None:
        """Push the line of the cursor and those below it down."""
        if self._top <= self.row <= self._bottom:
            self._shift_down(self.row, count)
            self.col = 0

    def delete_lines(self, count: int) -> None:
        """Remove lines from the cursor's on; those below it come up."""
        if self._top <= self.row <= self._bottom:
            end = self._bottom + 1
            kept = self._lines[self.row : end][count:]
            if len(self._lines) > end:
                kept += [[] for _ in range(end - self.row - len(kept))]
            self._lines[self.row : end] = kept
            self.col = 0

    def insert_cells(self, count: int) -> None:
        """Push the rest of the line right."""
        line = self._line()
        count = min(count, self._blanks_left, _MAX_COLUMN)
        if self.col < len(line) <= _MAX_COLUMN:
            self._blanks_left -= count
            _split(line, self.col)
            line[self.col : self.col] = [" "] * count

    def delete_cells(self, count: int) -> None:
        """Remove cells from the cursor on; the rest of the line comes left."""
        line = self._line()
        if self.col < len(line) <= _MAX_COLUMN:
            _split(line, self.col)
            _split(line, self.col + count)
            del line[self.col : self.col + count]

    def erase_cells(self, count: int) -> None:
        """Blank cells from the cursor on."""
        self._blank(self.col, self.col + count)

    def erase_line(self, part: int) -> None:
        """Erase from the cursor (0), up to the cursor (1), or the whole line (2)."""
        if part == 2:
            self._line().clear()
        elif part == 0:
            self._blank(self.col, len(self._line()))
        elif part == 1:
            self._blank(max(0, self.col - _MAX_COLUMN), self.col + 1)

    def erase_screen(self, part: int) -> None:
        """Erase below the cursor (0), above it (1), the screen (2), or what scrolled off (3)."""
        if part == 3:
            self._done.clear()
            return
        if part in (0, 2):
            del self._lines[self.row + 1 :]
        if part in (1, 2):
            for line in self._lines[: self.row]:
                line.clear()
        self.erase_line(part)

    def _line(self) -> list[str]:
        """Return the line of the cursor, which exists from then on."""
        lines, row = self._lines, self.row
        while len(lines) <= row:
            lines.append([])
        return lines[row]

    def _pad(self, line: list[str]) -> int:
        """Fill the line with blanks up to the cursor and return the column, which is less when blanks ran out."""
        missing = min(self.col - len(line), self._blanks_left)
        self._blanks_left -= missing
        line.extend([" "] * missing)
        return len(line)

    def _blank(self, start: int, stop: int) -> None:
        """Erase cells. At the end of a line nothing is left of them, not even blanks."""
        line = self._line()
        if start >= len(line):
            return
        _split(line, start)
        _split(line, stop)
        if stop < len(line):
            line[start:stop] = [" "] * (stop - start)
        else:
            del line[start:]

    def _shift_down(self, row: int, count: int) -> None:
        """Insert empty lines; those pushed out of the scroll region are gone."""
        size = self._bottom + 1 - row
        moved: list[list[str]] = [[] for _ in range(min(count, size))]
        moved += self._lines[row : self._bottom + 1]
        self._lines[row : self._bottom + 1] = moved[:size]

    def _attach(self, marks: str, cells: list[str]) -> None:
        """Give marks to the character left of the cursor, or at the start of a line to the next one."""
        line = self._line()
        at = min(self.col, len(line)) - 1
        while at > 0 and not line[at]:
            at -= 1
        if at < 0:
            if cells:
                cells[0] = marks + cells[0]
        elif len(line[at]) < _MAX_CELL_CHARS:
            line[at] += marks


def _split(line: list[str], at: int) -> None:
    """Let no character reach over the left edge of a cell: one that does becomes blanks."""
    if at >= len(line) or line[at]:
        return
    first, last = at, at
    while first > 0 and not line[first]:
        first -= 1
    while last < len(line) and not line[last]:
        last += 1
    line[first:last] = [" "] * (last - first)


def _cells(run: str) -> tuple[str, list[str]]:
    """Cut text into the marks that it begins with and cells."""
    marks: list[str] = []
    cells: list[str] = []
    base = -1
    for char in run:
        width = _width(char)
        if width:
            base = len(cells)
            cells.append(char)
            if width == 2:
                cells.append("")
        elif base < 0:
            marks.append(char)
        elif len(cells[base]) < _MAX_CELL_CHARS:
            cells[base] += char
    return "".join(marks[:_MAX_CELL_CHARS]), cells


@lru_cache(maxsize=8192)
def _width(char: str) -> int:
    """Return how many cells a character takes: 0, 1 or 2."""
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    # The medial and final parts of a Hangul syllable are letters that join the initial one. The soft hyphen is a
    # format character that terminals show.
    if "\u1160" <= char <= "\u11ff":
        return 0
    return 0 if unicodedata.category(char) in ("Mn", "Me", "Cf") and char != "\xad" else 1
