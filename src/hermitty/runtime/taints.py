"""Which terminals have shells whose names may mean something else than they should."""

from collections.abc import Callable

from hermitty.policy.judged import JudgedLine
from hermitty.policy.taint import taint_of


class Taints:
    """Notes for each terminal what happened there first. Nothing is allowed there without a question."""

    def __init__(self, tell: Callable[[str, str], None] = lambda terminal, why: None) -> None:
        self._why: dict[str, str] = {}
        self._tell = tell  # hears of each taint

    def of(self, terminal: str) -> str | None:
        """Say why a terminal is tainted; None: it is not."""
        return self._why.get(terminal)

    def note(self, terminal: str, line: JudgedLine) -> None:
        """Look at a line that is about to run in a terminal."""
        if terminal not in self._why and (why := taint_of(line)) is not None:
            self.add(terminal, why)

    def add(self, terminal: str, why: str) -> None:
        """Taint a terminal for a reason of the caller's."""
        if terminal not in self._why:
            self._why[terminal] = why
            self._tell(terminal, why)

    def reset(self, terminal: str) -> None:
        """Trust a terminal again: its shell was replaced, or it is gone."""
        self._why.pop(terminal, None)
