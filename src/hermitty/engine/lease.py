"""What a registry gives to those who ask for a terminal."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from hermitty.engine.terminal import Terminal


@dataclass(frozen=True, slots=True)
class TerminalInfo:
    """What the registry knows of a terminal. `number` is for people, and never given twice."""

    number: int
    session: str | None
    workspace: str | None
    switches: int
    is_leased: bool
    name: str | None = None
    is_kept: bool = field(default=False, compare=False)  # opened for whoever asked, and not given to others
    opened_at: float = field(default=0.0, compare=False)  # seconds since 1970


class Lease:
    """The right to use a terminal. Nobody else is given it until `release`."""

    def __init__(
        self, terminal: Terminal, give_back: Callable[[], None], *, created: bool = False, switched: bool = False
    ) -> None:
        self.terminal = terminal
        self.created = created
        self.switched = switched
        self._give_back: Callable[[], None] | None = give_back

    def release(self) -> None:
        """Give the terminal back. A command that still runs in it keeps it busy. Again changes nothing."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
