"""Drawing resolved pieces of a screen as PNG, with Pillow."""

import io
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final
from unicodedata import normalize

from hermitty.errors import NotSupported
from hermitty.model import Size
from hermitty.vt.picture import BACKGROUND, Piece
from hermitty.vt.screen import Rgb, Underline

try:
    from PIL import Image, ImageDraw, ImageFont
except ImportError as exc:
    raise NotSupported("PNG pictures need Pillow; install hermitty[image], or take the SVG") from exc

# The size at which the font's advance is a whole number of pixels (9) without rounding it much.
_FONT_PIXELS: Final = 15

# Where systems keep a font with Chinese, Japanese and Korean; the first that has the character is taken.
_WIDE_FONTS: Final = (
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/google-noto-sans-cjk-fonts/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
    "/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
    "/usr/share/fonts/opentype/ipafont-gothic/ipag.ttf",
    "/usr/share/fonts/truetype/unifont/unifont.ttf",
    "/usr/share/fonts/truetype/noto/NotoEmoji-Regular.ttf",
    "/usr/share/fonts/truetype/ancient-scripts/Symbola_hint.ttf",
    "/System/Library/Fonts/PingFang.ttc",
    "/System/Library/Fonts/Hiragino Sans GB.ttc",
    "/Library/Fonts/Arial Unicode.ttf",
    "C:/Windows/Fonts/msyh.ttc",
    "C:/Windows/Fonts/malgun.ttf",
    "C:/Windows/Fonts/seguisym.ttf",
)

_BRAILLE: Final = frozenset(map(chr, range(0x2800, 0x2900)))
_DOT_PLACES: Final = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))

# Joiners and variation selectors ask for a shape that is not drawn here.
_INVISIBLE: Final = dict.fromkeys([0x200C, 0x200D, *range(0xFE00, 0xFE10)])


def draw(size: Size, rows: list[list[Piece]]) -> bytes:
    """Draw the rows of a screen of a given size."""
    canvas = _Canvas(size)
    for row, pieces in enumerate(rows):
        for piece in pieces:
            canvas.draw(row, piece)
    return canvas.png()


class _Canvas:
    """An image of cells."""

    def __init__(self, size: Size) -> None:
        self._fonts = _fonts()
        ascent, descent = self._fonts[0].getmetrics()
        self._width = round(self._fonts[0].getlength("M"))
        self._height = ascent + descent
        self._ascent = ascent
        pixels = (size.cols * self._width, size.rows * self._height)
        self._image = Image.new("RGB", pixels, _tuple(BACKGROUND))
        self._draw = ImageDraw.Draw(self._image)

    def draw(self, row: int, piece: Piece) -> None:
        """Draw one piece in its cells."""
        run = piece.run
        x, y = run.col * self._width, row * self._height
        right, bottom = x + run.cells * self._width - 1, y + self._height - 1
        if piece.paper != BACKGROUND:
            self._draw.rectangle((x, y, right, bottom), _tuple(piece.paper))
        if piece.is_blank:
            return
        ink = _tuple(piece.ink)
        for text, col, cells in _steps(piece):
            self._text(x + col * self._width, y, text, cells, ink, bold=run.style.bold)
        style = run.style
        for on, at in (
            (style.underline is not Underline.NONE, y + self._ascent + 2),
            (style.underline is Underline.DOUBLE, y + self._ascent),
            (style.strikethrough, y + self._height // 2),
            (style.overline, y),
        ):
            if on:
                self._draw.line((x, at, right, at), ink)

    def _text(self, x: int, y: int, text: str, cells: int, ink: tuple[int, int, int], *, bold: bool) -> None:
        width = cells * self._width
        if text[0] in _BRAILLE:
            self._dots(x, y, ord(text[0]) - 0x2800, ink)
            return
        font = self._fonts[0] if text.isascii() else next((f for f in self._fonts if _has(f, text[0])), None)
        if font is None:
            self._draw.rectangle((x + 1, y + 2, x + width - 2, y + self._height - 3), outline=ink)
            return
        # A font of another width is centred in the cells; all share the baseline.
        left = x if len(text) > 1 else x + max(0, round(width - font.getlength(text)) // 2)
        self._draw.text((left, y + self._ascent), text, ink, font, anchor="ls")
        if bold:
            # One font is shipped: a second print beside the first makes it bold.
            self._draw.text((left + 1, y + self._ascent), text, ink, font, anchor="ls")

    def _dots(self, x: int, y: int, dots: int, ink: tuple[int, int, int]) -> None:
        """Draw a Braille pattern, as every spinner uses and our font lacks: bit n is dot n+1."""
        for bit, (col, row) in enumerate(_DOT_PLACES):
            if dots >> bit & 1:
                left, top = x + 1 + col * 4, y + 2 + row * 4
                self._draw.rectangle((left, top, left + 1, top + 1), ink)

    def png(self) -> bytes:
        """Encode the image."""
        out = io.BytesIO()
        self._image.save(out, "PNG", compress_level=3)
        return out.getvalue()


def _steps(piece: Piece) -> Iterator[tuple[str, int, int]]:
    """Divide a run into texts that can be drawn in one go, with their column in the run and their cells."""
    run = piece.run
    if run.single:
        # Composed, a letter and its accent are one glyph; drawn apart, the accent lands beside the letter.
        yield normalize("NFC", run.text.translate(_INVISIBLE)) or "\ufffd", 0, run.cells
    elif run.text.isascii():
        yield run.text, 0, run.cells
    else:
        for col, character in enumerate(run.text):
            if character != " ":
                yield character, col, 1


@cache
def _fonts() -> tuple[ImageFont.FreeTypeFont, ...]:
    """Load our font, and then those of the system that exist."""
    own = files("hermitty.vt") / "fonts" / "DejaVuSansMono.ttf"
    # The basic layout gives whole advances, so that a run can be drawn at once.
    fonts = [ImageFont.truetype(io.BytesIO(own.read_bytes()), _FONT_PIXELS, layout_engine=ImageFont.Layout.BASIC)]
    for path in _WIDE_FONTS:
        try:
            fonts.append(ImageFont.truetype(path, _FONT_PIXELS, layout_engine=ImageFont.Layout.BASIC))
        except OSError:
            continue  # most of them are on other systems
    return tuple(fonts)


@cache
def _missing(font: ImageFont.FreeTypeFont) -> bytes:
    """Draw what a font shows for a character it does not have: here one that no font has."""
    return bytes(font.getmask("\U0010fffe"))


@cache
def _has(font: ImageFont.FreeTypeFont, character: str) -> bool:
    return bytes(font.getmask(character)) != _missing(font)


def _tuple(color: Rgb) -> tuple[int, int, int]:
    return color.red, color.green, color.blue
