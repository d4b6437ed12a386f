"""A terminal on a server. What it is answers from the mirror; what it does goes to the server, in order."""

from typing import TYPE_CHECKING, Any, Literal

from hermitty.client.command import RemoteCommand, typed
from hermitty.client.http import part
from hermitty.client.outbox import Outbox, Sent
from hermitty.client.values import CommandView, LastCommand, RunningCommand, TerminalView
from hermitty.errors import NotSupported, TerminalClosed
from hermitty.model import CommandId, CommandResult, Quality, Size, TerminalId, checked_line, checked_time

if TYPE_CHECKING:
    from hermitty.client.connection import Connection


class RemoteScreen:
    """The emulated screen of a terminal, which lives with the server: every look asks it."""

    def __init__(self, connection: "Connection", terminal_id: str) -> None:
        self._connection = connection
        self._path = f"/api/terminals/{part(terminal_id)}/screen"

    async def text(self) -> str:
        """Read the visible rows."""
        return (await self._get("text")).decode("utf-8", "replace")

    async def history_text(self) -> str:
        """Read the rows that scrolled off, as far as they are kept, and then the visible ones."""
        answer = await self._connection.http.get(self._path, query={"format": "text", "history": True})
        return answer.body.decode("utf-8", "replace")

    async def repaint(self) -> bytes:
        """Return bytes that bring a fresh terminal of the same size to this state."""
        return await self._get("ansi")

    async def svg(self) -> str:
        """Draw it."""
        return (await self._get("svg")).decode()

    async def png(self) -> bytes:
        """Draw it as pixels."""
        return await self._get("png")

    async def _get(self, how: Literal["text", "ansi", "svg", "png"]) -> bytes:
        return (await self._connection.http.get(self._path, query={"format": how})).body


class RemoteTerminal:
    """A terminal that understands its commands."""

    def __init__(self, connection: "Connection", view: TerminalView) -> None:
        self.id = TerminalId(view.id)
        self.shell = view.shell
        self.screen = RemoteScreen(connection, view.id)
        self._connection = connection
        self._last_view = view
        self._path = f"/api/terminals/{part(view.id)}"
        self._outbox = Outbox()

    @property
    def view(self) -> TerminalView:
        """Return what the server told last."""
        self._last_view = self._connection.mirror.terminals.get(self.id, self._last_view)
        return self._last_view

    @property
    def cwd(self) -> str | None:
        """Return the shell's directory."""
        return self.view.cwd

    @property
    def quality(self) -> Quality:
        """Return how much the shell tells."""
        return Quality(self.view.quality)

    @property
    def size(self) -> Size:
        """Return columns and rows."""
        return Size(self.view.cols, self.view.rows)

    @property
    def takes_commands(self) -> bool:
        """Tell whether commands can be run in it."""
        return self.view.takes_commands

    @property
    def sandbox(self) -> str | None:
        """Return the mode of the sandbox that was asked for."""
        return self.view.sandbox

    @property
    def paused_by(self) -> str | None:
        """Return the person who has it, if not agents."""
        return self.view.paused_by

    @property
    def is_open(self) -> bool:
        """Tell whether the terminal can be used."""
        return self.id in self._connection.mirror.terminals

    @property
    def closed_because(self) -> str | None:
        """Return why it ended; None while it is open."""
        return None if self.is_open else self._connection.mirror.why_gone(self.id) or "it has ended"

    @property
    def is_busy(self) -> bool:
        """Tell whether a command runs, an agent's or a person's."""
        return self.is_open and self.view.state == "running"

    @property
    def current(self) -> RemoteCommand | None:
        """Return the command that runs, if there is one."""
        command = self.view.command if self.is_open else None
        return None if command is None else self._connection.command(_view_of(command, self.view))

    @property
    def last(self) -> RemoteCommand | None:
        """Return the last command that ran."""
        command = self.view.last
        return None if command is None else self._connection.command(_view_of(command, self.view))

    async def start(
        self,
        line: str,
        *,
        kill_after_s: float | None = None,
        verify: bool = False,
        command_id: CommandId | None = None,
        decided: tuple[str, str | None] | None = None,
    ) -> RemoteCommand:
        """Send a command to the shell, once, and return its handle as soon as it is sent.

        The server's policy decides whether it may run and how its line is verified.
        """
        if verify or decided is not None:
            raise NotSupported("the server decides about commands; leave `verify` and `decided` out")
        return await self.started(line, None, kill_after_s, command_id)

    async def started(
        self, line: str, session: str | None, kill_after_s: float | None, command_id: str | None
    ) -> RemoteCommand:
        """Start a command for a session."""
        await self._ready()
        checked_time("kill_after_s", kill_after_s)
        body = {"command": checked_line(line), "session": session, "kill_after_s": kill_after_s, "id": command_id}
        result = await self._connection.runs.start(f"{self._path}/commands", body)
        await self._connection.catch_up(result)
        command = self._connection.command_of(result)
        command.follow()
        return command

    async def run(self, line: str, *, wait_s: float | None = None, kill_after_s: float | None = None) -> CommandResult:
        """Run a command and wait for its end, a question, or `wait_s`; then it goes on in the background.

        Cancelling kills the command: whoever cancels has nobody left to stop it.
        """
        await self._ready()
        checked_time("wait_s", wait_s)
        checked_time("kill_after_s", kill_after_s)
        body: dict[str, Any] = {"command": checked_line(line), "kill_after_s": kill_after_s, "wait_s": wait_s}
        if wait_s is None:
            # Here, no time means until the end.
            body["wait_s"] = 1e9
        result = await self._connection.runs.run(f"{self._path}/commands", body, wait_s=wait_s)
        await self._connection.catch_up(result)
        return result

    def write(self, text: str | bytes) -> Sent:
        """Type into the terminal, whatever it is doing."""
        return self._send("input", typed(text))

    def send_key(self, key: str) -> Sent:
        """Press a key by name."""
        return self._send("input", {"key": key})

    def resize(self, cols: int, rows: int) -> Sent:
        """Change the size; programs are told."""
        size = Size.checked(cols, rows)
        sent = self._send("resize", {"cols": size.cols, "rows": size.rows})
        self._connection.mirror.change(self.id, cols=size.cols, rows=size.rows)
        return sent

    async def environment(self) -> dict[str, str]:
        """Return the variables the shell exports, as they were after its last command."""
        await self._ready()
        return (await self._connection.environment(self.id))[0]

    async def screen_text(self) -> str:
        """Return what a person would see now."""
        await self._ready()
        return await self.screen.text()

    async def close(self, reason: str = "it was closed") -> None:
        """End the shell and everything started from it. A second close raises TerminalClosed."""
        await self._ready()
        await self._connection.close_terminal(self.id)

    def pause(self, by: str) -> Sent:
        """Let a person have the terminal. The server names them by the token."""
        return self._change({"paused": True}, paused_by=by)

    def unpause(self) -> Sent:
        """Hand the terminal back to agents."""
        return self._change({"paused": False}, paused_by=None)

    def rename(self, name: str | None) -> Sent:
        """Give it a name for people, or none."""
        return self._change({"name": name}, name=name)

    def bind(self, session: str | None) -> Sent:
        """Give it to a session, or to none."""
        return self._change({"session": session}, session=session)

    def check_open(self) -> None:
        """Raise TerminalClosed when it is known to be gone."""
        self._connection.check_open()
        if not self.is_open:
            raise TerminalClosed(self.id, self.closed_because or "it has ended")

    async def _ready(self) -> None:
        """Let what was typed before arrive first."""
        self.check_open()
        await self._outbox.drain()
        self._outbox.check()

    def _send(self, what: str, body: dict[str, Any]) -> Sent:
        self.check_open()
        return self._outbox.send(lambda: self._connection.http.send("POST", f"{self._path}/{what}", body=body))

    def _change(self, body: dict[str, Any], **changes: Any) -> Sent:
        self.check_open()

        async def change() -> None:
            # The same again changes nothing more.
            answer = await self._connection.http.send("PATCH", self._path, body=body, repeatable=True)
            self._connection.mirror.put(answer.json())

        sent = self._outbox.send(change)
        self._connection.mirror.change(self.id, **changes)
        return sent


def _view_of(command: RunningCommand | LastCommand, terminal: TerminalView) -> CommandView:
    is_running = isinstance(command, RunningCommand)
    return CommandView(
        id=command.id,
        command=command.command,
        terminal=terminal.id,
        session=terminal.session,
        workspace=terminal.workspace,
        source=command.source if isinstance(command, RunningCommand) else "agent",
        state="running" if is_running else getattr(command, "state", "done"),
        exit_code=getattr(command, "exit_code", None),
        started_at=getattr(command, "started_at", 0.0),
        duration_s=getattr(command, "duration_s", 0.0),
    )
