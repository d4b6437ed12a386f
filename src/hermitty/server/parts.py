"""What a running server consists of; handlers get it with each call."""

from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from aiohttp import web

from hermitty.config import Settings
from hermitty.runtime.api import Runtime
from hermitty.server.access import Access
from hermitty.server.counters import Counters
from hermitty.server.feed import Feed
from hermitty.server.guard import Guard
from hermitty.server.runs import Runs
from hermitty.server.state import StateStore
from hermitty.server.views import Views

if TYPE_CHECKING:
    from hermitty.runtime.recording.segments import RecordingInfo
    from hermitty.runtime.settings.layers import LoadedSettings

LAYOUT_BYTES = 256 * 1024


class SettingsPlace(Protocol):
    """Where settings come from, and the file that changes go to."""

    @property
    def config_file(self) -> Path:
        """Return the user's file, there or not."""

    def current(self) -> Settings:
        """Return the settings as they are now."""

    def loaded(self) -> "LoadedSettings":
        """Return the settings as they are now, with their origins."""


class Attached(Protocol):
    """Viewers of terminals over WebSockets."""

    def serve(self, request: web.Request, access: Access, terminal_id: str) -> Awaitable[web.StreamResponse]:
        """Attach a viewer until it leaves."""

    def look(self, terminal_id: str, *, by: str | None = None) -> None:
        """Tell the viewers of a terminal what somebody has just changed: its size, who has paused it."""

    def viewers(self, terminal_id: str) -> int:
        """Return how many watch a terminal."""

    def close(self) -> Awaitable[None]:
        """Tell every viewer that the server goes away."""


class RecordingsPlace(Protocol):
    """The recordings of terminals."""

    def list(self) -> "Sequence[RecordingInfo]":
        """Return every recording, the newest first. For a thread."""

    def open_cast(self, terminal_id: str, version: Literal[2, 3] = 3) -> Iterator[bytes]:
        """Return the lines of one, or raise RecordingNotFound. For a thread."""

    def flush(self, terminal_id: str) -> None:
        """Write what a terminal has printed up to now."""


@dataclass(slots=True)
class Parts:
    """The parts of one server."""

    runtime: Runtime
    settings: SettingsPlace
    state: StateStore
    audit_file: Path
    guard: Guard
    feed: Feed
    runs: Runs
    views: Views
    attachments: Attached
    recordings: RecordingsPlace | None
    host: str  # who owns the terminals, for people
    counters: Counters = field(default_factory=Counters)


PARTS: web.AppKey[Parts] = web.AppKey("parts", Parts)
