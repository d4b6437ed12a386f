"""The output of terminals that are closed: whoever has their commands may still ask for it, within a budget for all."""

from collections import deque

from hermitty.host.base import Log

_BUDGET_BYTES = 16 * 1024 * 1024
# What a log takes beside its bytes: with thousands of short ones, that is most of it.
OVERHEAD_BYTES = 1536


class ClosedLogs:
    """The logs of the terminals that were closed last. The oldest are emptied first."""

    def __init__(self, budget_bytes: int = _BUDGET_BYTES) -> None:
        self._budget_bytes = budget_bytes
        self._logs: deque[Log] = deque()
        self._bytes = 0

    def add(self, log: Log) -> None:
        """Take the log of a terminal that was just closed: nothing is added to it any more."""
        self._logs.append(log)
        self._bytes += _cost(log)
        while self._bytes > self._budget_bytes:
            oldest = self._logs.popleft()
            self._bytes -= _cost(oldest)
            oldest.forget()


def _cost(log: Log) -> int:
    return OVERHEAD_BYTES + log.end - log.start
