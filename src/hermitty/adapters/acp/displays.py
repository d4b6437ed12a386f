"""Terminals that belong to the agent, and that we only show.

An agent that runs commands itself tells of them in the `_meta` of its tool calls, if the client asked for that with
`_meta.terminal_output` in its capabilities: `terminal_info` begins one, `terminal_output` adds text, `terminal_exit`
ends it. Output and end may come before the beginning.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from hermitty.adapters.acp.plain_stream import PlainStream
from hermitty.adapters.acp.tail import TailText

_TERMINALS = 200
_TEXT_BYTES = 256 * 1024


@dataclass(slots=True)
class Display:
    """A terminal of an agent. Escape sequences are dropped."""

    tail: TailText = field(default_factory=lambda: TailText(_TEXT_BYTES))
    cwd: str | None = None
    has_ended: bool = False
    exit_code: int | None = None
    signal: str | None = None
    _stream: PlainStream = field(default_factory=PlainStream)

    def append(self, text: str) -> None:
        """Add output."""
        self.tail.append(self._stream.feed_text(text))


class DisplayTerminals:
    """The terminals that an agent told of in one session, the newest of them."""

    def __init__(self) -> None:
        self._displays: OrderedDict[str, Display] = OrderedDict()

    def get(self, terminal_id: str) -> Display | None:
        """Return a terminal by the agent's name for it."""
        return self._displays.get(terminal_id)

    def apply(self, meta: object) -> None:
        """Take what the `_meta` of a tool call tells of terminals, if anything."""
        if not isinstance(meta, Mapping):
            return
        for name in ("terminal_info", "terminal_output", "terminal_exit"):
            told = meta.get(name)
            if isinstance(told, Mapping) and isinstance(terminal_id := told.get("terminal_id"), str):
                self._take(name, self._known(terminal_id), told)

    def _known(self, terminal_id: str) -> Display:
        display = self._displays.setdefault(terminal_id, Display())
        self._displays.move_to_end(terminal_id)
        if len(self._displays) > _TERMINALS:
            self._displays.popitem(last=False)
        return display

    def _take(self, name: str, display: Display, told: Mapping[str, object]) -> None:
        match name, told:
            case "terminal_info", {"cwd": str(cwd)}:
                display.cwd = cwd
            case "terminal_output", {"data": str(data)}:
                display.append(data)
            case "terminal_exit", _:
                display.has_ended = True
                code, signal = told.get("exit_code"), told.get("signal")
                display.exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
                display.signal = signal if isinstance(signal, str) else None
