"""The same runtime for programs without an event loop.

    with hermitty.sync.open() as rt:
        print(rt.run("make test", wait_s=60).exit_code)

One thread runs the event loop; calls wait for it. Objects may be used from any thread.
"""

import asyncio
import concurrent.futures
import functools
import inspect
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast

import hermitty
from hermitty.config import Settings
from hermitty.errors import InvalidRequest
from hermitty.events import CommandEvent, Event
from hermitty.model import CommandId, CommandResult, Quality, Size
from hermitty.runtime.api import Command, Runtime, Terminal, build_runtime

if TYPE_CHECKING:
    from hermitty.client.runtime import RemoteRuntime
    from hermitty.runtime.approvals import Approver
    from hermitty.runtime.gate import Gate

__all__ = ["SyncCommand", "SyncRuntime", "SyncTerminal", "open"]

T = TypeVar("T")
P = ParamSpec("P")

# So long may calls of other threads take to come back once the runtime is closed.
_LAST_WORDS_S = 0.5


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.event_loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.event_loop.run_forever, name="hermitty", daemon=True)
        self._thread.start()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def is_open(self) -> bool:
        """Tell whether it still takes calls."""
        return not self._closed

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and wait. An exception here (Ctrl-C) cancels it there."""
        if threading.current_thread() is self._thread:
            work.close()
            raise InvalidRequest(
                "a callback cannot wait for the runtime that calls it; hand the work to another thread"
            )
        with self._lock:
            if self._closed:
                work.close()
                raise InvalidRequest("the runtime is closed; open another one")
            future = asyncio.run_coroutine_threadsafe(work, self.event_loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise InvalidRequest("the runtime was closed by another thread in the meantime") from None
        except BaseException:  # Ctrl-C, too: whoever waited is gone, so what it waited for ends
            future.cancel()
            raise

    def close(self, last: Coroutine[Any, Any, None] | None = None) -> None:
        """Do a last thing there, release whoever still waits, and end the thread."""
        with self._lock:
            if self._closed:
                if last is not None:
                    last.close()
                raise InvalidRequest("the runtime is closed already")
            self._closed = True
            future = asyncio.run_coroutine_threadsafe(self._finish(last), self.event_loop)
        try:
            future.result()
        finally:
            self.event_loop.call_soon_threadsafe(self.event_loop.stop)
            self._thread.join()
            self.event_loop.close()

    async def _finish(self, last: Coroutine[Any, Any, None] | None) -> None:
        try:
            if last is not None:
                await last
        finally:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if others:
                # Commands have ended with their terminals, and their waits with them; the rest waits for nothing.
                _, pending = await asyncio.wait(others, timeout=_LAST_WORDS_S)
                for task in pending:
                    task.cancel()
                await asyncio.gather(*pending, return_exceptions=True)
            await self.event_loop.shutdown_asyncgens()


class _Mirror(Generic[T]):
    """An object whose real one lives in the thread of the loop."""

    def __init__(self, loop: _Loop, real: T) -> None:
        self._loop = loop
        self._real = real


def _awaited(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[_Mirror[Any], P], T]:
    """Make the blocking form of an asynchronous method, with the same parameters and words."""

    def call(self: _Mirror[Any], /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self._loop.call(_done(self._real, method.__name__, args, kwargs))
        return result

    functools.update_wrapper(call, method)
    return call


def _there(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[_Mirror[Any], P], T]:
    """Make the form of a plain method that runs in the thread of the loop."""

    def call(self: _Mirror[Any], /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self._loop.call(_done(self._real, method.__name__, args, kwargs))
        return result

    functools.update_wrapper(call, method)
    return call


class SyncCommand(_Mirror[Command]):
    """A command that runs, or has run."""

    @property
    def id(self) -> CommandId:
        """Return its id."""
        return self._real.id

    @property
    def is_running(self) -> bool:
        """Tell whether the command has not ended yet."""
        return self._real.is_running

    wait = _awaited(Command.wait)
    wait_for = _awaited(Command.wait_for)
    kill = _awaited(Command.kill)
    output = _there(Command.output)
    write = _there(Command.write)
    send_key = _there(Command.send_key)
    interrupt = _there(Command.interrupt)

    def events(self, interval_s: float | None = None) -> Iterator[CommandEvent]:
        """Yield output as it comes, questions, and the result at the end."""
        return _each(self._loop, self._real.events(interval_s))

    def result(self) -> CommandResult:
        """Return what is known now."""
        return self._loop.call(_later(self._real.result))


class SyncTerminal(_Mirror[Terminal]):
    """A terminal that understands its commands."""

    def __init__(self, loop: _Loop, real: Terminal) -> None:
        super().__init__(loop, real)
        self.id = real.id
        self.shell = real.shell

    @property
    def cwd(self) -> str | None:
        """Return the shell's directory."""
        return self._real.cwd

    @property
    def quality(self) -> Quality:
        """Return how much the shell tells."""
        return self._real.quality

    @property
    def size(self) -> Size:
        """Return columns and rows."""
        return self._real.size

    @property
    def is_open(self) -> bool:
        """Tell whether the terminal can be used."""
        return self._real.is_open

    @property
    def is_busy(self) -> bool:
        """Tell whether a command runs."""
        return self._real.is_busy

    @property
    def current(self) -> SyncCommand | None:
        """Return the command that runs, if there is one."""
        command = self._real.current
        return None if command is None else SyncCommand(self._loop, command)

    run = _awaited(Terminal.run)
    environment = _awaited(Terminal.environment)
    write = _there(Terminal.write)
    send_key = _there(Terminal.send_key)
    resize = _there(Terminal.resize)

    def start(
        self,
        line: str,
        *,
        kill_after_s: float | None = None,
        verify: bool = False,
        command_id: CommandId | None = None,
        decided: tuple[str, str | None] | None = None,
    ) -> SyncCommand:
        """Send a command and return its handle at once."""
        starting = self._real.start(
            line, kill_after_s=kill_after_s, verify=verify, command_id=command_id, decided=decided
        )
        return SyncCommand(self._loop, self._loop.call(starting))

    def screen_text(self) -> str:
        """Return what a person would see now."""
        text: str = self._loop.call(_done(self._real.screen, "text", (), {}))
        return text

    def close(self) -> None:
        """End the shell and everything started from it."""
        self._loop.call(self._real.close())


class SyncRuntime(_Mirror[Runtime]):
    """Owns terminals. Use it with `with`: everything it started ends with it."""

    def __init__(
        self,
        settings: Settings | None,
        approver: "Approver | None" = None,
        *,
        connect: "Callable[[], RemoteRuntime] | None" = None,
    ) -> None:
        loop = _Loop()
        try:
            if connect is None:
                super().__init__(loop, loop.call(_later(build_runtime, settings, approver=approver)))
            else:
                # The same methods; those that wait here need not there, and the other way round.
                super().__init__(loop, cast("Runtime", loop.call(_connected(connect))))
        except BaseException:  # nothing was opened: its thread ends
            loop.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop.is_open:
            self.close()

    @property
    def asynchronous(self) -> tuple[Runtime, asyncio.AbstractEventLoop]:
        """Return the runtime behind this one and the event loop it lives in, for those who build on it."""
        return self._real, self._loop.event_loop

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in that event loop and wait for it."""
        return self._loop.call(work)

    @property
    def settings(self) -> Settings:
        """Return the settings as they are now."""
        return self._real.settings

    @property
    def gate(self) -> "Gate":
        """Return the policy of this runtime."""
        return self._loop.call(_later(lambda: self._real.gate))

    run = _awaited(Runtime.run)
    run_in = _awaited(Runtime.run_in)
    run_temporary = _awaited(Runtime.run_temporary)
    run_batch = _awaited(Runtime.run_batch)
    close_terminal = _awaited(Runtime.close_terminal)
    environment = _awaited(Runtime.environment)
    environment_changes = _awaited(Runtime.environment_changes)
    end = _awaited(Runtime.end)
    report = _awaited(Runtime.report)
    history = _awaited(Runtime.history)
    read_artifact = _awaited(Runtime.read_artifact)
    read_artifact_lines = _awaited(Runtime.read_artifact_lines)
    search_artifact = _awaited(Runtime.search_artifact)
    explain = _awaited(Runtime.explain)
    adopt = _awaited(Runtime.adopt)
    result = _awaited(Runtime.result)
    info = _there(Runtime.info)
    rename = _there(Runtime.rename)
    pause = _there(Runtime.pause)
    unpause = _there(Runtime.unpause)
    command = _there(Runtime.command)
    commands = _there(Runtime.commands)
    check = _there(Runtime.check)
    is_hot = _there(Runtime.is_hot)
    context = _there(Runtime.context)
    contribute_path = _there(Runtime.contribute_path)
    bind = _there(Runtime.bind)
    sessions = _there(Runtime.sessions)
    session_cwd = _there(Runtime.session_cwd)
    release = _there(Runtime.release)

    def open_terminal(
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
        sandbox: Any = None,
    ) -> SyncTerminal:
        """Open a terminal and wait until it takes commands."""
        opening = self._real.open_terminal(
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
        return SyncTerminal(self._loop, self._loop.call(opening))

    def terminal(self, terminal_id: str) -> SyncTerminal:
        """Return a terminal by its id."""
        return SyncTerminal(self._loop, self._loop.call(_later(self._real.terminal, terminal_id)))

    def terminals(
        self, *, busy: bool | None = None, session: str | None = None, workspace: str | None = None
    ) -> list[SyncTerminal]:
        """Return the terminals that are open: all, or those of a session or workspace, (not) running a command."""
        found = self._loop.call(_later(self._real.terminals, busy=busy, session=session, workspace=workspace))
        return [SyncTerminal(self._loop, terminal) for terminal in found]

    def background_terminals(self, *, busy: bool | None = None) -> list[SyncTerminal]:
        """Return the terminals that belong to no session."""
        found = self._loop.call(_later(self._real.background_terminals, busy=busy))
        return [SyncTerminal(self._loop, terminal) for terminal in found]

    def start_in(
        self,
        terminal_id: str,
        command: str,
        *,
        session: str | None = None,
        kill_after_s: float | None = None,
        command_id: str | None = None,
    ) -> SyncCommand:
        """Start a command in a given terminal and return its handle at once, if the policy allows it."""
        starting = self._real.start_in(
            terminal_id, command, session=session, kill_after_s=kill_after_s, command_id=command_id
        )
        return SyncCommand(self._loop, self._loop.call(starting))

    def last_command(self, terminal_id: str) -> SyncCommand | None:
        """Return the command that runs in a terminal, or else the last one that ran."""
        command = self._loop.call(_later(self._real.last_command, terminal_id))
        return None if command is None else SyncCommand(self._loop, command)

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call back, in the runtime's thread, for every event from now on; return the function that ends it."""
        stop = self._loop.call(_later(self._real.subscribe, callback))

        def unsubscribe() -> None:
            if self._loop.is_open:
                self._loop.call(_later(stop))

        return unsubscribe

    def events(self) -> Iterator[Event]:
        """Yield events from now on, until the runtime is closed."""
        return self._until_closed(_each(self._loop, self._loop.call(_later(self._real.events))))

    def close(self) -> None:
        """Close every terminal and process, and end the thread."""
        self._loop.close(self._real.close())

    def leave(self) -> None:
        """Let go of everything: terminals on a host that outlives this process go on, the rest ends."""
        self._loop.close(self._real.leave())

    def _until_closed(self, events: Iterator[Event]) -> Iterator[Event]:
        try:
            yield from events
        except InvalidRequest:
            if self._loop.is_open:
                raise


def open(  # noqa: A001 - read as hermitty.sync.open
    settings: Settings | None = None,
    *,
    approver: "Approver | None" = None,
    url: str | None = None,
    token: str | None = None,
    retry_s: float | None = None,
) -> SyncRuntime:
    """Make a runtime whose terminals live in this process, or with the server at `url`, which is connected to at once.

    The approver is asked in a thread of its own.
    """
    if url is None:
        if token is not None or retry_s is not None:
            raise InvalidRequest("a token is for a server; name it with url=")
        return SyncRuntime(settings, approver)
    if settings is not None:
        raise InvalidRequest("a server has its own settings; leave them out")
    return SyncRuntime(
        None,
        connect=lambda: hermitty.open(url=url, token=token, approver=approver, retry_s=retry_s),
    )


async def _connected(connect: "Callable[[], RemoteRuntime]") -> "RemoteRuntime":
    return await connect().__aenter__()


async def _done(real: object, name: str, args: Any, kwargs: Any) -> Any:
    """Call a method inside the loop's thread. What it is for a server may have to be waited for."""
    result = getattr(real, name)(*args, **kwargs)
    return await result if inspect.isawaitable(result) else result


async def _later(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Call a plain function inside the loop's thread."""
    return function(*args, **kwargs)


def _each(loop: _Loop, stream: AsyncIterator[T]) -> Iterator[T]:
    """Yield what an asynchronous generator yields, and end it when nobody wants more."""

    async def following() -> T | None:
        return await anext(stream, None)

    async def end() -> None:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()

    try:
        while (item := loop.call(following())) is not None:
            yield item
    finally:
        if loop.is_open:
            loop.call(end())
