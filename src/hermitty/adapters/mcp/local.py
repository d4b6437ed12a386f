"""Terminals of this process, as the tools see them."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from hermitty.adapters.mcp.flights import Keep
from hermitty.adapters.mcp.running import Running
from hermitty.adapters.mcp.terminals import Change, Line, SandboxMode, Shown, TerminalView
from hermitty.adapters.mcp.typing_into import check_keys, check_text, running_command, settle
from hermitty.errors import HermittyError, SessionNotFound, TerminalNotFound
from hermitty.events import Event, TerminalEnded, TerminalOpened
from hermitty.model import CommandResult
from hermitty.runtime.api import Command, Runtime, Sandbox, Terminal
from hermitty.runtime.approvals import Question
from hermitty.runtime.artifacts import SearchResult
from hermitty.runtime.foresight import foresee
from hermitty.runtime.outputs import Piece, output_of, read_lines, read_piece
from hermitty.runtime.pictures import png_later
from hermitty.runtime.requests import RunRequest

_MOST_HINTS = 2

ReadCast = Callable[[str], Iterator[bytes]]


class LocalTerminals:
    """The terminals of a runtime, which is its owner's. `aclose` ends what calls left behind, or hands it to `keep`."""

    def __init__(self, runtime: Runtime, *, read_cast: ReadCast | None = None, keep: Keep | None = None) -> None:
        self.runtime = runtime
        self._read_cast = read_cast
        running = Running(runtime, keep=keep)  # the part with commands: what is answered while one takes its time
        self.run = running.run
        self.call_tool = running.call_tool
        self.wait = running.wait
        self.kill = running.kill
        self.stop_waiting = running.stop_waiting
        self.aclose = running.aclose

    async def hints(self, result: CommandResult) -> list[str]:
        """Say what may help after a failure."""
        explained = await self.runtime.explain(result)
        return [f"{each.reason}: {each.command}" for each in explained.suggestions[:_MOST_HINTS]]

    # Output.

    async def read(self, target: str, *, offset: int, limit: int) -> Piece:
        """Read output from a byte on."""
        return await read_piece(await output_of(self.runtime, target), offset, limit)

    async def read_lines(self, target: str, *, first: int, count: int, limit: int) -> Piece:
        """Read lines of output."""
        return await read_lines(await output_of(self.runtime, target), first, count, limit)

    async def search(self, target: str, pattern: str, *, offset: int) -> SearchResult:
        """Find lines of output."""
        output = await output_of(self.runtime, target)
        if offset >= output.size:
            return SearchResult((), literal=False, problem=None, stopped=None, next=None, size=output.size)
        return await output.search(pattern, offset)

    async def recording(self, terminal: str) -> bytes | None:
        """Return the recording of a terminal, None if there is none."""
        if self._read_cast is None:
            return None
        read_cast = self._read_cast
        try:
            return await asyncio.to_thread(lambda: b"".join(read_cast(terminal)))
        except HermittyError:
            return None

    # Input.

    async def write(self, target: str, text: str) -> str:
        """Type for the program that runs."""
        command = running_command(self.runtime, target)
        ends_it = check_text(text)
        command.write(text)
        await settle(command, ends_it=ends_it)
        return command.id

    async def press(self, target: str, keys: Sequence[str]) -> str:
        """Press keys for the program that runs."""
        command = running_command(self.runtime, target)
        ends_it = check_keys(keys)
        for key in keys:
            command.send_key(key)
        await settle(command, ends_it=ends_it)
        return command.id

    # Terminals.

    async def screen(self, terminal: str, *, picture: bool) -> Shown:
        """Look at a terminal."""
        found = self.runtime.terminal(terminal)
        found.check_open()
        screen = found.screen
        draw = png_later(screen) if picture else None
        shown = Shown(
            terminal=found.id,
            cols=screen.size.cols,
            rows=screen.size.rows,
            cursor_col=screen.cursor.col,
            cursor_row=screen.cursor.row,
            is_alternate=screen.alternate,
            text=screen.text(),
        )
        return replace(shown, png=await asyncio.to_thread(draw)) if draw is not None else shown

    async def listed(self, session: str | None) -> list[TerminalView]:
        """List the terminals of a session, or all."""
        return [self._view(each) for each in self.runtime.terminals(session=session)]

    async def open(
        self,
        *,
        session: str,
        cwd: str | None = None,
        shell: str | None = None,
        name: str | None = None,
        env: Mapping[str, str] | None = None,
        cols: int | None = None,
        rows: int | None = None,
        sandbox: SandboxMode | None = None,
    ) -> TerminalView:
        """Open a terminal."""
        opened = await self.runtime.open_terminal(
            cwd=cwd, shell=shell, session=session, env=env, cols=cols, rows=rows, name=name, sandbox=sandbox
        )
        return self._view(opened)

    def watch(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Tell the listener what changes until the returned function is called."""
        watched: dict[str, Callable[[], None]] = {}

        def follow(terminal: Terminal) -> None:
            watched[terminal.id] = terminal.watch(lambda: listener(Change(terminal.id)))

        def on_event(event: Event) -> None:
            if isinstance(event, TerminalOpened):
                with contextlib.suppress(TerminalNotFound):  # a spare, which is nobody's yet
                    follow(self.runtime.terminal(event.terminal))
                listener(Change(None))
            elif isinstance(event, TerminalEnded):
                watched.pop(event.terminal, lambda: None)()
                listener(Change(None))

        for terminal in self.runtime.terminals():
            follow(terminal)
        stop = self.runtime.subscribe(on_event)

        def stop_all() -> None:
            stop()
            for end in watched.values():
                end()

        return stop_all

    def release(self, session: str) -> None:
        """End a session; its terminals go on in the background."""
        with contextlib.suppress(SessionNotFound):
            self.runtime.release(session)

    # The policy.

    async def check(self, command: str, *, cwd: str | None, shell: str | None, session: str) -> dict[str, Any]:
        """Say what the policy makes of a command."""
        decision = self.runtime.check(command, cwd=cwd, shell=shell, session=session)
        return cast("dict[str, Any]", decision.to_dict())

    def foresee(self, line: Line) -> Question | None:
        """Return the question that a person would be asked about a command."""
        wish = Sandbox.parse(line.sandbox)
        request = RunRequest(line.command, line.cwd, line.session, None, line.shell, env=line.env, sandbox=wish)
        return foresee(self.runtime, request, terminal_id=line.terminal)

    def _view(self, terminal: Terminal) -> TerminalView:
        info = self.runtime.info(terminal.id)
        current: Command | None = terminal.current
        return TerminalView(
            id=terminal.id,
            name=info.name,
            session=info.session,
            shell=terminal.shell,
            cwd=terminal.cwd,
            cols=terminal.size.cols,
            rows=terminal.size.rows,
            quality=terminal.quality.value,
            is_busy=terminal.is_busy,
            command=current.line if current is not None else None,
            command_id=current.id if current is not None else None,
            paused_by=terminal.paused_by,
            sandbox=None if terminal.sandbox_effective is None else terminal.sandbox_effective.summary,
        )
