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
from pathlib import Path
from typing import TextIO

import hermitty
from hermitty.cli.escapes import tell
from hermitty.cli.told import cancel_when_told
from hermitty.config import Settings
from hermitty.errors import CommandDenied, CommandSkipped
from hermitty.events import Completed, InputWanted, OutputArrived
from hermitty.model import CommandResult, State, checked_time
from hermitty.runtime.api import Command, Runtime, SettingsSource, Terminal
from hermitty.wire.records import result_to_dict, to_json

STILL_RUNNING = 124
NOT_ALLOWED = 126

# Somebody watches: output is shown this often.
_INTERVAL_S = 0.02
# More than any program prints in that time.
_LOG_BYTES = 32 * 1024 * 1024


def run_command(options: argparse.Namespace) -> int:
    """Run one command as the options say and return the exit code to leave with."""
    return asyncio.run(_run_unless_told_to_end(options))


async def _run_unless_told_to_end(options: argparse.Namespace) -> int:
    """Take everything along when this process is told to end: its children have sessions of their own."""
    work = asyncio.get_running_loop().create_task(_run(options))
    told = cancel_when_told(work)
    try:
        return await work
    except (CommandDenied, CommandSkipped) as error:
        tell(str(error))
        return NOT_ALLOWED
    except asyncio.CancelledError:
        if told:
            return 128 + told[0]
        raise


async def _run(options: argparse.Namespace) -> int:
    wait_s = checked_time("--wait", options.wait)
    kill_after_s = checked_time("--kill-after", options.kill_after)
    words: list[str] = options.command
    # One word is a line for the shell; several are the exact words of one command.
    line = words[0] if len(words) == 1 else shlex.join(words)
    async with hermitty.open(_settings(options.cwd), approver=_approver(options)) as runtime:
        if options.provider == "pipe":
            result = await _run_piped(runtime, options, words, wait_s, kill_after_s)
        else:
            terminal = await runtime.open_terminal(
                cwd=options.cwd, shell=options.shell, session=options.session, sandbox=options.sandbox
            )
            if terminal.takes_commands:
                command = await runtime.start_in(terminal.id, line, session=options.session, kill_after_s=kill_after_s)
                result = await _follow(terminal, command, wait_s, quiet=options.json)
            else:
                tell(f"{terminal.integration_failed}; running without a terminal")
                result = await _run_piped(runtime, options, words, wait_s, kill_after_s)
        result = dataclasses.replace(result, session=options.session)
        if options.json:
            _write(sys.stdout, to_json(result_to_dict(result)) + "\n")
        else:
            _explain(result)
        return exit_code_of(result)


def _approver(options: argparse.Namespace) -> "hermitty.Approver":
    """Return who is asked about commands that the policy does not allow by itself."""
    if options.yes:
        return _say_yes
    from hermitty.cli.asking import ask_on_terminal, can_ask

    return ask_on_terminal if can_ask() else _say_no


async def _say_yes(question: hermitty.Question) -> hermitty.Approval:
    return hermitty.Approval("allow", by="--yes")


async def _say_no(question: hermitty.Question) -> hermitty.Approval:
    note = "and there is no terminal to ask on; pass --yes, or keep a rule with `hermitty rules add`"
    return hermitty.Approval("deny", by="hermitty run", note=f"{'; '.join(question.reasons[:3])}, {note}")


def exit_code_of(result: CommandResult) -> int:
    """Translate a result into the exit code of this process."""
    if not result.state.is_final:
        return STILL_RUNNING
    if result.exit_code is not None:
        return result.exit_code
    return {State.INTERRUPTED: 130, State.KILLED: 137}.get(result.state, 125)


def _write(stream: TextIO, text: str) -> None:
    """Write UTF-8, whatever the locale says."""
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "replace"))
    stream.buffer.flush()


def _settings(cwd: str | None) -> Settings:
    arguments: dict[str, object] = {"terminal.log_bytes": _LOG_BYTES, "reuse.spares": 0}
    if sys.stdout.isatty():
        size = shutil.get_terminal_size()
        arguments |= {"terminal.cols": size.columns, "terminal.rows": size.lines}
    return SettingsSource(workspace=Path(cwd or "."), arguments=arguments).current()


async def _run_piped(
    runtime: Runtime, options: argparse.Namespace, words: list[str], wait_s: float | None, kill_after_s: float | None
) -> CommandResult:
    streams = {"stdout": sys.stdout.buffer, "stderr": sys.stderr.buffer}
    task = asyncio.current_task()
    broken: list[OSError] = []

    def show(stream: str, data: bytes) -> None:
        try:
            streams[stream].write(data)
            streams[stream].flush()
        except OSError as exc:  # whoever read it is gone
            broken.append(exc)
            if task is not None:
                task.cancel()

    work = runtime.run(
        words[0] if len(words) == 1 else words,
        cwd=options.cwd,
        shell=options.shell,
        provider="pipe",
        wait_s=wait_s if wait_s is not None else 1e9,
        kill_after_s=kill_after_s,
        sandbox=options.sandbox,
        on_output=None if options.json else show,
    )
    try:
        return await work
    except asyncio.CancelledError:
        if broken:
            raise broken[0] from None
        raise


async def _follow(terminal: Terminal, command: Command, wait_s: float | None, *, quiet: bool) -> CommandResult:
    """Show the output as it comes, pass keys on when a person is there, and return where it ended."""
    interactive = sys.stdin.isatty() and sys.stdout.isatty() and not quiet
    show = _Output(raw=sys.stdout.isatty(), farewell=terminal.dialect.farewell)
    with _keyboard(terminal, command) if interactive else _signals(command):
        try:
            async with asyncio.timeout(wait_s):
                async for event in command.events(_INTERVAL_S):
                    match event:
                        case OutputArrived(data=data, missed=missed) if not quiet:
                            if missed:
                                print(f"hermitty: {missed} bytes of output came too fast to be shown", file=sys.stderr)
                            show.write(data)
                        case InputWanted(needs_input) if not interactive:
                            return command.result(needs_input)
                        case Completed(result):
                            return result
        except TimeoutError:
            pass
        finally:
            show.finish(without_farewell=command.farewell is not None)
    return command.result()


class _Output:
    """Writes a terminal's bytes: as they are to a terminal, with plain line ends to anything else.

    What the shell says when it is told to exit is held back until it is known to be that.
    """

    def __init__(self, *, raw: bool, farewell: str | None) -> None:
        self._raw = raw
        self._farewell = (farewell or "").replace("\n", "\r\n").encode()
        self._held = b""

    def write(self, data: bytes) -> None:
        data = self._held + data
        if self._farewell and data.endswith(self._farewell):
            held = len(self._farewell)
        else:
            held = 1 if data.endswith(b"\r") and not self._raw else 0
        self._held = data[len(data) - held :]
        self._show(data[: len(data) - held])

    def finish(self, *, without_farewell: bool) -> None:
        if not (without_farewell and self._held == self._farewell):
            self._show(self._held)
        self._held = b""

    def _show(self, data: bytes) -> None:
        sys.stdout.buffer.write(data if self._raw else data.replace(b"\r\n", b"\n"))
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
        tell(note)
