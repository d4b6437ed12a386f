"""Pictures of a screen: SVG by hand, PNG with Pillow and the font that comes with this package.

Both draw the same rows: the cursor is a cell in reverse, and colours are resolved once, to RGB. Text is placed by
cell, never by how wide a font thinks it is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import Final

from hermitty.errors import InvalidRequest
from hermitty.vt.screen import Color, Cursor, Palette, Rgb, Run, Screen, Style, Underline

# Three times a 4K monitor full of small text. A picture costs about 0.5 KB of memory a cell.
MAX_PICTURE_CELLS: Final = 250_000

FOREGROUND: Final = Rgb(0xC5, 0xC8, 0xC6)
BACKGROUND: Final = Rgb(0x1D, 0x1F, 0x21)

_BASE_COLORS: Final = (
    "1d1f21 cc6666 b5bd68 f0c674 81a2be b294bb 8abeb7 c5c8c6 666666 d54e53 b9ca4a e7c547 7aa6da c397d8 70c0b1 eaeaea"
)

# SVG user units; the viewer scales them. They are the pixels of the PNG.
_CELL_WIDTH: Final = 9
_CELL_HEIGHT: Final = 18
_BASELINE: Final = 14
_FONT_SIZE: Final = 15

# Characters that XML 1.0 forbids. A screen holds none of them, but a broken file is too high a price for that.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


# A viewer that lacks a character takes another font, often for the whole text around it, and that moves the rest.
_ONE_FONT: Final = re.compile("[\x20-\x7e]+|[^\x20-\x7e]+")
_WHOLE: Final = re.compile(".+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run with its colours resolved, ready to be drawn."""

    run: Run
    ink: Rgb
    paper: Rgb

    @property
    def is_blank(self) -> bool:
        """Whether only the paper is to be drawn."""
        style = self.run.style
        lines = style.underline or style.strikethrough or style.overline
        return style.invisible or not (lines or self.run.text.strip(" "))


def svg(screen: Screen) -> str:
    """Draw the screen as an SVG document."""
    size = screen.size
    width, height = size.cols * _CELL_WIDTH, size.rows * _CELL_HEIGHT
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" xml:space="preserve" fill="{_hex(FOREGROUND)}" '
            f'font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="{_FONT_SIZE}">'
            f'<rect width="100%" height="100%" fill="{_hex(BACKGROUND)}"/>'
        )
    ]
    for row, pieces in enumerate(pieces_of(screen)):
        for piece in pieces:
            run = piece.run
            x, y, length = run.col * _CELL_WIDTH, row * _CELL_HEIGHT, run.cells * _CELL_WIDTH
            if piece.paper != BACKGROUND:
                out.append(
                    f'<rect x="{x}" y="{y}" width="{length}" height="{_CELL_HEIGHT}" fill="{_hex(piece.paper)}"/>'
                )
            if not piece.is_blank:
                out += _texts(piece, x, y + _BASELINE)
    out.append("</svg>\n")
    return "".join(out)


def _texts(piece: Piece, x: int, y: int) -> Iterator[str]:
    """Write the text of a run, with what other fonts may have to supply placed by itself."""
    run = piece.run
    attributes = _attributes(piece)
    lined = "decoration" in attributes
    for part in (_WHOLE if run.single else _ONE_FONT).finditer(_NOT_XML.sub("\ufffd", run.text)):
        text = escape(part[0], quote=False)
        left = x + part.start() * _CELL_WIDTH
        length = (run.cells if run.single else len(part[0])) * _CELL_WIDTH
        if lined or text.strip(" "):
            yield f'<text x="{left}" y="{y}" textLength="{length}"{attributes}>{text}</text>'


def png(screen: Screen) -> bytes:
    """Draw the screen as a PNG file. Raises NotSupported without Pillow (`hermitty[image]`)."""
    # Pillow takes 40 ms to import and is optional.
    from hermitty.vt.picture_png import draw

    return draw(screen.size, pieces_of(screen))


def pieces_of(screen: Screen) -> list[list[Piece]]:
    """Read the rows of a screen, with its cursor, as pieces to draw."""
    size = screen.size
    if size.cols * size.rows > MAX_PICTURE_CELLS:
        raise InvalidRequest(
            f"a picture of {size.cols}x{size.rows} is too large; the limit is {MAX_PICTURE_CELLS} cells"
        )
    rows = screen.runs()
    cursor = screen.cursor
    if cursor.visible and cursor.row < len(rows):
        rows[cursor.row] = _with_cursor(rows[cursor.row], cursor)
    return [[_piece(run) for run in row] for row in rows]


def _with_cursor(row: list[Run], cursor: Cursor) -> list[Run]:
    """Put the cell under the cursor in reverse."""
    out: list[Run] = []
    found = False
    for run in row:
        at = cursor.col - run.col
        if not 0 <= at < run.cells:
            out.append(run)
            continue
        found = True
        style = replace(run.style, inverse=not run.style.inverse)
        if run.single:
            out.append(replace(run, style=style))
            continue
        parts = ((0, at, run.style), (at, at + 1, style), (at + 1, run.cells, run.style))
        out += [Run(run.text[a:b], run.col + a, b - a, look) for a, b, look in parts if a < b]
    if not found:
        out.append(Run(" ", cursor.col, 1, Style(inverse=True)))
    return out


def _piece(run: Run) -> Piece:
    style = run.style
    ink = _rgb(style.foreground, FOREGROUND)
    paper = _rgb(style.background, BACKGROUND)
    if style.inverse:
        ink, paper = paper, ink
    if style.faint:
        ink = Rgb((ink.red + paper.red) // 2, (ink.green + paper.green) // 2, (ink.blue + paper.blue) // 2)
    return Piece(run, ink, paper)


def _attributes(piece: Piece) -> str:
    style = piece.run.style
    out = "" if piece.ink == FOREGROUND else f' fill="{_hex(piece.ink)}"'
    if not piece.run.single:
        # A single wide character is only placed: stretching it to its cells would distort it.
        out += ' lengthAdjust="spacingAndGlyphs"'
    if style.bold:
        out += ' font-weight="bold"'
    if style.italic:
        out += ' font-style="italic"'
    lines = [
        name
        for name, on in (
            ("underline", style.underline is not Underline.NONE),
            ("line-through", style.strikethrough),
            ("overline", style.overline),
        )
        if on
    ]
    return out + (f' text-decoration="{" ".join(lines)}"' if lines else "")


def _rgb(color: Color | None, default: Rgb) -> Rgb:
    match color:
        case None:
            return default
        case Palette(index):
            return _palette()[index]
        case Rgb():
            return color


@cache
def _palette() -> tuple[Rgb, ...]:
    """Make the 256 colours: 16 named ones, a 6x6x6 cube, 24 greys."""
    levels = (0, 95, 135, 175, 215, 255)
    return (
        *(Rgb(*bytes.fromhex(color)) for color in _BASE_COLORS.split()),
        *(Rgb(red, green, blue) for red in levels for green in levels for blue in levels),
        *(Rgb(grey, grey, grey) for grey in range(8, 248, 10)),
    )


def _hex(color: Rgb) -> str:
    return f"#{color.red:02x}{color.green:02x}{color.blue:02x}"
