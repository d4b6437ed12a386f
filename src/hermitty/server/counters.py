"""Numbers about the server: what dashboards and Prometheus ask for."""

import os
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

_MINUTES = 60


@dataclass(slots=True)
class Counters:
    """Counts since the start. Times are seconds since 1970, given by whoever counts."""

    started_at: float = field(default_factory=time.time)
    statuses: Counter[int] = field(default_factory=Counter)
    commands: int = 0
    terminals_opened: int = 0
    approvals_answered: int = 0
    refused_tries: int = 0
    # Minutes with commands that ended, and how many: the newest last.
    _minutes: deque[tuple[int, int]] = field(default_factory=deque)

    @property
    def requests(self) -> int:
        """Return how many requests were answered."""
        return sum(self.statuses.values())

    @property
    def errors(self) -> int:
        """Return how many of them failed in the server."""
        return sum(count for status, count in self.statuses.items() if status >= 500)

    def command_ended(self, now: float) -> None:
        """Count a command."""
        self.commands += 1
        minute = int(now // 60)
        last = self._minutes.pop() if self._minutes and self._minutes[-1][0] >= minute else (minute, 0)
        self._minutes.append((last[0], last[1] + 1))
        while self._minutes[0][0] <= minute - _MINUTES:
            self._minutes.popleft()

    def per_minute(self, now: float) -> list[int]:
        """Return how many commands ended in each minute of the last hour, the oldest first."""
        last = int(now // 60)
        counted = dict(self._minutes)
        return [counted.get(minute, 0) for minute in range(last - _MINUTES + 1, last + 1)]


def memory_bytes() -> int | None:
    """Return how much memory this process uses now; None where the system does not tell simply."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


@dataclass(frozen=True, slots=True)
class Metric:
    """A number, or one for each value of a label."""

    name: str
    kind: str  # counter or gauge
    text: str
    value: float | dict[str, float]
    label: str = ""


def exposition(metrics: Iterable[Metric]) -> str:
    """Write metrics as Prometheus reads them."""
    lines: list[str] = []
    for each in metrics:
        lines += [f"# HELP {each.name} {each.text}", f"# TYPE {each.name} {each.kind}"]
        if isinstance(each.value, dict):
            lines += [f'{each.name}{{{each.label}="{key}"}} {_number(value)}' for key, value in each.value.items()]
        else:
            lines.append(f"{each.name} {_number(each.value)}")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
