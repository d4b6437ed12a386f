"""Where the output of a terminal on another machine stands, while connections break and output comes again.

Output has absolute offsets. After a break it is sent again from where it had come to, or from somewhat before; each
byte counts once. What was told in an earlier life (before `since`) is only kept, for viewers that are a little behind.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Taken:
    """What was new: `known` is only kept, `fresh` is told, too. `restart`: what is kept begins there, not earlier."""

    known: bytes = b""
    fresh: bytes = b""
    restart: int | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """So many bytes are lost for good: nobody may go on as if they had not been there."""

    count: int


class Inflow:
    """`have` is up to where output has come. It is kept from `first` on, and told from `since` on."""

    def __init__(self, *, first: int, since: int) -> None:
        self.have = first
        self.since = since
        self._is_empty = True

    @property
    def is_caught_up(self) -> bool:
        """Tell whether everything that is only kept has come."""
        return self.have >= self.since

    def take(self, offset: int, data: bytes) -> Taken | Missing:
        """Take a piece of output from an offset on, and return what of it is new."""
        if offset < self.have:
            data = data[self.have - offset :]
            offset = self.have
        if not data:
            return Taken()
        restart = None
        if self._is_empty and self.have < offset <= self.since:
            # Older output than this is not there any more, and nobody has to be told.
            self.have = restart = offset
        if offset > self.have:
            return Missing(offset - (max(self.have, self.since) if self._is_empty else self.have))
        self._is_empty = False
        known = data[: max(0, self.since - self.have)]
        self.have += len(data)
        return Taken(known, data[len(known) :], restart)

    def missing_at(self, end: int) -> int:
        """Return how much of the output has not come, when all of it ends there."""
        return max(0, end - self.have)
