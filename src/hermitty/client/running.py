"""Commands that this client runs: each is sent once, under an id of our own, and found again by it.

When the connection breaks, nobody knows whether the server got the command. It is asked by the id: what it knows is
the answer. What it does not know may have run and been forgotten, so that is an error, and never a second try.
"""

import asyncio
import contextlib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hermitty.client.http import SLICE_S, ConnectionBroke, Http, part
from hermitty.client.mirror import Mirror
from hermitty.errors import CommandNotFound, HermittyError, OutcomeUnknown
from hermitty.model import CommandResult, State, checked_command_id, checked_time, new_command_id
from hermitty.wire.records import result_of_dict

# No request may ask a server to wait for longer.
_LONGEST_WAIT_S = 3600.0
# How often a command that waits for a person's permission is looked at.
_PERMISSION_LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Pending:
    """A command that was sent and has no result yet."""

    lines: frozenset[str]
    session: str | None
    terminal: str | None


class Runs:
    """Sends commands and waits for what becomes of them."""

    def __init__(self, http: Http, mirror: Mirror) -> None:
        self._http = http
        self._mirror = mirror
        self._pending: dict[str, Pending] = {}
        self._killing: set[asyncio.Task[None]] = set()

    def is_ours(self, line: str, session: str | None, terminal: str | None) -> bool:
        """Tell whether a question is about a command that this client has sent."""
        return any(
            line.strip() in each.lines and session == each.session and each.terminal in (None, terminal)
            for each in self._pending.values()
        )

    @contextlib.contextmanager
    def sending(
        self, command: str | Sequence[str], session: str | None, terminal: str | None, command_id: str
    ) -> Iterator[None]:
        """Count a command as sent, for those who are asked about it."""
        self._pending[command_id] = Pending(_lines(command), session, terminal)
        try:
            yield
        finally:
            del self._pending[command_id]

    async def run(self, path: str, body: dict[str, Any], *, wait_s: float | None) -> CommandResult:
        """Run a command and wait for its end, a question, or `wait_s`. Cancelling kills it."""
        checked_time("wait_s", wait_s)
        command_id = checked_command_id(body.get("id")) or new_command_id()
        try:
            result = await self._sent(path, {**body, "id": command_id}, command_id)
            return await self._waited(result, command_id, wait_s)
        except asyncio.CancelledError:
            self._kill_later(command_id)
            raise

    async def start(self, path: str, body: dict[str, Any]) -> CommandResult:
        """Start a command, and return as soon as it has started. Cancelling kills it."""
        command_id = checked_command_id(body.get("id")) or new_command_id()
        try:
            result = await self._sent(path, {**body, "id": command_id, "wait_s": 0}, command_id)
            while not _has_started(result):
                # The answer comes when it ends, which is too late for us.
                result = await self.look(command_id, _PERMISSION_LOOK_S)
            return result
        except asyncio.CancelledError:
            self._kill_later(command_id)
            raise

    async def run_whole(self, path: str, body: dict[str, Any]) -> CommandResult:
        """Run a command to its end in one request. Cancelling kills it."""
        command_id = checked_command_id(body.get("id")) or new_command_id()
        try:
            with self.sending(body["command"], body.get("session"), None, command_id):
                answer = await self._http.send("POST", path, body={**body, "id": command_id}, answer_s=None)
        except ConnectionBroke as exc:
            raise OutcomeUnknown(f"{exc.message}; unknown whether the command ran", exc.url, command_id) from exc
        except asyncio.CancelledError:
            self._kill_later(command_id)
            raise
        return result_of_dict(answer.json())

    async def look(self, command_id: str, wait_s: float = 0.0) -> CommandResult:
        """Return what the server knows of a command, after waiting for its end or a question at most that long."""
        query = {"wait_s": wait_s} if wait_s else None
        answer = await self._http.get(f"/api/commands/{part(command_id)}", query=query, wait_s=wait_s)
        return self._noted(answer.json())

    async def wait(self, command_id: str, timeout_s: float | None) -> CommandResult:
        """Wait for the end of a command or a question of it, in slices."""
        now = asyncio.get_running_loop().time
        deadline = None if timeout_s is None else now() + timeout_s
        while True:
            slice_s = SLICE_S if deadline is None else min(SLICE_S, max(0.0, deadline - now()))
            result = await self.look(command_id, slice_s)
            if result.state is not State.RUNNING or (deadline is not None and now() >= deadline):
                return result

    async def close(self) -> None:
        """Wait for what is being killed."""
        while self._killing:
            await asyncio.wait(self._killing)

    async def _sent(self, path: str, body: dict[str, Any], command_id: str) -> CommandResult:
        """Send a command once; after a break of the connection, ask what became of it."""
        with self.sending(body["command"], body.get("session"), _terminal_in(path), command_id):
            wait_s = body.get("wait_s")
            if wait_s is not None:
                body = {**body, "wait_s": min(wait_s, _LONGEST_WAIT_S)}
            try:
                return self._noted((await self._http.send("POST", path, body=body, answer_s=SLICE_S)).json())
            except ConnectionBroke as exc:
                broke = exc
            try:
                result = await self.look(command_id)
                while not _has_started(result):
                    result = await self.look(command_id, _PERMISSION_LOOK_S)
                return result
            except CommandNotFound as exc:
                raise OutcomeUnknown(
                    f"the connection broke while command {command_id} was sent, and the server at "
                    f"{self._http.address.url} does not know it: unknown whether it ran. It was not sent again",
                    self._http.address.url,
                    command_id,
                ) from broke or exc

    async def _waited(self, result: CommandResult, command_id: str, wait_s: float | None) -> CommandResult:
        """Go on waiting where a request left off."""
        if result.state is not State.RUNNING:
            return result
        left_s = None if wait_s is None else wait_s - result.duration_s
        if left_s is not None and left_s <= 0:
            return result
        return await self.wait(command_id, left_s)

    def _noted(self, told: object) -> CommandResult:
        result = result_of_dict(told)  # type: ignore[arg-type]  # a JSON object, or it raises
        self._mirror.note_result(result)
        return result

    def _kill_later(self, command_id: str) -> None:
        """Kill a command whose caller has left."""
        task = asyncio.get_running_loop().create_task(self._kill(command_id))
        self._killing.add(task)
        task.add_done_callback(self._killing.discard)

    async def _kill(self, command_id: str) -> None:
        with contextlib.suppress(HermittyError):  # it has ended, or was never there
            await self._http.send("POST", f"/api/commands/{part(command_id)}/kill", body={"wait_s": 0})


def _has_started(result: CommandResult) -> bool:
    """Tell whether a command has begun, and does not wait for its turn or a person's permission."""
    return result.state.is_final or result.terminal is not None or result.provider == "pipe"


def _lines(command: str | Sequence[str]) -> frozenset[str]:
    if isinstance(command, str):
        return frozenset({command.strip()})
    return frozenset({" ".join(command).strip(), shlex.join(command).strip()})


def _terminal_in(path: str) -> str | None:
    parts = path.split("/")
    return parts[3] if parts[:3] == ["", "api", "terminals"] else None
