"""The peers: other ways to run commands in a shell that stays, each used as its documentation shows.

A peer that is not installed is named on standard error and left out.
"""

import asyncio
import contextlib
import importlib
import logging
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bench.machine import say
from bench.turns import Contender

_POLL_S = 0.001
_TIMEOUT_S = 10.0


def installed_peers(*, samples: int, few: int) -> list[Contender]:
    """Return the peers that are here. `samples` is for the quick ones; the slow ones take `few`."""
    found = []
    if _is_installed("pexpect"):
        # It sleeps 50 ms before it sends anything, unless told not to.
        found.append(Contender("pexpect", _open_pexpect, few, is_peer=True))
        found.append(Contender("pexpect_without_delay", lambda: _open_pexpect(delay_s=None), samples, is_peer=True))
    if _is_installed("swerex"):
        found.append(Contender("swe_rex", _open_swe_rex, few, is_peer=True))
    if _is_installed("libtmux") and _is_program("tmux"):
        found.append(Contender("libtmux", _open_libtmux, few, is_peer=True))
    return found


class PexpectShell:
    """pexpect's wrapper for interactive programs. It does not tell exit codes, so the line prints its own."""

    def __init__(self, wrapper: Any) -> None:
        self._wrapper = wrapper

    async def run_true(self) -> None:
        output = self._wrapper.run_command("true; echo $?")
        if output.split() != ["0"]:
            raise AssertionError(f"pexpect read {output!r}")


@contextlib.asynccontextmanager
async def _open_pexpect(delay_s: float | None = 0.05) -> AsyncIterator[PexpectShell]:
    wrapper = importlib.import_module("pexpect.replwrap").bash()
    wrapper.child.delaybeforesend = delay_s
    try:
        yield PexpectShell(wrapper)
    finally:
        wrapper.child.close(force=True)


class SweRexShell:
    """The bash session of SWE-ReX, in this process and without its server."""

    def __init__(self, session: Any, action: Any) -> None:
        self._session = session
        self._action = action

    async def run_true(self) -> None:
        seen = await self._session.run(self._action)
        if seen.exit_code != 0:
            raise AssertionError(f"SWE-ReX told {seen!r}")


@contextlib.asynccontextmanager
async def _open_swe_rex() -> AsyncIterator[SweRexShell]:
    requests = importlib.import_module("swerex.runtime.abstract")
    local = importlib.import_module("swerex.runtime.local")
    logger = logging.getLogger("bench.swe_rex")
    session = local.BashSession(requests.CreateBashSessionRequest(), logger=logger)
    try:
        await session.start()
        yield SweRexShell(session, requests.BashAction(command="true"))
    finally:
        await session.close()


class TmuxShell:
    """A pane of tmux: keys go in, and its screen is read until a line with the exit code stands there."""

    def __init__(self, pane: Any) -> None:
        self._pane = pane
        self._count = 0

    async def run_true(self) -> None:
        self._count += 1
        # What is echoed differs from what is printed, so the echo is never taken for the end.
        self._pane.send_keys(f"true; printf 'end_%s_%s\\n' {self._count} $?")
        wanted = f"end_{self._count}_0"
        async with asyncio.timeout(_TIMEOUT_S):
            while wanted not in self._pane.capture_pane():
                await asyncio.sleep(_POLL_S)


@contextlib.asynccontextmanager
async def _open_libtmux() -> AsyncIterator[TmuxShell]:
    with tempfile.TemporaryDirectory(prefix="bench-tmux-") as directory:
        libtmux = importlib.import_module("libtmux")
        server = libtmux.Server(socket_path=Path(directory) / "socket", config_file="/dev/null")
        try:
            session = server.new_session(window_command="bash")
            yield TmuxShell(session.active_window.active_pane)
        finally:
            server.kill()


def _is_installed(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError as exc:
        say(f"bench: {module} is left out: {exc}")
        return False
    return True


def _is_program(name: str) -> bool:
    if shutil.which(name) is None:
        say(f"bench: {name} is left out: it is not installed")
        return False
    return True
