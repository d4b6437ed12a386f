"""Our declarations of the C interface against the header of the wheel that is installed."""

import ctypes
from enum import IntEnum

import pytest
from pyghostty import _ffi

from hermitty.vt import libghostty as c

ENUMS: list[tuple[type[IntEnum], str]] = [
    (c.Option, "TERMINAL_OPT"),
    (c.Data, "TERMINAL_DATA"),
    (c.RowData, "ROW_DATA"),
    (c.Content, "CELL_CONTENT"),
    (c.Wide, "CELL_WIDE"),
    (c.ColorTag, "STYLE_COLOR"),
    (c.Render, "RENDER_STATE_DATA"),
    (c.RenderRow, "RENDER_STATE_ROW_DATA"),
    (c.RenderCell, "RENDER_STATE_ROW_CELLS_DATA"),
    (c.Decoder, "SNAPSHOT_DECODER_OPT"),
    (c.Format, "FORMATTER_FORMAT"),
]

STRUCTURES: list[tuple[type[ctypes.Structure], str]] = [
    (c.String, "GhosttyString"),
    (c.Rgb, "GhosttyColorRgb"),
    (c.StyleColor, "GhosttyStyleColor"),
    (c.CellStyle, "GhosttyStyle"),
    (c.Cells, "GhosttyCellsView"),
    (c.Buffer, "GhosttyBuffer"),
    (c.Mode, "GhosttyTerminalModeConfig"),
    (c.SizeReport, "GhosttySizeReportSize"),
    (c.GridRef, "GhosttyGridRef"),
    (c.Selection, "GhosttySelection"),
    (c.ScreenExtra, "GhosttyFormatterScreenExtra"),
    (c.TerminalExtra, "GhosttyFormatterTerminalExtra"),
    (c.FormatOptions, "GhosttyFormatterTerminalOptions"),
]


@pytest.mark.parametrize(("ours", "prefix"), ENUMS, ids=lambda value: str(value))
def test_numbers_agree_with_the_header(ours: type[IntEnum], prefix: str) -> None:
    theirs = {member.name: getattr(_ffi.lib, f"GHOSTTY_{prefix}_{member.name}") for member in ours}
    assert {member.name: member.value for member in ours} == theirs


@pytest.mark.parametrize(("ours", "name"), STRUCTURES, ids=lambda value: str(value))
def test_layouts_agree_with_the_header(ours: type[ctypes.Structure], name: str) -> None:
    fields = [field[0] for field in ours._fields_]
    theirs = _ffi.ffi.typeof(name)
    assert [field for field, _ in theirs.fields] == fields
    assert [getattr(ours, field).offset for field in fields] == [field.offset for _, field in theirs.fields]
    assert ctypes.sizeof(ours) == _ffi.ffi.sizeof(name)


def test_a_point_has_the_size_and_offsets_of_its_union() -> None:
    assert ctypes.sizeof(c.Point) == _ffi.ffi.sizeof("GhosttyPoint")
    assert c.Point.x.offset == _ffi.ffi.offsetof("GhosttyPoint", "value")
    assert c.Point.y.offset - c.Point.x.offset == _ffi.ffi.offsetof("GhosttyPointCoordinate", "y")


def test_functions_have_the_arguments_of_the_header() -> None:
    for name, (_, arguments) in c._SIGNATURES.items():
        theirs = _ffi.ffi.typeof(getattr(_ffi.lib, f"ghostty_{name}"))
        assert len(theirs.args) == len(arguments), name
        assert _ffi.lib.GHOSTTY_INVALID_VALUE == c.INVALID_VALUE


def test_cells_are_laid_out_as_the_library_reads_them() -> None:
    def parts(number: int) -> list[int]:
        found = []
        for name in ("CONTENT_TAG", "CODEPOINT", "STYLE_ID", "WIDE", "COLOR_PALETTE"):
            out = _ffi.ffi.new("uint32_t*")
            _ffi.lib.ghostty_cell_get(number, getattr(_ffi.lib, f"GHOSTTY_CELL_DATA_{name}"), out)
            found.append(out[0])
        return found

    tag, content, style, wide = c.CellBits.CONTENT_TAG, c.CellBits.CONTENT, c.CellBits.STYLE_ID, c.CellBits.WIDE
    assert parts(0) == [c.Content.CODEPOINT, 0, 0, c.Wide.NARROW, 0]
    for code, number, width in ((0x20, 1, c.Wide.WIDE), (0x10FFFF, 0xFFFF, c.Wide.SPACER_HEAD), (0x3000, 0x8000, 0)):
        assert parts(code << content | number << style | width << wide)[:4] == [0, code, number, width]
    palette = c.Content.BG_COLOR_PALETTE << tag | 0xAB << content
    assert parts(palette)[0] == c.Content.BG_COLOR_PALETTE
    assert parts(palette)[-1] == 0xAB
    rgb = _ffi.ffi.new("GhosttyColorRgb*")
    colored = c.Content.BG_COLOR_RGB << tag | 0x030201 << content
    _ffi.lib.ghostty_cell_get(colored, _ffi.lib.GHOSTTY_CELL_DATA_COLOR_RGB, rgb)
    assert (rgb.r, rgb.g, rgb.b) == (1, 2, 3)
