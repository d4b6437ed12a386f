"""The WebSocket of one viewer: frames out in order, messages in, a heartbeat, a goodbye."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import cast

from aiohttp import WSMsgType, web
from aiohttp.abc import AbstractStreamWriter

from hermitty.errors import HermittyError, InvalidMessage, MalformedMessage, TerminalClosed, TerminalPaused
from hermitty.model import Size
from hermitty.server.attach.fanout import Viewer
from hermitty.server.attach.limits import AttachLimits
from hermitty.server.attach.relay import Relay
from hermitty.wire.attach import (
    Ack,
    ClientMessage,
    CloseCode,
    Error,
    Lock,
    Ping,
    Pong,
    Resize,
    Unknown,
    Visible,
    close_reason,
    parse_client,
    ping_frame,
    pong_frame,
    text_frame,
)

_TURNED_OUT = CloseCode.NOT_AUTHENTICATED, "the token or the login does not count any more"


class Connection:
    """The link of a viewer to the server. Frames are written to the transport as they are: only the loop writes."""

    def __init__(
        self,
        ws: web.WebSocketResponse,
        protocol: web.RequestHandler,
        transport: asyncio.Transport,
        writer: AbstractStreamWriter,
        limits: AttachLimits,
        before_input: Callable[[str, bytes], Awaitable[None]],
        still_counts: Callable[[], bool] = lambda: True,
    ) -> None:
        self._ws = ws
        self._still_counts = still_counts  # whoever watches: a frame may be quicker than the timer that ends it
        self._is_turned_out = False
        self._before_input = before_input
        self._protocol = protocol
        self._transport = transport
        self._writer = writer
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._draining: asyncio.Task[None] | None = None
        self._receiving: asyncio.Timeout | None = None  # expires when we end it
        self._goodbye: tuple[CloseCode, str] | None = None
        self._is_asked = False  # whether it is there
        self._knows_it_may_not = False
        # The buffer stalls above the upper limit, and is drained below the lower one.
        transport.set_write_buffer_limits(high=limits.buffer_bytes, low=limits.buffer_bytes // 4)

    # What the fan-out needs.

    @property
    def is_stalled(self) -> bool:
        """Whether so much waits to be sent that more must not be added."""
        return self._protocol.writing_paused

    @property
    def buffered_bytes(self) -> int:
        """How many bytes wait to be sent."""
        return self._transport.get_write_buffer_size()

    def write(self, frame: bytes) -> None:
        """Send whole frames, in order."""
        if not self._transport.is_closing() and not self._is_turned_out:
            self._transport.write(frame)

    def when_drained(self, callback: Callable[[], None]) -> None:
        """Call back once when what was written has been taken. While that is awaited, asking again changes nothing."""
        if self._draining is None:
            self._draining = self._loop.create_task(self._drain(callback))

    def end(self, code: CloseCode, reason: str) -> None:
        """Close it, once what was written has been taken."""
        if self._goodbye is None:
            self._goodbye = (code, reason)
            if self._receiving is not None:
                self._receiving.reschedule(self._loop.time())

    def turn_out(self) -> None:
        """Close it for somebody who counts no more: nothing is sent or taken from now on."""
        self._is_turned_out = True
        if self._goodbye is None:
            self.end(*_TURNED_OUT)
        else:
            self._goodbye = _TURNED_OUT  # instead of what was to be said

    async def _drain(self, callback: Callable[[], None]) -> None:
        with contextlib.suppress(ConnectionError):  # whoever receives notices the same
            await self._writer.drain()
        self._draining = None
        if not self._transport.is_closing():
            callback()

    # The life of a connection.

    def beat(self) -> None:
        """Ask whether somebody is there; drop one who has not answered the last time.

        A connection that does not take what was written is not asked: the question would not get through. Such a
        viewer is only behind; if its machine is gone, the kernel finds out.
        """
        if self.buffered_bytes:
            self._is_asked = False
        elif self._is_asked:
            self._transport.abort()
        else:
            self._is_asked = True
            self.write(ping_frame())

    async def serve(self, relay: Relay, viewer: Viewer, since: int | None) -> None:
        """Attach a viewer, and take what it sends until either side has enough."""
        try:
            await self._receive_until_end(relay, viewer, since)
        finally:
            await self.leave()

    async def leave(self) -> None:
        """Say goodbye, and see to it that the connection ends."""
        code, reason = self._goodbye or (CloseCode.OVER, "")
        patience_s = self._limits.goodbye_s
        try:
            async with asyncio.timeout(patience_s):
                await self._ws.close(code=code, message=close_reason(reason))
        except TimeoutError:
            self._transport.abort()
        if self._draining is not None:
            # It is not cancelled, because whoever waits for the same connection would be cancelled with it.
            await asyncio.wait([self._draining], timeout=patience_s)
            self._transport.abort()
        if self.buffered_bytes:
            self._loop.call_later(patience_s, self._transport.abort)

    async def _receive_until_end(self, relay: Relay, viewer: Viewer, since: int | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as self._receiving:
                try:
                    relay.attach(viewer, since)
                    await self._receive(relay, viewer)
                finally:
                    self._receiving = None
                    relay.detach(viewer)

    async def _receive(self, relay: Relay, viewer: Viewer) -> None:
        while self._goodbye is None:
            message = await self._ws.receive()
            self._is_asked = False
            if not self._is_here():
                return
            match message.type:
                case WSMsgType.BINARY:
                    await self._type(relay, viewer, cast("bytes", message.data))
                case WSMsgType.TEXT:
                    self._take(relay, viewer, cast("str", message.data))
                case WSMsgType.PING:
                    self._answer(pong_frame(cast("bytes", message.data)))
                case WSMsgType.PONG:
                    pass
                case _:
                    return

    def _is_here(self) -> bool:
        """Tell whether something may be taken from whoever watches."""
        if not self._is_turned_out and not self._still_counts():
            self.turn_out()
        return not self._is_turned_out

    # What a viewer sends.

    async def _type(self, relay: Relay, viewer: Viewer, data: bytes) -> None:
        if not data:
            return
        if self._may(viewer):
            await self._before_input(relay.terminal.id, data)
            if not self._is_here():
                return
            taken_by = relay.terminal.paused_by
            try:
                if taken_by is not None and not viewer.may_touch(taken_by):
                    raise TerminalPaused(relay.terminal.id, taken_by)
                relay.typed(viewer, data)
            except TerminalClosed:
                pass  # it is about to be told
            except HermittyError as exc:
                self._refuse(exc.code, exc.message)

    def _take(self, relay: Relay, viewer: Viewer, text: str) -> None:
        try:
            self._obey(relay, viewer, parse_client(text))
        except MalformedMessage as exc:
            self.end(CloseCode.NOT_UNDERSTOOD, exc.message)
        except HermittyError as exc:
            self._refuse(exc.code, exc.message)

    def _obey(self, relay: Relay, viewer: Viewer, message: ClientMessage | Unknown) -> None:
        match message:
            case Ack(offset):
                relay.acked(viewer, offset)
            case Ping():
                self._answer(text_frame(Pong()))
            case Resize(cols, rows):
                size = Size.checked(cols, rows)
                if viewer.may_type:  # those who only watch have windows too; that is no mistake
                    relay.wishes(viewer, size)
            case Lock(locked):
                if self._may(viewer) and not relay.lock(viewer, locked=locked):
                    self._refuse("size_locked", "somebody else holds the size; unlock it first")
            case Visible(visible):
                if viewer.may_type:
                    relay.shown(viewer, visible=visible)
            case Unknown():
                raise InvalidMessage("a message of this type is not known")

    def _may(self, viewer: Viewer) -> bool:
        if not viewer.may_type and not self._knows_it_may_not:
            self._knows_it_may_not = True
            self._refuse("not_allowed", "this token is for watching; what was typed is ignored")
        return viewer.may_type

    def _refuse(self, code: str, message: str) -> None:
        self._answer(text_frame(Error(code, message)))

    def _answer(self, frame: bytes) -> None:
        """Answer a viewer, unless it does not listen: it must not fill our memory with answers."""
        if not self.is_stalled:
            self.write(frame)
