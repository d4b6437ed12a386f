"""What happens, as a stream that can be resumed: numbered events, the newest of which are kept for those who were away.

The number of an event is unique within the life of a server, which has an epoch of its own. Readers have a position;
one that is too slow, or comes back too late, is told that something is missing and goes on with what is new.
"""

import asyncio
import logging
import re
import secrets
import time
from collections import deque
from dataclasses import asdict, dataclass, fields
from itertools import islice
from typing import Any

from hermitty import events
from hermitty.errors import HermittyError
from hermitty.runtime.api import Runtime
from hermitty.server import views
from hermitty.server.reading import write_json

KEPT_EVENTS = 1000
KEPT_BYTES = 1024 * 1024

_NAMES = {
    kind: re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
    for kind in (
        *(events.TerminalOpened, events.TerminalEnded, events.NoShellIntegration, events.CwdChanged),
        *(events.CommandStarted, events.CommandFinished, events.CommandSilent),
        *(events.ApprovalAsked, events.ApprovalAnswered),
    )
} | {events.CommandWaits: "input_wanted"}
# What is told of a command beside its id and its terminal.
_FIELDS: dict[type[events.Event], list[str]] = {
    kind: [field.name for field in fields(kind) if field.name not in ("terminal", "command_id")]
    for kind in (events.CommandStarted, events.CommandFinished, events.CommandSilent)
}


@dataclass(frozen=True, slots=True)
class Told:
    """An event as it is sent."""

    number: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Events that follow a position. `missed`: some between are gone."""

    events: tuple[Told, ...]
    missed: bool
    position: int


class Feed:
    """Numbered events and those who wait for the next one."""

    def __init__(self, *, kept_events: int = KEPT_EVENTS, kept_bytes: int = KEPT_BYTES) -> None:
        self.epoch = secrets.token_hex(4)
        self.readers = 0
        self._kept: deque[Told] = deque()
        self._kept_events = kept_events
        self._kept_bytes = kept_bytes
        self._bytes = 0
        self._last = 0
        self._news = asyncio.Event()
        self.is_closed = False

    @property
    def last(self) -> int:
        """Return the number of the newest event."""
        return self._last

    def publish(self, name: str, data: dict[str, Any]) -> None:
        """Add an event and wake the readers."""
        self._last += 1
        value = {"type": name, "at": round(time.time(), 3), **data}
        told = Told(self._last, frame_of(name, value, self.id_of(self._last)))
        self._kept.append(told)
        self._bytes += len(told.frame)
        while len(self._kept) > self._kept_events or (self._bytes > self._kept_bytes and len(self._kept) > 1):
            self._bytes -= len(self._kept.popleft().frame)
        self._wake()

    def since(self, position: int) -> Batch:
        """Return what came after a position."""
        first = self._kept[0].number if self._kept else self._last + 1
        missed = position + 1 < first and position < self._last
        count = 0 if missed else self._last - position
        # From the newest back: readers are never far behind.
        return Batch(tuple(islice(reversed(self._kept), count))[::-1], missed, self._last)

    def position_of(self, event_id: str | None) -> int | None:
        """Return the position of who has seen an event; None when it is not one of this server's life."""
        if event_id is None:
            return self._last
        epoch, _, number = event_id.partition("-")
        if epoch != self.epoch or not number.isascii() or not number.isdecimal() or len(number) > 18:
            return None
        return int(number) if int(number) <= self._last else None

    def id_of(self, number: int) -> str:
        """Return the id of an event."""
        return f"{self.epoch}-{number}"

    async def wait(self, timeout_s: float) -> bool:
        """Wait for the next event or the end; False when neither came in time."""
        news = self._news
        try:
            async with asyncio.timeout(timeout_s):
                await news.wait()
            return True
        except TimeoutError:
            return False

    def close(self) -> None:
        """End every stream."""
        self.is_closed = True
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
        if self.is_closed:
            self._news.set()


def frame_of(name: str, value: object, event_id: str) -> bytes:
    """Return an event as server-sent events have it. JSON has no line breaks, so it is one line."""
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (event_id.encode(), name.encode(), write_json(value))


class RuntimeEvents:
    """Turns what a runtime tells into events of a feed, with the terminals, commands and questions they are about."""

    def __init__(self, runtime: Runtime, shown: views.Views, feed: Feed) -> None:
        self._runtime = runtime
        self._views = shown
        self._feed = feed

    def __call__(self, event: events.Event) -> None:
        """Tell an event. It is called in the midst of others' work, which goes on whatever happens here."""
        try:
            self._feed.publish(_NAMES[type(event)], self._data(event))
        except Exception:
            logging.getLogger("hermitty.server").exception("an event could not be told: %s", type(event).__name__)

    def _data(self, event: events.Event) -> dict[str, Any]:
        match event:
            case events.ApprovalAsked(approval=question_id):
                return {"approval": self._question(question_id) or asdict(event)}
            case events.ApprovalAnswered():
                return {"approval": {**asdict(event), "id": event.approval}}
            case events.TerminalEnded(terminal_id, reason):
                self._views.ended(terminal_id)
                return {"terminal": {"id": terminal_id}, "reason": reason}
        data: dict[str, Any] = {"terminal": self._terminal(event.terminal)}
        match event:
            case events.CommandStarted() | events.CommandFinished() | events.CommandSilent():
                data["command"] = {"id": event.command_id, "terminal": event.terminal}
                data["command"] |= {name: getattr(event, name) for name in _FIELDS[type(event)]}
            case events.NoShellIntegration():
                data |= {"reason": event.reason, "fallback": event.fallback}
            case events.CwdChanged():
                data["cwd"] = event.cwd
        return data

    def _terminal(self, terminal_id: str) -> object:
        try:
            return self._views.terminal(self._runtime.terminal(terminal_id))
        except HermittyError:  # it is gone, or not given to anybody yet
            return {"id": terminal_id}

    def _question(self, question_id: str) -> object | None:
        try:
            return views.question_of(self._runtime.gate.approvals.find(question_id))
        except HermittyError:  # answered by a rule in this very moment
            return None
