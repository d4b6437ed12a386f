"""The screen, emulated by Ghostty's terminal core.

Programs choose what they print, so what they can make the terminal *type* is kept to a list of known replies:
numbers and colours, never text that a program chose (titles, ids, clipboard contents, echoed requests).
"""

import ctypes
import re
from ctypes import c_int
from typing import Self

from hermitty.errors import HostUnavailable
from hermitty.model import Size
from hermitty.vt import libghostty as c
from hermitty.vt.ghostty_cells import trimmed
from hermitty.vt.ghostty_repaint import repaint
from hermitty.vt.ghostty_terminal import NativeTerminal
from hermitty.vt.screen import Cursor, Run

# About 530 rows of 120 columns.
SCROLLBACK_BYTES = 9 << 16

_SAFE_REPLY = re.compile(
    rb"\x1b\[[?>]?[0-9;]{1,40}c"  # DA1, DA2
    rb"|\x1bP!\|[0-9A-F]{8}\x1b\\"  # DA3
    rb"|\x1b\[0n|\x1b\[[0-9]{1,5};[0-9]{1,5}R"  # DSR: alive, cursor position
    rb"|\x1b\[\??[0-9]{1,5};[0-4]\$y"  # DECRQM
    rb"|\x1b\[\?[0-9]{1,3}u"  # kitty keyboard flags
    rb"|\x1b\[(?:4|6|8|48)(?:;[0-9]{1,6}){2,4}t"  # sizes
    rb"|\x1bP>\|libghostty\x1b\\"  # XTVERSION
    rb"|\x1bP[01]\$r[0-9;:]{0,200}(?: q|m|r|s)?\x1b\\"  # DECRQSS
    rb"|\x1b\](?:1[0-2]|4;[0-9]{1,3});rgb:[0-9a-f]{1,4}/[0-9a-f]{1,4}/[0-9a-f]{1,4}(?:\x07|\x1b\\)"
)

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_BRACKETED_PASTE = 2004
_APPLICATION_CURSOR_KEYS = 1


class GhosttyScreen:
    """A Screen over libghostty-vt: about 20 KB when idle, plus the history it keeps."""

    def __init__(self, size: Size | None = None, *, scrollback_bytes: int = SCROLLBACK_BYTES) -> None:
        size = size or Size()
        size = Size.checked(size.cols, size.rows)
        self._terminal = NativeTerminal.new(size, scrollback_bytes=scrollback_bytes)

    @classmethod
    def restore(cls, snapshot: bytes, *, scrollback_bytes: int = SCROLLBACK_BYTES) -> Self:
        """Make a screen from what `snapshot` wrote, or raise InvalidRequest."""
        screen = cls.__new__(cls)
        screen._terminal = NativeTerminal.restore(snapshot, scrollback_bytes=scrollback_bytes)
        return screen

    def feed(self, data: bytes) -> bytes:
        """Take output of the program; return the bytes the terminal owes it, usually none."""
        self._terminal.feed(data)
        return self._safe_replies()

    def glance(self, data: bytes) -> None:
        """Do nothing: what is fed is drawn."""

    @property
    def fed_plain(self) -> bool:
        """Return False: nobody looked."""
        return False

    def resize(self, size: Size) -> bytes:
        """Change the size, reflowing the primary screen; return the report that the program asked for."""
        self._terminal.resize(Size.checked(size.cols, size.rows))
        return self._safe_replies()

    def _safe_replies(self) -> bytes:
        replies = self._terminal.take_replies()
        return b"".join(reply for reply in replies if _SAFE_REPLY.fullmatch(reply)) if replies else b""

    @property
    def size(self) -> Size:
        """Columns and rows."""
        return self._terminal.size

    @property
    def cursor(self) -> Cursor:
        """The cursor of the screen that is shown."""
        terminal = self._terminal
        return Cursor(
            terminal.number(c.Data.CURSOR_X),
            terminal.number(c.Data.CURSOR_Y),
            terminal.flag(c.Data.CURSOR_VISIBLE),
        )

    @property
    def alternate(self) -> bool:
        """Whether a full-screen program shows the alternate screen."""
        return bool(self._terminal.get(c.Data.ACTIVE_SCREEN, c_int()).value)

    @property
    def title(self) -> str:
        """The title the program set, without control characters."""
        raw = self._terminal.get(c.Data.TITLE, c.String())
        text = ctypes.string_at(raw.ptr, raw.len).decode(errors="replace") if raw.len else ""
        return _CONTROL.sub("", text)

    @property
    def bracketed_paste(self) -> bool:
        """Whether pastes have to be marked as such."""
        return self._terminal.mode(_BRACKETED_PASTE)

    @property
    def application_cursor_keys(self) -> bool:
        """Whether arrow keys send SS3 sequences instead of CSI ones."""
        return self._terminal.mode(_APPLICATION_CURSOR_KEYS)

    def text(self) -> str:
        """Read the visible rows, without trailing blanks and trailing empty rows."""
        return _trimmed(self._terminal.plain_text(history=False))

    def history_text(self) -> str:
        """Read the rows that scrolled off, as far as they are kept, and then the visible ones."""
        return _trimmed(self._terminal.plain_text(history=True))

    @property
    def history_rows(self) -> int:
        """How many rows have scrolled off and are kept."""
        return int(self._terminal.get(c.Data.SCROLLBACK_ROWS, ctypes.c_size_t()).value)

    @property
    def is_between_sequences(self) -> bool:
        """Whether no escape sequence and no character is half there."""
        return not self._terminal.unfinished()

    @property
    def scrolls_whole(self) -> bool:
        """Whether line ends at the bottom move all rows up: no program has set margins."""
        return not self._terminal.sequences("scrolling_region")

    def runs(self) -> list[list[Run]]:
        """Read the visible rows as styled runs, without trailing plain blanks."""
        return [trimmed(row.runs) for row in self._terminal.rows().values()]

    def repaint(self) -> bytes:
        """Write bytes that bring a fresh terminal of the same size to this state."""
        try:
            return repaint(self._terminal, self.title)
        except HostUnavailable:
            # The library cannot copy some screens: half a wide character is left at the edge of one that shrank.
            return self._plain_repaint()

    def _plain_repaint(self) -> bytes:
        """Write the text without its styles."""
        cursor = self.cursor
        screen = "\x1b[?1049h" if self.alternate else ""
        rows = self.text().replace("\n", "\r\n")
        shown = "" if cursor.visible else "\x1b[?25l"
        return f"{screen}\x1b[H\x1b[2J{rows}\x1b[{cursor.row + 1};{cursor.col + 1}H{shown}".encode()

    def snapshot(self) -> bytes:
        """Write the whole state, history included, for `restore` of the same version."""
        return self._terminal.snapshot()

    def close(self) -> None:
        """Free the memory. Closing twice is fine."""
        self._terminal.close()


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip(" ") for line in text.splitlines()).rstrip("\n")
