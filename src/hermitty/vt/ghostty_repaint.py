"""Bytes that bring a fresh terminal to the state of another.

The library can write the shown screen, but says nothing of saved cursors or the screen under the alternate one.
So a copy of the terminal is asked for these by doing what a program would do: restore the cursor, go back.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from ctypes import c_int

from hermitty.vt import libghostty as c
from hermitty.vt.ghostty_terminal import BACKGROUND, FOREGROUND, NativeTerminal
from hermitty.vt.ghostty_text import FRESH_CURSOR, PLAIN_WRITING, row_text, sgr, write_text
from hermitty.vt.screen import Run

_MODE = re.compile(rb"\x1b\[(\??[0-9]+)[hl]")
# Modes that decide how text is laid out, or without which side margins cannot be set.
_MODES_BEFORE = (b"?69", b"?2027")
# Modes that are repainted in their own way, or that clear the screen: origin, 132 columns, alternate screens.
_MODES_APART = (b"?3", b"?6", b"?40", b"?47", b"?1047", b"?1048", b"?1049")
_ALTERNATE_MODES = (1049, 1047, 47)
_ORIGIN_MODE = 6
_WRAP_MODE = 7
_INSERT_MODE = 4 | 1 << 15

_TOP_MARGIN = re.compile(rb"\x1b\[([0-9]+);[0-9]+r")
_LEFT_MARGIN = re.compile(rb"\x1b\[([0-9]+);[0-9]+s")

_SHAPE_QUERY = b"\x1bP$q q\x1b\\"
_SHAPE_REPLY = re.compile(rb"\x1bP1\$r([0-9] q)\x1b\\")
_USUAL_SHAPE = b"\x1b[2 q"


def repaint(terminal: NativeTerminal, title: str) -> bytes:
    """Write everything but history; the order is what keeps one part from disturbing another."""
    snapshot = terminal.snapshot()
    unfinished = terminal.unfinished()
    with closing(NativeTerminal.restore(snapshot, scrollback_bytes=0)) as copy:
        _give_up(copy, unfinished)
        shape = _cursor_shape(copy)
        copy.feed(b"\x1b8")
        saved = _saved_cursor(copy)
        shown = write_text(copy)
        under = b""
        shape_under = _USUAL_SHAPE
        if terminal.get(c.Data.ACTIVE_SCREEN, c_int()).value:
            mode = next((mode for mode in _ALTERNATE_MODES if terminal.mode(mode)), _ALTERNATE_MODES[-1])
            copy.feed(b"\x1b[?1049l")  # the one way back that takes nothing of the alternate cursor along
            shape_under = _cursor_shape(copy)
            cursor = _cursor(copy)
            copy.feed(b"\x1b8")
            saved_under = _saved_cursor(copy)
            under = saved_under + write_text(copy) + cursor
            under += b"" if shape_under == _USUAL_SHAPE else shape_under
            under += b"\x1b[?%dh" % mode + FRESH_CURSOR
    before, after = _modes(terminal)
    margins = terminal.sequences("scrolling_region")
    parts = [before, under, saved, terminal.sequences("tabstops"), shown, margins]
    parts += [_cursor(terminal, margins), terminal.sequences("keyboard"), after]
    if {shape, shape_under} != {_USUAL_SHAPE}:
        parts.append(shape)
    if title:
        parts.append(b"\x1b]2;%s\x1b\\" % title.encode())
    return b"".join([*parts, *_colors(terminal), unfinished])


def _give_up(copy: NativeTerminal, unfinished: bytes) -> None:
    """Give up an unfinished sequence without a change of the text."""
    if unfinished[:1] < b"\x80":
        copy.feed(b"\x18")
        return
    # Half a character leaves a mark in the cell at the cursor. Erase it, and write that row again. A wrapped row
    # has text in all cells, and would not be wrapped any more when one is erased.
    col, row = copy.number(c.Data.CURSOR_X), copy.number(c.Data.CURSOR_Y)
    before = copy.rows({row})[row]
    erased = b"" if before.is_wrapped else b"\x1b[%d;%dH\x1b[X" % (row + 1, col + 1)
    copy.clear_mode(_WRAP_MODE)
    copy.clear_mode(_INSERT_MODE)
    copy.feed(b"\x18%s%s\x1b[%dH%s" % (PLAIN_WRITING, erased, row + 1, row_text(before)))


def _cursor(terminal: NativeTerminal, margins: bytes = b"") -> bytes:
    """Write the place of the cursor, and the style and charsets of what comes next."""
    col, row = terminal.number(c.Data.CURSOR_X), terminal.number(c.Data.CURSOR_Y)
    again = ""
    if terminal.flag(c.Data.CURSOR_PENDING_WRAP):
        # The character in the last column was just written, and the next one will wrap: write it again.
        run = _cell_at(terminal.rows({row})[row].runs, col)
        col, again = run.col, sgr(run.style) + run.text
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
    return cursor + b"\x1b7" + FRESH_CURSOR


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
    colors = []
    if bytes(palette) != bytes(usual):
        colors = [(b"4;%d" % index, palette[index], usual[index]) for index in range(256)]
    for number, what, default in (
        (b"10", c.Data.COLOR_FOREGROUND, FOREGROUND),
        (b"11", c.Data.COLOR_BACKGROUND, BACKGROUND),
        (b"12", c.Data.COLOR_CURSOR, FOREGROUND),
    ):
        colors.append((number, terminal.get(what, c.Rgb()), default))
    for number, color, default in colors:
        if bytes(color) != bytes(default):
            yield b"\x1b]%s;rgb:%02x/%02x/%02x\x1b\\" % (number, color.r, color.g, color.b)
