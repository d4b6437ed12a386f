"""Runtimes over real shells in an empty home, whose settings can be turned while they run."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from hermitty.config import Settings
from hermitty.engine.pulse import Pulse
from hermitty.events import Event
from hermitty.runtime.api import Command, Runtime, Terminal
from tests.support.shells import PATIENCE_S


def settings_in(home: Path, **values: object) -> Settings:
    """Settings whose shells read nothing from the home of whoever runs the tests; `group__field` sets more."""
    env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / ".local")}
    usual: dict[str, object] = {
        "terminal.shell": "bash",
        "terminal.env": env,
        "terminal.shell_integration_timeout_s": PATIENCE_S,
        "run.wait_s": PATIENCE_S,
        "tools.wait_temporary_s": PATIENCE_S,
        "tools.wait_persistent_s": PATIENCE_S,
        "tools.wait_interactive_s": PATIENCE_S,
        "reuse.spares": 0,  # what is open is what the test opened
        "session.cooling_limit_s": 0.0,
    }
    given = {name.replace("__", "."): value for name, value in values.items()}
    return Settings().with_values({**usual, **given})


def found(directory: Path, name: str) -> list[Path]:
    """Every file of that name in a directory and below it."""
    return sorted(directory.glob(f"**/{name}"))


class Gate:
    """A named pipe that commands read from (`cat gate`) until the test lets them go on."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._path = path

    def let(self, text: str = "") -> None:
        """Give whoever reads this text, and then the end of the file."""
        self._path.write_text(text)


class Dial:
    """Settings that a test changes while a runtime runs."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def __call__(self) -> Settings:
        return self.settings

    def turn(self, **values: object) -> None:
        """Change settings; `group__field` names one."""
        self.settings = self.settings.with_values({name.replace("__", "."): each for name, each in values.items()})


class Listener:
    """What a runtime tells, in order."""

    def __init__(self, runtime: Runtime) -> None:
        self.events: list[Event] = []
        self._told = Pulse()
        runtime.subscribe(self._note)

    async def until(self, fact: Callable[[], bool]) -> None:
        """Wait for an event after which something is so."""
        async with asyncio.timeout(PATIENCE_S):
            while not fact():
                await self._told.wait()

    def _note(self, event: Event) -> None:
        self.events.append(event)
        self._told.fire()


async def begun(runtime: Runtime, line: str, cwd: Path, *, prints: str, session: str | None = None) -> Command:
    """Start a command that goes on, and wait until it has printed something."""
    result = await runtime.run(line, cwd=cwd, session=session, wait_s=0)
    assert result.terminal is not None
    command = runtime.last_command(result.terminal)
    assert command is not None
    assert await command.wait_for(prints, PATIENCE_S)
    return command


async def until(terminal: Terminal, fact: Callable[[], bool]) -> None:
    """Wait for output of a terminal, whoever it belongs to, or for its end, after which something is so."""
    told = Pulse()
    stop = terminal.watch(told.fire)
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not fact():
                await told.wait()
    finally:
        stop()


async def over(command: Command) -> None:
    """Wait for the end of a command."""
    assert (await command.wait(PATIENCE_S, until_input=False)).state.is_final
