"""How long to wait before the next try. Pure: time and chance are passed in."""

FIRST_S = 0.05
LONGEST_S = 2.0


class Backoff:
    """Pauses that double up to the longest, until the patience since the first failure is over."""

    def __init__(self, patience_s: float | None, *, first_s: float = FIRST_S, longest_s: float = LONGEST_S) -> None:
        self._patience_s = patience_s
        self._first_s = first_s
        self._longest_s = longest_s
        self._next_s = first_s
        self._failed_at: float | None = None

    def pause_s(self, now: float, chance: float = 1.0) -> float | None:
        """Note a failure; return how long to wait, or None when it is enough.

        `chance`, 0 to 1, spreads the tries of many clients: the pause is between half and all of its length.
        """
        if self._failed_at is None:
            self._failed_at = now
        left_s = None if self._patience_s is None else self._failed_at + self._patience_s - now
        if left_s is not None and left_s <= 0:
            return None
        pause_s = self._next_s * (0.5 + chance / 2)
        self._next_s = min(self._next_s * 2, self._longest_s)
        return pause_s if left_s is None else min(pause_s, left_s)

    def succeeded(self) -> None:
        """Note a success: the next failure is the first one."""
        self._failed_at = None
        self._next_s = self._first_s
