"""Opening a terminal: plan, start, wait for the integration, and what to do when it does not come."""

import asyncio
import secrets
from collections.abc import Callable
from typing import Literal

from hermitty.config import Settings
from hermitty.engine.keeping import keep_birth
from hermitty.engine.observer import Observer
from hermitty.engine.terminal import Terminal
from hermitty.errors import HostUnavailable, SandboxUnavailable, TerminalClosed
from hermitty.events import NoShellIntegration, TerminalEvent, TerminalOpened
from hermitty.host.base import Host, PtySpec, shell_directory
from hermitty.model import Quality, Size, TerminalId
from hermitty.sandbox.hidden import confined_environment
from hermitty.sandbox.spec import Confinement
from hermitty.shell.dialect import Dialect, ShellOptions, Startup
from hermitty.shell.launch import DIALECTS, choose_shell, shell_name, terminal_environment
from hermitty.shell.quoting import quote_posix
from hermitty.vt.screen import Screen

# A shell without integration is looked at this often, until it reads its first line.
_LOOK_S = 0.02
# What that line is about.
_PROBE = "probe"
_PROBE_DONE = "obeyed"


async def open_terminal(
    host: Host,
    terminal_id: TerminalId,
    *,
    cwd: str,
    shell: str | None,
    env: dict[str, str],
    size: Size,
    settings: Settings,
    new_screen: Callable[[Size], Screen],
    emit: Callable[[TerminalEvent], None],
    observer: Observer | None = None,
    sandbox: Confinement | None = None,
) -> Terminal:
    """Open a terminal and wait until it takes commands. A failed or cancelled open leaves nothing behind."""
    await host.check_directory(cwd)
    base = confined_environment(host.environment(), sandbox)
    wanted = settings.terminal.shell if shell is None else shell
    program, dialect = await find_shell(host, wanted)
    options = _options(settings)
    nonce = secrets.token_hex(16)
    private = await host.make_directory(terminal_id)
    directory = shell_directory(private, sandbox)
    full_env = terminal_environment(base, {**settings.terminal.env, **env})
    integrate = not settings.terminal.shell_integration_disabled
    startup = dialect.startup(nonce, directory, full_env, options) if integrate else Startup(args=("-i",))
    terminal = Terminal(
        terminal_id,
        dialect,
        nonce=nonce,
        directory=directory,
        cwd=cwd,
        size=size,
        screen=new_screen(size),
        options=options,
        settings=settings.terminal,
        run_settings=settings.run,
        emit=emit,
        observer=observer,
    )
    terminal.started_with = full_env
    terminal.sandbox = sandbox
    spec = PtySpec(
        terminal=terminal_id,
        program=program,
        args=startup.args,
        cwd=cwd,
        env=_with_startup(full_env, startup, env, directory),
        size=size,
        directory=private,
        files=startup.files,
        log_bytes=settings.terminal.log_bytes,
        sandbox=sandbox,
    )
    try:
        terminal.pty = await host.open(spec, terminal)
    except BaseException:
        terminal.screen.close()
        raise
    try:
        await _integration(terminal, dialect, startup, directory, settings, emit)
    except TerminalClosed as exc:
        await terminal.finished()
        if sandbox is not None and (said := terminal.log.read(terminal.log.start).data.strip()):
            # What could not set the sandbox up says why on the terminal.
            raise SandboxUnavailable(f"{exc.message}: {said[-500:].decode(errors='replace')}") from exc
        raise
    except BaseException:
        if terminal.is_open:
            await terminal.close("it could not be opened")
        await terminal.finished()
        raise
    for name in startup.secret_files:
        terminal.pty.drop_file(name)
    terminal.pty.remember_program()
    if terminal.pty.is_durable:
        try:
            keep_birth(terminal, program)
        except OSError as exc:
            await terminal.close("it could not be opened")
            raise HostUnavailable(f"cannot open a terminal: {exc.strerror or exc}") from exc
    emit(TerminalOpened(terminal.id, terminal.shell, cwd, terminal.quality))
    return terminal


async def find_shell(host: Host, wanted: str | None) -> tuple[str, Dialect]:
    """Return the path and dialect of the wanted shell on a host, or of the best one there is. Raises UnknownShell."""
    preferred = host.environment().get("SHELL")
    # First what is likely; the others are asked for when they are to be named in the error.
    names = (wanted,) if wanted is not None else tuple(filter(None, (preferred, "bash", "sh")))
    found = {name: await host.find_program(name) for name in names}
    if not any(found.values()) or (wanted is not None and shell_name(wanted) not in DIALECTS):
        found |= {name: await host.find_program(name) for name in DIALECTS}
    return choose_shell(wanted, preferred, found.get)


async def _integration(
    terminal: Terminal,
    dialect: Dialect,
    startup: Startup,
    directory: str,
    settings: Settings,
    emit: Callable[[TerminalEvent], None],
) -> None:
    """Wait for the first prompt with our markers; without one, find out what can be used instead."""
    limit_s = settings.terminal.shell_integration_timeout_s
    if startup.files:
        if not await terminal.prompt.is_there.wait(limit_s):
            terminal.integration_failed = f"no sign of the shell integration within {limit_s:g} s"
        if not terminal.is_open:
            raise TerminalClosed(terminal.id, f"{terminal.closed_because} while it started")
        if terminal.integration_failed is None:
            terminal.quality = dialect.quality
            return
    else:
        terminal.integration_failed = "the shell integration is switched off"
    usable = dialect.is_posix and await _reads_soon(terminal, limit_s) and await _obeys(terminal, directory, limit_s)
    if usable:
        terminal.use_sentinel()
    terminal.quality = Quality.NONE
    terminal.takes_commands = usable
    fallback: Literal["sentinel", "pipe"] = "sentinel" if usable else "pipe"
    emit(NoShellIntegration(terminal.id, terminal.shell, terminal.integration_failed, fallback))


async def _reads_soon(terminal: Terminal, limit_s: float) -> bool:
    """Tell whether the shell reads from its terminal, now or within the time a start may take."""
    try:
        async with asyncio.timeout(limit_s if terminal.log.end == 0 else max(0.2, limit_s / 10)):
            while terminal.is_open and not await terminal.shell_waits():
                await asyncio.sleep(_LOOK_S)  # the kernel does not tell when a process starts to read
    except TimeoutError:
        return False
    return terminal.is_open


async def _obeys(terminal: Terminal, directory: str, limit_s: float) -> bool:
    """Tell whether it is the shell that reads: a startup file may have put another program there, or ask something.

    It is told to make a file, which anything else that reads the line does not do.
    """
    script = f"command : >|{quote_posix(f'{directory}/{_PROBE_DONE}')}\n"
    terminal.pty.put_file(_PROBE, script.encode("utf-8", "surrogateescape"))
    terminal.pty.discard_input()
    terminal.pty.write(b"\x15" + f" . {quote_posix(f'{directory}/{_PROBE}')}\r".encode("utf-8", "surrogateescape"))
    try:
        async with asyncio.timeout(limit_s):
            while terminal.is_open and await terminal.pty.get_file(_PROBE_DONE) is None:
                await asyncio.sleep(_LOOK_S)  # a file does not tell when it is made
    except TimeoutError:
        return False
    return terminal.is_open


def _with_startup(full_env: dict[str, str], startup: Startup, asked: dict[str, str], directory: str) -> dict[str, str]:
    """Add what the shell needs for its start. What the caller asked for wins, unless the integration comes in that way.

    A variable that points into the private directory (ZDOTDIR, ENV) is one that the integration script gives back.
    """
    ways_in = {name: value for name, value in startup.env.items() if value.startswith(directory)}
    return {**full_env, **startup.env, **asked, **ways_in}


def _options(settings: Settings) -> ShellOptions:
    chosen = settings.terminal
    return ShellOptions(
        login=chosen.login_shell,
        keep_history_clean=chosen.keep_history_clean,
        command_delay_s=chosen.command_delay_s,
        zsh_clear_eol_mark=chosen.zsh_clear_eol_mark,
        zsh_oh_my=chosen.zsh_oh_my,
        zsh_p10k=chosen.zsh_p10k,
        zdotdir=chosen.zdotdir,
        powershell_counter=chosen.powershell_counter,
    )
