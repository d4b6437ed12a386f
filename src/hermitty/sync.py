"""The same runtime for programs without an event loop.

    with hermitty.sync.open() as rt:
        print(rt.run("make test", wait_s=60).exit_code)

One thread runs the event loop; calls wait for it. Objects may be used from any thread.
"""

import asyncio
import os
import re
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from hermitty.config import Settings
from hermitty.errors import InvalidRequest
from hermitty.events import CommandEvent
from hermitty.model import CommandResult, ProviderName, Quality
from hermitty.runtime.api import Answer, Command, OutputSlice, Runtime, Terminal, build_runtime

__all__ = ["SyncCommand", "SyncRuntime", "SyncTerminal", "open"]

T = TypeVar("T")


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hermitty", daemon=True)
        self._thread.start()

    @property
    def is_open(self) -> bool:
        """Tell whether it still takes calls."""
        return not self._loop.is_closed()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and wait. An exception here (Ctrl-C) cancels it there."""
        if self._loop.is_closed():
            work.close()
            raise InvalidRequest("the runtime is closed; open another one")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class SyncCommand:
    """A command that runs, or has run."""

    def __init__(self, loop: _Loop, command: Command) -> None:
        self._loop = loop
        self._command = command
        self.id = command.id

    @property
    def is_running(self) -> bool:
        """Tell whether the command has not ended yet."""
        return self._command.is_running

    def wait(self, timeout_s: float | None = None, *, until_input: bool = True) -> CommandResult:
        """Wait for the end, a question, or the time-out."""
        return self._loop.call(self._command.wait(timeout_s, until_input=until_input))

    def wait_for(self, pattern: str, timeout_s: float | None = None) -> re.Match[str] | None:
        """Wait until the output matches."""
        return self._loop.call(self._command.wait_for(pattern, timeout_s))

    def events(self, interval_s: float | None = None) -> Iterator[CommandEvent]:
        """Yield output as it comes, questions, and the result at the end."""
        stream = self._command.events(interval_s)

        async def following() -> CommandEvent | None:
            return await anext(stream, None)

        while (event := self._loop.call(following())) is not None:
            yield event

    def output(self, since: int | None = None) -> OutputSlice:
        """Return raw output from an offset on."""
        return self._loop.call(_later(self._command.output, since))

    def write(self, text: str | bytes) -> None:
        """Type into the terminal while the command runs."""
        self._loop.call(_later(self._command.write, text))

    def send_key(self, key: str) -> None:
        """Press a key by name."""
        self._loop.call(_later(self._command.send_key, key))

    def interrupt(self) -> None:
        """Interrupt the program as Ctrl-C would."""
        self._loop.call(_later(self._command.interrupt))

    def kill(self) -> CommandResult:
        """Kill the command and everything it started."""
        return self._loop.call(self._command.kill())


class SyncTerminal:
    """A terminal that understands its commands."""

    def __init__(self, loop: _Loop, terminal: Terminal) -> None:
        self._loop = loop
        self._terminal = terminal
        self.id = terminal.id
        self.shell = terminal.shell

    @property
    def cwd(self) -> str | None:
        """Return the shell's directory."""
        return self._terminal.cwd

    @property
    def quality(self) -> Quality:
        """Return how much the shell tells."""
        return self._terminal.quality

    @property
    def is_busy(self) -> bool:
        """Tell whether a command runs."""
        return self._terminal.is_busy

    def start(self, line: str, *, kill_after_s: float | None = None) -> SyncCommand:
        """Send a command and return its handle at once."""
        return SyncCommand(self._loop, self._loop.call(self._terminal.start(line, kill_after_s=kill_after_s)))

    def run(self, line: str, *, wait_s: float | None = None, kill_after_s: float | None = None) -> CommandResult:
        """Run a command and wait for its end, a question, or `wait_s`."""
        return self._loop.call(self._terminal.run(line, wait_s=wait_s, kill_after_s=kill_after_s))

    def write(self, text: str | bytes) -> None:
        """Type into the terminal."""
        self._loop.call(_later(self._terminal.write, text))

    def send_key(self, key: str) -> None:
        """Press a key by name."""
        self._loop.call(_later(self._terminal.send_key, key))

    def resize(self, cols: int, rows: int) -> None:
        """Change the size."""
        self._loop.call(_later(self._terminal.resize, cols, rows))

    def screen_text(self) -> str:
        """Return what a person would see now."""
        return self._loop.call(_later(self._terminal.screen.text))

    def environment(self) -> dict[str, str]:
        """Return the variables the shell exports."""
        return self._loop.call(self._terminal.environment())

    def close(self) -> None:
        """End the shell and everything started from it."""
        self._loop.call(self._terminal.close())


class SyncRuntime:
    """Owns terminals. Use it with `with`: everything it started ends with it."""

    def __init__(self, settings: Settings | None) -> None:
        self._loop = _Loop()
        self._runtime: Runtime = self._loop.call(_later(build_runtime, settings))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop.is_open:
            self.close()

    def open_terminal(
        self,
        *,
        cwd: str | os.PathLike[str] | None = None,
        shell: str | None = None,
        session: str | None = None,
        env: Mapping[str, str] | None = None,
        cols: int | None = None,
        rows: int | None = None,
    ) -> SyncTerminal:
        """Open a terminal and wait until it takes commands."""
        opening = self._runtime.open_terminal(cwd=cwd, shell=shell, session=session, env=env, cols=cols, rows=rows)
        return SyncTerminal(self._loop, self._loop.call(opening))

    def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        session: str | None = None,
        shell: str | None = None,
        provider: ProviderName = "pty",
        env: Mapping[str, str] | None = None,
        wait_s: float | None = None,
        kill_after_s: float | None = None,
        answers: Sequence[Answer] = (),
    ) -> CommandResult:
        """Run a command and return its result; after `wait_s` it goes on in the background."""
        return self._loop.call(
            self._runtime.run(
                command,
                cwd=cwd,
                session=session,
                shell=shell,
                provider=provider,
                env=env,
                wait_s=wait_s,
                kill_after_s=kill_after_s,
                answers=answers,
            )
        )

    def terminals(self) -> list[SyncTerminal]:
        """Return the terminals that are open."""
        return [SyncTerminal(self._loop, terminal) for terminal in self._loop.call(_later(self._runtime.terminals))]

    def close(self) -> None:
        """Close every terminal and process, and end the thread."""
        try:
            self._loop.call(self._runtime.close())
        finally:
            self._loop.close()


def open(settings: Settings | None = None) -> SyncRuntime:  # noqa: A001 - read as hermitty.sync.open
    """Make a runtime whose terminals live in this process."""
    return SyncRuntime(settings)


async def _later(function: Callable[..., T], *args: Any) -> T:
    """Call a plain function inside the loop's thread."""
    return function(*args)
