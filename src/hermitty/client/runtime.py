"""The runtime of a server: the same calls as that of this process."""

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn, Self

from hermitty.client import past
from hermitty.client.approving import Asked
from hermitty.client.arguments import Answering, as_json
from hermitty.client.command import RemoteCommand, RemoteKnown
from hermitty.client.connection import Connection
from hermitty.client.finding import ServerAddress
from hermitty.client.http import ConnectionBroke, Http, part
from hermitty.client.outbox import Sent
from hermitty.client.terminal import RemoteTerminal
from hermitty.client.values import Decision, HistoryPage, SearchResult, TerminalInfo, decision_of
from hermitty.config import Settings
from hermitty.errors import InvalidRequest, NotSupported, OutcomeUnknown
from hermitty.events import Event
from hermitty.model import CommandResult, ProviderName, checked_line, checked_time
from hermitty.output.pages import Page
from hermitty.shell.environment import Difference, difference
from hermitty.wire.records import result_of_dict

# How long a broken connection is tried again.
RETRY_S = 30.0


class RemoteRuntime:
    """The terminals of a server. Use it with `async with`: leaving it lets go of the server, whose terminals go on.

    Each command is sent once. When the connection breaks, it is tried again for `retry_s` seconds, and the server is
    asked what became of the command.
    """

    def __init__(self, address: ServerAddress, *, approver: Asked | None = None, retry_s: float = RETRY_S) -> None:
        checked_time("retry_s", retry_s)
        self._connection = Connection(address, retry_s=retry_s, approver=approver)

    async def __aenter__(self) -> Self:
        await self._connection.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._connection._is_closed:
            await self.close()

    @property
    def url(self) -> str:
        """Return the address of the server."""
        return self._connection.http.address.url

    @property
    def settings(self) -> Settings:
        """Return the server's settings as they are now."""
        return self._connection.settings

    # Running commands.

    async def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        session: str | None = None,
        workspace: str | None = None,
        shell: str | None = None,
        provider: ProviderName = "pty",
        env: Mapping[str, str] | None = None,
        wait_s: float | None = None,
        kill_after_s: float | None = None,
        answers: Sequence[Answering] = (),
        on_output: Callable[[Any, bytes], None] | None = None,
        merged: bool = False,
        command_id: str | None = None,
        sandbox: object = None,
    ) -> CommandResult:
        """Run a command and return its result; after `wait_s` it goes on in the background, state `running`.

        `cwd` is a directory of the server's machine; a relative one is meant from the session's. Cancelling kills the
        command.
        """
        if on_output is not None:
            raise NotSupported("a server sends the output of a pipe with the result; leave `on_output` out")
        if merged:
            raise NotSupported("a server tells the outputs of a pipe apart; leave `merged` out")
        self._connection.check_open()
        body = as_json(
            command=checked_line(command) if isinstance(command, str) else list(command),
            cwd=cwd,
            session=session,
            workspace=workspace,
            shell=shell,
            provider=provider if isinstance(command, str) else "pipe",
            env=env,
            wait_s=wait_s,
            kill_after_s=kill_after_s,
            answers=answers,
            id=command_id,
            sandbox=sandbox,
        )
        return await self._ran("/api/run", body, wait_s)

    async def run_in(
        self,
        terminal_id: str,
        command: str,
        *,
        session: str | None = None,
        wait_s: float | None = None,
        kill_after_s: float | None = None,
        answers: Sequence[Answering] = (),
        command_id: str | None = None,
    ) -> CommandResult:
        """Run a command in a given terminal."""
        await self.terminal(terminal_id)._ready()
        body = as_json(
            command=checked_line(command),
            session=session,
            wait_s=wait_s,
            kill_after_s=kill_after_s,
            answers=answers,
            id=command_id,
        )
        return await self._ran(f"/api/terminals/{part(terminal_id)}/commands", body, wait_s)

    async def start_in(
        self,
        terminal_id: str,
        command: str,
        *,
        session: str | None = None,
        kill_after_s: float | None = None,
        command_id: str | None = None,
    ) -> RemoteCommand:
        """Start a command in a given terminal and return its handle at once, if the policy allows it."""
        return await self.terminal(terminal_id).started(command, session, kill_after_s, command_id)

    async def run_temporary(
        self,
        command: str,
        *,
        cwd: str | os.PathLike[str] | None = None,
        session: str | None = None,
        workspace: str | None = None,
        shell: str | None = None,
        env: Mapping[str, str] | None = None,
        wait_s: float | None = None,
        answers: Sequence[Answering] = (),
        command_id: str | None = None,
        sandbox: object = None,
    ) -> CommandResult:
        """Run a command in a terminal of its own, which is gone afterwards. After `wait_s` the command is killed."""
        self._connection.check_open()
        body = as_json(
            command=checked_line(command),
            cwd=cwd,
            session=session,
            workspace=workspace,
            shell=shell,
            env=env,
            wait_s=wait_s,
            answers=answers,
            id=command_id,
            sandbox=sandbox,
        )
        return await self._connection.runs.run_whole("/api/temporary", body)

    async def run_batch(
        self,
        commands: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        session: str | None = None,
        workspace: str | None = None,
        shell: str | None = None,
        wait_s: float | None = None,
        stop_on_error: bool = False,
    ) -> list[CommandResult]:
        """Run several commands in one terminal, one after the other, and return a result for each one that ran."""
        if isinstance(commands, str):
            raise InvalidRequest("a batch is a list of commands, not one text")
        if not commands:
            raise InvalidRequest("a batch needs at least one command")
        body = as_json(
            commands=list(commands),
            cwd=cwd,
            session=session,
            workspace=workspace,
            shell=shell,
            wait_s=wait_s,
            stop_on_error=stop_on_error,
        )
        told = await self._once("POST", "/api/batch", body, "which of the commands ran")
        results = [result_of_dict(each) for each in told["results"]]
        for result in results:
            self._connection.mirror.note_result(result)
            await self._connection.catch_up(result)
        return results

    # Terminals.

    async def open_terminal(
        self,
        *,
        cwd: str | os.PathLike[str] | None = None,
        shell: str | None = None,
        session: str | None = None,
        workspace: str | None = None,
        env: Mapping[str, str] | None = None,
        cols: int | None = None,
        rows: int | None = None,
        name: str | None = None,
        sandbox: object = None,
    ) -> RemoteTerminal:
        """Open a terminal and wait until it takes commands. It is the caller's: `run` does not reuse it."""
        body = as_json(
            cwd=cwd,
            shell=shell,
            session=session,
            workspace=workspace,
            env=env,
            cols=cols,
            rows=rows,
            name=name,
            sandbox=sandbox,
        )
        told = await self._once("POST", "/api/terminals", body, "whether the terminal was opened")
        return self._connection.terminal(self._connection.mirror.put(told))

    def terminal(self, terminal_id: str) -> RemoteTerminal:
        """Return a terminal by its id."""
        self._connection.check_open()
        return self._connection.terminal(self._connection.mirror.terminal(terminal_id))

    def info(self, terminal_id: str) -> TerminalInfo:
        """Return a terminal's number, session, workspace and name."""
        self._connection.check_open()
        view = self._connection.mirror.terminal(terminal_id)
        busy = view.state == "running"
        return TerminalInfo(view.number, view.session, view.workspace, 0, busy, view.name, view.opened_at or 0.0)

    def terminals(
        self, *, busy: bool | None = None, session: str | None = None, workspace: str | None = None
    ) -> list[RemoteTerminal]:
        """Return the terminals that are open: all, or those of a session or workspace, (not) running a command."""
        self._connection.check_open()
        return [
            self._connection.terminal(view)
            for view in self._connection.mirror.terminals.values()
            if busy in (None, view.state == "running")
            and session in (None, view.session)
            and workspace in (None, view.workspace)
        ]

    def background_terminals(self, *, busy: bool | None = None) -> list[RemoteTerminal]:
        """Return the terminals that belong to no session."""
        return [terminal for terminal in self.terminals(busy=busy) if terminal.view.session is None]

    async def close_terminal(self, terminal_id: str) -> None:
        """Close a terminal and everything started from it."""
        self.terminal(terminal_id)
        await self._connection.close_terminal(terminal_id)

    def rename(self, terminal_id: str, name: str | None) -> Sent:
        """Give a terminal a name for people, or none."""
        return self.terminal(terminal_id).rename(name)

    def pause(self, terminal_id: str, by: str) -> Sent:
        """Let a person have a terminal: what agents send is refused until `unpause`. What runs goes on."""
        return self.terminal(terminal_id).pause(by)

    def unpause(self, terminal_id: str) -> Sent:
        """Hand a terminal back to agents."""
        return self.terminal(terminal_id).unpause()

    def command(self, command_id: str) -> RemoteKnown:
        """Return a command that runs, or ran lately. Raises CommandNotFound."""
        self._connection.check_open()
        return self._known(self._connection.mirror.command(command_id).id)

    def commands(self, *, terminal: str | None = None, session: str | None = None) -> list[RemoteKnown]:
        """Return the commands of a terminal or a session, or all: those that run first, then the newest."""
        self._connection.check_open()
        return [self._known(view.id) for view in self._connection.mirror.newest(terminal=terminal, session=session)]

    def last_command(self, terminal_id: str) -> RemoteCommand | None:
        """Return the command that runs in a terminal, or else the last one that ran."""
        terminal = self.terminal(terminal_id)
        return terminal.current or terminal.last

    def is_hot(self, terminal_id: str) -> NoReturn:
        """Not supported: only the server sees all output. `report` waits for terminals that are hot."""
        raise NotSupported("a server does not tell whether a terminal is hot; `report` waits for those that are")

    def context(self, terminal_id: str, records: int = 15) -> NoReturn:
        """Not supported: `report` and the terminal's screen tell about the same."""
        raise NotSupported("a server does not send the context of a terminal; use `report`, or the terminal's screen")

    async def environment(self, terminal_id: str) -> dict[str, str]:
        """Return the variables that a terminal's shell exports now."""
        return await self.terminal(terminal_id).environment()

    async def environment_changes(self, terminal_id: str) -> Difference:
        """Return how the variables differ from those that the terminal's shell was started with."""
        await self.terminal(terminal_id)._ready()
        after, before = await self._connection.environment(terminal_id)
        return difference(before, after)

    def contribute_path(self, contributor: str, path: str | None, *, prepend: bool = False) -> NoReturn:
        """Not supported: the PATH of the server's terminals is the server's own."""
        raise NotSupported("a server's terminals have its own PATH; set `terminal.env`, or pass env= to open_terminal")

    # Sessions.

    def sessions(self) -> list[str]:
        """Return the sessions that go on."""
        self._connection.check_open()
        return list(self._connection.mirror.sessions)

    def bind(self, terminal_id: str, session: str | None) -> Sent:
        """Give a terminal to a session, or to none."""
        return self.terminal(terminal_id).bind(session)

    def session_cwd(self, session: str) -> str | None:
        """Return where a session is: the directory of its most recent terminal. None for one that has not begun."""
        self._connection.check_open()
        return self._connection.mirror.sessions.get(session)

    def release(self, session: str) -> Sent:
        """End a session: its terminals go on in the background, their output stays, and others may use them."""
        connection = self._connection
        connection.check_open()
        connection.mirror.check_session(session)
        path = f"/api/sessions/{part(session)}/release"
        sent = connection._outbox.send(lambda: connection.http.send("POST", path))
        connection.mirror.forget_session(session)
        return sent

    async def end(self, session: str) -> None:
        """End a session and kill everything in its terminals."""
        connection = self._connection
        connection.check_open()
        connection.mirror.check_session(session)
        own = [view.id for view in connection.mirror.terminals.values() if view.session == session]
        await self._once("POST", f"/api/sessions/{part(session)}/end", None, "whether the session was ended")
        for terminal_id in own:
            connection.mirror.forget(terminal_id, "its session was ended")
        connection.mirror.forget_session(session)

    async def report(self, session: str, *, reader: str | None = None, edited: bool = False) -> str:
        """Write what an agent should know, as Markdown. New output is told to each reader once."""
        self._connection.check_open()
        # Told once: asking again would lose what the first answer had.
        answer = await self._connection.http.send(
            "GET", f"/api/sessions/{part(session)}/report", query={"reader": reader, "edited": edited or None}
        )
        return answer.body.decode("utf-8", "replace")

    # The policy.

    @property
    def gate(self) -> NoReturn:
        """Not supported: the policy is the server's, where people answer."""
        raise NotSupported("the policy is the server's; use `check`, an approver, and the server's page")

    async def check(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        shell: str | None = None,
        session: str | None = None,
        workspace: str | None = None,
    ) -> Decision:
        """Say what the policy makes of a command, without running or asking anything. Here it has to be awaited."""
        self._connection.check_open()
        words = command if isinstance(command, str) else list(command)
        body = as_json(command=words, cwd=cwd, shell=shell, session=session, workspace=workspace)
        return decision_of((await self._connection.http.send("POST", "/api/check", body=body, repeatable=True)).json())

    # What happened.

    async def explain(self, result: CommandResult) -> NoReturn:
        """Not supported: a server sends results, and not what they mean."""
        raise NotSupported(
            "a server does not explain results; hermitty.runtime.explanation.explain(result, os.environ) does"
        )

    async def read_artifact(self, artifact_id: str, offset: int = 0, limit: int | None = None) -> Page:
        """Return a page of a command's complete output, from an offset on."""
        return await past.read_page(self._http(), artifact_id, offset, limit)

    async def read_artifact_lines(self, artifact_id: str, first: int, count: int) -> Page:
        """Return lines of a command's complete output; the first line is number 1."""
        return await past.read_lines(self._http(), artifact_id, first, count)

    async def search_artifact(self, artifact_id: str, pattern: str, *, offset: int = 0) -> SearchResult:
        """Find lines of a command's complete output by a regular expression, or literally if it is none."""
        return await past.search(self._http(), artifact_id, pattern, offset)

    async def history(self, query: Any = None) -> HistoryPage:
        """Return commands that ran, newest first. The query is a `HistoryQuery`, or anything with its fields."""
        return await past.read_history(self._http(), query)

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call back for every event from now on; return the function that ends it."""
        self._connection.check_open()
        return self._connection.subscribers.subscribe(callback)

    def events(self) -> AsyncIterator[Event]:
        """Yield events from now on."""
        self._connection.check_open()
        return self._connection.subscribers.stream()

    async def adopt(self) -> NoReturn:
        """Not supported: a server adopts what it finds by itself."""
        raise NotSupported("a server goes on with its terminals by itself")

    async def result(self, command_id: str, wait_s: float | None = 0.0) -> CommandResult:
        """Return the result of a command by its id; wait for its end that long. Raises CommandNotFound."""
        self._connection.check_open()
        checked_time("wait_s", wait_s)
        if wait_s == 0:
            return await self._connection.runs.look(command_id)
        return await self._connection.runs.wait(command_id, wait_s)

    async def leave(self) -> None:
        """Let go of the server. Its terminals go on."""
        await self.close()

    async def close(self) -> None:
        """Let go of the server. Its terminals go on: `end` a session or close terminals to end them."""
        if self._connection._is_closed:
            raise InvalidRequest("the runtime is closed already")
        await self._connection.close()

    # Inside.

    def _known(self, command_id: str) -> RemoteKnown:
        view = self._connection.mirror.command(command_id)
        handle = self._connection.command(view)
        return RemoteKnown(handle, view.terminal, view.session, view.workspace, view.started_at)

    async def _ran(self, path: str, body: dict[str, Any], wait_s: float | None) -> CommandResult:
        limit_s = self.settings.run.wait_s if wait_s is None else wait_s
        result = await self._connection.runs.run(path, body, wait_s=limit_s)
        await self._connection.catch_up(result)
        return result

    def _http(self) -> Http:
        self._connection.check_open()
        return self._connection.http

    async def _once(self, method: str, path: str, body: object, what: str) -> Any:
        """Send something that must not happen twice."""
        self._connection.check_open()
        try:
            answer = await self._connection.http.send(method, path, body=body, answer_s=None)
        except ConnectionBroke as exc:
            raise OutcomeUnknown(f"{exc.message}; unknown {what}", exc.url) from exc
        return answer.json() if answer.body else None
