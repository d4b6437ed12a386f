"""`hermitty run`: one command, its output as it comes, its exit code as ours."""

import argparse
import asyncio
import contextlib
import dataclasses
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator

import hermitty
from hermitty.config import Settings, TerminalSettings
from hermitty.events import Completed, InputWanted, OutputArrived
from hermitty.model import CommandResult, State, checked_time
from hermitty.runtime.api import Command, Runtime, Terminal
from hermitty.wire.records import result_to_dict, to_json

STILL_RUNNING = 124

# Somebody watches: output is shown this often.
_INTERVAL_S = 0.02


def run_command(options: argparse.Namespace) -> int:
    """Run one command as the options say and return the exit code to leave with."""
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    wait_s = checked_time("--wait", options.wait)
    kill_after_s = checked_time("--kill-after", options.kill_after)
    words: list[str] = options.command
    # One word is a line for the shell; several are the exact words of one command.
    line = words[0] if len(words) == 1 else shlex.join(words)
    async with hermitty.open(_settings()) as runtime:
        if options.provider == "pipe":
            result = await _run_piped(runtime, options, words, wait_s, kill_after_s)
        else:
            terminal = await runtime.open_terminal(cwd=options.cwd, shell=options.shell, session=options.session)
            if terminal.takes_commands:
                command = await terminal.start(line, kill_after_s=kill_after_s)
                result = await _follow(terminal, command, wait_s, quiet=options.json)
            else:
                print(f"hermitty: {terminal.integration_failed}; running without a terminal", file=sys.stderr)
                result = await _run_piped(runtime, options, words, wait_s, kill_after_s)
        result = dataclasses.replace(result, session=options.session)
        if options.json:
            print(to_json(result_to_dict(result)))
        else:
            _explain(result)
        return exit_code_of(result)


def exit_code_of(result: CommandResult) -> int:
    """Translate a result into the exit code of this process."""
    if not result.state.is_final:
        return STILL_RUNNING
    if result.exit_code is not None:
        return result.exit_code
    return {State.INTERRUPTED: 130, State.KILLED: 137}.get(result.state, 125)


def _settings() -> Settings:
    if not sys.stdout.isatty():
        return Settings()
    size = shutil.get_terminal_size()
    return Settings(terminal=TerminalSettings(cols=size.columns, rows=size.lines))


async def _run_piped(
    runtime: Runtime, options: argparse.Namespace, words: list[str], wait_s: float | None, kill_after_s: float | None
) -> CommandResult:
    result = await runtime.run(
        words[0] if len(words) == 1 else words,
        cwd=options.cwd,
        shell=options.shell,
        provider="pipe",
        wait_s=wait_s if wait_s is not None else 1e9,
        kill_after_s=kill_after_s,
    )
    if not options.json:
        sys.stdout.write(result.stdout or "")
        sys.stderr.write(result.stderr or "")
    return result


async def _follow(terminal: Terminal, command: Command, wait_s: float | None, *, quiet: bool) -> CommandResult:
    """Show the output as it comes, pass keys on when a person is there, and return where it ended."""
    interactive = sys.stdin.isatty() and sys.stdout.isatty() and not quiet
    show = _Output(raw=sys.stdout.isatty())
    with _keyboard(terminal, command) if interactive else _signals(command):
        try:
            async with asyncio.timeout(wait_s):
                async for event in command.events(_INTERVAL_S):
                    match event:
                        case OutputArrived(data=data) if not quiet:
                            show.write(data)
                        case InputWanted(needs_input) if not interactive:
                            return command.result(needs_input)
                        case Completed(result):
                            return result
        except TimeoutError:
            pass
        finally:
            show.finish()
    return command.result()


class _Output:
    """Writes a terminal's bytes: as they are to a terminal, with plain line ends to anything else."""

    def __init__(self, *, raw: bool) -> None:
        self._raw = raw
        self._held = b""

    def write(self, data: bytes) -> None:
        if not self._raw:
            data = self._held + data
            self._held = b"\r" if data.endswith(b"\r") else b""
            data = data.removesuffix(b"\r").replace(b"\r\n", b"\n")
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def finish(self) -> None:
        sys.stdout.buffer.write(self._held)
        sys.stdout.buffer.flush()


@contextlib.contextmanager
def _signals(command: Command) -> Iterator[None]:
    """Pass Ctrl-C on to the command; the second one kills it."""
    loop = asyncio.get_running_loop()
    tries = 0
    killing: list[asyncio.Task[CommandResult]] = []

    def interrupted() -> None:
        nonlocal tries
        tries += 1
        if not command.is_running:
            return
        if tries == 1:
            command.interrupt()
        elif not killing:
            killing.append(loop.create_task(command.kill()))

    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@contextlib.contextmanager
def _keyboard(terminal: Terminal, command: Command) -> Iterator[None]:
    """Give the keyboard to the command, and follow the size of our own terminal."""
    import termios
    import tty

    loop = asyncio.get_running_loop()
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)

    def typed() -> None:
        data = os.read(descriptor, 65536)
        if data and command.is_running:
            command.write(data)

    def resized() -> None:
        size = shutil.get_terminal_size()
        if terminal.is_open:
            terminal.resize(size.columns, size.lines)

    tty.setraw(descriptor, termios.TCSADRAIN)
    loop.add_reader(descriptor, typed)
    loop.add_signal_handler(signal.SIGWINCH, resized)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _explain(result: CommandResult) -> None:
    notes = list(result.warnings)
    if result.state is State.RUNNING:
        notes.append("still running after the wait; it is stopped now, because its terminal ends with this process")
    elif result.state is State.NEEDS_INPUT and result.needs_input is not None:
        asked = f" ({result.needs_input.prompt.strip()!r})" if result.needs_input.prompt.strip() else ""
        notes.append(f"the command waits for input{asked}, and nobody is here to type; it is stopped now")
    for note in notes:
        print(f"hermitty: {note}", file=sys.stderr)
