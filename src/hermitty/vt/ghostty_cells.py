"""Reading the cells of a Ghostty terminal as styled runs.

A cell is a 64-bit number, taken apart once for each different number, not once for each cell: a screen has
thousands of cells, but few that differ.
"""

import ctypes
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from ctypes import byref, c_bool, c_uint64, c_void_p
from typing import NamedTuple

from hermitty.vt import libghostty as c
from hermitty.vt.screen import PLAIN, Color, Palette, Rgb, Run, Style, Underline

# The longest cluster the library keeps in a cell is far shorter; a longer one is cut, never refused.
_CLUSTER_BYTES = 1024

_FLAGS = ("bold", "faint", "italic", "blink", "inverse", "invisible", "strikethrough", "overline")


# A spacer head is the last column of a row where a wide character found no room.
_WIDTHS = {c.Wide.NARROW: 1, c.Wide.WIDE: 2, c.Wide.SPACER_TAIL: 0, c.Wide.SPACER_HEAD: 0}


class _Cell(NamedTuple):
    """What a cell's number says by itself. A style id means something only within its row."""

    text: str  # "" when the cell holds a cluster, which must be read from the row
    cells: int  # 0 for a part of a wide character
    style_id: int
    fill: Color | None  # of an empty cell that was erased in a colour


class Row(NamedTuple):
    """One visible row, without trailing plain blanks unless it is wrapped."""

    runs: list[Run]
    is_wrapped: bool  # the text goes on in the next row without a line break


class RawRow(NamedTuple):
    """One visible row as the library has it: 8 bytes for each cell, the lowest first."""

    cells: bytes
    is_wrapped: bool
    continues: bool  # the row before was wrapped when this one was written


def read_raw_rows(lib: ctypes.CDLL, terminal: c_void_p) -> list[RawRow]:
    """Read the visible rows without understanding them."""
    return [row for _, row in _visible(lib, terminal)]


def read_rows(lib: ctypes.CDLL, terminal: c_void_p, wanted: Container[int]) -> dict[int, Row]:
    """Read those of the visible rows whose numbers are wanted."""
    known: dict[int, _Cell] = {}
    styles: dict[bytes, Style] = {}
    rows: dict[int, Row] = {}
    with _handle(lib.ghostty_render_state_row_cells_new, lib.ghostty_render_state_row_cells_free) as cells:
        for number, (row, raw) in enumerate(_visible(lib, terminal)):
            if number not in wanted:
                continue
            written = raw.cells if raw.is_wrapped else without_blanks(raw.cells)
            numbers = memoryview(written).cast("Q").tolist()
            for each in set(numbers).difference(known):
                known[each] = _read_cell(each)
            c.check(lib.ghostty_render_state_row_get(row, c.RenderRow.CELLS, byref(cells)))
            runs = _row_runs(lib, cells, [known[each] for each in numbers], styles)
            rows[number] = Row(runs if raw.is_wrapped else trimmed(runs), raw.is_wrapped)
    return rows


def without_blanks(cells: bytes) -> bytes:
    """Leave out trailing cells that nobody wrote to, or that were erased without a colour."""
    return cells[: -(-len(cells.rstrip(b"\0")) // 8 * 8)]


def _visible(lib: ctypes.CDLL, terminal: c_void_p) -> Iterator[tuple[c_void_p, RawRow]]:
    """Go through the visible rows; the handle is that of the row as long as it is the last one given out."""
    with (
        _handle(lib.ghostty_render_state_new, lib.ghostty_render_state_free) as state,
        _handle(lib.ghostty_render_state_row_iterator_new, lib.ghostty_render_state_row_iterator_free) as row,
    ):
        c.check(lib.ghostty_render_state_update(state, terminal))
        c.check(lib.ghostty_render_state_get(state, c.Render.ROW_ITERATOR, byref(row)))
        view, raw, wrapped, continues = c.Cells(), c_uint64(), c_bool(), c_bool()
        while lib.ghostty_render_state_row_iterator_next(row):
            c.check(lib.ghostty_render_state_row_get(row, c.RenderRow.CELLS_RAW, byref(view)))
            c.check(lib.ghostty_render_state_row_get(row, c.RenderRow.RAW, byref(raw)))
            c.check(lib.ghostty_row_get(raw, c.RowData.WRAP, byref(wrapped)))
            c.check(lib.ghostty_row_get(raw, c.RowData.WRAP_CONTINUATION, byref(continues)))
            yield row, RawRow(ctypes.string_at(view.ptr, view.len * 8), wrapped.value, continues.value)


def _row_runs(lib: ctypes.CDLL, row: c_void_p, cells: list[_Cell], styles: dict[bytes, Style]) -> list[Run]:
    """Join the cells of one row to runs."""
    runs: list[Run] = []
    texts: list[str] = []  # the single-cell characters of the run being joined
    start = 0
    style_id, fill = 0, None
    style = PLAIN
    row_styles: dict[int, Style] = {}

    def finish() -> None:
        if texts:
            text = "".join(texts)
            runs.append(Run(text, start, len(text), style))
            texts.clear()

    for col, cell in enumerate(cells):
        if cell.cells == 0:
            continue
        if cell.style_id != style_id or cell.fill != fill:
            style_id, fill = cell.style_id, cell.fill
            if not style_id:
                found = Style(background=fill) if fill else PLAIN
            elif style_id in row_styles:
                found = row_styles[style_id]
            else:
                found = row_styles[style_id] = _read_style(lib, row, col, styles)
            if found != style:
                finish()
                style = found
        # A wide character in a line-drawing charset comes out as a wide blank, which is two blanks.
        if cell.text and (cell.cells == 1 or cell.text == " "):
            if not texts:
                start = col
            texts.append(cell.text * cell.cells)
        else:
            finish()
            runs.append(Run(cell.text or _read_cluster(lib, row, col), col, cell.cells, style, single=True))
    finish()
    return runs


def trimmed(runs: list[Run]) -> list[Run]:
    """Leave out trailing plain blanks."""
    if not runs or runs[-1].style != PLAIN or not runs[-1].text.endswith(" "):
        return runs
    # Neighbours of one style are one run, unless they are single characters, which are never blank.
    *before, last = runs
    text = last.text.rstrip(" ")
    return [*before, Run(text, last.col, len(text))] if text else before


def _read_cell(number: int) -> _Cell:
    content = number >> c.CellBits.CONTENT & 0xFFFFFF
    match number >> c.CellBits.CONTENT_TAG & 3:
        case c.Content.BG_COLOR_PALETTE:
            return _Cell(" ", 1, 0, Palette(content & 0xFF))
        case c.Content.BG_COLOR_RGB:
            return _Cell(" ", 1, 0, Rgb(content & 0xFF, content >> 8 & 0xFF, content >> 16))
        case tag:
            width = _WIDTHS[c.Wide(number >> c.CellBits.WIDE & 3)]
            text = "" if tag == c.Content.CODEPOINT_GRAPHEME else chr(content or 0x20)
            return _Cell(text, width, number >> c.CellBits.STYLE_ID & 0xFFFF, None)


def _read_style(lib: ctypes.CDLL, row: c_void_p, col: int, styles: dict[bytes, Style]) -> Style:
    found = c.CellStyle(ctypes.sizeof(c.CellStyle))
    c.check(lib.ghostty_render_state_row_cells_select(row, col))
    c.check(lib.ghostty_render_state_row_cells_get(row, c.RenderCell.STYLE, byref(found)))
    key = bytes(found)
    if key not in styles:
        styles[key] = Style(
            foreground=_color(found.fg_color),
            background=_color(found.bg_color),
            underline=Underline(found.underline),
            underline_color=_color(found.underline_color),
            **{flag: bool(getattr(found, flag)) for flag in _FLAGS},
        )
    return styles[key]


def _color(color: c.StyleColor) -> Color | None:
    match color.tag:
        case c.ColorTag.PALETTE:
            return Palette(color.value.palette)
        case c.ColorTag.RGB:
            rgb = color.value.rgb
            return Rgb(rgb.r, rgb.g, rgb.b)
        case _:
            return None


def _read_cluster(lib: ctypes.CDLL, row: c_void_p, col: int) -> str:
    room = ctypes.create_string_buffer(_CLUSTER_BYTES)
    buffer = c.Buffer(ctypes.addressof(room), _CLUSTER_BYTES, 0)
    c.check(lib.ghostty_render_state_row_cells_select(row, col))
    lib.ghostty_render_state_row_cells_get(row, c.RenderCell.GRAPHEMES_UTF8, byref(buffer))
    return room.raw[: min(buffer.len, _CLUSTER_BYTES)].decode(errors="ignore") or "\ufffd"


@contextmanager
def _handle(new: Callable[..., int], free: Callable[[c_void_p], None]) -> Iterator[c_void_p]:
    handle = c_void_p()
    c.check(new(None, byref(handle)))
    try:
        yield handle
    finally:
        free(handle)
