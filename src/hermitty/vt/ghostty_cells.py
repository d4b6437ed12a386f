"""Reading the cells of a Ghostty terminal as styled runs.

A cell is a 64-bit number whose layout is the library's business. It is asked once for each different number,
not once for each cell: a screen has thousands of cells, but few that differ.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_bool, c_uint32, c_uint64, c_void_p
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


_BLANK = _Cell(" ", 1, 0, None)


class Row(NamedTuple):
    """One visible row, without trailing plain blanks unless it is wrapped."""

    runs: list[Run]
    is_wrapped: bool  # the text goes on in the next row without a line break


def read_rows(lib: ctypes.CDLL, terminal: c_void_p) -> list[Row]:
    """Read the visible rows."""
    known: dict[int, _Cell] = {}
    styles: dict[bytes, Style] = {}
    rows = []
    with (
        _handle(lib.ghostty_render_state_new, lib.ghostty_render_state_free) as state,
        _handle(lib.ghostty_render_state_row_iterator_new, lib.ghostty_render_state_row_iterator_free) as row,
        _handle(lib.ghostty_render_state_row_cells_new, lib.ghostty_render_state_row_cells_free) as cells,
    ):
        c.check(lib.ghostty_render_state_update(state, terminal))
        c.check(lib.ghostty_render_state_get(state, c.Render.ROW_ITERATOR, byref(row)))
        view, raw, wrapped = c.Cells(), c_uint64(), c_bool()
        while lib.ghostty_render_state_row_iterator_next(row):
            c.check(lib.ghostty_render_state_row_get(row, c.RenderRow.CELLS_RAW, byref(view)))
            c.check(lib.ghostty_render_state_row_get(row, c.RenderRow.CELLS, byref(cells)))
            numbers: list[int] = view.ptr[: view.len] if view.len else []
            for number in set(numbers).difference(known):
                known[number] = _read_cell(lib, number)
            c.check(lib.ghostty_render_state_row_get(row, c.RenderRow.RAW, byref(raw)))
            c.check(lib.ghostty_row_get(raw, c.RowData.WRAP, byref(wrapped)))
            read = [known[number] for number in numbers]
            while read and read[-1] == _BLANK and not wrapped.value:
                read.pop()
            runs = _row_runs(lib, cells, read, styles)
            rows.append(Row(runs if wrapped.value else trimmed(runs), wrapped.value))
    return rows


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


def _read_cell(lib: ctypes.CDLL, number: int) -> _Cell:
    out = c_uint32()

    def get(what: c.CellData) -> int:
        out.value = 0
        c.check(lib.ghostty_cell_get(c_uint64(number), what, byref(out)))
        return out.value

    match get(c.CellData.CONTENT_TAG):
        case c.Content.BG_COLOR_PALETTE:
            return _Cell(" ", 1, 0, Palette(get(c.CellData.COLOR_PALETTE)))
        case c.Content.BG_COLOR_RGB:
            rgb = c.Rgb()
            c.check(lib.ghostty_cell_get(c_uint64(number), c.CellData.COLOR_RGB, byref(rgb)))
            return _Cell(" ", 1, 0, Rgb(rgb.r, rgb.g, rgb.b))
        case tag:
            width = _WIDTHS[c.Wide(get(c.CellData.WIDE))]
            text = "" if tag == c.Content.CODEPOINT_GRAPHEME else chr(get(c.CellData.CODEPOINT) or 0x20)
            return _Cell(text, width, get(c.CellData.STYLE_ID), None)


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
