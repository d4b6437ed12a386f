"""A command on a server: the same handle as that of a command in this process.

Output is followed from the moment on in which somebody has asked for the handle; what `output` returns is what has
arrived here.
"""

import asyncio
import math
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hermitty.client.following import Follower
from hermitty.client.http import part
from hermitty.client.outbox import Outbox, Sent
from hermitty.client.values import CommandView, OutputSlice
from hermitty.errors import CommandEnded, InvalidPattern
from hermitty.events import CommandEvent, Completed, InputWanted, OutputArrived
from hermitty.model import CommandId, CommandResult, NeedsInput, Quality, State, TerminalId, checked_time
from hermitty.wire.records import result_of_dict

if TYPE_CHECKING:
    from hermitty.client.connection import Connection

# How much of the output before new bytes a pattern may reach back into.
_PATTERN_OVERLAP = 8 * 1024
# How often a command that asks something is looked at, by those who do not wait for questions.
_LOOK_S = 1.0
# How long the server may take to kill a command and everything it started.
_KILL_S = 60.0


class RemoteCommand:
    """A command that runs, or has run. Cancelling a wait leaves the command alone."""

    def __init__(self, connection: "Connection", view: CommandView, result: CommandResult | None = None) -> None:
        self.id = CommandId(view.id)
        self.line = view.command
        self.origin = "user" if view.source == "user" else "agent"
        self._connection = connection
        self._view = view
        self._result = result
        self._follower: Follower | None = None
        self._outbox = Outbox()

    # What is known.

    @property
    def terminal(self) -> TerminalId | None:
        """Return the id of its terminal."""
        return TerminalId(self._view.terminal) if self._view.terminal else None

    @property
    def state(self) -> State:
        """Return where it stands."""
        return self.result().state

    @property
    def exit_code(self) -> int | None:
        """Return its exit code, if there is one and it is known."""
        return self.result().exit_code

    @property
    def duration_s(self) -> float:
        """Return how long it took, or had taken when the server was asked last."""
        return self.result().duration_s

    @property
    def is_running(self) -> bool:
        """Tell whether the command is not known to have ended."""
        if self._result is not None and self._result.state.is_final:
            return False
        return not self._connection.mirror.is_over(self.id) and not self._is_gone

    @property
    def _is_gone(self) -> bool:
        terminal = self._view.terminal
        return terminal is not None and self._connection.mirror.why_gone(terminal) is not None

    def result(self) -> CommandResult:
        """Return what is known here; after a wait, that is all of it."""
        if self._result is not None:
            return self._result
        view = self._connection.mirror.commands.get(self.id, self._view)
        terminal = self._connection.mirror.terminals.get(view.terminal or "")
        return CommandResult(
            id=self.id,
            command=view.command or "",
            terminal=self.terminal,
            provider="pty",
            shell=terminal.shell if terminal else None,
            state=State(view.state),
            exit_code=view.exit_code,
            signal=None,
            quality=Quality(terminal.quality) if terminal else Quality.NONE,
            text="",
            total_bytes=0,
            cwd=terminal.cwd if terminal else None,
            duration_s=view.duration_s,
            session=view.session,
            warnings=["the output of this command has not been asked for yet"],
        )

    def output(self, since: int | None = None) -> OutputSlice:
        """Return raw output from an offset on (default: from the start), as far as it has come and is kept."""
        follower = self.follow()
        follower.check()
        return follower.received.read(since)

    # Waiting.

    async def wait(self, timeout_s: float | None = None, *, until_input: bool = True) -> CommandResult:
        """Wait for the end, for a question of the program (`until_input`), or for the time-out."""
        checked_time("timeout_s", timeout_s)
        now = asyncio.get_running_loop().time
        deadline = math.inf if timeout_s is None else now() + timeout_s
        await self._outbox.drain()
        self._outbox.check()
        if self._result is not None and self._result.state.is_final:
            return self._result
        while True:
            left_s = None if timeout_s is None else max(0.0, deadline - now())
            self._result = result = await self._connection.runs.wait(self.id, left_s)
            if result.state.is_final:
                if self._follower is not None:
                    await self._follower.until_over()
                return result
            if now() >= deadline or (result.state is State.NEEDS_INPUT and until_input):
                return result
            # It asks something, and would be told at once again.
            await self._connection.changed.wait(min(_LOOK_S, deadline - now()))

    async def wait_for(self, pattern: str, timeout_s: float | None = None) -> re.Match[str] | None:
        """Wait until the output matches; return the match, or None when the command ends or the time is over first."""
        checked_time("timeout_s", timeout_s)
        try:
            wanted = re.compile(pattern, re.MULTILINE)
        except re.error as exc:
            raise InvalidPattern(pattern, str(exc)) from exc
        follower = self.follow()
        try:
            async with asyncio.timeout(timeout_s):
                position = 0
                while True:
                    is_over = follower.is_over
                    piece = follower.received.read(max(0, position - _PATTERN_OVERLAP))
                    # The first character of a later piece only tells what stands before the second.
                    start = int(piece.offset > follower.received.first)
                    if piece.data and (found := wanted.search(piece.text, start)):
                        return found
                    position = piece.next
                    if is_over:
                        follower.check()
                        return None
                    await follower.grown.wait()
        except TimeoutError:
            return None

    async def events(self, interval_s: float | None = None) -> AsyncIterator[CommandEvent]:
        """Yield output as it comes (at most one event in each interval), questions, and the result at the end."""
        checked_time("interval_s", interval_s)
        pause_s = self._connection.settings.terminal.event_interval_s if interval_s is None else interval_s
        follower = self.follow()
        position: int | None = None
        told: NeedsInput | None = None
        while True:
            is_over, asked = follower.is_over, follower.asked
            piece = follower.received.read(position)
            if piece.data or piece.missed:
                yield OutputArrived(piece.offset, piece.data, piece.text, piece.missed)
                told = None
            position = piece.next if follower.received.end is not None else None
            if is_over:
                follower.check()
                break
            if asked is not None and asked != told:
                told = asked
                yield InputWanted(asked)
            if follower.received.end == position and follower.asked in (None, told) and not follower.is_over:
                await follower.grown.wait()
            if pause_s and not follower.is_over:
                await asyncio.sleep(pause_s)
        yield Completed(await self.wait(until_input=False))

    # Doing.

    def write(self, text: str | bytes) -> Sent:
        """Type into the terminal while the command runs."""
        return self._send(typed(text))

    def send_key(self, key: str) -> Sent:
        """Press a key by name: enter, ctrl-c, up, f5."""
        return self._send({"key": key})

    def interrupt(self) -> Sent:
        """Interrupt the program as Ctrl-C would. It may take its time, or ignore it."""
        self._check_running()
        path = f"/api/commands/{part(self.id)}/interrupt"
        return self._outbox.send(lambda: self._connection.http.send("POST", path, body={"wait_s": 0}))

    async def kill(self) -> CommandResult:
        """Kill the command and everything it started, and return its result. Gentle first, certain at the end."""
        self._check_running()
        await self._outbox.drain()
        answer = await self._connection.http.send(
            "POST", f"/api/commands/{part(self.id)}/kill", body={"wait_s": _KILL_S}, answer_s=2 * _KILL_S
        )
        self._result = result_of_dict(answer.json())
        self._connection.mirror.note_result(self._result)
        return self._result

    def follow(self) -> Follower:
        """Follow its output from now on."""
        if self._follower is None:
            self._follower = self._connection.follower(self.id)
        return self._follower

    def _send(self, body: dict[str, Any]) -> Sent:
        self._check_running()
        path = f"/api/commands/{part(self.id)}/input"
        return self._outbox.send(lambda: self._connection.http.send("POST", path, body=body))

    def _check_running(self) -> None:
        self._connection.check_open()
        if not self.is_running:
            raise CommandEnded(self.id)


@dataclass(frozen=True, slots=True)
class RemoteKnown:
    """A command, and whose it was when it began."""

    handle: RemoteCommand
    terminal: str | None
    session: str | None
    workspace: str | None
    started_at: float

    def result(self) -> CommandResult:
        """Return what is known of it here."""
        return self.handle.result()


def typed(text: str | bytes) -> dict[str, Any]:
    """Return what to type as a request has it; what is no text goes as bytes."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}
