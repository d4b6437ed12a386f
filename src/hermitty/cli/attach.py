"""`hermitty attach`: a terminal of a server in this one, with its keys, its size and its colours."""

import argparse
import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from hermitty.cli.escapes import visible
from hermitty.cli.finding import connect, find_terminal
from hermitty.client.http import Http
from hermitty.client.link import Connected, LinkEvent, Lost, Output, Over, Picture, TerminalLink, Told
from hermitty.client.values import TerminalView
from hermitty.errors import HermittyError, NotSupported, TerminalNotFound
from hermitty.wire.attach import Error

try:
    from hermitty.cli.local_tty import DetachKey, LocalTty
except ModuleNotFoundError as exc:  # Windows
    raise NotSupported("attach needs a terminal of POSIX; open the server's page instead") from exc

# A break that is shorter than this is not told.
_QUIET_S = 1.0
_ENDED = re.compile(r"exited with code (\d{1,3})")
_KILLED = re.compile(r"killed by (SIG[A-Z0-9]+)")
# What one read takes: a paste comes in one piece.
_READ_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Left:
    """Why it is over, for the person and for the exit code."""

    words: str
    code: int = 0
    goes_on: bool = False  # so the cursor stands anywhere, as behind a prompt


def attach(options: argparse.Namespace) -> int:
    """Attach to a terminal and return the exit code."""
    key = DetachKey(options.detach_key)
    LocalTty()  # says that there is none before anything else happens

    async def work() -> int:
        async with connect(options) as http:
            view = await find_terminal(http, options.terminal)
            return await attach_to(http, view, key=key.name, view_only=options.view, history=not options.no_history)

    return asyncio.run(work())


async def attach_to(http: Http, view: TerminalView, *, key: str, view_only: bool = False, history: bool = True) -> int:
    """Use a terminal until it ends or the person leaves; return the exit code."""
    with LocalTty() as tty:
        left = await _Attached(http, view, tty, DetachKey(key), view_only=view_only, history=history).run()
    begin = "\n" if left.goes_on else ""
    print(f"{begin}hermitty: {visible(left.words)}", file=sys.stderr)
    return left.code


class _Attached:
    """Keys go out, output comes in, the size follows; whichever ends first ends it."""

    def __init__(
        self, http: Http, view: TerminalView, tty: LocalTty, key: DetachKey, *, view_only: bool, history: bool
    ) -> None:
        self._tty = tty
        self._key = key
        self._id = view.id
        self._view_only = view_only
        self._link = TerminalLink(http, view.id, size=None if view_only else tty.size(), history=history)
        self._loop = asyncio.get_running_loop()
        self._left: asyncio.Future[Left] = self._loop.create_future()
        self._is_painted = False
        self._warning: asyncio.TimerHandle | None = None
        self._aside: str | None = None

    async def run(self) -> Left:
        """Do it, and say why it is over."""
        showing = self._loop.create_task(self._show())
        try:
            with self._keyboard(), self._signals():
                await asyncio.wait({showing, self._left}, return_when=asyncio.FIRST_COMPLETED)
            return self._left.result() if self._left.done() else showing.result()
        finally:
            if self._warning is not None:
                self._warning.cancel()
            showing.cancel()
            await asyncio.wait({showing})
            if not showing.cancelled():
                showing.exception()  # it is raised above, unless the person has left

    # What comes.

    async def _show(self) -> Left:
        stream = self._link.events()
        try:
            async for event in stream:
                if isinstance(event, Over):
                    return Left(f"terminal {self._id} has ended: {event.reason}", _code_of(event))
                await self._take(event)
        except TerminalNotFound:
            if not self._is_painted:
                raise
            return Left(f"terminal {self._id} has ended meanwhile")
        finally:
            await _closed(stream)
        raise AssertionError("a link ends with its terminal")

    async def _take(self, event: LinkEvent) -> None:
        match event:
            case Connected(hello):
                self._is_back()
                if not hello.may_type and not self._view_only:
                    self._say(f"hermitty: this token only watches; {self._key.name} leaves")
            case Output(_, data):
                # The terminal may take its time; keys do not wait for it.
                await self._loop.run_in_executor(None, self._tty.show, data)
                self._link.handled()
            case Picture(data):
                is_first, self._is_painted = not self._is_painted, True
                await self._loop.run_in_executor(None, lambda: self._tty.paint(data, is_first=is_first))
            case Lost(reason):
                if self._warning is None and self._aside is None:
                    self._warning = self._loop.call_later(_QUIET_S, self._warn, reason)
            case Told(Error(message=message)):
                self._say(f"hermitty: {visible(message)}")

    def _warn(self, reason: str) -> None:
        """Say that the connection is lost, now that it takes longer."""
        self._warning = None
        self._say(f" hermitty: connection lost ({visible(reason)[:60]}); trying again, {self._key.name} leaves ")
        if self._tty.is_alternate:
            self._link.forget()  # the last row is gone; a picture brings it back

    def _is_back(self) -> None:
        if self._warning is not None:
            self._warning.cancel()
            self._warning = None
        if self._aside is not None:
            self._tty.take_back(self._aside)
            self._aside = None

    def _say(self, text: str) -> None:
        self._aside = text
        self._tty.show_aside(text)

    # What goes.

    @contextlib.contextmanager
    def _keyboard(self) -> Iterator[None]:
        self._loop.add_reader(self._tty.input, self._typed)
        try:
            yield
        finally:
            self._loop.remove_reader(self._tty.input)

    def _typed(self) -> None:
        try:
            data = os.read(self._tty.input, _READ_BYTES)
        except OSError:
            data = b""
        if not data:
            self._leave(Left("standard input has ended", 1, goes_on=True))
            return
        before, is_left = self._key.cut(data)
        if before and not self._view_only:
            self._link.type(before)
        if is_left:
            self._loop.call_soon(self._leave, Left(f"left; terminal {self._id} goes on", goes_on=True))

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        # These stay until the loop is closed: by then, our terminal is as it was.
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self._loop.add_signal_handler(number, self._leave, Left("told to end", 128 + number, goes_on=True))
        self._loop.add_signal_handler(signal.SIGWINCH, self._resized)
        self._loop.add_signal_handler(signal.SIGCONT, self._resumed)
        try:
            yield
        finally:
            for number in (signal.SIGWINCH, signal.SIGCONT):
                self._loop.remove_signal_handler(number)

    def _resized(self) -> None:
        if not self._view_only:
            self._link.resize(self._tty.size())

    def _resumed(self) -> None:
        """Go on after a stop, during which the shell had the terminal."""
        self._tty.make_raw()
        self._resized()

    def _leave(self, left: Left) -> None:
        if not self._left.done():
            self._left.set_result(left)


def _code_of(over: Over) -> int:
    """Return the exit code of the shell, as a shell would tell it; 0 when nobody knows."""
    if over.exit_code is not None:
        return over.exit_code
    if found := _ENDED.search(over.reason):
        return int(found[1])
    if found := _KILLED.search(over.reason):
        with contextlib.suppress(KeyError):
            return 128 + signal.Signals[found[1]]
    return 0


async def _closed(stream: AsyncIterator[LinkEvent]) -> None:
    with contextlib.suppress(HermittyError):
        await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
