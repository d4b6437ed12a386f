"""A Ghostty terminal with Python types: the handle, its settings, and the calls the screen is made of."""

import ctypes
import re
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from ctypes import byref, c_bool, c_size_t, c_uint16, c_uint64, c_void_p
from functools import cache, partial
from typing import Any, Self

from hermitty.errors import HostUnavailable, InvalidRequest
from hermitty.model import Size
from hermitty.vt import libghostty as c
from hermitty.vt.ghostty_cells import RawRow, Row, read_raw_rows, read_rows

# An unfinished sequence longer than this (an inline image, say) is not kept, so it cannot be handed on.
_UNFINISHED_BYTES = 1 << 20
# What takes its place: a command nobody knows. Like any long sequence, it swallows all up to BEL or ST.
_SWALLOW = b"\x1b]9999;"

# The 8-bit forms of DCS, SOS, CSI, OSC, PM and APC.
_BEGINNING = re.compile(rb"[\x90\x98\x9b\x9d-\x9f]")
# Each try writes the state again, and noise can nest without end.
_MAX_NESTED = 8

# What a program is told when it asks for the colours: libghostty's own palette on its dark background.
FOREGROUND = c.Rgb(0xC5, 0xC8, 0xC6)
BACKGROUND = c.Rgb(0x1D, 0x1F, 0x21)

# Only size reports in pixels use this: nobody draws pixels here, but a program may divide by it.
_CELL_PIXELS = (8, 16)


class NativeTerminal:
    """Owns one terminal of the library until `close`. Replies are collected until they are taken."""

    def __init__(self, handle: c_void_p, *, scrollback_bytes: int) -> None:
        self._lib = c.load()
        self._handle: c_void_p | None = handle
        self._replies: list[bytes] = []
        # The library calls this one: it must live as long as the terminal.
        self._on_reply = c.WritePty(partial(_keep_reply, self._replies))
        for option, value in (
            (c.Option.SCROLLBACK_MAX_BYTES, byref(c_size_t(scrollback_bytes))),
            (c.Option.SCROLLBACK_MAX_LINES, None),  # counting lines takes four fifths of the speed
            (c.Option.CONTINUATION_MAX_BYTES, byref(c_size_t(_UNFINISHED_BYTES))),
            (c.Option.KITTY_IMAGE_STORAGE_LIMIT, byref(c_uint64(0))),
            (c.Option.GLYPH_PROTOCOL, byref(c_bool(False))),
            (c.Option.TITLE_REPORT, byref(c_bool(False))),
            (c.Option.COLOR_FOREGROUND, byref(FOREGROUND)),
            (c.Option.COLOR_BACKGROUND, byref(BACKGROUND)),
            (c.Option.COLOR_CURSOR, byref(FOREGROUND)),
            (c.Option.WRITE_PTY, self._on_reply),
            (c.Option.SIZE, _answer_size()),
        ):
            c.check(self._lib.ghostty_terminal_set(handle, option, value))

    @classmethod
    def new(cls, size: Size, *, scrollback_bytes: int) -> Self:
        """Make an empty terminal."""
        handle = c_void_p()
        c.check(c.load().ghostty_terminal_new(None, byref(handle), size.cols, size.rows))
        terminal = cls(handle, scrollback_bytes=scrollback_bytes)
        terminal.resize(size)  # sets the size in pixels
        return terminal

    @classmethod
    def restore(cls, snapshot: bytes, *, scrollback_bytes: int) -> Self:
        """Make a terminal from what `snapshot` wrote, or raise InvalidRequest."""
        lib = c.load()
        decoder, handle = c_void_p(), c_void_p()
        c.check(lib.ghostty_snapshot_decoder_new_buf(None, byref(decoder), snapshot, len(snapshot)))
        try:
            for option, value in (
                (c.Decoder.MAX_CONTINUATION_BYTES, byref(c_size_t(_UNFINISHED_BYTES))),
                (c.Decoder.RETAIN_CONTINUATION, byref(c_bool(True))),
            ):
                c.check(lib.ghostty_snapshot_decoder_set(decoder, option, value))
            if lib.ghostty_snapshot_decoder_decode(decoder, byref(handle)):
                raise InvalidRequest("this is not a snapshot of a screen, or one of another version")
        finally:
            lib.ghostty_snapshot_decoder_free(decoder)
        return cls(handle, scrollback_bytes=scrollback_bytes)

    def close(self) -> None:
        """Free the terminal. Closing twice is fine."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._lib.ghostty_terminal_free(handle)

    def __del__(self) -> None:
        self.close()

    @property
    def handle(self) -> c_void_p:
        """The library's terminal, or InvalidRequest when it is closed."""
        if self._handle is None:
            raise InvalidRequest("the screen is closed")
        return self._handle

    def feed(self, data: bytes) -> None:
        """Take output of the program."""
        self._lib.ghostty_terminal_vt_write(self.handle, data, len(data))

    def resize(self, size: Size) -> None:
        """Change the size."""
        c.check(self._lib.ghostty_terminal_resize(self.handle, size.cols, size.rows, *_CELL_PIXELS))

    def take_replies(self) -> list[bytes]:
        """Return the replies since the last call, whatever is in them."""
        if not self._replies:
            return []
        replies = self._replies[:]
        self._replies.clear()
        return replies

    def get(self, what: c.Data, out: Any) -> Any:
        """Fill `out` and return it. Its type must be the one the library writes: nothing checks."""
        c.check(self._lib.ghostty_terminal_get(self.handle, what, byref(out)))
        return out

    def number(self, what: c.Data) -> int:
        """Read one of the 16-bit numbers."""
        return int(self.get(what, c_uint16()).value)

    def flag(self, what: c.Data) -> bool:
        """Read one of the booleans."""
        return bool(self.get(what, c_bool()).value)

    def mode(self, number: int) -> bool:
        """Read whether a DEC private mode is set."""
        return bool(self.get(c.Data.MODE, c.Mode(number)).value)

    def clear_mode(self, number: int) -> None:
        """Reset a mode as a program would, but without writing; ANSI modes have bit 15 set."""
        c.check(self._lib.ghostty_terminal_set(self.handle, c.Option.MODE, byref(c.Mode(number, False))))

    @property
    def size(self) -> Size:
        """Columns and rows."""
        return Size(self.number(c.Data.COLS), self.number(c.Data.ROWS))

    def rows(self, wanted: Container[int] | None = None) -> dict[int, Row]:
        """Read the visible rows by number, or some of them."""
        return read_rows(self._lib, self.handle, range(self.size.rows) if wanted is None else wanted)

    def raw_rows(self) -> list[RawRow]:
        """Read the cells of the visible rows as the library has them."""
        return read_raw_rows(self._lib, self.handle)

    def snapshot(self) -> bytes:
        """Write the whole state."""
        self._shorten_unfinished()
        try:
            return self._encode()
        except HostUnavailable as exc:
            # Noise leads to states that the library does not write: one string begun inside another.
            for sequence in _unnested(self.unfinished()):
                self._restart(sequence)
                with suppress(HostUnavailable):
                    return self._encode()
            raise HostUnavailable("the terminal emulator cannot write its state; is memory short?") from exc

    def _encode(self) -> bytes:
        return self._take_bytes(self._lib.ghostty_snapshot_encode_alloc, self.handle)

    def unfinished(self) -> bytes:
        """Return what began a sequence or a character that is not finished."""
        self._shorten_unfinished()
        return self._take_bytes(self._lib.ghostty_terminal_continuation_alloc, self.handle)

    def _shorten_unfinished(self) -> None:
        """Replace an unfinished sequence that is too long to keep."""
        written = c_size_t()
        result = self._lib.ghostty_terminal_continuation_buf(self.handle, None, 0, byref(written))
        if result == c.INVALID_VALUE:
            self._restart(_SWALLOW)

    def _restart(self, sequence: bytes) -> None:
        """Give up the unfinished sequence for another one."""
        self.feed(b"\x18" + sequence)
        self._replies.clear()  # of half a query

    def plain_text(self, *, history: bool) -> str:
        """Read the visible text, or all of it."""
        size = self.size
        corners = None if history else (self._cell(0, 0), self._cell(size.cols - 1, size.rows - 1))
        return self._format(c.Format.PLAIN, corners, c.TerminalExtra()).decode(errors="replace")

    def styled_text(self, first: int, last: int, end: int) -> bytes:
        """Have the library write rows, the last one up to a column; wrapped ones go on without a line break."""
        corners = self._cell(0, first), self._cell(end, last)
        return self._format(c.Format.VT, corners, c.TerminalExtra(), unwrap=True)

    def sequences(self, *wanted: str) -> bytes:
        """Have the library write what sets parts of the state, by their names in the `Extra` structures."""
        extra = c.TerminalExtra()
        for name in wanted:
            setattr(extra.screen if hasattr(c.ScreenExtra, name) else extra, name, True)
        # It writes text too: one cell is the least. That comes behind modes and tab stops, before all others.
        corner = self._cell(0, 0)
        cell = self._format(c.Format.VT, (corner, corner), c.TerminalExtra())
        written = self._format(c.Format.VT, (corner, corner), extra)
        return written.removesuffix(cell) if extra.modes or extra.tabstops else written.removeprefix(cell)

    def _format(
        self,
        emit: c.Format,
        corners: tuple[c.GridRef, c.GridRef] | None,
        extra: c.TerminalExtra,
        *,
        unwrap: bool = False,
    ) -> bytes:
        extra.size, extra.screen.size = ctypes.sizeof(c.TerminalExtra), ctypes.sizeof(c.ScreenExtra)
        options = c.FormatOptions(size=ctypes.sizeof(c.FormatOptions), emit=emit, unwrap=unwrap, extra=extra)
        if corners:
            selection = c.Selection(ctypes.sizeof(c.Selection), *corners, False)
            options.selection = ctypes.pointer(selection)
        formatter = c_void_p()
        c.check(self._lib.ghostty_formatter_terminal_new(None, byref(formatter), self.handle, options))
        try:
            return self._take_bytes(self._lib.ghostty_formatter_format_alloc, formatter)
        finally:
            self._lib.ghostty_formatter_free(formatter)

    def _cell(self, col: int, row: int) -> c.GridRef:
        ref = c.GridRef(ctypes.sizeof(c.GridRef))
        c.check(self._lib.ghostty_terminal_grid_ref(self.handle, c.Point(0, col, row, 0), byref(ref)))
        return ref

    def _take_bytes(self, write: Callable[..., int], source: c_void_p) -> bytes:
        """Call a function that allocates its result; copy and free that."""
        start, length = c_void_p(), c_size_t()
        c.check(write(source, None, byref(start), byref(length)))
        try:
            return ctypes.string_at(start, length.value)
        finally:
            self._lib.ghostty_free(None, start, length)


def _unnested(unfinished: bytes) -> Iterator[bytes]:
    """Propose shorter ways to the state that a string begun inside another leads to; at last, to give it up."""
    for _ in range(_MAX_NESTED):
        if not (found := _BEGINNING.search(unfinished, 1)):
            break
        unfinished = bytes([0x1B, found[0][0] - 0x40]) + unfinished[found.end() :]
        yield unfinished
    yield b""


def _keep_reply(replies: list[bytes], _terminal: int, _data: int, start: int, length: int) -> None:
    replies.append(ctypes.string_at(start, length))


@cache
def _answer_size() -> Any:
    """Make the callback that tells a terminal its size. It needs no state: the terminal knows its cells."""

    def answer(terminal: int, _data: int, out: Any) -> bool:
        for what, field in ((c.Data.ROWS, "rows"), (c.Data.COLS, "columns")):
            value = c_uint16()
            c.load().ghostty_terminal_get(terminal, what, byref(value))
            setattr(out[0], field, value.value)
        out[0].cell_width, out[0].cell_height = _CELL_PIXELS
        return True

    return c.SizeQuery(answer)
