"""The output of terminals that are closed: whoever has their commands may still ask for it, within a budget for all."""

from collections import deque

from hermitty.host.base import Log

_BUDGET_BYTES = 16 * 1024 * 1024


class ClosedLogs:
    """The logs of the terminals that were closed last. The oldest are emptied first."""

    def __init__(self, budget_bytes: int = _BUDGET_BYTES) -> None:
        self._budget_bytes = budget_bytes
        self._logs: deque[Log] = deque()
        self._bytes = 0

    def add(self, log: Log) -> None:
        """Take the log of a terminal that was just closed: nothing is added to it any more."""
        self._logs.append(log)
        self._bytes += log.end - log.start
        while self._bytes > self._budget_bytes:
            oldest = self._logs.popleft()
            self._bytes -= oldest.end - oldest.start
            oldest.forget()
