"""Writing the text and colours of a Ghostty terminal's shown screen.

The library writes rows a hundred times as fast as Python does, and exactly, with three exceptions: a cell that
was never written to gets the style of its neighbour, a row without any text is left out even if it is coloured,
and a blank that is as wide as two cells counts for one. So such cells are written to before, in a copy of the
terminal, and the few rows where that is not possible are written here.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hermitty.vt import libghostty as c
from hermitty.vt.ghostty_cells import RawRow, Row, without_blanks
from hermitty.vt.ghostty_terminal import NativeTerminal
from hermitty.vt.screen import PLAIN, Color, Palette, Style, Underline

# Origin mode, charsets, style, link and protection as a fresh terminal has them.
FRESH_CURSOR = b'\x1b[?6l\x0f\x1b(B\x1b)B\x1b*B\x1b+B\x1b[m\x1b]8;;\x1b\\\x1b[0"q'
# And no insert mode, margins, wrapping or clustering: a character changes nothing but its own cells.
PLAIN_WRITING = FRESH_CURSOR + b"\x1b[4l\x1b[?69l\x1b[r\x1b[?7l\x1b[?2027l"

# A cell has 8 bytes. 0 to 2 and two bits of 3 say what is in it, with its kind in two bits of 0; six bits of 3,
# 4 and two bits of 5 are its style; two bits of 5 its width: see CellBits.
_WIDTH_BYTE = 5
_CONTENT_MASK = 0xFFFFFF << c.CellBits.CONTENT
_EMPTY, _SPACE = 0, 0x20 << c.CellBits.CONTENT
_COLORS = (c.Content.BG_COLOR_PALETTE, c.Content.BG_COLOR_RGB)
_NARROW = bytes(byte for byte in range(256) if not byte & 0x0C)
_COLORED = bytes(byte for byte in range(256) if byte & 3 in _COLORS)
_IS_COLORED = bytes(0xFF if byte & 3 in _COLORS else 0 for byte in range(256))
_LOW_BITS = bytes(byte & 3 for byte in range(256))
_HIGH_BITS = bytes(byte & 0xFC for byte in range(256))
_WIDTH_BITS = bytes(byte & 0x0C for byte in range(256))
_IS_WIDE = bytes(byte >> 2 & 3 == c.Wide.WIDE for byte in range(256))
_NO_BLANK = bytes(byte & 0xFC not in (_EMPTY, _SPACE) for byte in range(256))
_IS_SET = bytes(byte != 0 for byte in range(256))
_GAP = re.compile(rb"\0+")

_SMALL_COLOR = re.compile(rb"\x1b\[([34]8);5;([0-9]|1[0-5])m")

_SGR_FLAGS = (
    ("bold", "1"),
    ("faint", "2"),
    ("italic", "3"),
    ("blink", "5"),
    ("inverse", "7"),
    ("invisible", "8"),
    ("strikethrough", "9"),
    ("overline", "53"),
)


class _Blanks(NamedTuple):
    """Neighbouring cells of one row that are to be written to."""

    col: int
    cells: int
    sgr: bytes = b""


class _Block(NamedTuple):
    """Rows that can be written in one go, the first and the last one included."""

    first: int
    last: int
    behind: bool  # the row before is wrapped: what follows must be written right behind it
    ours: bool  # a row that the library does not write exactly


def write_text(copy: NativeTerminal) -> bytes:
    """Write the cells of the shown screen of a copy, which is good for no other text afterwards."""
    rows = copy.raw_rows()
    blanks = [_blanks(row) for row in rows]
    filling = [
        b"\x1b[%d;%dH%s%*s\x1b[m" % (number, each.col + 1, each.sgr, each.cells, b"")
        for number, found in enumerate(blanks, start=1)
        for each in found or ()
    ]
    blocks = list(_blocks(rows, blanks))
    numbers = {block.first for block in blocks if block.ours}
    ours = copy.rows(numbers) if numbers else {}
    if filling:
        copy.feed(PLAIN_WRITING + b"".join(filling))
    written = []
    for block in blocks:
        if block.ours:
            lines = [row_text(ours[block.first])]
        else:
            cells = rows[block.last].cells
            # Asked for the place before a wide character that found no room, the library adds that character.
            end = len(cells) // 8 - (2 if _wide(cells, -1) == c.Wide.SPACER_HEAD else 1)
            text = _SMALL_COLOR.sub(_small_color, copy.styled_text(block.first, block.last, end))
            lines = text.replace(b"\x1b[0m\x1b[", b"\x1b[0;").split(b"\r\n")
        # A wrapped row inside of a block is always followed by the rest of its line.
        starts = [block.first, *(at + 1 for at in range(block.first, block.last) if not rows[at].is_wrapped)]
        for start, line in zip(starts, lines, strict=True):
            if line and not (block.behind and start == block.first):
                written.append(b"\x1b[%dH" % (start + 1))
            written.append(line)
    return b"".join(written)


def _blanks(row: RawRow) -> list[_Blanks] | None:
    """Find the cells to write to, so that the library writes the row exactly; None if that does not help.

    All cells are looked at together: the bytes at one place in each of them make up one large number.
    """
    cells = row.cells if row.is_wrapped else without_blanks(row.cells)
    if not cells:
        return []
    firsts = cells[::8]
    is_narrow = not cells[_WIDTH_BYTE::8].translate(None, _NARROW)
    if 0 not in firsts and is_narrow and firsts.translate(None, _COLORED):
        return []  # a character or a colour in every cell

    high = _join(cells, 1) | _join(cells, 2) | _join(cells, 3, _LOW_BITS)
    if not is_narrow:
        wide = _join(cells, _WIDTH_BYTE, _IS_WIDE)
        text = high | _join(cells, 0, _NO_BLANK)
        if int.from_bytes(_split(text, cells).translate(_IS_SET), "little") & wide != wide:
            return None
    content = _split(high | _join(cells, 0) | _join(cells, _WIDTH_BYTE, _WIDTH_BITS), cells)
    style = _split(_join(cells, 3, _HIGH_BITS) | _join(cells, 4) | _join(cells, 5, _LOW_BITS), cells)
    found = [_Blanks(gap.start(), gap.end() - gap.start()) for gap in _GAP.finditer(content)]
    if any(style[gap.col : gap.col + gap.cells].strip(b"\0") for gap in found):
        return None
    has_text = (high | _join(cells, 0)) & ~_join(cells, 0, _IS_COLORED)
    if found or has_text:
        return found
    # Nothing but colours: one cell with text is enough.
    return [_Blanks(0, 1, _background(int.from_bytes(cells[:8], "little")))]


def _join(cells: bytes, place: int, table: bytes | None = None) -> int:
    """Make one number of the bytes at a place in each cell."""
    return int.from_bytes(cells[place::8].translate(table), "little")


def _split(joined: int, cells: bytes) -> bytes:
    """Make one byte for each cell of such a number."""
    return joined.to_bytes(len(cells) // 8, "little")


def _background(number: int) -> bytes:
    content = number >> c.CellBits.CONTENT & 0xFFFFFF
    if number & 3 == c.Content.BG_COLOR_PALETTE:
        return b"\x1b[48;5;%dm" % (content & 0xFF)
    return b"\x1b[48;2;%d;%d;%dm" % (content & 0xFF, content >> 8 & 0xFF, content >> 16)


def _blocks(rows: list[RawRow], blanks: list[list[_Blanks] | None]) -> Iterator[_Block]:
    """Cut the screen into blocks. Empty rows are inside of blocks or left out."""
    first = last = -1
    behind = starts_behind = False
    for number, row in enumerate(rows):
        is_ours = blanks[number] is None
        is_empty = not row.is_wrapped and not row.cells.rstrip(b"\0")
        # A row that claims to continue one that does not wrap would get the blanks from its end.
        if first >= 0 and (is_ours or (row.continues and not behind)):
            yield _Block(first, last, starts_behind, ours=False)
            first = -1
        if is_empty:
            behind = False
            continue
        if is_ours:
            yield _Block(number, number, behind, ours=True)
        else:
            if first < 0:
                first, starts_behind = number, behind
            last = number
        behind = row.is_wrapped and number + 1 < len(rows) and _wraps(row, rows[number + 1])
        if row.is_wrapped and not behind and first >= 0:
            yield _Block(first, last, starts_behind, ours=False)
            first = -1
    if first >= 0:
        yield _Block(first, last, starts_behind, ours=False)


def _wraps(row: RawRow, following: RawRow) -> bool:
    """Whether the row after a wrapped one can be written right behind it, without a break.

    It should be: then the reader's terminal wraps it too, and can undo that when it gets wider. It does so only
    when the next character finds no room.
    """
    if not following.is_wrapped and not following.cells.rstrip(b"\0"):
        return False
    if _wide(row.cells, -1) != c.Wide.SPACER_HEAD:
        return True
    content = int.from_bytes(following.cells[:4], "little") & _CONTENT_MASK
    return _wide(following.cells, 0) == c.Wide.WIDE and content not in (_EMPTY, _SPACE)


def _wide(cells: bytes, at: int) -> int:
    return cells[_WIDTH_BYTE::8][at] >> 2 & 3


def row_text(row: Row) -> bytes:
    """Write a row."""
    written: list[str] = []
    style = PLAIN
    for run in row.runs:
        if run.style != style:
            style = run.style
            written.append(sgr(style))
        written.append(run.text)
    if style != PLAIN:
        written.append(sgr(PLAIN))
    return "".join(written).encode(errors="replace")


def sgr(style: Style) -> str:
    """Write what sets a style, whatever was set before."""
    codes = ["0", *(code for flag, code in _SGR_FLAGS if getattr(style, flag))]
    if style.underline is not Underline.NONE:
        codes.append("4" if style.underline is Underline.SINGLE else f"4:{style.underline.value}")
    for base, color in ((38, style.foreground), (48, style.background), (58, style.underline_color)):
        if color is not None:
            codes.append(_sgr_color(base, color))
    # The library's way, so that the same screen is written the same way whoever writes it.
    return f"\x1b[{';'.join(codes[:2])}m" + "".join(f"\x1b[{code}m" for code in codes[2:])


def _sgr_color(base: int, color: Color) -> str:
    match color:
        case Palette(index):
            return str(_short_code(base, index)) if index < 16 and base != 58 else f"{base};5;{index}"
        case _:
            return f"{base};2;{color.red};{color.green};{color.blue}"


def _short_code(base: int, index: int) -> int:
    """Return the code that the first 16 colours have of their own, which every viewer knows: 30, 40, 90 or 100 on."""
    return base - 8 + index if index < 8 else base + 52 + index - 8


def _small_color(found: re.Match[bytes]) -> bytes:
    return b"\x1b[%dm" % _short_code(int(found[1]), int(found[2]))
