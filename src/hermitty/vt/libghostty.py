"""Declarations of the part of libghostty-vt's C interface that the screen needs, for ctypes.

The shared library comes with the `pyghostty` wheel, which is not imported: it parses 3,500 lines of C
declarations when it loads, in 200 ms and 9 MB, against 8 ms and 1 MB for this. The wheel's version is pinned,
because the interface calls itself unstable; a test compares every number and layout here with its header.
"""

import ctypes
import sys
from ctypes import POINTER, c_bool, c_char_p, c_int, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from enum import IntEnum
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from hermitty.errors import HostUnavailable, NotSupported

INVALID_VALUE = -2


class Option(IntEnum):
    """GHOSTTY_TERMINAL_OPT_*."""

    WRITE_PTY = 1
    SIZE = 6
    COLOR_FOREGROUND = 11
    COLOR_BACKGROUND = 12
    COLOR_CURSOR = 13
    KITTY_IMAGE_STORAGE_LIMIT = 15
    SCROLLBACK_MAX_BYTES = 27
    SCROLLBACK_MAX_LINES = 28
    CONTINUATION_MAX_BYTES = 31
    TITLE_REPORT = 32
    MODE = 34
    GLYPH_PROTOCOL = 24


class Data(IntEnum):
    """GHOSTTY_TERMINAL_DATA_*."""

    COLS = 1
    ROWS = 2
    CURSOR_X = 3
    CURSOR_Y = 4
    CURSOR_PENDING_WRAP = 5
    ACTIVE_SCREEN = 6
    CURSOR_VISIBLE = 7
    TITLE = 12
    SCROLLBACK_ROWS = 15
    COLOR_FOREGROUND = 18
    COLOR_BACKGROUND = 19
    COLOR_CURSOR = 20
    COLOR_PALETTE = 21
    COLOR_PALETTE_DEFAULT = 25
    MODE = 37


class CellBits(IntEnum):
    """Where the parts of a GhosttyCell begin. Asking the library for each part of each cell takes 20 times as long.

    The header does not promise this layout: a test compares it with what the library says of such numbers.
    """

    CONTENT_TAG = 0  # 2 bits
    CONTENT = 2  # 24 bits: a code point, a palette index, or red, green and blue from the lowest bits on
    STYLE_ID = 26  # 16 bits
    WIDE = 42  # 2 bits


class RowData(IntEnum):
    """GHOSTTY_ROW_DATA_*."""

    WRAP = 1
    WRAP_CONTINUATION = 2


class Content(IntEnum):
    """GHOSTTY_CELL_CONTENT_*: what the content of a cell is."""

    CODEPOINT = 0
    CODEPOINT_GRAPHEME = 1
    BG_COLOR_PALETTE = 2
    BG_COLOR_RGB = 3


class Wide(IntEnum):
    """GHOSTTY_CELL_WIDE_*: a cell's part in a wide character. The head is left empty before a line break."""

    NARROW = 0
    WIDE = 1
    SPACER_TAIL = 2
    SPACER_HEAD = 3


class ColorTag(IntEnum):
    """GHOSTTY_STYLE_COLOR_*."""

    NONE = 0
    PALETTE = 1
    RGB = 2


class Render(IntEnum):
    """GHOSTTY_RENDER_STATE_DATA_*."""

    ROW_ITERATOR = 4


class RenderRow(IntEnum):
    """GHOSTTY_RENDER_STATE_ROW_DATA_*."""

    RAW = 2
    CELLS = 3
    CELLS_RAW = 5


class RenderCell(IntEnum):
    """GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_*."""

    STYLE = 2
    GRAPHEMES_UTF8 = 9


class Decoder(IntEnum):
    """GHOSTTY_SNAPSHOT_DECODER_OPT_*."""

    MAX_CONTINUATION_BYTES = 0
    RETAIN_CONTINUATION = 1


class Format(IntEnum):
    """GHOSTTY_FORMATTER_FORMAT_*."""

    PLAIN = 0
    VT = 1


class String(ctypes.Structure):
    """GhosttyString: borrowed bytes."""

    _fields_ = (("ptr", c_void_p), ("len", c_size_t))


class Rgb(ctypes.Structure):
    """GhosttyColorRgb."""

    _fields_ = (("r", c_uint8), ("g", c_uint8), ("b", c_uint8))


class _ColorValue(ctypes.Union):
    _fields_ = (("palette", c_uint8), ("rgb", Rgb), ("padding", c_uint64))


class StyleColor(ctypes.Structure):
    """GhosttyStyleColor: a tag (0 none, 1 palette, 2 rgb) and its value."""

    _fields_ = (("tag", c_int), ("value", _ColorValue))


class CellStyle(ctypes.Structure):
    """GhosttyStyle."""

    _fields_ = (
        ("size", c_size_t),
        ("fg_color", StyleColor),
        ("bg_color", StyleColor),
        ("underline_color", StyleColor),
        ("bold", c_bool),
        ("italic", c_bool),
        ("faint", c_bool),
        ("blink", c_bool),
        ("inverse", c_bool),
        ("invisible", c_bool),
        ("strikethrough", c_bool),
        ("overline", c_bool),
        ("underline", c_int),
    )


class Cells(ctypes.Structure):
    """GhosttyCellsView: the raw cells of one row, borrowed."""

    _fields_ = (("ptr", POINTER(c_uint64)), ("len", c_size_t))


class Buffer(ctypes.Structure):
    """GhosttyBuffer: room for the library to write into."""

    _fields_ = (("ptr", c_void_p), ("cap", c_size_t), ("len", c_size_t))


class Mode(ctypes.Structure):
    """GhosttyTerminalModeConfig; ANSI modes have bit 15 of their number set."""

    _fields_ = (("mode", c_uint16), ("value", c_bool))


class SizeReport(ctypes.Structure):
    """GhosttySizeReportSize."""

    _fields_ = (
        ("rows", c_uint16),
        ("columns", c_uint16),
        ("cell_width", c_uint32),
        ("cell_height", c_uint32),
    )


class GridRef(ctypes.Structure):
    """GhosttyGridRef: a cell, until the terminal changes."""

    _fields_ = (("size", c_size_t), ("node", c_void_p), ("x", c_uint16), ("y", c_uint16))


class Point(ctypes.Structure):
    """GhosttyPoint, with its union spelled out: the same 24 bytes, which all our ABIs pass in memory."""

    _fields_ = (("tag", c_uint64), ("x", c_uint16), ("y", c_uint32), ("padding", c_uint64))


class Selection(ctypes.Structure):
    """GhosttySelection."""

    _fields_ = (("size", c_size_t), ("start", GridRef), ("end", GridRef), ("rectangle", c_bool))


class ScreenExtra(ctypes.Structure):
    """GhosttyFormatterScreenExtra."""

    _fields_ = (
        ("size", c_size_t),
        ("cursor", c_bool),
        ("style", c_bool),
        ("hyperlink", c_bool),
        ("protection", c_bool),
        ("kitty_keyboard", c_bool),
        ("charsets", c_bool),
    )


class TerminalExtra(ctypes.Structure):
    """GhosttyFormatterTerminalExtra."""

    _fields_ = (
        ("size", c_size_t),
        ("palette", c_bool),
        ("modes", c_bool),
        ("scrolling_region", c_bool),
        ("tabstops", c_bool),
        ("pwd", c_bool),
        ("keyboard", c_bool),
        ("screen", ScreenExtra),
    )


class FormatOptions(ctypes.Structure):
    """GhosttyFormatterTerminalOptions."""

    _fields_ = (
        ("size", c_size_t),
        ("emit", c_int),
        ("unwrap", c_bool),
        ("trim", c_bool),
        ("extra", TerminalExtra),
        ("selection", POINTER(Selection)),
    )


WritePty = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_size_t)
SizeQuery = ctypes.CFUNCTYPE(c_bool, c_void_p, c_void_p, POINTER(SizeReport))

_HANDLE_OUT = POINTER(c_void_p)
_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "terminal_new": (c_int, (c_void_p, _HANDLE_OUT, c_uint16, c_uint16)),
    "terminal_free": (None, (c_void_p,)),
    "terminal_resize": (c_int, (c_void_p, c_uint16, c_uint16, c_uint32, c_uint32)),
    "terminal_set": (c_int, (c_void_p, c_int, c_void_p)),
    "terminal_get": (c_int, (c_void_p, c_int, c_void_p)),
    "terminal_vt_write": (None, (c_void_p, c_char_p, c_size_t)),
    "terminal_continuation_alloc": (c_int, (c_void_p, c_void_p, _HANDLE_OUT, POINTER(c_size_t))),
    "terminal_continuation_buf": (c_int, (c_void_p, c_void_p, c_size_t, POINTER(c_size_t))),
    "terminal_grid_ref": (c_int, (c_void_p, Point, POINTER(GridRef))),
    "formatter_terminal_new": (c_int, (c_void_p, _HANDLE_OUT, c_void_p, FormatOptions)),
    "formatter_format_alloc": (c_int, (c_void_p, c_void_p, _HANDLE_OUT, POINTER(c_size_t))),
    "formatter_free": (None, (c_void_p,)),
    "render_state_new": (c_int, (c_void_p, _HANDLE_OUT)),
    "render_state_free": (None, (c_void_p,)),
    "render_state_update": (c_int, (c_void_p, c_void_p)),
    "render_state_get": (c_int, (c_void_p, c_int, c_void_p)),
    "render_state_row_iterator_new": (c_int, (c_void_p, _HANDLE_OUT)),
    "render_state_row_iterator_free": (None, (c_void_p,)),
    "render_state_row_iterator_next": (c_bool, (c_void_p,)),
    "render_state_row_get": (c_int, (c_void_p, c_int, c_void_p)),
    "render_state_row_cells_new": (c_int, (c_void_p, _HANDLE_OUT)),
    "render_state_row_cells_free": (None, (c_void_p,)),
    "render_state_row_cells_select": (c_int, (c_void_p, c_uint16)),
    "render_state_row_cells_get": (c_int, (c_void_p, c_int, c_void_p)),
    "row_get": (c_int, (c_uint64, c_int, c_void_p)),
    "snapshot_encode_alloc": (c_int, (c_void_p, c_void_p, _HANDLE_OUT, POINTER(c_size_t))),
    "snapshot_decoder_new_buf": (c_int, (c_void_p, _HANDLE_OUT, c_char_p, c_size_t)),
    "snapshot_decoder_set": (c_int, (c_void_p, c_int, c_void_p)),
    "snapshot_decoder_decode": (c_int, (c_void_p, _HANDLE_OUT)),
    "snapshot_decoder_free": (None, (c_void_p,)),
    "free": (None, (c_void_p, c_void_p, c_size_t)),
}


def check(result: int) -> None:
    """Raise HostUnavailable unless a call succeeded.

    Arguments are ours, not the caller's, so what remains to go wrong is memory.
    """
    if result:
        raise HostUnavailable(f"the terminal emulator failed with code {result}; is memory short?")


@cache
def load() -> ctypes.CDLL:
    """Load the library once, or raise NotSupported."""
    spec = find_spec("pyghostty")
    ending = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "_lib" / f"libghostty-vt.{ending}"
        try:
            library = ctypes.CDLL(str(path))
        except OSError as exc:
            raise NotSupported(f"the terminal emulator {path} cannot be loaded: {exc}") from exc
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, f"ghostty_{name}")
            function.restype, function.argtypes = result, arguments
        return library
    raise NotSupported("the terminal emulator is not installed; install pyghostty==0.1.3")
