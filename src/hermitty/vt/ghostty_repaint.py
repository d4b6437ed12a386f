"""Bytes that bring a fresh terminal to the state of another.

The library can write the shown screen itself, but gives cells that were skipped the style of their neighbour,
and says nothing of saved cursors or the screen under the alternate one. So the cells are written here, and a
copy of the terminal is asked for the rest by doing what a program would do: restore the cursor, go back.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from ctypes import c_int

from hermitty.vt import libghostty as c
from hermitty.vt.ghostty_cells import Row
from hermitty.vt.ghostty_terminal import BACKGROUND, FOREGROUND, NativeTerminal
from hermitty.vt.screen import PLAIN, Color, Palette, Run, Style, Underline

# Origin mode, charsets, style, link and protection as a fresh terminal has them.
_FRESH_CURSOR = b'\x1b[?6l\x0f\x1b(B\x1b)B\x1b*B\x1b+B\x1b[m\x1b]8;;\x1b\\\x1b[0"q'

_MODE = re.compile(rb"\x1b\[(\??[0-9]+)[hl]")
# Modes that decide how text is laid out, or without which side margins cannot be set.
_MODES_BEFORE = (b"?69", b"?2027")
# Modes that are repainted in their own way, or that clear the screen: origin, 132 columns, alternate screens.
_MODES_APART = (b"?3", b"?6", b"?40", b"?47", b"?1047", b"?1048", b"?1049")
_ALTERNATE_MODES = (1049, 1047, 47)
_ORIGIN_MODE = 6

_TOP_MARGIN = re.compile(rb"\x1b\[([0-9]+);[0-9]+r")
_LEFT_MARGIN = re.compile(rb"\x1b\[([0-9]+);[0-9]+s")

_SHAPE_QUERY = b"\x1bP$q q\x1b\\"
_SHAPE_REPLY = re.compile(rb"\x1bP1\$r([0-9] q)\x1b\\")
_USUAL_SHAPE = b"\x1b[2 q"

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


def repaint(terminal: NativeTerminal, title: str) -> bytes:
    """Write everything but history; the order is what keeps one part from disturbing another."""
    with closing(NativeTerminal.restore(terminal.snapshot(), scrollback_bytes=0)) as copy:
        copy.feed(b"\x18")  # CAN gives up an unfinished sequence
        shape = _cursor_shape(copy)
        copy.feed(b"\x1b8")
        saved = _saved_cursor(copy)
        under = b""
        shape_under = _USUAL_SHAPE
        if terminal.get(c.Data.ACTIVE_SCREEN, c_int()).value:
            mode = next((mode for mode in _ALTERNATE_MODES if terminal.mode(mode)), _ALTERNATE_MODES[-1])
            copy.feed(b"\x1b[?1049l")  # the one way back that takes nothing of the alternate cursor along
            shape_under = _cursor_shape(copy)
            text, cursor = _text(copy), _cursor(copy)
            copy.feed(b"\x1b8")
            under = _saved_cursor(copy) + text + cursor
            under += b"" if shape_under == _USUAL_SHAPE else shape_under
            under += b"\x1b[?%dh" % mode + _FRESH_CURSOR
    before, after = _modes(terminal)
    margins = terminal.sequences("scrolling_region")
    parts = [before, under, saved, terminal.sequences("tabstops"), _text(terminal), margins]
    parts += [_cursor(terminal, margins), terminal.sequences("keyboard"), after]
    if {shape, shape_under} != {_USUAL_SHAPE}:
        parts.append(shape)
    if title:
        parts.append(b"\x1b]2;%s\x1b\\" % title.encode())
    return b"".join([*parts, *_colors(terminal), terminal.unfinished()])


def _text(terminal: NativeTerminal) -> bytes:
    """Write the cells of the shown screen."""
    cols = terminal.size.cols
    written: list[str] = []
    style = PLAIN
    previous: Row | None = None
    for number, row in enumerate(terminal.rows(), start=1):
        if row.runs and not (previous and _wraps(previous, row.runs[0], cols)):
            written.append(f"\x1b[{number}H")
        for run in row.runs:
            if run.style != style:
                style = run.style
                written.append(_sgr(style))
            written.append(run.text)
        previous = row
    if style != PLAIN:
        written.append(_sgr(PLAIN))
    return "".join(written).encode(errors="replace")


def _wraps(row: Row, following: Run, cols: int) -> bool:
    """Whether the next row can be written right behind this one, without a break.

    A row that was wrapped should be: then the reader's terminal wraps it too, and can undo that when it gets
    wider. It does so only when the next character finds no room.
    """
    end = row.runs[-1].col + row.runs[-1].cells if row.runs else 0
    return row.is_wrapped and (end == cols or (end == cols - 1 and following.cells == 2 and following.single))


def _cursor(terminal: NativeTerminal, margins: bytes = b"") -> bytes:
    """Write the place of the cursor, and the style and charsets of what comes next."""
    col, row = terminal.number(c.Data.CURSOR_X), terminal.number(c.Data.CURSOR_Y)
    again = ""
    if terminal.flag(c.Data.CURSOR_PENDING_WRAP):
        # The character in the last column was just written, and the next one will wrap: write it again.
        run = _cell_at(terminal.rows()[row].runs, col)
        col, again = run.col, _sgr(run.style) + run.text
    top = left = 1
    origin = b""
    if terminal.mode(_ORIGIN_MODE):
        # Positions count from the margins then.
        origin = b"\x1b[?6h"
        top = int(found[1]) if (found := _TOP_MARGIN.search(margins)) else 1
        left = int(found[1]) if (found := _LEFT_MARGIN.search(margins)) else 1
    place = b"\x1b[%d;%dH" % (row + 2 - top, col + 2 - left)
    extras = terminal.sequences("style", "hyperlink", "protection", "kitty_keyboard", "charsets")
    return origin + place + again.encode(errors="replace") + extras


def _saved_cursor(restored: NativeTerminal) -> bytes:
    """Write the saved cursor, given a terminal that just restored it."""
    cursor = _cursor(restored)
    if cursor == b"\x1b[1;1H\x1b[0m":
        return b""
    return cursor + b"\x1b7" + _FRESH_CURSOR


def _cell_at(runs: list[Run], col: int) -> Run:
    """Find what is drawn in a column, as a run of its own."""
    for run in runs:
        if run.col <= col < run.col + run.cells:
            return run if run.single else Run(run.text[col - run.col], col, 1, run.style)
    return Run(" ", col, 1)


def _modes(terminal: NativeTerminal) -> tuple[bytes, bytes]:
    """Write the modes that differ from a fresh terminal's: those to set before the text, and the rest."""
    modes = [found for found in _MODE.finditer(terminal.sequences("modes")) if found[1] not in _MODES_APART]
    return (
        b"".join(found[0] for found in modes if found[1] in _MODES_BEFORE),
        b"".join(found[0] for found in modes if found[1] not in _MODES_BEFORE),
    )


def _cursor_shape(copy: NativeTerminal) -> bytes:
    """Write the shape of the cursor, which each of the two screens has of its own."""
    copy.take_replies()
    copy.feed(_SHAPE_QUERY)
    found = _SHAPE_REPLY.fullmatch(b"".join(copy.take_replies()))
    return b"\x1b[" + found[1] if found else _USUAL_SHAPE


def _colors(terminal: NativeTerminal) -> Iterator[bytes]:
    """Write the colours that a program changed."""
    palette = terminal.get(c.Data.COLOR_PALETTE, (c.Rgb * 256)())
    usual = terminal.get(c.Data.COLOR_PALETTE_DEFAULT, (c.Rgb * 256)())
    colors = [(b"4;%d" % index, palette[index], usual[index]) for index in range(256)]
    if bytes(palette) == bytes(usual):
        colors = []
    for number, what, default in (
        (b"10", c.Data.COLOR_FOREGROUND, FOREGROUND),
        (b"11", c.Data.COLOR_BACKGROUND, BACKGROUND),
        (b"12", c.Data.COLOR_CURSOR, FOREGROUND),
    ):
        colors.append((number, terminal.get(what, c.Rgb()), default))
    for number, color, default in colors:
        if bytes(color) != bytes(default):
            yield b"\x1b]%s;rgb:%02x/%02x/%02x\x1b\\" % (number, color.r, color.g, color.b)


def _sgr(style: Style) -> str:
    codes = ["0", *(code for flag, code in _SGR_FLAGS if getattr(style, flag))]
    if style.underline is not Underline.NONE:
        codes.append("4" if style.underline is Underline.SINGLE else f"4:{style.underline.value}")
    for base, color in ((38, style.foreground), (48, style.background), (58, style.underline_color)):
        if color is not None:
            codes.append(_sgr_color(base, color))
    return f"\x1b[{';'.join(codes)}m"


def _sgr_color(base: int, color: Color) -> str:
    match color:
        case Palette(index):
            # 0 to 7 have codes of their own, which every viewer knows.
            return f"{base - 8 + index}" if index < 8 and base != 58 else f"{base};5;{index}"
        case _:
            return f"{base};2;{color.red};{color.green};{color.blue}"
