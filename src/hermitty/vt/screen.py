"""The emulated screen of one terminal: what a person would see, and what the terminal owes the program.

Fed the bytes of a program, however they are cut, and asked afterwards. Nothing here waits or writes: replies
to a program's queries are returned, and whoever owns the PTY sends them. There must be one such owner: two
emulators that both answer type into the program twice.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from hermitty.model import Size


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the next character goes, counted from 0."""

    col: int
    row: int
    visible: bool = True


@dataclass(frozen=True, slots=True)
class Palette:
    """A colour by number, 0 to 255; the viewer's theme says what it looks like."""

    index: int


@dataclass(frozen=True, slots=True)
class Rgb:
    """A colour by its red, green and blue parts, 0 to 255 each."""

    red: int
    green: int
    blue: int


Color = Palette | Rgb


class Underline(IntEnum):
    """The kinds of line under text, numbered as in SGR 4:n."""

    NONE = 0
    SINGLE = 1
    DOUBLE = 2
    CURLY = 3
    DOTTED = 4
    DASHED = 5


@dataclass(frozen=True, slots=True)
class Style:
    """How a cell looks. A colour of None is the viewer's default."""

    foreground: Color | None = None
    background: Color | None = None
    bold: bool = False
    faint: bool = False
    italic: bool = False
    underline: Underline = Underline.NONE
    underline_color: Color | None = None
    blink: bool = False
    inverse: bool = False
    invisible: bool = False
    strikethrough: bool = False
    overline: bool = False


PLAIN = Style()


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring cells of one row with one style.

    Either each code point fills one cell, or the run is a `single` character: a wide one, or one made of
    several code points. Cells that nobody wrote to read as spaces.
    """

    text: str
    col: int
    cells: int
    style: Style = PLAIN
    single: bool = False


class Screen(Protocol):
    """One emulated terminal. Every method but `close` raises InvalidRequest after `close`."""

    def feed(self, data: bytes) -> bytes:
        """Take output of the program; return the bytes the terminal owes it, usually none."""
        ...

    def glance(self, data: bytes) -> None:
        """Look at the next piece of what `feed` will take in one. All of it is shown like this, or nothing."""
        ...

    @property
    def fed_plain(self) -> bool:
        """Whether all sequences in what was fed last are colours; False also if nobody looked."""
        ...

    def resize(self, size: Size) -> bytes:
        """Change the size, reflowing the primary screen; return the report that the program asked for."""
        ...

    @property
    def size(self) -> Size:
        """Columns and rows."""
        ...

    @property
    def cursor(self) -> Cursor:
        """The cursor of the screen that is shown."""
        ...

    @property
    def alternate(self) -> bool:
        """Whether a full-screen program shows the alternate screen."""
        ...

    @property
    def title(self) -> str:
        """The title the program set, without control characters. It is the program's text: never trust it."""
        ...

    @property
    def bracketed_paste(self) -> bool:
        """Whether pastes have to be marked as such."""
        ...

    @property
    def application_cursor_keys(self) -> bool:
        """Whether arrow keys send SS3 sequences instead of CSI ones."""
        ...

    def text(self) -> str:
        """Read the visible rows, without trailing blanks and trailing empty rows."""
        ...

    def history_text(self) -> str:
        """Read the rows that scrolled off, as far as they are kept, and then the visible ones."""
        ...

    def runs(self) -> list[list[Run]]:
        """Read the visible rows as styled runs, without trailing plain blanks."""
        ...

    def repaint(self) -> bytes:
        """Write bytes that bring a fresh terminal of the same size to this state.

        They hold the text and colours of both screens when the alternate one is shown, the cursors, modes and
        title, and end with whatever began an escape sequence or a character that is not finished, so that the
        live stream can go on right behind them. They do not hold history, and no query.
        """
        ...

    def snapshot(self) -> bytes:
        """Write the whole state, history included, for the same version of the same emulator to restore."""
        ...

    def close(self) -> None:
        """Free the memory. Closing twice is fine."""
        ...
