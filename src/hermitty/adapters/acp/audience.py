"""What a client offers to agents, and who is told what they do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hermitty.adapters.acp.permissions import Option
from hermitty.adapters.acp.terminals import TerminalEvent
from hermitty.adapters.acp.updates import Change, ToolCall


class Listener(Protocol):
    """Is told what happens, in order. Nothing here may block."""

    def on_update(self, session_id: str, raw: Mapping[str, Any], change: Change) -> None:
        """The agent told of something; `raw` is how it said it."""

    def on_terminal(self, event: TerminalEvent) -> None:
        """Something happened to a terminal of ours."""

    def on_permission(self, session_id: str, call: ToolCall, options: Sequence[Option], answer: str | None) -> None:
        """The agent asked for permission, and got this option; None if the turn was cancelled."""


class NoListener:
    """Hears nothing."""

    def on_update(self, session_id: str, raw: Mapping[str, Any], change: Change) -> None:
        """Ignore it."""

    def on_terminal(self, event: TerminalEvent) -> None:
        """Ignore it."""

    def on_permission(self, session_id: str, call: ToolCall, options: Sequence[Option], answer: str | None) -> None:
        """Ignore it."""


@dataclass(frozen=True, slots=True)
class Offers:
    """What the client offers to agents."""

    terminal: bool = True
    display: bool = True  # terminals of the agent's own, told of in `_meta`
    files: bool = False
    # Version 2 of the protocol, a draft, is spoken with agents that know it. Nothing of the above is part of it: agents
    # own their terminals there, and we show them.
    draft: bool = False

    def capabilities(self) -> dict[str, Any]:
        """Return them as the protocol wants them."""
        found: dict[str, Any] = {
            "fs": {"readTextFile": self.files, "writeTextFile": self.files},
            "terminal": self.terminal,
        }
        if self.display:
            found["_meta"] = {"terminal_output": True}
        return found
