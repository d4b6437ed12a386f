"""The output of a command as it comes: asked for again and again, kept up to a limit, by absolute offset."""

import asyncio
import json
from dataclasses import dataclass

from hermitty.client.http import SLICE_S, Answer, Http, part
from hermitty.client.pulse import Pulse
from hermitty.client.values import OutputSlice
from hermitty.errors import HermittyError, InvalidMessage, NotSupported, RemoteError
from hermitty.model import NeedsInput
from hermitty.vt.byte_log import ByteLog
from hermitty.vt.plain import plain_text

# What a client keeps of a command's output; a terminal of the server keeps as much.
KEPT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of output as the server sends it."""

    offset: int
    data: bytes
    missed: int
    is_running: bool
    needs_input: NeedsInput | None

    @classmethod
    def of(cls, answer: Answer) -> "Piece":
        """Read an answer. Raises InvalidMessage."""
        headers = answer.headers
        try:
            asked = headers.get("X-Hermitty-Needs-Input")
            return cls(
                offset=int(headers["X-Hermitty-Offset"]),
                data=answer.body,
                missed=int(headers["X-Hermitty-Missed"]),
                is_running=headers["X-Hermitty-Running"] == "true",
                needs_input=NeedsInput(**json.loads(asked)) if asked else None,
            )
        except (KeyError, ValueError, TypeError) as exc:
            raise InvalidMessage("the server's answer is no output of a command") from exc


class Received:
    """Output that has come, from its first byte on. Pure."""

    def __init__(self, limit_bytes: int = KEPT_BYTES) -> None:
        self._limit = limit_bytes
        self._log: ByteLog | None = None
        self.first = 0

    @property
    def end(self) -> int | None:
        """Return where the next byte goes; None before anything is known."""
        return None if self._log is None else self._log.end

    def add(self, offset: int, data: bytes, missed: int) -> None:
        """Take the next piece. What the server no longer had is a gap, before which nothing can be read."""
        if not data and not missed:
            return  # before the first byte nobody knows where it will be
        if self._log is None:
            self.first = offset - missed
            self._log = ByteLog(self._limit, start=offset)
        elif offset != self._log.end:
            if offset < self._log.end:
                raise InvalidMessage("the server repeated output")
            self._log = ByteLog(self._limit, start=offset)
        self._log.append(data)

    def read(self, since: int | None = None) -> OutputSlice:
        """Return output from an offset on, as far as it is kept."""
        log = self._log
        if log is None:
            return OutputSlice(0, b"", "", 0, 0)
        piece = log.read(min(max(self.first, self.first if since is None else since), log.end))
        return OutputSlice(piece.offset, piece.data, plain_text(piece.data), piece.missed, piece.end)


class Follower:
    """Follows the output of one command until it ends. Whoever starts it closes it."""

    def __init__(self, http: Http, command_id: str) -> None:
        self.received = Received()
        self.grown = Pulse()
        self.asked: NeedsInput | None = None  # what the program wants to know, until it prints more
        self.is_over = False
        self.error: HermittyError | None = None
        self._http = http
        self._command_id = command_id
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Follow from now on."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._follow())

    async def until_over(self) -> None:
        """Wait until all output is here, or none will come."""
        while not self.is_over:
            await self.grown.wait()

    async def close(self) -> None:
        """Stop following."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def check(self) -> None:
        """Raise what ended the following, if it was not the end of the command."""
        if self.error is not None:
            raise self.error

    async def _follow(self) -> None:
        try:
            while await self._next():
                pass
        except HermittyError as exc:
            self.error = _explained(exc)
        finally:
            self.is_over = True
            self.grown.fire()

    async def _next(self) -> bool:
        """Ask for the next piece; tell whether there may be more."""
        answer = await self._http.get(
            f"/api/commands/{part(self._command_id)}/output",
            query={"since": self.received.end, "wait_s": SLICE_S, "asked": self.asked is not None or None},
            wait_s=SLICE_S,
        )
        piece = Piece.of(answer)
        self.received.add(piece.offset, piece.data, piece.missed)
        if piece.data or piece.missed:
            self.asked = None
        if piece.needs_input is not None:
            self.asked = piece.needs_input
        if piece.data or piece.missed or piece.needs_input is not None:
            self.grown.fire()
        return piece.is_running or bool(piece.data)


def _explained(error: HermittyError) -> HermittyError:
    if isinstance(error, RemoteError) and error.remote_code == "not_found":
        return NotSupported("this server does not tell the output of a command while it runs; update it")
    return error
