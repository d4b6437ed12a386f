"""When a user of the durable host reads and writes a PTY himself: after he has typed, until a flood comes.

Input is written here only when everything that was told to the host, and belongs before it, is done there.
"""

import asyncio
from collections.abc import Callable

from hermitty.host.loan import Borrowed, Turn
from hermitty.host.ring import Geometry
from hermitty.model import Size
from hermitty.pty.posix import set_size
from hermitty.wire.hostlink import messages as m


class Borrowing:
    """One PTY. `on_turn` is told what was read; it may read on while `may_read` says so."""

    def __init__(
        self,
        handle: int,
        geometry: Geometry,
        *,
        say: Callable[[m.Told], None],
        descriptors: Callable[[int], list[int]],
        may_read: Callable[[], bool],
        on_turn: Callable[[Turn], None],
    ) -> None:
        self._handle = handle
        self._geometry = geometry
        self._say = say
        self._descriptors = descriptors
        self._may_read = may_read
        self._on_turn = on_turn
        self._loop = asyncio.get_running_loop()
        self._borrowed: Borrowed | None = None
        self._is_asked = False
        self._is_lent = False
        self._is_watched = False
        self._is_over = False
        self._told = 0
        self._settled = 0

    @property
    def is_direct(self) -> bool:
        """Tell whether neither input nor output goes through the host now."""
        return self._is_watched and self._settled == self._told

    def ask(self) -> None:
        """Ask for the output, unless that was done."""
        if not (self._is_asked or self._is_lent or self._is_over):
            self._is_asked = True
            self._say(m.Borrow(self._handle))

    def tell(self, message: m.Told) -> None:
        """Tell the host something that comes before all later input."""
        self._told += 1
        self._say(message)

    def write(self, data: bytes, number: int, answers_to: int, total: int) -> int | None:
        """Write input and return how much the PTY took, the host has the rest; None: it must go through the host."""
        if self._borrowed is None or self._settled != self._told:
            return None
        written = self._borrowed.write(data, number, answers_to, total)
        if written is not None and written < len(data):
            self.tell(m.InputLeft(self._handle))
        return written

    def resize(self, size: Size) -> None:
        """Change the window size, here or through the host: sizes come in their order, and before later input."""
        if self._borrowed is None or self._settled != self._told:
            self.tell(m.Resize(self._handle, size.cols, size.rows))
        else:
            set_size(self._borrowed.master, size)
            self._say(m.Resize(self._handle, size.cols, size.rows, is_done=True))

    def regulate(self) -> None:
        """Read, or do not, as it is now."""
        if self._borrowed is None:
            return
        should = self._is_lent and self._may_read()
        if should and not self._is_watched:
            self._loop.add_reader(self._borrowed.master, self._readable)
        elif self._is_watched and not should:
            self._loop.remove_reader(self._borrowed.master)
        self._is_watched = should

    def stop(self) -> None:
        """Let everything go. The host finds out by itself where this stopped."""
        self._is_over, self._is_lent = True, False
        self.regulate()
        if self._borrowed is not None:
            self._borrowed.close()
            self._borrowed = None

    # What the host tells.

    def lent(self, end: int) -> None:
        """Note that output is ours to read."""
        self._is_asked = False
        try:
            if self._borrowed is None:
                self._borrowed = Borrowed(self._descriptors(self._handle), self._geometry)
        except OSError:
            self._is_asked = True  # never again: descriptors are scarce
            self._say(m.GaveBack(self._handle))
            return
        self._borrowed.begin(end)
        self._is_lent = True
        self.regulate()

    def recalled(self) -> None:
        """Note that the host wants to read."""
        self._is_asked = False
        if self._is_lent:
            self._give_back()

    def settled(self, count: int) -> None:
        """Note what the host has done."""
        self._settled = count

    def _give_back(self) -> None:
        self._is_lent = False
        self.regulate()
        self._say(m.GaveBack(self._handle))

    def _readable(self) -> None:
        assert self._borrowed is not None
        turn = self._borrowed.read()
        if turn.is_flood or turn.is_stuck:
            self._is_asked = turn.is_stuck  # once stuck, never again
            self._give_back()
        self._on_turn(turn)
        self.regulate()
