"""What terminals and commands of a server share: the way to it, what it has told, and what follows it."""

import asyncio
import json
import logging
import random
from collections import OrderedDict
from typing import Any

import aiohttp

from hermitty.client.approving import Approving, Asked
from hermitty.client.backoff import Backoff
from hermitty.client.command import RemoteCommand
from hermitty.client.failures import error_of
from hermitty.client.finding import ServerAddress
from hermitty.client.following import Follower
from hermitty.client.http import Http, part
from hermitty.client.mirror import Mirror
from hermitty.client.outbox import Outbox
from hermitty.client.pulse import Pulse
from hermitty.client.running import Runs
from hermitty.client.sse import EventParser, ServerEvent
from hermitty.client.terminal import RemoteTerminal
from hermitty.client.values import CommandView, TerminalView
from hermitty.config import Settings, all_settings
from hermitty.errors import (
    AccessRefused,
    HermittyError,
    InvalidRequest,
    MissingScope,
    ServerMismatch,
    TerminalClosed,
    TerminalNotFound,
    TooManyRequests,
)
from hermitty.model import CommandResult
from hermitty.subscribers import Subscribers
from hermitty.version import __version__

_LOG = logging.getLogger("hermitty.client")
# Handles that were given out, of which the newest are kept: the same one is given for the same command.
_HANDLES = 1000
# How long what is still to be sent may take at the end.
_LAST_S = 5.0
# A stream on which nothing comes for so many of the server's heartbeats is broken.
_HEARTBEATS = 4


class Connection:
    """One client of one server, from `open` to `close`."""

    def __init__(self, address: ServerAddress, *, retry_s: float, approver: Asked | None) -> None:
        self.http = Http(address, retry_s=0.0)  # somebody who opens it wants to know at once that nobody is there
        self.mirror = Mirror()
        self.runs = Runs(self.http, self.mirror)
        self.subscribers = Subscribers()
        self.changed = Pulse()  # something happened
        self.settings = Settings()
        self.info: dict[str, Any] = {}
        self._retry_s = retry_s
        self._approving = None if approver is None else Approving(self.http, self.runs, approver)
        self._terminals: dict[str, RemoteTerminal] = {}
        self._commands: OrderedDict[str, RemoteCommand] = OrderedDict()
        self._followers: set[Follower] = set()
        self._outbox = Outbox()
        self._following: asyncio.Task[None] | None = None
        self._loaded: asyncio.Future[None] | None = None
        self._last_id = ""
        self._error: HermittyError | None = None
        self._is_closed = False

    # Opening and closing.

    async def open(self) -> None:
        """Connect, check that we understand each other, and load what the server has."""
        if self._following is not None:
            raise InvalidRequest("this runtime was opened already")
        await self.http.__aenter__()
        try:
            self.info = (await self.http.get("/api/info")).json()
            self._check_version(str(self.info.get("version")))
            self._check_scopes()
            self.http.retry_s = self._retry_s
            self._loaded = asyncio.get_running_loop().create_future()
            self._following = asyncio.get_running_loop().create_task(self._follow())
            await self._loaded
        except BaseException:
            await self._end()
            raise

    async def close(self) -> None:
        """Let go of the server. Its terminals and commands go on."""
        self.check_open()
        self._is_closed = True
        boxes = [
            self._outbox,
            *(terminal._outbox for terminal in self._terminals.values()),
            *(command._outbox for command in self._commands.values()),
        ]
        try:
            async with asyncio.timeout(_LAST_S):
                for box in boxes:
                    await box.drain()
                await self.runs.close()
        except TimeoutError:
            for box in boxes:
                box.cancel()
                await box.drain()
        finally:
            await self._end()

    async def _end(self) -> None:
        self._is_closed = True
        if self._approving is not None:
            await self._approving.close()
        for follower in tuple(self._followers):
            await follower.close()
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait({self._following})
        await self.http.__aexit__(None, None, None)

    def check_open(self) -> None:
        """Raise unless the server is followed."""
        if self._following is None:
            raise InvalidRequest("connect first: `async with hermitty.open(url=...) as rt`")
        if self._is_closed:
            raise InvalidRequest("the runtime is closed; open another one")
        if self._error is not None:
            raise self._error

    # Handles.

    def terminal(self, view: TerminalView) -> RemoteTerminal:
        """Return the handle of a terminal."""
        found = self._terminals.get(view.id)
        if found is None:
            self._terminals = {key: each for key, each in self._terminals.items() if each.is_open}
            found = self._terminals[view.id] = RemoteTerminal(self, view)
        return found

    def command(self, view: CommandView, result: CommandResult | None = None) -> RemoteCommand:
        """Return the handle of a command."""
        found = self._commands.get(view.id)
        if found is None:
            found = self._commands[view.id] = RemoteCommand(self, view, result)
            if len(self._commands) > _HANDLES:
                self._commands.popitem(last=False)
        return found

    def command_of(self, result: CommandResult) -> RemoteCommand:
        """Return the handle of a command by what is known of it."""
        view = self.mirror.terminals.get(result.terminal or "")
        workspace = view.workspace if view else None
        known = CommandView(
            id=result.id,
            command=result.command,
            terminal=result.terminal,
            session=result.session,
            workspace=workspace,
            source="agent",
            state=result.state.value,
            exit_code=result.exit_code,
            started_at=0.0,
            duration_s=result.duration_s,
        )
        return self.command(known, result if result.state.is_final else None)

    def follower(self, command_id: str) -> Follower:
        """Follow the output of a command."""
        self.check_open()
        self._followers = {each for each in self._followers if not each.is_over}
        follower = Follower(self.http, command_id)
        self._followers.add(follower)
        follower.start()
        return follower

    # Asking.

    async def catch_up(self, result: CommandResult) -> None:
        """Know the terminal of a command, of which no event may have come yet."""
        terminal_id = result.terminal
        if terminal_id is None or terminal_id in self.mirror.terminals or self.mirror.why_gone(terminal_id):
            return
        try:
            self.mirror.put((await self.http.get(f"/api/terminals/{part(terminal_id)}")).json())
        except (TerminalNotFound, TerminalClosed):
            return  # it has ended meanwhile

    async def environment(self, terminal_id: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return the variables of a shell, and those that it was started with."""
        told = (await self.http.get(f"/api/terminals/{part(terminal_id)}/environment")).json()
        return told["variables"], told["started_with"]

    async def close_terminal(self, terminal_id: str) -> None:
        """Destroy a terminal. Doing it again changes nothing, so it may be repeated."""
        await self.http.send("DELETE", f"/api/terminals/{part(terminal_id)}", repeatable=True)
        self.mirror.forget(terminal_id, "it was closed")
        self.changed.fire()

    async def load(self) -> None:
        """Ask for everything that the mirror has."""
        terminals = (await self.http.get("/api/terminals")).json()["terminals"]
        sessions = (await self.http.get("/api/sessions")).json()["sessions"]
        commands = (await self.http.get("/api/commands", query={"limit": 500})).json()["commands"]
        self.mirror.load(terminals, sessions, commands)
        self.settings = settings_of((await self.http.get("/api/settings")).json()["settings"])
        if self._approving is not None:
            for told in (await self.http.get("/api/approvals")).json()["approvals"]:
                self._approving.take(told)
        self.changed.fire()

    def _check_version(self, theirs: str) -> None:
        if theirs.split(".")[:2] != __version__.split(".")[:2]:
            raise ServerMismatch(
                f"the server at {self.http.address.url} is hermitty {theirs}, and this is {__version__}; "
                "use the same version on both sides",
                self.http.address.url,
            )

    def _check_scopes(self) -> None:
        scopes = self.info.get("me", {}).get("scopes", [])
        if self._approving is not None and not {"approve", "admin"} & set(scopes):
            raise MissingScope("approve", scopes)

    # Following.

    async def _follow(self) -> None:
        backoff, now = Backoff(None), asyncio.get_running_loop().time
        # There was a server a moment ago: whoever opens waits for the next one, too.
        patient_until = now() + self._retry_s
        while True:
            try:
                await self._read_events()
                backoff.succeeded()
            except (aiohttp.ClientError, TimeoutError, ConnectionError) as exc:
                _LOG.debug("the stream of events broke: %s", exc)
                if now() >= patient_until and self._fail(self.http.unavailable(exc)):
                    return
            except HermittyError as exc:
                if self._fail(exc):
                    return
                if isinstance(exc, AccessRefused) and not isinstance(exc, TooManyRequests):
                    self._error = exc  # the token is no longer taken
                    return
            await asyncio.sleep(backoff.pause_s(now(), random.random()) or 0)

    def _fail(self, error: HermittyError) -> bool:
        """Tell whoever opens that it did not work; False when it had worked before."""
        if self._loaded is None or self._loaded.done():
            return False
        self._loaded.set_exception(error)
        return True

    async def _read_events(self) -> None:
        parser = EventParser()
        parser.last_id = self._last_id
        headers = {"Last-Event-ID": self._last_id} if self._last_id else {}
        quiet_s = max(60.0, _HEARTBEATS * self.settings.server.heartbeat_s)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=quiet_s)
        async with self.http.session.get(self.http.url("/api/events"), headers=headers, timeout=timeout) as response:
            if response.status != 200:
                raise error_of(response.status, await response.read())
            is_first = not self._last_id
            async for chunk in response.content.iter_any():
                if is_first:
                    # From here on every event comes to us, so that nothing falls between.
                    is_first = False
                    await self.load()
                    if self._loaded is not None and not self._loaded.done():
                        self._loaded.set_result(None)
                dropped = parser.dropped
                found = parser.feed(chunk)
                for event in found:
                    await self._take(event)
                if parser.dropped != dropped:
                    await self.load()
                self._last_id = parser.last_id or self._last_id

    async def _take(self, event: ServerEvent) -> None:
        if event.name == "alive":
            return
        if event.name == "reset":
            await self.load()
            return
        if event.name == "settings_changed":
            self.settings = settings_of((await self.http.get("/api/settings")).json()["settings"])
            return
        try:
            data = json.loads(event.data)
            told = self.mirror.apply(event.name, data)
            if event.name == "approval_asked" and self._approving is not None:
                self._approving.take(data["approval"])
        except (HermittyError, ValueError, KeyError, TypeError, AttributeError) as exc:
            _LOG.warning("an event of the server was not understood: %s: %s", event.name, type(exc).__name__)
            return
        self.changed.fire()
        if told is not None:
            self.subscribers.publish(told)


def settings_of(told: list[Any]) -> Settings:
    """Read settings; those that are not known here, or cannot be, are left as they are by default."""
    known = all_settings()
    values = {}
    for each in told:
        setting = known.get(each["name"])
        if setting is not None:
            value = each["value"]
            value = tuple(value) if setting.kind is tuple and isinstance(value, list) else value
            if setting.problem_with(value) is None:
                values[setting.name] = value
    return Settings().with_values(values)
