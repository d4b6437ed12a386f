"""What was said to a terminal on another machine and may not have arrived.

The node's host counts the writes that reached it, and everything is done there in the order in which it was said. So
after a break it is known what arrived: all up to the last write that was counted. The rest is said again; said twice,
it changes nothing, because only writes do, and these are numbered.
"""

from collections import deque
from dataclasses import replace

from hermitty.wire.nodelink import messages as m

Entry = m.Write | m.DiscardInput | m.Resize | m.RememberProgram | m.PutFile | m.DropFile


class Outbox:
    """Entries in order. `is_open` while they are on their way as soon as they are added."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self._confirmed = 0  # of those that were said since the connection was made
        self.is_open = False

    def __len__(self) -> int:
        """Count what may not have arrived."""
        return len(self._entries)

    def add(self, entry: Entry) -> None:
        """Keep something until it is known to have arrived."""
        if not self.is_open and isinstance(entry, m.PutFile):
            self._supersede(entry)
        self._entries.append(entry)

    def confirm(self, count: int) -> None:
        """Forget what has arrived: so many since the connection was made."""
        while self._confirmed < count and self._entries:
            self._entries.popleft()
            self._confirmed += 1

    def close(self) -> None:
        """Note that the connection is gone."""
        self.is_open = False

    def reopen(self, handle: int, writes: int) -> list[Entry]:
        """Return what must be said again to a terminal that has counted so many writes, and has a new number."""
        last = max(
            (at for at, each in enumerate(self._entries) if isinstance(each, m.Write) and each.number <= writes),
            default=-1,
        )
        rest = [replace(each, handle=handle) for each in list(self._entries)[last + 1 :]]
        self._entries = deque(rest)
        self._confirmed = 0
        self.is_open = True
        return rest

    def _supersede(self, entry: m.PutFile) -> None:
        """Drop an earlier text of the same file that nobody can have needed: no line was typed since."""
        for at in range(len(self._entries) - 1, -1, -1):
            each = self._entries[at]
            if isinstance(each, m.Write):
                return
            if isinstance(each, m.PutFile | m.DropFile) and each.name == entry.name:
                del self._entries[at]
                return
