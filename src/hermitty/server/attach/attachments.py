"""All viewers of all terminals."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from hermitty.errors import TerminalNotFound
from hermitty.events import ApprovalAnswered, ApprovalAsked, Event, TerminalEnded
from hermitty.model import TerminalId
from hermitty.runtime.api import Command, Runtime, Terminal
from hermitty.server.access import Access, Scope
from hermitty.server.attach.connection import Connection
from hermitty.server.attach.fanout import Viewer
from hermitty.server.attach.limits import AttachLimits
from hermitty.server.attach.relay import Relay
from hermitty.server.standing import Standing
from hermitty.wire.attach import CloseCode, close_reason

_USUAL = AttachLimits()
_STOPPING = "the server is stopping"
_OFFSET_DIGITS = 18


async def refuse(
    request: web.Request, code: int, reason: str, *, limits: AttachLimits = _USUAL
) -> web.WebSocketResponse:
    """Accept a WebSocket only to close it: browsers tell pages no other reason."""
    ws = web.WebSocketResponse(compress=False, timeout=limits.goodbye_s)
    await ws.prepare(request)
    await ws.close(code=code, message=close_reason(reason))
    return ws


class Attachments:
    """Who watches what. Made in the event loop; ends with `close`."""

    def __init__(self, runtime: Runtime, *, limits: AttachLimits = _USUAL, standing: Standing | None = None) -> None:
        self._runtime = runtime
        self._standing = standing or Standing(lambda access: True)
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._relays: dict[TerminalId, Relay] = {}
        self._taken: dict[str, int] = {}  # places taken, by terminal
        self._connections: dict[Connection, asyncio.Event] = {}  # set when nothing is left of it
        self._numbers = 0
        self._heartbeat: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._unsubscribe = runtime.subscribe(self._on_event)

    def viewers(self, terminal_id: str) -> int:
        """Return how many watch a terminal."""
        relay = self._relays.get(TerminalId(terminal_id))
        return relay.count if relay else 0

    @property
    def count(self) -> int:
        """How many watch anything."""
        return len(self._connections)

    @property
    def buffered_bytes(self) -> int:
        """How many bytes wait in this process for viewers to read."""
        return sum(connection.buffered_bytes for connection in self._connections)

    def look(self, terminal_id: str, *, by: str | None = None) -> None:
        """Tell the viewers of a terminal what somebody else has just changed: its size, who has paused it."""
        if relay := self._relays.get(TerminalId(terminal_id)):
            relay.look(by)

    async def serve(self, request: web.Request, access: Access, terminal_id: str) -> web.WebSocketResponse:
        """Let somebody watch a terminal, until the end of either, or of their right to. Who it is has been checked."""
        if obstacle := self._obstacle(terminal_id) or self._lack_of_room(terminal_id):
            return await refuse(request, *obstacle, limits=self._limits)
        with self._place(terminal_id):
            ws = web.WebSocketResponse(
                compress=False,
                autoping=False,
                max_msg_size=self._limits.message_bytes,
                timeout=self._limits.goodbye_s,
            )
            writer = await ws.prepare(request)
            transport = request.transport
            if transport is None:
                return ws  # it has left already
            connection = Connection(
                ws,
                request.protocol,
                transport,
                writer,
                self._limits,
                self._before_input,
                lambda: self._standing.counts(access),
            )
            with self._connected(connection), self._standing.hold(access, connection.turn_out):
                if obstacle := self._obstacle(terminal_id):  # that came up meanwhile
                    connection.end(*obstacle)
                    await connection.leave()
                else:
                    relay = self._relay(self._runtime.terminal(terminal_id))
                    await connection.serve(relay, self._viewer(request, access, connection), _since(request))
        return ws

    def beat(self) -> None:
        """Ask everybody whether they are there; drop who has not answered the last time. A timer does so, too."""
        for connection in self._connections:
            connection.beat()

    async def close(self) -> None:
        """Say goodbye to everybody. Returns when nobody is left."""
        self._is_closed = True
        self._unsubscribe()
        for relay in self._relays.values():
            relay.close()
        leaving = dict(self._connections)
        for connection in leaving:
            connection.end(CloseCode.GOING_AWAY, _STOPPING)
        for gone in leaving.values():
            await gone.wait()
        self._relays.clear()
        if self._heartbeat is not None:
            self._heartbeat.cancel()

    def _obstacle(self, terminal_id: str) -> tuple[CloseCode, str] | None:
        """Say why nobody can watch a terminal."""
        if self._is_closed:
            return CloseCode.GOING_AWAY, _STOPPING
        try:
            terminal = self._runtime.terminal(terminal_id)
        except TerminalNotFound as exc:
            return CloseCode.NO_SUCH_TERMINAL, exc.message
        if not terminal.is_open:
            return CloseCode.NO_SUCH_TERMINAL, f"terminal {terminal_id} has ended"
        return None

    def _lack_of_room(self, terminal_id: str) -> tuple[CloseCode, str] | None:
        """Say why one more viewer is too many."""
        if sum(self._taken.values()) >= self._limits.viewers:
            return CloseCode.TOO_MANY, f"this server has {self._limits.viewers} viewers, and takes no more"
        if self._taken.get(terminal_id, 0) >= self._limits.viewers_of_terminal:
            return CloseCode.TOO_MANY, f"{self._limits.viewers_of_terminal} watch this terminal, and it takes no more"
        return None

    async def _before_input(self, terminal_id: str, data: bytes) -> None:
        """Record what somebody is about to type, if the settings say so."""
        recordings = self._runtime.recordings
        if recordings is not None and recordings.records_input:
            await recordings.before_input(terminal_id, data)

    def _relay(self, terminal: Terminal) -> Relay:
        """Return who follows a terminal. It stays when the last viewer leaves, and knows what happened meanwhile."""
        relay = self._relays.get(terminal.id)
        if relay is None:
            relay = Relay(terminal, self._limits, lambda: self._commands(terminal.id))
            self._relays[terminal.id] = relay
        return relay

    def _commands(self, terminal_id: TerminalId) -> list[Command]:
        known = self._runtime.commands(terminal=terminal_id)
        return [each.handle for each in known if isinstance(each.handle, Command)]

    def _viewer(self, request: web.Request, access: Access, connection: Connection) -> Viewer:
        self._numbers += 1
        return Viewer(
            self._numbers,
            access.name,
            connection,
            may_type=access.may(Scope.TYPE),
            may_touch=access.may_touch,
            history=request.query.get("history", "1") != "0",
            marks=request.query.get("marks") == "1",
        )

    @contextmanager
    def _place(self, terminal_id: str) -> Iterator[None]:
        """Count a viewer, from before it is greeted until nothing is left of it."""
        self._taken[terminal_id] = self._taken.get(terminal_id, 0) + 1
        try:
            yield
        finally:
            self._taken[terminal_id] -= 1
            if not self._taken[terminal_id]:
                del self._taken[terminal_id]

    @contextmanager
    def _connected(self, connection: Connection) -> Iterator[None]:
        self._connections[connection] = gone = asyncio.Event()
        self._keep_beating()
        try:
            yield
        finally:
            del self._connections[connection]
            gone.set()

    def _keep_beating(self) -> None:
        if self._heartbeat is None and self._connections:
            self._heartbeat = self._loop.call_later(self._limits.heartbeat_s, self._beat)

    def _beat(self) -> None:
        self._heartbeat = None
        self.beat()
        self._keep_beating()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, ApprovalAsked | ApprovalAnswered):
            return
        relay = self._relays.get(event.terminal)
        if relay is None:
            return
        if isinstance(event, TerminalEnded):
            del self._relays[event.terminal]
        relay.on_event(event)


def _since(request: web.Request) -> int | None:
    """Read the offset of the first byte that a viewer lacks; one that nobody can understand is in no log."""
    text = request.query.get("since")
    if text is None:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _OFFSET_DIGITS else -1
