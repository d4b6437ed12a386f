"""The terminal that we run in, lent to a terminal elsewhere, and given back as it was in every case."""

import contextlib
import os
import re
import shutil
import signal
import sys
import termios
import threading
import tty
from types import TracebackType
from typing import Any, Final, Self

from hermitty.errors import InvalidRequest
from hermitty.model import MAX_CELLS, Size
from hermitty.wire.queries import WithoutQueries

# What programs switch on: synchronized output, inverse, insert, mouse in all its forms, focus, pastes, themes, cursor
# and keypad keys, kitty's and xterm's keys; then colours, link, wrap, cursor, charsets, margins, shape and colours of
# the cursor. The alternate screen is left only when it is shown: leaving moves the cursor. Margins and the mode that
# counts from them move it as well, so it is put back; that brings the mode back, but without margins it means nothing.
_USUAL: Final = (
    b"\x1b[?2026l\x1b[?5l\x1b[4;20l\x1b[?9;1000;1001;1002;1003;1004;1005;1006;1015;1016;2004;2031l\x1b[?1l\x1b>"
    b"\x1b[<16u\x1b[>4m\x1b[m\x1b]8;;\x07\x1b[?7h\x1b[?25h\x1b(B\x1b)B\x0f\x1b7\x1b[?6;69l\x1b[r\x1b8\x1b[ q"
    b"\x1b]104\x07\x1b]110\x07\x1b]111\x07\x1b]112\x07"
)
_LEAVE_ALTERNATE: Final = b"\x1b[?1049l"


class LocalTty:
    """Standard input and output in raw mode. Use it with `with`; nothing is left behind, whatever happens inside."""

    def __init__(self) -> None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise InvalidRequest(
                "attach needs a terminal as standard input and output; `hermitty send`, `screen` and `log` need none"
            )
        self.input = sys.stdin.fileno()
        self._output = sys.stdout.fileno()
        self._before: list[Any] = termios.tcgetattr(self.input)
        self._filter = WithoutQueries()
        self._writing = threading.Lock()  # output is written in another thread than what we have to say

    def __enter__(self) -> Self:
        sys.stdout.flush()
        self.make_raw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Whatever comes now would keep the terminal as it is.
        numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
        before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
        try:
            with contextlib.suppress(OSError):  # the terminal is gone
                self._write(self._back_to_usual())
        finally:
            with contextlib.suppress(termios.error):
                # What is unread are reports of a mouse that nobody watches any more.
                termios.tcsetattr(self.input, termios.TCSAFLUSH, self._before)
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    @property
    def is_alternate(self) -> bool:
        """Tell whether a full-screen program shows the alternate screen."""
        return self._filter.alternate

    def make_raw(self) -> None:
        """Pass every key on as it is."""
        tty.setraw(self.input, termios.TCSADRAIN)

    def size(self) -> Size:
        """Return how much room there is."""
        found = shutil.get_terminal_size()
        return Size(min(max(found.columns, 1), MAX_CELLS), min(max(found.lines, 1), MAX_CELLS))

    def show(self, data: bytes) -> None:
        """Show output, without what would make this terminal answer. Blocks until the terminal has taken it."""
        self._write(self._filter.feed(data))

    def paint(self, picture: bytes, *, is_first: bool) -> None:
        """Show a picture as on a fresh terminal. What stands here before the first one scrolls away and is kept."""
        rows = self.size().rows
        away = b"\x1b[%d;1H" % rows + b"\n" * rows if is_first else b""
        self._write(self._back_to_usual() + away + b"\x1b[H\x1b[2J")
        self._filter = WithoutQueries()
        self.show(picture)

    def show_aside(self, text: str) -> None:
        """Show a text behind the cursor, which stays where it is; on the alternate screen in the last row."""
        size = self.size()
        shown = text.encode("ascii", "replace")[: size.cols - 1]
        if self.is_alternate:
            self._write(b"\x1b7\x1b[%d;1H\x1b[7m" % size.rows + shown + b"\x1b[K\x1b[m\x1b8")
        else:
            self._write(b"\x1b7\x1b[?7l\x1b[7m" + shown + b"\x1b[m\x1b[?7h\x1b8")

    def take_back(self, text: str) -> None:
        """Take a text away that was shown behind the cursor."""
        if not self.is_alternate:
            self._write(b"\x1b[%dX" % min(len(text), self.size().cols))

    def _back_to_usual(self) -> bytes:
        return (_LEAVE_ALTERNATE if self.is_alternate else b"") + _USUAL

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        with self._writing:
            while view:
                view = view[os.write(self._output, view) :]


class DetachKey:
    """The key that leaves, in all the forms in which terminals send it. Pure."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._pattern: re.Pattern[bytes] | None = None
        if name.lower() == "none":
            return
        found = re.fullmatch(r"(?:ctrl[-+]|\^|c-)([a-z@\[\\\]^_])", name.lower())
        if found is None:
            raise InvalidRequest(f"--detach-key {name!r}: write ctrl- and a letter or one of @ [ \\ ] ^ _, or none")
        char = found[1]
        code = ord(char)
        plain = re.escape(bytes((ord(char.upper()) - 0x40,)))
        # The byte; as kitty's keyboard protocol has it, pressed; as xterm has other keys.
        self._pattern = re.compile(plain + rb"|\x1b\[%d;5(?::1)?u|\x1b\[27;5;%d~" % (code, code))

    def cut(self, data: bytes) -> tuple[bytes, bool]:
        """Return what was typed before the key, and whether it was pressed."""
        found = self._pattern.search(data) if self._pattern is not None else None
        return (data, False) if found is None else (data[: found.start()], True)
