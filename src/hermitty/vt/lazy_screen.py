"""A screen that is drawn when somebody looks at it.

Most output is plain: characters, line ends and colours. The terminal owes nothing for it, no mode changes, and of a
flood nobody ever sees more than the end. So plain output is held, and drawn as soon as somebody asks for what it shows,
or as anything else comes. Of a flood that is longer than what is held, those lines are left out that so many others
follow that neither the screen nor its history would have them any more; only their last colours matter.

To see what a flood is made of takes longer than anything else here. The kernel passes it on in pieces of 4 KB and holds
three of them; whoever looks at each (`glance`) before it reads the next does so while the program goes on printing.
"""

import re
from collections import deque

from hermitty.model import Size
from hermitty.vt.ghostty import SCROLLBACK_BYTES, GhosttyScreen
from hermitty.vt.screen import Cursor, Run

# A shorter piece is drawn at once, if nothing is held: it costs less than a look at it.
_WORTH_HOLDING = 8 * 1024
# So much is held: drawing it takes one to four milliseconds.
_HELD_BYTES = 512 * 1024

# A look for lines that can be left out costs as much as to draw this.
_WORTH_LEAVING_OUT = 32 * 1024

_PLAIN = bytes([*b"\t\n\r", *range(0x20, 0x7F), *range(0x80, 0x100)])
_COLOURS = re.compile(rb"\x1b\[[0-9;:]*m")
_NOT_COLOURS = re.compile(rb"\x1b(?!\[[0-9;:]*+m)")
_BEGUN_COLOURS = re.compile(rb"\x1b(?:\[[0-9;:]{0,80})?")


def plain_end(data: bytes) -> int | None:
    """Return where plain output ends: at the end, or where colours begin that are cut off; None: it is not plain."""
    other = data.translate(None, _PLAIN)
    if not other:
        return len(data)
    if other.strip(b"\x1b"):
        return None
    last = data.rfind(b"\x1b")
    end = last if _BEGUN_COLOURS.fullmatch(data, last) else len(data)
    return end if _NOT_COLOURS.search(data, 0, end) is None else None


def colours_after(plain: bytes) -> bytes:
    """Return what sets the colours that are set behind plain output."""
    if b"\x1b" not in plain:
        return b""
    reset = max(0, plain.rfind(b"\x1b[0m"))
    return b"".join(_COLOURS.findall(plain, max(reset, plain.rfind(b"\x1b[m", reset))))


def most_rows(size: Size) -> int:
    """Return how many rows are never kept: a cell takes 8 bytes, and rows leave the history many at a time."""
    return size.rows + 3 * SCROLLBACK_BYTES // (16 * size.cols)


class LazyScreen:
    """A Screen by Ghostty that shows the same as one that is drawn at once; their histories may begin differently."""

    def __init__(self, screen: GhosttyScreen) -> None:
        self._real = screen
        self._held: deque[bytes] = deque()
        self._held_bytes = 0
        self._cut = b""  # the colours that came in part last: what is plain goes on with the rest of them
        self._glanced = 0  # bytes that were looked at and not fed yet
        self._plain = False  # whether those are plain
        self._fed_plain = False

    def glance(self, data: bytes) -> None:
        """Look at the next piece of what `feed` will take in one."""
        if not self._glanced:
            self._plain = bool(self._held) or self._real.is_between_sequences
        self._glanced += len(data)
        if self._plain:
            self._plain = self._goes_on_plainly(data)

    def feed(self, data: bytes) -> bytes:
        """Take output of the program; return the bytes the terminal owes it, usually none."""
        if self._glanced:
            plain = self._plain and self._glanced == len(data)
            self._glanced = 0
        elif self._held or (len(data) >= _WORTH_HOLDING and self._real.is_between_sequences):
            plain = self._goes_on_plainly(data)
        else:
            plain = False
        self._fed_plain = plain and self._cut != b"\x1b"
        if not plain:
            return self._draw().feed(data)
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > _HELD_BYTES:
            self._leave_out()
            if self._held_bytes > _HELD_BYTES // 2:
                self._draw()
        return b""

    @property
    def fed_plain(self) -> bool:
        """Whether all sequences in what was fed last are colours: then there is no need to look for others."""
        return self._fed_plain

    def _goes_on_plainly(self, data: bytes) -> bool:
        whole = self._cut + data if self._cut else data
        end = plain_end(whole)
        self._cut = b"" if end is None else whole[end:]
        return end is not None

    def _draw(self) -> GhosttyScreen:
        """Draw what is held; return the screen that shows everything."""
        if self._held:
            if self._held_bytes > _WORTH_LEAVING_OUT:
                self._leave_out()
            self._real.feed(b"".join(self._held))
            self._held.clear()
            self._held_bytes = 0
        self._cut = b""
        return self._real

    def _leave_out(self) -> None:
        """Let go of the oldest lines that are held, as far as enough others follow them."""
        missing = most_rows(self._real.size)
        newer: list[bytes] = []
        while self._held and missing > 0:
            newer.append(self._held.pop())
            missing -= newer[-1].count(b"\n")
        older = b"".join(self._held)
        end = older.rfind(b"\r\n")
        if end > 0 and self._real.scrolls_whole:
            self._real.feed(colours_after(older[:end]))
            self._held_bytes -= end
            older = older[end:]
        self._held = deque((older, *reversed(newer)))

    def resize(self, size: Size) -> bytes:
        """Change the size, reflowing the primary screen; return the report that the program asked for."""
        return self._draw().resize(size)

    # Plain output changes none of these.

    @property
    def size(self) -> Size:
        """Columns and rows."""
        return self._real.size

    @property
    def alternate(self) -> bool:
        """Whether a full-screen program shows the alternate screen."""
        return self._real.alternate

    @property
    def title(self) -> str:
        """The title the program set, without control characters."""
        return self._real.title

    @property
    def bracketed_paste(self) -> bool:
        """Whether pastes have to be marked as such."""
        return self._real.bracketed_paste

    @property
    def application_cursor_keys(self) -> bool:
        """Whether arrow keys send SS3 sequences instead of CSI ones."""
        return self._real.application_cursor_keys

    # Output shows in these.

    @property
    def cursor(self) -> Cursor:
        """The cursor of the screen that is shown."""
        return self._draw().cursor

    def text(self) -> str:
        """Read the visible rows, without trailing blanks and trailing empty rows."""
        return self._draw().text()

    def history_text(self) -> str:
        """Read the rows that scrolled off, as far as they are kept, and then the visible ones."""
        return self._draw().history_text()

    def runs(self) -> list[list[Run]]:
        """Read the visible rows as styled runs, without trailing plain blanks."""
        return self._draw().runs()

    def repaint(self) -> bytes:
        """Write bytes that bring a fresh terminal of the same size to this state."""
        return self._draw().repaint()

    def snapshot(self) -> bytes:
        """Write the whole state, history included, for `restore` of the same version."""
        return self._draw().snapshot()

    def close(self) -> None:
        """Free the memory. Closing twice is fine."""
        self._held.clear()
        self._cut = b""
        self._real.close()
