"""The one door to terminals and commands, for the library and everything built on it."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hermitty.config import Settings
from hermitty.engine.command import Command
from hermitty.engine.host_opener import HostOpener
from hermitty.engine.interact import Answer
from hermitty.engine.registry import Registry, TerminalInfo
from hermitty.engine.terminal import Terminal
from hermitty.errors import InvalidRequest, SessionNotFound
from hermitty.events import CommandSilent, CommandWaits, Event, Source, TerminalEnded, TerminalOpened
from hermitty.host.base import Host, Stream
from hermitty.model import CommandResult, NeedsInput, ProviderName, Size
from hermitty.output.context import DEFAULT_TAIL
from hermitty.output.pages import Page
from hermitty.runtime.artifacts import ArtifactStore, SearchResult
from hermitty.runtime.commands import Commands, Known
from hermitty.runtime.confining import Confining
from hermitty.runtime.explanation import Explanation, explain
from hermitty.runtime.history.entry import HistoryPage, HistoryQuery, entry_of_result
from hermitty.runtime.history.recorder import HistoryRecorder
from hermitty.runtime.history.writer import History
from hermitty.runtime.permits import Permits
from hermitty.runtime.prompts import PromptWatch
from hermitty.runtime.recorder import Recorder
from hermitty.runtime.report import ReportItem, cool_down, write_report
from hermitty.runtime.requests import RunRequest, checked_env
from hermitty.runtime.running import Runner
from hermitty.runtime.silence import SilenceWatch, silence_of
from hermitty.runtime.tracks import Tracks
from hermitty.sandbox.spec import Sandbox
from hermitty.shell.environment import Difference, difference
from hermitty.subscribers import Subscribers
from hermitty.vt.screen import Screen

if TYPE_CHECKING:
    from hermitty.policy.decision import Decision
    from hermitty.runtime.gate import Gate
    from hermitty.runtime.recording.recordings import Recordings
    from hermitty.runtime.state.questions import PendingQuestion
    from hermitty.runtime.surviving import Survival


class Runtime:
    """Owns terminals. Use it as an async context manager: everything it started ends with it, or goes on without it.

    Terminals belong to sessions (an agent's task) and workspaces (a project). A session that is released leaves its
    terminals behind as background terminals, which others may use.
    """

    def __init__(
        self,
        host: Host,
        settings: Callable[[], Settings],
        new_screen: Callable[[Size], Screen],
        *,
        restore_screen: Callable[[bytes], Screen] | None = None,
        artifacts: ArtifactStore,
        history: History,
        make_gate: "Callable[[Callable[[Event], None], Callable[[str, str], None]], Gate]",
        survival: "Survival | None" = None,
        recordings: "Recordings | None" = None,
        hide: Sequence[str] = (),
    ) -> None:
        self.artifacts = artifacts
        self.recordings = recordings
        self.node_states: Callable[[], Mapping[str, int]] | None = None  # of a cluster: how many nodes are how
        self._host = host
        self._current_settings = settings
        self._history = history
        self._subscribers = Subscribers()
        self._tracks = Tracks(settings)
        self._silence = SilenceWatch(lambda: self.settings.tools.silence_note_s, self._tell_silence)
        self._survival = survival
        self._commands = Commands(survival.results if survival else None)
        self._noted = HistoryRecorder(history.record, self._owner_of, lambda: self.settings.history.enabled)
        recorder = Recorder(
            self._tracks,
            artifacts,
            self._noted,
            self._silence,
            self._remember,
            self._commands.over,
            self._commands.took_s,
        )
        opener = HostOpener(host, settings, new_screen, recorder, restore_screen)
        self._registry = Registry(
            opener, self.settings.reuse, emit=self._publish, directories=survival.sessions if survival else None
        )
        self.confining = Confining(settings, hide)
        self._permits = Permits(
            settings,
            lambda: make_gate(self._subscribers.publish, self._registry.taint),
            survival.questions if survival else None,
            self.confining,
        )
        # Only where people watch.
        self._prompts = PromptWatch(self._tell_prompt) if survival is not None else None
        self._looked_after: set[asyncio.Task[None]] = set()
        # Requests that an earlier process could not finish, by the ids of their commands.
        self.resumed: dict[str, tuple[RunRequest, asyncio.Task[CommandResult]]] = {}
        if recordings is not None:
            self.subscribe(recordings.on_event)
        self._runner = Runner(
            host,
            self._registry,
            self._tracks,
            settings,
            artifacts,
            history.record,
            self._permits,
            self._commands,
            self.confining,
        )
        self._closed = False
        self._closing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._closed:
            await (self.close() if self._survival is None else self.leave())
        elif self._closing is not None:
            await asyncio.shield(self._closing)  # whoever began it may not have waited for it

    @property
    def settings(self) -> Settings:
        """Return the settings as they are now; new terminals follow them."""
        return self._current_settings()

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
        answers: Sequence[Answer] = (),
        on_output: Callable[[Stream, bytes], None] | None = None,
        merged: bool = False,
        command_id: str | None = None,
        sandbox: Sandbox | str | Mapping[str, object] | None = None,
    ) -> CommandResult:
        """Run a command and return its result; after `wait_s` it goes on in the background, state `running`.

        A terminal is reused where one fits, in the session's own directory unless `cwd` says otherwise. A list of
        words runs that program with exactly these arguments, without a shell (provider `pipe`); `on_output` is called
        with what it writes to `stdout` and `stderr`, or with all of it as `stdout`, in the order in which it was
        written, if they are `merged`. Cancelling kills the command. The id that the command is to have
        can be chosen: `c_` and 16 random digits of 0-9a-f. A sandbox confines the terminal, which then is only reused
        for commands with an equal one; raises SandboxUnavailable or SandboxRefused when it cannot be had.
        """
        self._check_open()
        request = RunRequest(
            *(command, cwd, session, workspace, shell, provider, env or {}, wait_s, kill_after_s, answers, on_output),
            command_id=command_id,
            sandbox=Sandbox.parse(sandbox),
            merged=merged,
        )
        return await self._runner.run(request)

    async def run_in(
        self,
        terminal_id: str,
        command: str,
        *,
        session: str | None = None,
        wait_s: float | None = None,
        kill_after_s: float | None = None,
        answers: Sequence[Answer] = (),
        command_id: str | None = None,
    ) -> CommandResult:
        """Run a command in a given terminal."""
        self._check_open()
        request = RunRequest(
            command,
            session=session,
            wait_s=wait_s,
            kill_after_s=kill_after_s,
            answers=answers,
            command_id=command_id,
        )
        return await self._runner.run_in(self.terminal(terminal_id), request)

    async def start_in(
        self,
        terminal_id: str,
        command: str,
        *,
        session: str | None = None,
        kill_after_s: float | None = None,
        command_id: str | None = None,
    ) -> Command:
        """Start a command in a given terminal and return its handle at once, if the policy allows it."""
        self._check_open()
        request = RunRequest(command, session=session, kill_after_s=kill_after_s, command_id=command_id)
        return await self._runner.start_in(self.terminal(terminal_id), request)

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
        answers: Sequence[Answer] = (),
        command_id: str | None = None,
        sandbox: Sandbox | str | Mapping[str, object] | None = None,
    ) -> CommandResult:
        """Run a command in a terminal of its own, which is gone afterwards. After `wait_s` the command is killed."""
        self._check_open()
        request = RunRequest(
            *(command, cwd, session, workspace, shell, "pty", env or {}, wait_s, None, answers),
            command_id=command_id,
            sandbox=Sandbox.parse(sandbox),
        )
        return await self._runner.run_temporary(request)

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
        self._check_open()
        if isinstance(commands, str):
            raise InvalidRequest("a batch is a list of commands, not one text")
        if not commands:
            raise InvalidRequest("a batch needs at least one command")
        requests = [RunRequest(each, cwd, session, workspace, shell, wait_s=wait_s) for each in commands]
        return await self._runner.run_batch(requests, stop_on_error=stop_on_error)

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
        sandbox: Sandbox | str | Mapping[str, object] | None = None,
    ) -> Terminal:
        """Open a terminal and wait until it takes commands. It is the caller's: `run` does not reuse it.

        A sandbox (`workspace`, `strict`, or a `Sandbox`) confines it for as long as it lives; what really holds is in
        its `sandbox_effective`. Raises SandboxUnavailable or SandboxRefused when it cannot be had.
        """
        self._check_open()
        chosen = self._runner.settings().terminal
        size = Size.checked(chosen.cols if cols is None else cols, chosen.rows if rows is None else rows)
        wanted = RunRequest("", cwd, session, workspace, sandbox=Sandbox.parse(sandbox))
        directory = self._runner.directory(wanted)
        lease = await self._registry.open(
            directory,
            session=session,
            workspace=workspace,
            shell=shell,
            env=checked_env(env or {}),
            size=size,
            keep=True,
            is_extra=True,
            name=name,
            sandbox=self._runner.confinement(wanted),
        )
        lease.release()
        return lease.terminal

    def terminal(self, terminal_id: str) -> Terminal:
        """Return a terminal by its id."""
        return self._registry.terminal(terminal_id)

    def info(self, terminal_id: str) -> TerminalInfo:
        """Return a terminal's number, session, workspace and how often it changed directory for others."""
        return self._registry.info(terminal_id)

    def terminals(
        self, *, busy: bool | None = None, session: str | None = None, workspace: str | None = None
    ) -> list[Terminal]:
        """Return the terminals that are open: all, or those of a session or workspace, (not) running a command."""
        return self._registry.terminals(busy=busy, session=session, workspace=workspace)

    def background_terminals(self, *, busy: bool | None = None) -> list[Terminal]:
        """Return the terminals that belong to no session."""
        return self._registry.background_terminals(busy=busy)

    async def close_terminal(self, terminal_id: str) -> None:
        """Close a terminal and everything started from it."""
        await self._registry.close_terminal(terminal_id)

    def rename(self, terminal_id: str, name: str | None) -> None:
        """Give a terminal a name for people, or none."""
        self._registry.rename(terminal_id, name)

    def pause(self, terminal_id: str, by: str) -> None:
        """Let a person have a terminal: what agents send is refused until `unpause`. What runs goes on."""
        self.terminal(terminal_id).pause(by)

    def unpause(self, terminal_id: str) -> None:
        """Hand a terminal back to agents."""
        self.terminal(terminal_id).unpause()

    def command(self, command_id: str) -> Known:
        """Return a command that runs, or ran lately. Raises CommandNotFound."""
        return self._commands.find(command_id)

    def commands(self, *, terminal: str | None = None, session: str | None = None) -> list[Known]:
        """Return the commands of a terminal or a session, or all: those that run first, then the newest."""
        return self._commands.newest(terminal=terminal, session=session)

    def last_command(self, terminal_id: str) -> Command | None:
        """Return the command that runs in a terminal, or else the last one that ran."""
        terminal = self.terminal(terminal_id)
        return terminal.current or terminal.last

    def is_hot(self, terminal_id: str) -> bool:
        """Tell whether a terminal is likely to print more soon."""
        return self._tracks.is_hot(self.terminal(terminal_id).id)

    def context(self, terminal_id: str, records: int = DEFAULT_TAIL) -> str:
        """Return the last pieces of a terminal's output, as they came."""
        return self._tracks.of(self.terminal(terminal_id).id).context.text(records)

    async def environment(self, terminal_id: str) -> dict[str, str]:
        """Return the variables that a terminal's shell exports now."""
        return await self.terminal(terminal_id).environment()

    async def environment_changes(self, terminal_id: str) -> Difference:
        """Return how the variables differ from those that the terminal's shell was started with."""
        terminal = self.terminal(terminal_id)
        return difference(terminal.started_with, await terminal.environment())

    def contribute_path(self, contributor: str, path: str | None, *, prepend: bool = False) -> None:
        """Set what a contributor adds to the PATH of new terminals; None removes it."""
        self._registry.contribute_path(contributor, path, prepend=prepend)

    # Sessions.

    def sessions(self) -> list[str]:
        """Return the sessions that have begun and were not released, oldest first."""
        return self._registry.sessions()

    def bind(self, terminal_id: str, session: str | None) -> None:
        """Give a terminal to a session, or to none."""
        self._registry.bind(terminal_id, session)

    def session_cwd(self, session: str) -> str | None:
        """Return where a session is: the directory of its most recent terminal. None for one that has not begun."""
        return self._registry.session_cwd(session)

    def release(self, session: str) -> None:
        """End a session: its terminals go on in the background, their output stays, and others may use them."""
        self._check_session(session)
        self._registry.release_session(session)
        self._tracks.forget_reader(session)
        self._permits.forget_session(session)

    async def end(self, session: str) -> None:
        """End a session and kill everything in its terminals."""
        self._check_session(session)
        await self._registry.end_session(session)
        self._tracks.forget_reader(session)
        self._permits.forget_session(session)

    async def report(self, session: str, *, reader: str | None = None, edited: bool = False) -> str:
        """Write what an agent should know, as Markdown. New output is told to each reader once.

        Waits a moment for terminals that are likely to print more; `edited` says that a file was just saved.
        """
        self._check_open()
        own = [*self.terminals(session=session), *self.background_terminals()]
        busy = [terminal for terminal in own if terminal.is_busy]
        settings = self.settings
        if busy:
            await cool_down(
                lambda: any(terminal.is_busy and self._tracks.is_hot(terminal.id) for terminal in busy),
                edited=edited,
                settings=settings.session,
            )
        there = sorted((terminal for terminal in own if terminal.is_open), key=lambda each: not each.is_busy)
        items = [
            ReportItem(
                terminal,
                (info := self.info(terminal.id)).number,
                info.session is None,
                self._tracks.news(reader or session, terminal.id),
            )
            for terminal in there[: settings.output.report_terminals]
        ]
        return write_report(
            items,
            not_shown=len(there) - len(items),
            characters=settings.output.report_characters,
            silence_s=lambda command: silence_of(command, settings.tools.silence_note_s),
        )

    # The policy.

    @property
    def gate(self) -> "Gate":
        """Return the policy of this runtime, with its rules, its questions and its record of decisions."""
        return self._permits.gate

    def check(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        shell: str | None = None,
        session: str | None = None,
        workspace: str | None = None,
    ) -> "Decision":
        """Say what the policy makes of a command, without running or asking anything."""
        request = RunRequest(command, cwd, session, workspace, shell)
        where = self._registry.path(self._runner.directory(request), session)
        program = os.path.basename(self._registry.shell(shell)) if isinstance(command, str) else "sh"
        return self.gate.decide(command, shell=program, cwd=where, workspace=request.root(where), session=session)

    # What happened.

    async def explain(self, result: CommandResult) -> Explanation:
        """Say what a result means: a summary, its output as data where its form is known, and what to try next."""
        return await asyncio.to_thread(explain, result, self._host.environment())

    async def read_artifact(self, artifact_id: str, offset: int = 0, limit: int | None = None) -> Page:
        """Return a page of a command's complete output, from an offset on."""
        return await self.artifacts.read(artifact_id, offset, limit or self.settings.output.artifact_page_bytes)

    async def read_artifact_lines(self, artifact_id: str, first: int, count: int) -> Page:
        """Return lines of a command's complete output; the first line is number 1."""
        return await self.artifacts.lines(artifact_id, first, count)

    async def search_artifact(self, artifact_id: str, pattern: str, *, offset: int = 0) -> SearchResult:
        """Find lines of a command's complete output by a regular expression, or literally if it is none."""
        return await self.artifacts.search(artifact_id, pattern, offset=offset)

    async def history(self, query: HistoryQuery | None = None) -> HistoryPage:
        """Return commands that ran, newest first, also those of earlier runtimes."""
        return await self._history.search(query or HistoryQuery())

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call back for every event from now on; return the function that ends it."""
        return self._subscribers.subscribe(callback)

    def events(self) -> AsyncIterator[Event]:
        """Yield events from now on."""
        return self._subscribers.stream()

    async def adopt(self) -> int:
        """Go on with what another process left: terminals on this host, and questions. Tell how many terminals."""
        count = await self._adopt_terminals()
        if self._survival is not None:
            for result in self._survival.results.give_up(self._commands.running):
                self._history.record(
                    entry_of_result(result, started_at=time.time() - result.duration_s, cwd=result.cwd)
                )
            for pending in self._survival.questions.left():
                self._go_on_with(pending)
        return count

    async def _adopt_terminals(self) -> int:
        """Go on with the terminals that are on this host and nobody uses; tell how many there were."""
        self._check_open()
        count = await self._registry.adopt()
        for terminal_id, why in self._registry.taints().items():
            self.gate.taints.add(terminal_id, why)
        return count

    def _look_after(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something in a task that ends with the runtime."""
        task = asyncio.get_running_loop().create_task(work)
        self._looked_after.add(task)
        task.add_done_callback(self._looked_after.discard)
        return task

    def _go_on_with(self, pending: "PendingQuestion") -> None:
        """Ask a question again in a task that ends with the runtime. Whoever sends the request again finds it here."""

        def over(task: asyncio.Task[CommandResult]) -> None:
            self.resumed.pop(command_id, None)
            if not task.cancelled():
                task.exception()  # no; or the terminal is gone. The audit has it.

        command_id = str(pending.request.command_id)
        task = asyncio.get_running_loop().create_task(self._ask_again(pending))
        self.resumed[command_id] = (pending.request, task)
        task.add_done_callback(over)

    async def result(self, command_id: str, wait_s: float | None = 0.0) -> CommandResult:
        """Return the result of a command by its id; wait for its end that long. Raises CommandNotFound."""
        if command_id not in self._commands:
            return self._commands.kept(command_id)
        known = self._commands.find(command_id)
        if wait_s != 0 and known.handle.is_running:
            return replace(await known.handle.wait(wait_s), session=known.session)
        return known.result()

    async def leave(self) -> None:
        """Let go of everything: terminals on a host that outlives this process go on, the rest ends.

        Whoever is cancelled only stops waiting for it.
        """
        self._permits.leave()
        self._start_closing()
        await self._to_its_end(self._leave())

    async def close(self) -> None:
        """Close every terminal and process. Whoever is cancelled only stops waiting for it."""
        self._start_closing()
        await self._to_its_end(self._close())

    async def _to_its_end(self, closing: Coroutine[Any, Any, None]) -> None:
        """Wait for something that goes on when nobody does: half closed is worse than late."""
        self._closing = asyncio.get_running_loop().create_task(closing)
        await asyncio.shield(self._closing)

    async def _leave(self) -> None:
        await self._stop_watching()
        await self._registry.leave()
        await self._runner.close()
        await self._host.leave()
        self.artifacts.leave()
        await self._store_the_rest()

    async def _close(self) -> None:
        await self._registry.close()
        await self._stop_watching()
        await self._runner.close()
        await self._host.aclose()
        self.artifacts.close()
        await self._store_the_rest()

    async def _stop_watching(self) -> None:
        if self._prompts is not None:
            await self._prompts.close()
        if self.recordings is not None:
            await self.recordings.close()

    async def _store_the_rest(self) -> None:
        if tasks := self._own_tasks():
            await asyncio.wait(tasks)
        self._noted.close()
        await self._history.aclose()
        if self._survival is not None:
            self._commands.forget_kept()
            self._survival.close()

    def _own_tasks(self) -> list[asyncio.Task[Any]]:
        return [*self._looked_after, *(task for _, task in self.resumed.values())]

    def _start_closing(self) -> None:
        if self._closed:
            raise InvalidRequest("the runtime is closed already")
        self._closed = True
        self._silence.close()
        self._permits.close()
        for task in self._own_tasks():
            task.cancel()

    async def _ask_again(self, pending: "PendingQuestion") -> CommandResult:
        """Ask a question once more that an earlier process asked, and go on with the answer."""
        if pending.terminal is not None:
            return await self._runner.run_in(self.terminal(pending.terminal), pending.request)
        return await self._runner.run(pending.request)

    def _publish(self, event: Event) -> None:
        if self.recordings is not None and isinstance(event, TerminalOpened):
            self.recordings.follow(self.terminal(event.terminal), name=self.info(event.terminal).name)
        self._subscribers.publish(event)
        if isinstance(event, TerminalEnded):
            self._tracks.forget(event.terminal)
            self._permits.forget_terminal(event.terminal)

    def _tell_prompt(self, terminal: Terminal, command: Command, asked: NeedsInput) -> None:
        source: Source = "user" if command.origin == "user" else "agent"
        self._publish(CommandWaits(terminal.id, command.id, command.line, source, asked.prompt, asked.secret))

    def _tell_silence(self, terminal: Terminal, command: Command, silent_s: float) -> None:
        source: Source = "user" if command.origin == "user" else "agent"
        self._publish(CommandSilent(terminal.id, command.id, command.line, source, silent_s))

    def _remember(self, terminal: Terminal, command: Command) -> None:
        if self._prompts is not None:
            self._prompts.began(terminal, command)
        session, workspace = self._owner_of(terminal.id)
        self._commands.add(command, terminal=terminal.id, session=session, workspace=workspace)

    def _owner_of(self, terminal_id: str) -> tuple[str | None, str | None]:
        return self._registry.owner(terminal_id)

    def _check_session(self, session: str) -> None:
        known = self._registry.sessions()
        if session not in known:
            raise SessionNotFound(session, known)

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidRequest("the runtime is closed; open another one")
