"""What scenarios have at hand: a client of the server, raw requests, dice, a directory, and the ledger.

Servers are killed at any moment. What only looks is asked again; a command is sent under an id, and found again by it;
a terminal is opened under a name, and found again by it.
"""

import asyncio
import contextlib
import io
import json
import random
import shlex
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from hermitty.client.runtime import RemoteRuntime
from hermitty.client.terminal import RemoteTerminal
from hermitty.errors import OutcomeUnknown
from hermitty.model import CommandResult, State, new_command_id
from soak.census import is_alive, started_at
from soak.ledger import Ledger
from soak.plan import Plan
from soak.server import Server

# Where sessions work.
PLACES = ("here", "there", "elsewhere")
# A wait that only something hopeless reaches; each is a part of what one scenario may take.
LONG_S = 240.0
_LOOK_S = 0.02
_RETRY_S = 0.05
_NETWORK = (aiohttp.ClientError, ConnectionError, TimeoutError)


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a command notes that it ran."""

    command_id: str
    path: Path

    @property
    def times(self) -> int:
        """Return how often it ran."""
        return self.path.read_text().count("\n") if self.path.exists() else 0


@dataclass(frozen=True, slots=True)
class Booked:
    """A command that was sent, and whether the server knows what became of it."""

    what: str
    mark: Mark
    is_known: bool


@dataclass(frozen=True, slots=True)
class Told:
    """An answer of the server."""

    status: int
    body: bytes

    def json(self) -> Any:
        """Read it as JSON."""
        return json.loads(self.body)


def was_never_typed(state: str, warnings: Sequence[str]) -> bool:
    """Tell whether a server says of a command that the one before it was killed just before it typed the line."""
    return state == State.LOST and any("did not run" in warning for warning in warnings)


class Hand:
    """One worker's means, for one scenario."""

    def __init__(
        self,
        name: str,
        *,
        plan: Plan,
        server: Server,
        rt: RemoteRuntime,
        http: aiohttp.ClientSession,
        ledger: Ledger,
        dice: random.Random,
        work: Path,
        booked: list["Booked"],
    ) -> None:
        self.name = name
        self.plan = plan
        self.server = server
        self.rt = rt
        self.http = http
        self.ledger = ledger
        self.dice = dice
        self.directory = work / name
        self.directory.mkdir()
        self.scripts = work / "scripts"
        self._places = tuple(work / name for name in PLACES)
        self._booked = booked

    # Commands.

    def new_mark(self) -> Mark:
        """Choose the id of a command, and where it notes that it ran."""
        command_id = new_command_id()
        return Mark(command_id, self.directory / f"{command_id}.ran")

    def line(self, script: str, mark: Mark, *arguments: object) -> str:
        """Write the command line of a script."""
        return shlex.join(("sh", str(self.scripts / script), str(mark.path), *map(str, arguments)))

    def place(self, session: str | None) -> Path:
        """Choose where a session works: few directories, so that terminals are used again."""
        return self._places[len(session or "") % len(self._places)]

    async def run(self, script: str, *arguments: object, **how: Any) -> CommandResult | None:
        """Run a script where it fits; None when nobody knows what became of it, which a kill excuses."""
        mark = self.new_mark()
        how = {"cwd": str(self.place(how.get("session"))), "wait_s": LONG_S, **how}
        line = self.line(script, mark, *arguments)
        try:
            result = await self.rt.run(line, command_id=mark.command_id, **how)
        except OutcomeUnknown:
            self.unknown(mark, line)
            return None
        return self._told(mark, line, result)

    async def run_in(self, terminal: str, script: str, *arguments: object, **how: Any) -> CommandResult | None:
        """Run a script in a terminal; None when nobody knows what became of it."""
        mark = self.new_mark()
        line = self.line(script, mark, *arguments)
        try:
            result = await self.rt.run_in(terminal, line, command_id=mark.command_id, wait_s=LONG_S, **how)
        except OutcomeUnknown:
            self.unknown(mark, line)
            return None
        return self._told(mark, line, result)

    def _told(self, mark: Mark, line: str, result: CommandResult) -> CommandResult | None:
        if was_never_typed(result.state, result.warnings):
            self.unknown(mark, line)
            return None
        self.book(mark, line)
        return result

    def book(self, mark: Mark, line: str, *, is_known: bool = True) -> None:
        """Have it checked in the end how often a command ran."""
        self._booked.append(Booked(f"{self.name}: {line}", mark, is_known))

    def unknown(self, mark: Mark, line: str) -> None:
        """Note a command that the server does not know after a kill, or says that it never ran. It must not have."""
        self.ledger.note("commands that a kill met before they began")
        self.book(mark, line, is_known=False)

    # Terminals.

    @contextlib.asynccontextmanager
    async def terminal(self, **fields: Any) -> AsyncIterator[RemoteTerminal]:
        """Open a terminal; it, its shell and everything in it are gone afterwards."""
        opened = await self.open_terminal(**fields)
        pid = opened.view.pid
        started = started_at(pid) if pid is not None else None
        try:
            yield opened
        finally:
            await self.delete_terminal(opened.id)
        if pid is not None and started is not None and not await self.gone(pid, started):
            self.ledger.problem("left_processes", f"{self.name}: the shell {pid} of terminal {opened.id}")

    async def open_terminal(self, **fields: Any) -> RemoteTerminal:
        """Open a terminal under a name of its own. What a kill left half open is deleted, and another one opened."""
        name = f"{self.name}-{self.dice.getrandbits(48):012x}"
        while True:
            try:
                return await self.rt.open_terminal(**{"cwd": str(self.directory), "name": name, **fields})
            except OutcomeUnknown:
                self.ledger.note("terminals that a kill met while they were opened")
            listed = (await self.ask("GET", "/api/terminals")).json()["terminals"]
            found = [each["id"] for each in listed if each["name"] == name]
            if len(found) > 1:
                self.ledger.problem("wrong_answers", f"{self.name}: one terminal was opened {len(found)} times")
            for each in found:
                await self.delete_terminal(each)

    async def delete_terminal(self, terminal_id: str) -> None:
        """Destroy a terminal, as often as that takes."""
        told = await self.ask("DELETE", f"/api/terminals/{terminal_id}")
        if told.status not in (204, 404, 410):
            self.ledger.problem("wrong_answers", f"{self.name}: DELETE was answered with {told.status}: {told.body!r}")

    # Requests.

    async def ask(self, method: str, path: str, body: object = None, *, raw: bytes | None = None) -> Told:
        """Send a request, again whenever its connection breaks. An answer that blames the server is a problem."""
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if data is not None else {}
        while True:
            await self.server.up.wait()
            try:
                sent = None if data is None else io.BytesIO(data)  # aiohttp warns of bytes that are long
                async with self.http.request(method, self.server.url + path, data=sent, headers=headers) as response:
                    told = Told(response.status, await response.read())
            except _NETWORK:
                await asyncio.sleep(_RETRY_S)  # it was killed, and that is noted in a moment
                continue
            if told.status >= 500 and told.status != 504:  # nobody answered a question in time
                self.ledger.problem("server_errors", f"{self.name}: {method} {path}: {told.status} {told.body!r}")
            return told

    # Facts about processes.

    async def gone(self, pid: int, started: int | None = None) -> bool:
        """Wait until a process has left; False when it does not."""
        return await self.so(lambda: not is_alive(pid, started))

    async def so(self, look: Any, limit_s: float = 60.0) -> bool:
        """Wait until a fact is so that nobody tells; False when it does not become so."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while not look():
                    await asyncio.sleep(_LOOK_S)
                return True
        return False
